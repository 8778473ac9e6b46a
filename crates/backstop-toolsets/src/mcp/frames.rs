//! From bytes to messages: one JSON-RPC message a line, as the stdio transport has it.

use std::{fmt, io};

use rmcp::{
    RoleClient,
    model::{ErrorCode, ErrorData, RequestId},
    service::RxJsonRpcMessage,
};
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use backstop_core::text::{escaped, size};

/// Bytes of a line that is no message that operators get to see.
const SHOWN_CAP: usize = 200;
/// Bytes at both ends of a line that is too long in which its id is looked for.
const ENDS: usize = 4 * 1024;
/// The code of an answer that can't be read, which is ours: servers may use -32000 to -32099 for anything, and are
/// told apart by what stands in `data`.
pub(super) const UNREADABLE: ErrorCode = ErrorCode(-32099);

/// What a line is.
#[derive(Debug)]
pub(super) enum Frame {
    /// A message.
    Message(Box<RxJsonRpcMessage<RoleClient>>),
    /// Something else, in words for operators.
    Noise(String),
    /// A message that is too large to read, and that nobody can say the request of.
    TooLarge,
}

/// Reads messages, one a line. Dropping [`next`](Self::next) loses nothing.
#[derive(Debug)]
pub(super) struct Frames<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// The last bytes of a line that is too long.
    tail: Option<Vec<u8>>,
    max: usize,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    pub(super) fn new(reader: R, max: usize) -> Self {
        Self { reader: BufReader::new(reader), line: Vec::new(), tail: None, max }
    }

    /// The next line that is not blank; `None` at the end.
    ///
    /// # Errors
    ///
    /// What reading failed with.
    pub(super) async fn next(&mut self) -> io::Result<Option<Frame>> {
        loop {
            let buffer = self.reader.fill_buf().await?;
            if buffer.is_empty() {
                // What is not ended by a line break was not sent whole, unless it can be read.
                let rest = std::mem::take(&mut self.line);
                let whole = self.tail.take().is_none() && !rest.trim_ascii().is_empty();
                return Ok(whole.then(|| frame(&rest)));
            }
            let (piece, used, ended) = match buffer.iter().position(|byte| *byte == b'\n') {
                Some(end) => (buffer.get(..end).unwrap_or_default(), end + 1, true),
                None => (buffer, buffer.len(), false),
            };
            take(&mut self.line, &mut self.tail, piece, self.max);
            self.reader.consume(used);
            if !ended {
                continue;
            }
            let line = std::mem::take(&mut self.line);
            if let Some(tail) = self.tail.take() {
                return Ok(Some(too_large(&line, &tail, self.max)));
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(frame(&line)));
            }
        }
    }
}

/// Keeps a line up to `max` bytes, and both ends of a longer one.
fn take(line: &mut Vec<u8>, tail: &mut Option<Vec<u8>>, piece: &[u8], max: usize) {
    if tail.is_none() && line.len() + piece.len() <= max {
        line.extend_from_slice(piece);
        return;
    }
    let tail =
        tail.get_or_insert_with(|| line.get(line.len().saturating_sub(ENDS)..).unwrap_or_default().to_vec());
    let room = ENDS.saturating_sub(line.len()).min(piece.len());
    line.extend_from_slice(piece.get(..room).unwrap_or_default());
    line.truncate(ENDS);
    tail.extend_from_slice(piece.get(piece.len().saturating_sub(ENDS)..).unwrap_or_default());
    tail.drain(..tail.len().saturating_sub(ENDS));
}

/// A line as a message. An answer in a form that no answer has becomes an error for the request that it is to.
fn frame(line: &[u8]) -> Frame {
    let cause = match serde_json::from_slice(line) {
        Ok(message) => return Frame::Message(Box::new(message)),
        Err(cause) => cause,
    };
    match serde_json::from_slice::<Map<String, Value>>(line) {
        Ok(object) if object.contains_key("result") || object.contains_key("error") => {
            let id = object.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
            match id {
                Some(id) => unreadable(id, format!("an answer of no known form: {cause}")),
                None => Frame::Noise(format!("an answer to nothing: `{}`", shown(line))),
            }
        }
        Ok(_) => Frame::Noise(format!("a message of no known form: `{}`", shown(line))),
        // Some write what JSON does not have, such as `NaN`: whoever asked need not wait for another answer.
        Err(cause) => match answered(line) {
            Some(id) => unreadable(id, format!("an answer that is no JSON: {cause}")),
            None => Frame::Noise(format!("a line that is no message: `{}`", shown(line))),
        },
    }
}

/// The id of the request that a whole line answers which is no JSON.
fn answered(line: &[u8]) -> Option<RequestId> {
    let line = line.trim_ascii();
    let text = String::from_utf8_lossy(line);
    if !text.starts_with('{') || !text.ends_with('}') || !text.contains("\"jsonrpc\"") {
        return None;
    }
    let answer = ["\"result\"", "\"error\""].iter().filter_map(|key| text.find(key)).min()?;
    // A request of the server has an id of its own.
    if text.find("\"method\"").is_some_and(|method| method < answer) {
        return None;
    }
    id_at_head(line).or_else(|| id_at_tail(line))
}

fn too_large(head: &[u8], tail: &[u8], max: usize) -> Frame {
    let id = id_at_head(head).or_else(|| id_at_tail(tail));
    match id {
        Some(id) => unreadable(id, format!("an answer larger than {}", size(max))),
        None => Frame::TooLarge,
    }
}

