//! A server that answers byte for byte as it is told, and keeps what it was asked.

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// What is done with one request.
#[derive(Clone)]
pub(super) enum Reply {
    /// These bytes, then the end of the connection.
    Bytes(Vec<u8>),
    /// Nothing, for ever.
    Silence,
}

impl Reply {
    pub(super) fn new(status: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let mut head = format!("HTTP/1.1 {status}\r\nconnection: close\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !status.starts_with("204") {
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        Self::Bytes([head.as_bytes(), b"\r\n", body].concat())
    }

    pub(super) fn json(status: &str, body: &str) -> Self {
        Self::new(status, &[("content-type", "application/json")], body)
    }

    /// The answer without its last bytes.
    pub(super) fn cut(self, missing: usize) -> Self {
        match self {
            Self::Bytes(mut bytes) => {
                bytes.truncate(bytes.len() - missing);
                Self::Bytes(bytes)
            }
            Self::Silence => Self::Silence,
        }
    }
}

/// One request, as it was on the wire.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    head: String,
    pub(super) body: String,
}

impl Seen {
    pub(super) fn method_and_target(&self) -> String {
        let line = self.head.lines().next().unwrap();
        line.strip_suffix(" HTTP/1.1").unwrap().to_owned()
    }

    pub(super) fn target(&self) -> String {
        self.method_and_target().split_once(' ').unwrap().1.to_owned()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers(name).first().copied()
    }

    pub(super) fn headers(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
    }
}

pub(super) struct Server {
    pub(super) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    _running: JoinSet<()>,
}

impl Server {
    /// Gives one reply to each request, the last one to all that follow.
    pub(super) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut running = JoinSet::new();
        running.spawn(serve(listener, replies, Arc::clone(&seen)));
        Self { url, seen, _running: running }
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(super) fn only(&self) -> Seen {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen[0].clone()
    }
}

/// A port on which nobody listens.
pub(super) async fn dead_url() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

async fn serve(listener: TcpListener, replies: Vec<Reply>, seen: Arc<Mutex<Vec<Seen>>>) {
    let mut silent = Vec::new();
    for index in 0.. {
        let (mut stream, _) = listener.accept().await.unwrap();
        let Some(request) = read(&mut stream).await else { continue };
        seen.lock().unwrap().push(request);
        match &replies[index.min(replies.len() - 1)] {
            Reply::Bytes(bytes) => {
                let _ = stream.write_all(bytes).await;
                let _ = stream.shutdown().await;
            }
            Reply::Silence => silent.push(stream),
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
    let length: usize = seen.header("content-length").map_or(0, |length| length.parse().unwrap());
    while bytes.len() < end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    seen.body = String::from_utf8(bytes[end + 4..].to_vec()).unwrap();
    Some(seen)
}
