//! What an error body says to its caller, if it was written for one.
//!
//! ```text
//! words ── problems   lists and mappings of what is wrong, in any of the usual forms
//!       ├─ fields     from the service's name of a field to the argument that it is
//!       └─ plain      texts: without markup, without what is for the service's own developers
//! ```

mod fields;
mod plain;
mod problems;

use backstop_core::text::head;
use serde_json::{Map, Value};

pub(crate) use self::plain::fit;
use self::{
    fields::Fields,
    plain::{is_trace, title},
    problems::{Problems, in_one},
};
use super::{
    Endpoint,
    media::{Media, looks_like_html},
};

/// Characters of a plain text that is still a message.
const PLAIN_CAP: usize = 500;
/// Bytes of a JSON body of no known form that are shown.
const JSON_CAP: usize = 500;
/// Errors inside errors that are looked into.
const DEPTH: usize = 6;
/// Members that are written for the service's own developers.
const INTERNAL: [&str; 11] = [
    "trace",
    "traceback",
    "stack",
    "stacktrace",
    "stack_trace",
    "exception",
    "debug",
    "debuginfo",
    "debug_info",
    "innererror",
    "inner_error",
];
/// Where messages stand, the best one first.
const HEADLINES: [&str; 11] = [
    "detail",
    "message",
    "Message",
    "errorMessage",
    "error_message",
    "error_description",
    "reason",
    "title",
    "msg",
    "description",
    "defaultMessage",
];
/// Where lists of problems stand.
const LISTS: [&str; 18] = [
    "errors",
    "detail",
    "details",
    "issues",
    "invalid-params",
    "invalid_params",
    "invalidParams",
    "violations",
    "fieldErrors",
    "field_errors",
    "fieldViolations",
    "validation",
    "validationErrors",
    "validation_errors",
    "messages",
    "message",
    "_embedded",
    "failures",
];

/// What a body says.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Said {
    pub(crate) words: Option<String>,
    /// The service's own code for the error.
    pub(crate) code: Option<String>,
    /// The one argument that the body names, as a JSON Pointer.
    pub(crate) argument: Option<String>,
}

/// The body of an answer that is an error.
#[derive(Clone, Copy)]
pub(crate) struct ErrorBody<'a> {
    pub(crate) media: &'a Media,
    pub(crate) text: &'a str,
    pub(crate) cut: bool,
    pub(crate) status: u16,
    /// Whether JSON of no known form is for the caller too.
    pub(crate) is_for_caller: bool,
}

/// Reads an error body. Of pages for people nothing but their title, and of stack traces nothing is ever words for
/// a caller.
pub(crate) fn said_in(body: &ErrorBody<'_>, endpoint: &Endpoint) -> Said {
    let text = body.text.trim();
    if text.is_empty() {
        return Said::default();
    }
    let is_news = |words: &String| !is_name_of(body.status, words);
    if body.media.is_html() || looks_like_html(text) {
        return Said { words: title(text).filter(is_news), ..Said::default() };
    }
    if !body.cut
        && (body.media.is_json() || text.starts_with(['{', '[', '"']))
        && let Ok(value) = serde_json::from_str::<Value>(text)
    {
        let mut reader = Reader { problems: Problems::new(Fields::of(endpoint)), status: body.status };
        let words = reader.said_by(&value, 0).or_else(|| {
            let shown = body.is_for_caller.then(|| without_internals(&value)).flatten();
            shown.map(|shown| head(&shown, JSON_CAP))
        });
        let argument = reader.problems.only_argument();
        return Said { words: words.filter(is_news), code: code_of(&value, body.status), argument };
    }
    let plain = body.media.is_plain() || body.media.essence.is_empty();
    let short = plain && !body.cut && text.chars().count() <= PLAIN_CAP;
    Said { words: short.then(|| fit(text)).flatten().filter(is_news), ..Said::default() }
}

/// Whether words are the name of a status again, as in `404 Not Found`.
fn is_name_of(status: u16, words: &str) -> bool {
    let letters = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphabetic()).flat_map(char::to_lowercase).collect()
    };
    let known = reqwest::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let (name, words) = (letters(known.unwrap_or_default()), letters(words));
    words.strip_prefix("error").unwrap_or(&words) == name
}

struct Reader<'a> {
    problems: Problems<'a>,
    status: u16,
}

