//! Arguments as text on the wire.

use backstop_core::ToolError;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// All but the characters that stand for themselves anywhere in a URL (RFC 3986, unreserved).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// The error for an argument that can't go where it belongs.
pub(super) fn unfit(pointer: &str, words: &str) -> ToolError {
    ToolError::invalid_arguments(format!("argument at `{pointer}` {words}")).at(pointer).say(words)
}

/// The texts of a value: none of null, one of a scalar, one each of an array's items.
///
/// # Errors
///
/// `invalid_arguments` for an object, and for what is nested in an array.
pub(super) fn texts(value: &Value, pointer: &str) -> Result<Vec<String>, ToolError> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .filter(|(_, item)| !item.is_null())
            .map(|(index, item)| {
                let pointer = crate::pointer::child(pointer, &index.to_string());
                scalar(item).ok_or_else(|| unfit(&pointer, "must be a string, a number, true or false"))
            })
            .collect(),
        Value::Object(_) => Err(unfit(pointer, "must be a single value or a list of them, not an object")),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(scalar(value).into_iter().collect()),
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        // `7.0` is an integer to JSON Schema, but not to a service that reads it from a path.
        Value::Number(number) if number.is_f64() => {
            let text = number.to_string();
            Some(text.strip_suffix(".0").map(str::to_owned).unwrap_or(text))
        }
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A value for the path: it stays inside of its segment, whatever it holds.
///
/// # Errors
///
/// `invalid_arguments` for what would be nothing, or a `.` or `..` segment of the path once the service decodes it.
pub(super) fn for_path(value: &Value, pointer: &str) -> Result<String, ToolError> {
    let texts = texts(value, pointer)?;
    if texts.is_empty() || texts.iter().any(|text| text.trim().is_empty()) {
        return Err(unfit(pointer, "must not be empty"));
    }
    for text in &texts {
        if text.chars().any(char::is_control) {
            return Err(unfit(pointer, "must not hold line breaks or other control characters"));
        }
        if text.split(['/', '\\']).any(|segment| matches!(segment.trim(), "." | "..")) {
            return Err(unfit(pointer, "must not be or hold a \".\" or \"..\" part"));
        }
    }
    let encoded: Vec<String> = texts.iter().map(|text| encoded(text)).collect();
    Ok(encoded.join(","))
}

/// A value for a header; `None` where nothing is sent.
///
/// # Errors
///
/// `invalid_arguments` for what would end the header.
pub(super) fn for_header(value: &Value, pointer: &str) -> Result<Option<String>, ToolError> {
    let texts = texts(value, pointer)?;
    if texts.iter().flat_map(|text| text.chars()).any(char::is_control) {
        return Err(unfit(pointer, "must not hold line breaks or other control characters"));
    }
    Ok((!texts.is_empty()).then(|| texts.join(",")))
}
