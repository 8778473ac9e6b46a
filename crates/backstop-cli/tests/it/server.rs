//! Servers on loopback that do what a test says: answer, refuse, break off or never come back.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};

const DEADLINE: Duration = Duration::from_secs(10);

/// What came in.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Method and path.
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// What the server does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Sends these bytes and closes.
    Bytes(String),
    /// Closes after it has read.
    Close,
    /// Keeps the connection and says nothing.
    Hang,
    /// Sends these bytes, keeps the connection and says nothing more.
    Stall(String),
}

/// A whole reply of this status and type.
pub(crate) fn whole(status: u16, kind: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Bytes(format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))
}

pub(crate) fn json_reply(status: u16, body: &Value) -> Reply {
    whole(status, "application/json", &body.to_string())
}

/// The answer of a model, streamed in these pieces, to the end.
pub(crate) fn answer(pieces: &[&str]) -> Reply {
    let usage =
        json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}});
    let end = format!("{}{}data: [DONE]\n\n", event(&json!({}), Some("stop")), data(&usage));
    whole(200, "text/event-stream", &format!("{}{end}", said(pieces)))
}

/// A call that a model makes.
pub(crate) fn calls(tool: &str, arguments: &Value) -> Reply {
    let function = json!({"name": tool, "arguments": arguments.to_string()});
    let delta =
        json!({"tool_calls": [{"index": 0, "id": "call_a", "type": "function", "function": function}]});
    let body = format!("{}{}data: [DONE]\n\n", event(&delta, None), event(&json!({}), Some("tool_calls")));
    whole(200, "text/event-stream", &body)
}

/// The beginning of a streamed answer, in an encoding that tells whether it is whole.
pub(crate) fn beginning(pieces: &[&str]) -> String {
    let body = said(pieces);
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n"
    )
}

fn said(pieces: &[&str]) -> String {
    pieces.iter().map(|piece| event(&json!({"content": piece}), None)).collect()
}

fn event(delta: &Value, finish: Option<&str>) -> String {
    data(&json!({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// A server that runs until the tests end.
pub(crate) struct Server {
    address: String,
    heard: Receiver<Request>,
}

impl Server {
    pub(crate) fn new(reply: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (to, heard) = channel();
        let reply = Arc::new(reply);
        thread::spawn(move || {
            for connection in listener.incoming() {
                let (to, reply) = (to.clone(), Arc::clone(&reply));
                thread::spawn(move || serve(connection.unwrap(), &to, reply.as_ref()));
            }
        });
        Self { address, heard }
    }

    /// One that gives the same reply to everything.
    pub(crate) fn always(reply: Reply) -> Self {
        Self::new(move |_| reply.clone())
    }

    /// The address that nobody listens at.
    pub(crate) fn nobody() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits for the next request.
    #[track_caller]
    pub(crate) fn next(&self) -> Request {
        self.heard.recv_timeout(DEADLINE).unwrap_or_else(|error| panic!("no request came: {error}"))
    }

    /// Method and path of each request that came and was not waited for.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.heard.try_iter().map(|request| request.line).collect()
    }
}

fn serve(mut connection: TcpStream, to: &Sender<Request>, reply: &dyn Fn(&Request) -> Reply) {
    connection.set_read_timeout(Some(DEADLINE)).unwrap();
    let Some(request) = read(&connection) else { return };
    let reply = reply(&request);
    let _ = to.send(request);
    match reply {
        Reply::Bytes(bytes) => drop(connection.write_all(bytes.as_bytes())),
        Reply::Close => {}
        Reply::Hang => wait_for_the_other(&mut connection),
        Reply::Stall(bytes) => {
            let _ = connection.write_all(bytes.as_bytes());
            wait_for_the_other(&mut connection);
        }
    }
}

/// Keeps the connection until the client closes it.
fn wait_for_the_other(connection: &mut TcpStream) {
    let _ = connection.set_read_timeout(None);
    let _ = connection.read(&mut [0]);
}

fn read(connection: &TcpStream) -> Option<Request> {
    let mut from = BufReader::new(connection);
    let mut line = String::new();
    from.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        from.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        headers.push((name.to_owned(), value.to_owned()));
    }
    let request =
        Request { line: line.trim_end_matches("\r\n").replace(" HTTP/1.1", ""), headers, body: Value::Null };
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    Some(Request { body: serde_json::from_slice(&body).unwrap_or_default(), ..request })
}
