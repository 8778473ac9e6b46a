//! What an error body says to its caller, if it was written for one.

use backstop_core::text::head;
use serde_json::{Map, Value};

use super::media::{Media, looks_like_html};

/// Characters of a plain text that is still a message.
const PLAIN_CAP: usize = 500;
/// Bytes of a JSON body of no known form that are shown.
const JSON_CAP: usize = 500;
/// Problems of one body that are listed.
const LIST_CAP: usize = 10;
/// Members that are written for the service's own developers.
const INTERNAL: [&str; 8] =
    ["trace", "traceback", "stack", "stacktrace", "stack_trace", "exception", "debug", "debuginfo"];

/// What a body says.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Said {
    pub(crate) words: Option<String>,
    /// The service's own code for the error.
    pub(crate) code: Option<String>,
}

/// Reads an error body. Pages for people and stack traces are never words for a caller.
pub(crate) fn said_in(media: &Media, text: &str, cut: bool, status: u16) -> Said {
    let text = text.trim();
    if text.is_empty() || media.is_html() || looks_like_html(text) {
        return Said::default();
    }
    if !cut
        && (media.is_json() || text.starts_with(['{', '[', '"']))
        && let Ok(value) = serde_json::from_str::<Value>(text)
    {
        let words = said_by(&value).or_else(|| {
            let shown = (400..500).contains(&status).then(|| without_internals(&value)).flatten();
            shown.map(|shown| head(&shown, JSON_CAP))
        });
        return Said { words, code: code_of(&value, status) };
    }
    let plain = media.is_plain() || media.essence.is_empty();
    let short = plain && !cut && text.chars().count() <= PLAIN_CAP;
    Said { words: short.then(|| fit(text)).flatten(), code: None }
}

fn said_by(value: &Value) -> Option<String> {
    let object = match value {
        Value::String(text) => return fit(text),
        Value::Array(_) => return problems(value),
        Value::Object(object) => object,
        Value::Null | Value::Bool(_) | Value::Number(_) => return None,
    };
    let text = |key: &str| object.get(key).and_then(Value::as_str).and_then(fit);
    let inner = object.get("error").and_then(Value::as_object);
    let headline = text("detail")
        .or_else(|| text("message"))
        .or_else(|| inner.and_then(|error| said_by(&Value::Object(error.clone()))))
        .or_else(|| text("error_description"))
        .or_else(|| text("error"))
        .or_else(|| text("title"))
        .or_else(|| text("msg"));
    let list = ["errors", "detail", "details", "invalid-params", "invalid_params", "violations"]
        .iter()
        .find_map(|key| object.get(*key).filter(|list| !list.is_string()).and_then(problems));
    match (headline, list) {
        (Some(headline), Some(list)) => {
            let colon = if headline.ends_with(['.', ':', '!']) { "" } else { ":" };
            Some(format!("{headline}{colon} {list}"))
        }
        (headline, list) => headline.or(list),
    }
}

/// A list of problems, or an object of them by field, as `qty: must be >= 1; name: too long`.
fn problems(list: &Value) -> Option<String> {
    let lines: Vec<String> = match list {
        Value::Array(items) => items.iter().filter_map(problem).collect(),
        Value::Object(fields) => fields
            .iter()
            .filter_map(|(field, messages)| {
                let messages: Vec<String> = match messages {
                    Value::Array(items) => items.iter().filter_map(problem).collect(),
                    one => problem(one).into_iter().collect(),
                };
                (!messages.is_empty()).then(|| format!("{field}: {}", messages.join(", ")))
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    let more = lines.len().saturating_sub(LIST_CAP);
    let mut shown = lines.into_iter().take(LIST_CAP).collect::<Vec<_>>().join("; ");
    if more > 0 {
        shown.push_str(&format!("; and {more} more"));
    }
    (!shown.is_empty()).then_some(shown)
}

fn problem(item: &Value) -> Option<String> {
    let object = match item {
        Value::String(text) => return fit(text),
        Value::Object(object) => object,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return None,
    };
    let message = ["msg", "message", "detail", "reason", "description", "title", "error", "code"]
        .iter()
        .find_map(|key| object.get(*key).and_then(Value::as_str).and_then(fit))?;
    Some(match place(object) {
        Some(place) => format!("{place}: {message}"),
        None => message,
    })
}

/// Which field a problem is about, in any of the usual forms.
fn place(problem: &Map<String, Value>) -> Option<String> {
    let source = problem.get("source").and_then(Value::as_object);
    let inner = source.and_then(|source| source.get("pointer").or_else(|| source.get("parameter")));
    let place = inner.or_else(|| {
        ["loc", "field", "path", "param", "parameter", "property", "pointer", "instancePath", "name"]
            .iter()
            .find_map(|key| problem.get(*key))
    })?;
    let text = match place {
        Value::String(text) => text.trim_start_matches('#').trim_matches('/').replace('/', "."),
        Value::Array(parts) => {
            let parts: Vec<String> = parts
                .iter()
                .map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned))
                .collect();
            match parts.as_slice() {
                // Where the argument went is not what the model calls it.
                [place, rest @ ..]
                    if !rest.is_empty()
                        && ["body", "query", "path", "header", "cookie"].contains(&place.as_str()) =>
                {
                    rest.join(".")
                }
                parts => parts.join("."),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    (!text.is_empty()).then_some(text)
}

fn code_of(value: &Value, status: u16) -> Option<String> {
    let object = value.as_object()?;
    let text = |object: &Map<String, Value>, key: &str| match object.get(key)? {
        Value::String(text) if !text.is_empty() && text != "about:blank" => Some(text.clone()),
        Value::Number(number) if number.as_u64() != Some(status.into()) => Some(number.to_string()),
        _ => None,
    };
    if let Some(error) = object.get("error").and_then(Value::as_object) {
        return text(error, "code").or_else(|| text(error, "type")).or_else(|| text(error, "status"));
    }
    let oauth = object.get("error_description").and_then(|_| text(object, "error"));
    oauth.or_else(|| ["code", "error_code", "errorCode", "type"].iter().find_map(|key| text(object, key)))
}

/// The JSON without what is written for the service's own developers.
fn without_internals(value: &Value) -> Option<String> {
    let kept = match value {
        Value::Object(object) => {
            let kept: Map<String, Value> = object
                .iter()
                .filter(|(key, _)| !INTERNAL.contains(&key.to_ascii_lowercase().as_str()))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            if kept.is_empty() {
                return None;
            }
            Value::Object(kept)
        }
        other => other.clone(),
    };
    let text = kept.to_string();
    (!is_trace(&text.replace("\\n", "\n"))).then_some(text)
}

/// A message without the stack trace behind it; nothing where it is a page, or a trace alone.
fn fit(text: &str) -> Option<String> {
    if looks_like_html(text) {
        return None;
    }
    let kept: Vec<&str> = text.lines().take_while(|line| !is_trace_line(line)).collect();
    let kept = kept.join("\n");
    let kept = kept.trim();
    (!kept.is_empty()).then(|| kept.to_owned())
}

fn is_trace(text: &str) -> bool {
    text.lines().any(is_trace_line)
}

fn is_trace_line(line: &str) -> bool {
    let line = line.trim_start();
    (line.starts_with("at ") && (line.contains('(') || line.contains(".rs:") || line.contains(".js:")))
        || line.starts_with("Traceback (most recent call last)")
        || (line.starts_with("File \"") && line.contains(", line "))
        || line.starts_with("stack backtrace:")
        || (line.starts_with("goroutine ") && line.ends_with(":"))
}

#[cfg(test)]
mod tests;
