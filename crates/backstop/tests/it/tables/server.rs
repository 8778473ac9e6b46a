//! A loopback server that answers each request as a test says.

use std::{
    sync::{Arc, LazyLock, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// What is done with one request.
#[derive(Clone)]
pub(crate) enum Answer {
    /// This answer: status, media type, body.
    Whole(&'static str, &'static str, String),
    /// The end of the connection.
    Cut,
    /// Nothing, for ever.
    Silence,
    /// These bytes, then the end of the connection.
    Bytes(String),
    /// This status, and the head of the request in the words of the answer.
    Echo(&'static str),
    /// The other answer, after this time.
    After(Duration, Box<Answer>),
}

impl Answer {
    /// JSON.
    pub(crate) fn json(status: &'static str, body: impl Into<String>) -> Self {
        Self::Whole(status, "application/json", body.into())
    }

    /// Plain text of a call that worked.
    pub(crate) fn text(body: impl Into<String>) -> Self {
        Self::Whole("200 OK", "text/plain", body.into())
    }
}

/// Making a client takes long, and one is enough.
pub(crate) fn client() -> reqwest::Client {
    static CLIENT: LazyLock<reqwest::Client> = LazyLock::new(|| backstop::http_client().unwrap());
    CLIENT.clone()
}

type Answers = dyn Fn(&str, &Value) -> Answer + Send + Sync;

pub(crate) struct Server {
    pub(crate) url: String,
    bodies: Arc<Mutex<Vec<Value>>>,
    _running: JoinSet<()>,
}

impl Server {
    /// Answers by path and JSON body; no body counts as `{}`.
    pub(crate) async fn start(answers: impl Fn(&str, &Value) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let mut running = JoinSet::new();
        running.spawn(serve(listener, Arc::new(answers), Arc::clone(&bodies)));
        Self { url, bodies, _running: running }
    }

    /// Gives these answers, one after the other.
    pub(crate) async fn in_order(answers: Vec<Answer>) -> Self {
        let rest = Mutex::new(answers.into_iter());
        Self::start(move |_, _| rest.lock().unwrap().next().unwrap_or(Answer::Cut)).await
    }

    /// The bodies of all requests.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.bodies.lock().unwrap().clone()
    }
}

async fn serve(listener: TcpListener, answers: Arc<Answers>, bodies: Arc<Mutex<Vec<Value>>>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        connections.spawn(answer(stream, Arc::clone(&answers), Arc::clone(&bodies)));
    }
}

async fn answer(mut stream: TcpStream, answers: Arc<Answers>, bodies: Arc<Mutex<Vec<Value>>>) {
    let Some((head, body)) = read(&mut stream).await else { return };
    bodies.lock().unwrap().push(body.clone());
    let answer = answers(head.split(' ').nth(1).unwrap_or_default(), &body);
    if let Some(bytes) = bytes(answer, &head).await {
        let _ = stream.write_all(bytes.as_bytes()).await;
        let _ = stream.shutdown().await;
    }
}

/// What an answer is on the wire.
async fn bytes(answer: Answer, head: &str) -> Option<String> {
    match answer {
        Answer::Whole(status, media, body) => {
            let length = body.len();
            Some(format!(
                "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: {media}\r\ncontent-length: {length}\r\n\r\n{body}"
            ))
        }
        Answer::Bytes(bytes) => Some(bytes),
        Answer::Echo(status) => {
            let body = json!({"error": {"message": format!("no route for {head}"), "code": head}});
            Box::pin(bytes(Answer::json(status, body.to_string()), head)).await
        }
        Answer::After(time, then) => {
            tokio::time::sleep(time).await;
            Box::pin(bytes(*then, head)).await
        }
        Answer::Cut => None,
        Answer::Silence => std::future::pending().await,
    }
}

/// The head and the body of one request.
async fn read(stream: &mut TcpStream) -> Option<(String, Value)> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    while bytes.len() < end + length.unwrap_or(0) {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = &bytes[end..];
    let body = if body.is_empty() { json!({}) } else { serde_json::from_slice(body).unwrap() };
    Some((head, body))
}
