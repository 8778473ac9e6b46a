//! What a server does with one request.

use std::{fmt::Display, io, time::Duration};

use tokio::{io::AsyncWriteExt, net::TcpStream};

/// What a server does with one request: the bytes it sends, at which pace, and what comes then.
#[derive(Clone, Debug)]
pub struct Reply {
    bytes: Vec<u8>,
    /// Bytes that are sent at once, and the pause after them.
    drip: Option<(usize, Duration)>,
    pub(super) then: Then,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Then {
    /// The connection waits for the next request.
    GoOn,
    Close,
    Reset,
    Hang,
}

impl Reply {
    /// A whole answer: status code and reason, headers, body. The connection is kept for the next request.
    pub fn new(status: impl Display, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Self {
        let (status, body) = (status.to_string(), body.as_ref());
        let mut head = format!("HTTP/1.1 {status}\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        // An answer with this status has no body, and so no length of one.
        if !status.starts_with("204") {
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        Self { bytes: [head.as_bytes(), b"\r\n", body].concat(), drip: None, then: Then::GoOn }
    }

    /// A whole answer of JSON.
    pub fn json(status: impl Display, body: impl Display) -> Self {
        Self::new(status, &[("content-type", "application/json")], body.to_string())
    }

    /// A whole answer of server-sent events, in chunks that are to be these.
    pub fn events(chunks: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let mut bytes = head.as_bytes().to_vec();
        for chunk in chunks {
            let chunk = chunk.as_ref();
            bytes.extend(format!("{:x}\r\n{chunk}\r\n", chunk.len()).into_bytes());
        }
        bytes.extend(b"0\r\n\r\n");
        Self { bytes, drip: None, then: Then::GoOn }
    }

    /// These bytes, and the end of the connection.
    pub fn bytes(bytes: impl AsRef<[u8]>) -> Self {
        Self { bytes: bytes.as_ref().to_vec(), drip: None, then: Then::Close }
    }

    /// Nothing, and the end of the connection.
    pub fn hang_up() -> Self {
        Self::bytes([])
    }

    /// Nothing, and a reset of the connection.
    pub fn reset() -> Self {
        Self { then: Then::Reset, ..Self::hang_up() }
    }

    /// Nothing, for ever.
    pub fn silence() -> Self {
        Self { then: Then::Hang, ..Self::hang_up() }
    }

    /// The answer without its last bytes, and the end of the connection.
    #[must_use]
    pub fn cut(mut self, missing: usize) -> Self {
        self.bytes.truncate(self.bytes.len().saturating_sub(missing));
        Self { then: Then::Close, ..self }
    }

    /// The answer without its last bytes, which never come.
    #[must_use]
    pub fn stall(self, missing: usize) -> Self {
        Self { then: Then::Hang, ..self.cut(missing) }
    }

    /// The answer in pieces of this size, with a pause after each.
    #[must_use]
    pub fn drip(self, size: usize, pause: Duration) -> Self {
        Self { drip: Some((size.max(1), pause)), ..self }
    }

    pub(super) async fn write(&self, stream: &mut TcpStream) -> io::Result<()> {
        let Some((size, pause)) = self.drip else { return stream.write_all(&self.bytes).await };
        for piece in self.bytes.chunks(size) {
            stream.write_all(piece).await?;
            tokio::time::sleep(pause).await;
        }
        Ok(())
    }
}
