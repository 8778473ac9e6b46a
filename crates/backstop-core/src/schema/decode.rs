//! From the arguments text of a call to one JSON object, strictly.

use serde_json::{Map, Value};

use super::{CompiledSchema, expected, mend::one_reading};
use crate::{
    error::{ToolError, ToolErrorKind},
    text::escaped,
};

/// Bytes of the arguments text that are echoed.
const ECHO_CAP: usize = 200;

/// Arguments that are not one JSON object, and the object they may stand for.
pub(crate) struct Malformed {
    pub(crate) error: ToolError,
    pub(crate) one_reading: Option<Map<String, Value>>,
}

/// Parses the arguments text of a call of `tool`. Blank text is the empty object: several providers send it for
/// a tool without parameters. Where the tool takes secrets, nothing of the text is echoed.
pub(crate) fn decode(
    tool: &str,
    schema: &CompiledSchema,
    raw: &str,
) -> Result<Map<String, Value>, Box<Malformed>> {
    if raw.trim().is_empty() || raw.trim() == "null" {
        return Ok(Map::new());
    }
    let (what, detail) = match serde_json::from_str::<Value>(raw) {
        Ok(Value::Object(arguments)) => return Ok(arguments),
        Ok(other) => (
            format!(
                "The arguments of tool \"{tool}\" are not a JSON object: got {}",
                expected::got_with_type(&other, Some(schema.root()))
            ),
            "the arguments are JSON but not an object".to_owned(),
        ),
        Err(cause) => {
            let text = cause.to_string();
            let reason = text.split(" at line ").next().unwrap_or(&text);
            let place = match cause.line() {
                0 | 1 => format!("column {}", cause.column()),
                line => format!("line {line} column {}", cause.column()),
            };
            (
                format!(
                    "The arguments of tool \"{tool}\" are not valid JSON: {reason} at {place}; got {}",
                    if schema.has_secrets() { expected::NOT_SHOWN.into() } else { escaped(raw, ECHO_CAP) }
                ),
                format!("the arguments are not JSON: {reason} at {place}"),
            )
        }
    };
    let error = ToolError::new(ToolErrorKind::MalformedArguments, detail).with_words(what);
    Err(Box::new(Malformed { error, one_reading: one_reading(raw) }))
}
