//! A model server that answers as it is told, keeps connections open, and keeps what it was asked.

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// What is done with one request.
#[derive(Clone)]
pub(super) struct Reply {
    bytes: Vec<u8>,
    then: Then,
}

#[derive(Clone, Copy, PartialEq)]
enum Then {
    GoOn,
    Close,
    Hang,
}

impl Reply {
    pub(super) fn new(status: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let mut head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        Self { bytes: [head.as_bytes(), b"\r\n", body].concat(), then: Then::GoOn }
    }

    pub(super) fn json(status: &str, body: &str) -> Self {
        Self::new(status, &[("content-type", "application/json")], body)
    }

    /// A reply whose one choice has this message.
    pub(super) fn message(message: &str, finish: &str) -> Self {
        let body = format!(r#"{{"choices":[{{"index":0,"message":{message},"finish_reason":{finish}}}]}}"#);
        Self::json("200 OK", &body)
    }

    /// A chunked event stream of these bodies, each in a chunk of its own.
    pub(super) fn events(events: &[&str]) -> Self {
        let mut bytes =
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                .to_vec();
        for event in events {
            bytes.extend(format!("{:x}\r\n{event}\r\n", event.len()).into_bytes());
        }
        bytes.extend(b"0\r\n\r\n");
        Self { bytes, then: Then::GoOn }
    }

    /// Nothing at all, and the end of the connection.
    pub(super) fn hang_up() -> Self {
        Self { bytes: Vec::new(), then: Then::Close }
    }

    /// Nothing at all, for ever.
    pub(super) fn silence() -> Self {
        Self { bytes: Vec::new(), then: Then::Hang }
    }

    /// The answer without its last bytes, and the end of the connection.
    pub(super) fn cut(mut self, missing: usize) -> Self {
        self.bytes.truncate(self.bytes.len() - missing);
        self.then = Then::Close;
        self
    }

    /// The answer without its last bytes, which never come.
    pub(super) fn stall(mut self, missing: usize) -> Self {
        self.bytes.truncate(self.bytes.len() - missing);
        self.then = Then::Hang;
        self
    }
}

/// One request, as it was on the wire.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) head: String,
    pub(super) body: String,
}

impl Seen {
    pub(super) fn headers(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
    }
}

pub(super) struct Server {
    pub(super) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<Mutex<usize>>,
    _running: JoinSet<()>,
}

impl Server {
    /// Gives one reply to each request, the last one to all that follow.
    pub(super) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Arc<Vec<Reply>> = Arc::new(replies.into_iter().collect());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (seen, connections) = (Arc::default(), Arc::default());
        let mut running = JoinSet::new();
        running.spawn(accept(listener, replies, Arc::clone(&seen), Arc::clone(&connections)));
        Self { url, seen, connections, _running: running }
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(super) fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

/// A port on which nobody listens.
pub(super) async fn dead_url() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

async fn accept(
    listener: TcpListener,
    replies: Arc<Vec<Reply>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<Mutex<usize>>,
) {
    let mut serving = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        *connections.lock().unwrap() += 1;
        serving.spawn(serve(stream, Arc::clone(&replies), Arc::clone(&seen)));
    }
}

async fn serve(mut stream: TcpStream, replies: Arc<Vec<Reply>>, seen: Arc<Mutex<Vec<Seen>>>) {
    while let Some(request) = read(&mut stream).await {
        let index = {
            let mut seen = seen.lock().unwrap();
            seen.push(request);
            seen.len() - 1
        };
        let reply = &replies[index.min(replies.len() - 1)];
        let _ = stream.write_all(&reply.bytes).await;
        match reply.then {
            Then::GoOn => {}
            Then::Close => {
                let _ = stream.shutdown().await;
                return;
            }
            Then::Hang => std::future::pending().await,
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut seen = Seen { head, body: String::new() };
    let length: usize = seen.headers("content-length").first().map_or(0, |length| length.parse().unwrap());
    while bytes.len() < end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    seen.body = String::from_utf8(bytes[end + 4..].to_vec()).unwrap();
    Some(seen)
}