fn unreadable(id: RequestId, why: String) -> Frame {
    let error = ErrorData::new(UNREADABLE, why, Some(Value::from(env!("CARGO_PKG_NAME"))));
    Frame::Message(Box::new(RxJsonRpcMessage::<RoleClient>::error(error, Some(id))))
}

/// Whether an error is one of an answer that could not be read.
pub(super) fn is_unreadable(error: &ErrorData) -> bool {
    error.code == UNREADABLE && error.data.as_ref().is_some_and(|data| data == env!("CARGO_PKG_NAME"))
}

fn shown(line: &[u8]) -> String {
    escaped(
        &String::from_utf8_lossy(line.get(..line.len().min(4 * SHOWN_CAP)).unwrap_or_default()),
        SHOWN_CAP,
    )
}

/// The id of a message that begins like this, where it stands before its result.
fn id_at_head(head: &[u8]) -> Option<RequestId> {
    struct Top<'a>(&'a mut Option<Value>);
    impl<'de> Visitor<'de> for Top<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<String>()? {
                if key == "id" {
                    *self.0 = Some(map.next_value()?);
                    return Ok(());
                }
                map.next_value::<IgnoredAny>()?;
            }
            Ok(())
        }
    }
    let mut id = None;
    // It breaks off in any case.
    let _ = serde_json::Deserializer::from_slice(head).deserialize_map(Top(&mut id));
    serde_json::from_value(id?).ok()
}

/// The id of a message that ends like this, where it stands behind its result.
fn id_at_tail(tail: &[u8]) -> Option<RequestId> {
    let text = String::from_utf8_lossy(tail);
    let start = text.rfind("\"id\"")?;
    let rest: Map<String, Value> =
        serde_json::from_str(&format!("{{{}", text.get(start..)?.trim_end())).ok()?;
    serde_json::from_value(rest.get("id")?.clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &[u8], max: usize) -> Vec<String> {
        let mut frames = Frames::new(text, max);
        let mut seen = Vec::new();
        while let Some(frame) = frames.next().await.unwrap() {
            seen.push(match frame {
                Frame::Message(message) => serde_json::to_string(&message).unwrap(),
                Frame::Noise(what) => what,
                Frame::TooLarge => "too large".into(),
            });
        }
        seen
    }

    #[tokio::test]
    async fn messages_are_told_from_everything_else() {
        let text = b"Listening...\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n{\"level\":\"info\"}\n\
            {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":7,\"error\":8}\n\xff\xfe\n{\"jsonrpc\":\"2.0\",\"result\":{}}\n{\"jsonrpc\"";
        let unreadable = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32099,"message":"an answer of no known form: unrecognized JSON-RPC message","data":"backstop-toolsets"}}"#;
        assert_eq!(
            read(text, 1000).await,
            [
                "a line that is no message: `Listening...`",
                r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
                r#"a message of no known form: `{"level":"info"}`"#,
                unreadable,
                "a line that is no message: `\u{fffd}\u{fffd}`",
                r#"an answer to nothing: `{"jsonrpc":"2.0","result":{}}`"#,
                r#"a line that is no message: `{"jsonrpc"`"#,
            ]
        );
    }

    #[tokio::test]
    async fn an_answer_that_is_no_json_is_one_to_its_request() {
        let error = |id: &str, why: &str| {
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32099,\"message\":\"an answer that is no \
                 JSON: {why}\",\"data\":\"backstop-toolsets\"}}}}"
            )
        };
        let text = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"n\":NaN}}\n\
            {\"result\":{\"n\":NaN},\"jsonrpc\":\"2.0\",\"id\":\"b\"}\n\
            {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"x\",\"params\":{\"result\":NaN}}\n\
            {\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"n\":NaN\n";
        assert_eq!(
            read(text.as_bytes(), 1000).await,
            [
                error("1", "expected value at line 1 column 39"),
                error("\"b\"", "expected value at line 1 column 16"),
                "a line that is no message: `{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"x\",\"params\":{\"result\":NaN}}`"
                    .to_owned(),
                "a line that is no message: `{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"n\":NaN`".to_owned(),
            ]
        );
    }

    #[tokio::test]
    async fn an_answer_that_is_too_large_is_one_to_its_request() {
        let long = "x".repeat(20_000);
        let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{{\"text\":\"{long}\"}}}}\n");
        let tail = format!("{{\"result\":{{\"text\":\"{long}\"}},\"jsonrpc\":\"2.0\",\"id\":\"four\"}}\n");
        let none = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{{\"text\":\"{long}\"}}}}\n");
        let next = "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}\n";
        for max in [100, 5_000, 10_000] {
            let seen = read(format!("{head}{tail}{none}{next}").as_bytes(), max).await;
            let limit = size(max);
            assert_eq!(
                seen,
                [
                    format!(
                        "{{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{{\"code\":-32099,\"message\":\"an answer larger than \
                         {limit}\",\"data\":\"backstop-toolsets\"}}}}"
                    ),
                    format!(
                        "{{\"jsonrpc\":\"2.0\",\"id\":\"four\",\"error\":{{\"code\":-32099,\"message\":\"an answer larger \
                         than {limit}\",\"data\":\"backstop-toolsets\"}}}}"
                    ),
                    "too large".to_owned(),
                    next.trim_end().to_owned(),
                ]
            );
        }
    }
}
