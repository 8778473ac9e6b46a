//! A server on loopback that answers byte for byte as a test says, and keeps what it was asked.
//!
//! It runs on a thread of its own, so tests without an async runtime can use it too.

mod reply;
mod request;

use std::{
    net::TcpListener as Listener,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::{Builder, Runtime},
    task::JoinSet,
};

use self::reply::Then;
pub use self::{reply::Reply, request::Request};

/// The longest wait for a request.
const DEADLINE: Duration = Duration::from_secs(10);

/// What is done with whoever connects.
enum Manner {
    /// Each request has its reply.
    Answers(Box<dyn Fn(&Request) -> Reply + Send + Sync>),
    /// These bytes are sent, whatever comes.
    Greets(Vec<u8>),
    /// The connection is reset once something came, and before it is read.
    Resets,
}

/// A server on loopback. It ends when it is dropped, and its connections with it.
///
/// # Example
///
/// ```
/// use backstop_test::server::{Reply, Server};
/// use std::{io::{Read, Write}, net::TcpStream};
///
/// let server = Server::start([Reply::json("200 OK", r#"{"id":7}"#)]);
/// let mut client = TcpStream::connect(server.url.trim_start_matches("http://"))?;
/// client.write_all(b"GET /orders/7 HTTP/1.1\r\n\r\n")?;
/// let mut status = [0; 15];
/// client.read_exact(&mut status)?;
/// assert_eq!(&status, b"HTTP/1.1 200 OK");
/// assert_eq!(server.only().line(), "GET /orders/7");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Server {
    /// Where it is: `http://127.0.0.1:PORT`.
    pub url: String,
    shared: Arc<Shared>,
    /// Taken when the server is dropped.
    runtime: Option<Runtime>,
}

#[derive(Debug, Default)]
struct Shared {
    log: Mutex<Log>,
    came: Condvar,
}

#[derive(Debug, Default)]
struct Log {
    requests: Vec<Request>,
    /// Requests that a test has taken.
    taken: usize,
    connections: usize,
}

