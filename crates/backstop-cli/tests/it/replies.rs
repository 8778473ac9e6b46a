//! What a model says, on the wire.

use backstop_test::server::Reply;
use serde_json::{Value, json};

/// Bytes of the chunk that ends a streamed reply.
pub(crate) const LAST_CHUNK: usize = "0\r\n\r\n".len();

/// The answer of a model, streamed in these pieces, to the end.
pub(crate) fn answer(pieces: &[&str]) -> Reply {
    let usage =
        json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}});
    Reply::events([said(pieces), event(&json!({}), Some("stop")), data(&usage), "data: [DONE]\n\n".into()])
}

/// A call that a model makes.
pub(crate) fn calls(tool: &str, arguments: &Value) -> Reply {
    let function = json!({"name": tool, "arguments": arguments.to_string()});
    let delta =
        json!({"tool_calls": [{"index": 0, "id": "call_a", "type": "function", "function": function}]});
    Reply::events([event(&delta, None), event(&json!({}), Some("tool_calls")), "data: [DONE]\n\n".into()])
}

/// The beginning of an answer, streamed as if it were all.
pub(crate) fn beginning(pieces: &[&str]) -> Reply {
    Reply::events([said(pieces)])
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
