//! A reply in one piece.

use backstop_core::{ModelError, ModelErrorKind, ModelReply, ToolCall};
use serde_json::{Map, Value};

use super::{
    encode::CALL_EXTRA,
    error,
    surrogates::{as_escapes, joined},
    wire::{Call, Reply, Said, finish, said_something},
};

/// Reads the body of a reply.
pub(super) fn read(body: &[u8], endpoint: &str) -> Result<ModelReply, ModelError> {
    let (reply, marked) =
        Reply::read(body).map_err(|cause| error::malformed(endpoint, "the reply", &cause))?;
    if let Some(reported) = reply.error() {
        return Err(error::reported(endpoint, reported));
    }
    let choice = reply.choices.into_iter().flatten().next();
    let Some((message, reason)) =
        choice.and_then(|choice| Some((choice.message.or(choice.delta)?, choice.finish_reason)))
    else {
        let detail = format!("the reply of {endpoint} holds no message");
        return Err(ModelError::new(ModelErrorKind::MalformedReply, detail));
    };
    let usage = reply.usage.map(Into::into).unwrap_or_default();
    let (text, calls, extra) = parts(message, marked);
    match finish(&reason) {
        Some(finish) => Ok(ModelReply { text, calls, finish, usage, extra }),
        None => Err(failed(endpoint).with_partial(text.unwrap_or_default())),
    }
}

/// The server says that it failed, and nothing more.
pub(super) fn failed(endpoint: &str) -> ModelError {
    let detail = format!("{endpoint} ended the reply with finish reason `error`");
    ModelError::new(ModelErrorKind::UpstreamFailure, detail)
}

/// Text, calls and the rest of a message that is whole.
pub(super) fn parts(mut message: Said, marked: bool) -> (Option<String>, Vec<ToolCall>, Map<String, Value>) {
    let calls = message.tool_calls.unwrap_or_default();
    let calls = match message.function_call {
        Some(function) if calls.is_empty() => vec![Call { function: Some(function), ..Call::default() }],
        _ => calls,
    };
    let mut extra = message.extra;
    said_something(&mut extra);
    let mut call_extras = Vec::with_capacity(calls.len());
    let calls = calls
        .into_iter()
        .map(|call| {
            call_extras.push(call.extra);
            let function = call.function.unwrap_or_default();
            if marked {
                ToolCall::new(joined(&call.id), joined(&function.name), as_escapes(&function.arguments))
            } else {
                ToolCall::new(call.id, function.name, function.arguments)
            }
        })
        .collect();
    if call_extras.iter().any(|extra| !extra.is_empty()) {
        extra.insert(CALL_EXTRA.into(), call_extras.into_iter().map(Value::Object).collect());
    }
    if marked {
        message.content = joined(&message.content);
        extra.values_mut().for_each(join_all);
    }
    (Some(message.content).filter(|text| !text.is_empty()), calls, extra)
}

fn join_all(value: &mut Value) {
    match value {
        Value::String(text) => *text = joined(text),
        Value::Array(items) => items.iter_mut().for_each(join_all),
        Value::Object(object) => object.values_mut().for_each(join_all),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