impl Shared {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// Gives one reply to each request, the last one to all that follow.
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().collect();
        assert!(!replies.is_empty(), "a server without replies");
        let next = AtomicUsize::new(0);
        Self::answering(move |_| {
            let index = next.fetch_add(1, Ordering::Relaxed).min(replies.len() - 1);
            replies.get(index).cloned().unwrap_or_else(Reply::hang_up)
        })
    }

    /// Replies to each request as `reply` says.
    pub fn answering(reply: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::with(Manner::Answers(Box::new(reply)))
    }

    /// Sends these bytes to whoever connects, whatever they say, and nothing more.
    pub fn greeting(bytes: impl AsRef<[u8]>) -> Self {
        Self::with(Manner::Greets(bytes.as_ref().to_vec()))
    }

    /// Resets each connection once something came, and before it is read.
    pub fn resetting() -> Self {
        Self::with(Manner::Resets)
    }

    fn with(manner: Manner) -> Self {
        let listener = Listener::bind("127.0.0.1:0").expect("a port on loopback");
        listener.set_nonblocking(true).expect("a listener that does not block");
        let url = format!("http://{}", listener.local_addr().expect("the address it is bound to"));
        let shared = Arc::new(Shared::default());
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime with one thread");
        runtime.spawn(accept(listener, Arc::new(manner), Arc::clone(&shared)));
        Self { url, shared, runtime: Some(runtime) }
    }

    /// Every request so far.
    pub fn seen(&self) -> Vec<Request> {
        self.shared.log().requests.clone()
    }

    /// The one request that came.
    #[track_caller]
    pub fn only(&self) -> Request {
        let seen = self.seen();
        match seen.as_slice() {
            [only] => only.clone(),
            _ => panic!("{} requests came: {seen:?}", seen.len()),
        }
    }

    /// Takes the next request, and waits for it where there is none yet.
    #[track_caller]
    pub fn next(&self) -> Request {
        let log = self.shared.log();
        let none = |log: &mut Log| log.requests.len() <= log.taken;
        let waited = self.shared.came.wait_timeout_while(log, DEADLINE, none);
        let (mut log, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let Some(request) = log.requests.get(log.taken).cloned() else {
            panic!("no request came within {DEADLINE:?}")
        };
        log.taken += 1;
        request
    }

    /// Takes method and target of each request that came and was not taken.
    pub fn lines(&self) -> Vec<String> {
        let mut log = self.shared.log();
        let lines = log.requests.iter().skip(log.taken).map(|request| request.line().to_owned()).collect();
        log.taken = log.requests.len();
        lines
    }

    /// Connections that were made so far.
    pub fn connections(&self) -> usize {
        self.shared.log().connections
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Waiting for it is not allowed inside of an async test.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// An address on loopback at which nobody listens.
pub fn dead_url() -> String {
    let listener = Listener::bind("127.0.0.1:0").expect("a port on loopback");
    format!("http://{}", listener.local_addr().expect("the address it is bound to"))
}

async fn accept(listener: Listener, manner: Arc<Manner>, shared: Arc<Shared>) {
    let listener = TcpListener::from_std(listener).expect("a listener that the runtime can use");
    let mut serving = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        shared.log().connections += 1;
        serving.spawn(serve(stream, Arc::clone(&manner), Arc::clone(&shared)));
        while serving.try_join_next().is_some() {}
    }
}

/// Serves one connection. A client that goes away ends it, and is no failure of the server.
async fn serve(mut stream: TcpStream, manner: Arc<Manner>, shared: Arc<Shared>) -> Option<()> {
    let reply = match manner.as_ref() {
        Manner::Answers(reply) => reply,
        Manner::Greets(bytes) => {
            stream.write_all(bytes).await.ok()?;
            return until_closed(&mut stream).await;
        }
        Manner::Resets => {
            stream.peek(&mut [0]).await.ok()?;
            return stream.set_zero_linger().ok();
        }
    };
    while let Some(request) = Request::read(&mut stream).await {
        let reply = reply(&request);
        shared.log().requests.push(request);
        shared.came.notify_all();
        reply.write(&mut stream).await.ok()?;
        match reply.then {
            Then::GoOn => {}
            Then::Close => return stream.shutdown().await.ok(),
            Then::Reset => return stream.set_zero_linger().ok(),
            Then::Hang => return until_closed(&mut stream).await,
        }
    }
    None
}

async fn until_closed(stream: &mut TcpStream) -> Option<()> {
    let mut unread = [0; 4096];
    while stream.read(&mut unread).await.ok()? > 0 {}
    Some(())
}

#[cfg(test)]
mod tests {
    use std::{
        io::{ErrorKind, Read, Write},
        net::TcpStream,
        time::Instant,
    };

    use super::*;

    /// Asks, and reads to the end of the connection.
    fn ask(server: &Server) -> std::io::Result<String> {
        let mut client = TcpStream::connect(server.url.trim_start_matches("http://"))?;
        client.write_all(b"POST /x HTTP/1.1\r\nX-Id: 7\r\ncontent-length: 2\r\n\r\n{}")?;
        let mut answer = String::new();
        client.read_to_string(&mut answer)?;
        Ok(answer)
    }

    #[test]
    fn replies_come_in_order_and_the_last_one_again() {
        let server = Server::start([Reply::bytes("one"), Reply::bytes("two")]);
        assert_eq!([(); 3].map(|()| ask(&server).unwrap()), ["one", "two", "two"]);
        assert_eq!(server.next().header("x-id"), Some("7"));
        assert_eq!(server.lines(), ["POST /x", "POST /x"]);
        assert_eq!((server.lines(), server.connections()), (vec![], 3));
    }

    #[test]
    fn a_reset_is_told_apart_from_an_end() {
        let reset = |server: &Server| ask(server).unwrap_err().kind();
        assert_eq!(reset(&Server::start([Reply::reset()])), ErrorKind::ConnectionReset);
        assert_eq!(reset(&Server::resetting()), ErrorKind::ConnectionReset);
        assert_eq!(ask(&Server::start([Reply::hang_up()])).unwrap(), "");
    }

    #[test]
    fn an_answer_drips_until_it_is_cut() {
        let begun = Instant::now();
        let server =
            Server::start([Reply::events(["data: 1\n\n"]).cut(5).drip(10, Duration::from_millis(1))]);
        let whole = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n";
        assert_eq!(ask(&server).unwrap(), whole);
        assert!(begun.elapsed() >= Duration::from_millis(9), "{:?}", begun.elapsed());
    }
}
