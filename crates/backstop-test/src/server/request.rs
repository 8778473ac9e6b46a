//! What a server was asked.

use serde_json::Value;
use tokio::{io::AsyncReadExt, net::TcpStream};

/// One request, as it was on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The request line and the headers, without the empty line after them.
    pub head: String,
    /// The body.
    pub body: String,
}

impl Request {
    /// Method and target, such as `GET /orders/7`.
    pub fn line(&self) -> &str {
        let line = self.head.lines().next().unwrap_or_default();
        line.strip_suffix(" HTTP/1.1").unwrap_or(line)
    }

    /// What is asked for, such as `/orders/7?full=1`.
    pub fn target(&self) -> &str {
        self.line().split_once(' ').map_or("", |(_, target)| target)
    }

    /// The value of the first header of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers(name).first().copied()
    }

    /// The values of all headers of this name, in any case.
    pub fn headers(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
    }

    /// The body, read as JSON; null where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// Reads one; none where the client goes away before it is whole.
    pub(super) async fn read(stream: &mut TcpStream) -> Option<Self> {
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break end;
            }
            if stream.read_buf(&mut bytes).await.ok()? == 0 {
                return None;
            }
        };
        let mut body = bytes.split_off(end + 4);
        bytes.truncate(end);
        let head = String::from_utf8_lossy(&bytes).into_owned();
        let mut request = Self { head, body: String::new() };
        let length: usize =
            request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        while body.len() < length {
            if stream.read_buf(&mut body).await.ok()? == 0 {
                return None;
            }
        }
        request.body = String::from_utf8_lossy(&body).into_owned();
        Some(request)
    }
}
