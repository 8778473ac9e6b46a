//! A reply as server-sent events.

use std::{
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use backstop_core::{DeltaSink, ModelError, ModelErrorKind, ModelReply};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde_json::Value;
use sse_stream::{Sse, SseStream};

use crate::events::EventBudget;

use super::{assemble::Assembler, error, whole::failed, wire::Reply};

/// Bytes of one event at most.
const MAX_EVENT: usize = 4 * 1024 * 1024;
/// Time that the connection gets to end by itself after the last event, so that it can be used again.
const LINGER: Duration = Duration::from_millis(50);

/// Reads a reply from the bytes of its body, shows `sink` each piece and keeps what has come in `heard`. It ends
/// with `[DONE]`, or where the body ends after a finish reason; all else is an error that holds what was said.
pub(super) async fn read(
    body: impl Stream<Item = Result<Bytes, ModelError>>,
    max_reply: usize,
    endpoint: &str,
    heard: &mut Assembler,
    sink: &dyn DeltaSink,
) -> Result<ModelReply, ModelError> {
    match read_events(body, max_reply, endpoint, heard, sink).await {
        Ok(()) => heard.reply().ok_or_else(|| failed(endpoint).with_partial(heard.text())),
        Err(error) => Err(error.with_partial(heard.text())),
    }
}

async fn read_events(
    body: impl Stream<Item = Result<Bytes, ModelError>>,
    max_reply: usize,
    endpoint: &str,
    heard: &mut Assembler,
    sink: &dyn DeltaSink,
) -> Result<(), ModelError> {
    let mut budget = Budget { left: max_reply, max_reply, events: EventBudget::new(MAX_EVENT) };
    let ended = AtomicBool::new(false);
    let last = async {
        ended.store(true, Ordering::Relaxed);
        // Some servers leave out the blank line that ends the last event.
        Ok(Bytes::from_static(b"\n\n"))
    };
    let body =
        body.map(|chunk| chunk.and_then(|chunk| budget.take(chunk, endpoint))).chain(stream::once(last));
    let mut events = pin!(SseStream::from_bytes_stream(body));
    let cut = || {
        let detail = format!("the stream of {endpoint} ended before the reply was complete");
        ModelError::new(ModelErrorKind::UpstreamFailure, detail)
            .say("the stream ended before the reply was complete")
    };
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event,
            // After the finish reason only statistics can be missing.
            Err(sse_stream::Error::Body(_)) if heard.is_finished() => return Ok(()),
            Err(sse_stream::Error::Body(cause)) => {
                return Err(match cause.downcast::<ModelError>() {
                    Ok(error) => *error,
                    Err(_) => cut(),
                });
            }
            Err(_) if ended.load(Ordering::Relaxed) => break,
            Err(cause) => return Err(error::malformed(endpoint, "the event stream", &cause)),
        };
        match chunk(event, endpoint) {
            Ok(Chunk::Reply(reply, marked)) => heard.add(reply, marked, sink),
            Ok(Chunk::Nothing) => {}
            Ok(Chunk::Done) => {
                let rest = async { while let Some(Ok(_)) = events.next().await {} };
                let _ = tokio::time::timeout(LINGER, rest).await;
                return Ok(());
            }
            // An event that was cut by the end of the stream is no sign of another protocol.
            Err(error) if error.kind() == ModelErrorKind::MalformedReply && ended.load(Ordering::Relaxed) => {
                break;
            }
            Err(error) => return Err(error),
        }
    }
    if heard.is_finished() { Ok(()) } else { Err(cut()) }
}

enum Chunk {
    Reply(Reply, bool),
    Nothing,
    Done,
}

fn chunk(event: Sse, endpoint: &str) -> Result<Chunk, ModelError> {
    let data = event.data.as_deref().map_or("", str::trim);
    if data.is_empty() {
        return Ok(Chunk::Nothing);
    }
    if data == "[DONE]" {
        return Ok(Chunk::Done);
    }
    if event.event.as_deref() == Some("error") {
        let said = serde_json::from_str(data).unwrap_or_else(|_| Value::from(data));
        return Err(error::reported(endpoint, &said));
    }
    let (reply, marked) =
        Reply::read(data.as_bytes()).map_err(|cause| error::malformed(endpoint, "a chunk", &cause))?;
    match reply.error() {
        Some(reported) => Err(error::reported(endpoint, reported)),
        None => Ok(Chunk::Reply(reply, marked)),
    }
}

/// Bounds what is read.
struct Budget {
    max_reply: usize,
    left: usize,
    events: EventBudget,
}

impl Budget {
    fn take(&mut self, chunk: Bytes, endpoint: &str) -> Result<Bytes, ModelError> {
        self.left = self
            .left
            .checked_sub(chunk.len())
            .ok_or_else(|| error::too_large(endpoint, "the reply", self.max_reply))?;
        if !self.events.fits(&chunk) {
            return Err(error::too_large(endpoint, "an event", MAX_EVENT));
        }
        Ok(chunk)
    }
}

#[cfg(test)]
mod tests;