impl Reader<'_> {
    fn said_by(&mut self, value: &Value, depth: usize) -> Option<String> {
        if depth > DEPTH {
            return None;
        }
        let object = match value {
            Value::String(text) => return self.message(text, depth),
            Value::Array(_) => return in_one(self.problems.of(value)),
            Value::Object(object) => object,
            Value::Null | Value::Bool(_) | Value::Number(_) => return None,
        };
        let headline = self.headline(object, depth);
        self.problems.named(object);
        let mut listed = Vec::new();
        for key in LISTS {
            let Some(list) = object.get(key).filter(|list| list.is_array() || list.is_object()) else {
                continue;
            };
            // Some say the same again for each problem.
            let lines = self.problems.of(list).into_iter();
            listed = lines.filter(|line| headline.as_ref().is_none_or(|said| !said.contains(line))).collect();
            if !listed.is_empty() {
                break;
            }
        }
        if headline.is_none() && listed.is_empty() && is_by_field(object) {
            listed = self.problems.of(value);
        }
        match (headline, in_one(listed)) {
            (Some(headline), Some(list)) if is_name_of(self.status, &headline) => Some(list),
            (Some(headline), Some(list)) => {
                let colon = if headline.ends_with(['.', ':', '!']) { "" } else { ":" };
                Some(format!("{headline}{colon} {list}"))
            }
            (headline, list) => headline.or(list),
        }
    }

    fn headline(&mut self, object: &Map<String, Value>, depth: usize) -> Option<String> {
        let text = |reader: &mut Self, key: &str| {
            let text = object.get(key).and_then(Value::as_str)?;
            reader.message(text, depth)
        };
        let (best, rest) = HEADLINES.split_at(5);
        best.iter()
            .find_map(|key| text(self, key))
            .or_else(|| {
                let inner = ["error", "Error", "fault"].iter().find_map(|key| object.get(*key));
                self.said_by(inner.filter(|inner| inner.is_object())?, depth + 1)
            })
            .or_else(|| text(self, "error_description"))
            .or_else(|| text(self, "error"))
            .or_else(|| rest.iter().find_map(|key| text(self, key)))
    }

    /// A message; some are JSON themselves.
    fn message(&mut self, text: &str, depth: usize) -> Option<String> {
        if text.trim_start().starts_with(['[', '{'])
            && let Ok(value) = serde_json::from_str::<Value>(text)
            && let Some(said) = self.said_by(&value, depth + 1)
        {
            return Some(said);
        }
        fit(text)
    }
}

/// Whether each member is a list of messages: `{"qty": ["is too high"]}`.
fn is_by_field(object: &Map<String, Value>) -> bool {
    let is_message = |item: &Value| item.is_string() || item.is_object();
    let is_list =
        |value: &Value| value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(is_message));
    !object.is_empty() && object.values().all(is_list)
}

fn code_of(value: &Value, status: u16) -> Option<String> {
    let object = value.as_object()?;
    let text = |object: &Map<String, Value>, key: &str| match object.get(key)? {
        Value::String(text) if !text.is_empty() && text != "about:blank" && !is_of_http(text) => {
            Some(text.clone())
        }
        Value::Number(number) if number.as_u64() != Some(status.into()) => Some(number.to_string()),
        _ => None,
    };
    if let Some(error) = object.get("error").and_then(Value::as_object) {
        return text(error, "code").or_else(|| text(error, "type")).or_else(|| text(error, "status"));
    }
    let oauth = object.get("error_description").and_then(|_| text(object, "error"));
    let shape = || {
        let shape = text(object, "__type")?;
        Some(shape.rsplit('#').next().unwrap_or_default().to_owned())
    };
    let first = || {
        let first = object.get("errors")?.as_array()?.first()?.as_object()?;
        let extensions = first.get("extensions").and_then(Value::as_object);
        extensions.and_then(|extensions| text(extensions, "code")).or_else(|| text(first, "code"))
    };
    oauth
        .or_else(|| ["code", "error_code", "errorCode", "Code"].iter().find_map(|key| text(object, key)))
        .or_else(shape)
        .or_else(|| text(object, "type"))
        .or_else(first)
}

/// Whether a type of problem is that of HTTP itself, such as `https://tools.ietf.org/html/rfc9110#section-15.5.1`.
fn is_of_http(kind: &str) -> bool {
    kind.starts_with("http")
        && ["rfc9110", "rfc7231", "rfc4918"].iter().any(|document| kind.contains(document))
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

#[cfg(test)]
mod tests;
