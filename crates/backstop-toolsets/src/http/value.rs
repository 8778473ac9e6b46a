//! Arguments as text on the wire.

use backstop_core::ToolError;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// All but the characters that stand for themselves anywhere in a URL (RFC 3986, unreserved).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The same, but for the reserved characters that can stand in a query without ending a pair.
const ENCODED_RESERVED: &AsciiSet = &ENCODED
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b';');

pub(super) fn encoded_reserved(text: &str) -> String {
    utf8_percent_encode(text, ENCODED_RESERVED).to_string()
}

pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// The error for an argument that can't go where it belongs.
pub(super) fn unfit(pointer: &str, words: &str) -> ToolError {
    ToolError::invalid_arguments(format!("argument at `{pointer}` {words}")).at(pointer).say(words)
}

/// The text of a value that is neither null nor made of others.
pub(super) fn scalar(value: &Value) -> Option<String> {
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

/// Texts for the path, encoded: they stay inside of their segment, whatever they hold.
///
/// # Errors
///
/// `invalid_arguments` for what would be nothing, or a `.` or `..` segment of the path once the service decodes it.
pub(super) fn checked_for_path(texts: &[String], pointer: &str) -> Result<Vec<String>, ToolError> {
    if texts.is_empty() || texts.iter().any(|text| text.trim().is_empty()) {
        return Err(unfit(pointer, "must not be empty"));
    }
    for text in texts {
        if text.chars().any(char::is_control) {
            return Err(unfit(pointer, "must not hold line breaks or other control characters"));
        }
        if text.split(['/', '\\']).any(|segment| matches!(segment.trim(), "." | "..")) {
            return Err(unfit(pointer, "must not be or hold a \".\" or \"..\" part"));
        }
    }
    Ok(texts.iter().map(|text| encoded(text)).collect())
}
