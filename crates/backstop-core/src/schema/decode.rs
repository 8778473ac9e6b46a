//! From the arguments text of a call to one JSON object, strictly.

use serde_json::{Map, Value};

use super::{
    CompiledSchema, expected,
    mend::one_reading,
    strict::{self, Flaw, FlawKind},
};
use crate::{
    error::{ToolError, ToolErrorKind},
    text::escaped,
};

/// Bytes of the arguments text that are echoed.
const ECHO_CAP: usize = 200;

/// Arguments that are not one JSON object, what to do about it, and the object they may stand for.
pub(crate) struct Malformed {
    pub(crate) error: ToolError,
    pub(crate) step: &'static str,
    pub(crate) one_reading: Option<Map<String, Value>>,
}

/// Parses the arguments text of a call of `tool`; what two readers could take differently is refused. Blank text is the empty object: several providers send it for
/// a tool without parameters. Where the tool takes secrets, nothing of the text is echoed.
pub(crate) fn decode(
    tool: &str,
    schema: &CompiledSchema,
    raw: &str,
) -> Result<Map<String, Value>, Box<Malformed>> {
    if raw.trim().is_empty() || raw.trim() == "null" {
        return Ok(Map::new());
    }
    let (flaw, what, detail) = match strict::value(raw) {
        Ok(Value::Object(arguments)) => return Ok(arguments),
        Ok(other) => (
            FlawKind::NotJson,
            format!(
                "The arguments of tool \"{tool}\" are not a JSON object: got {}",
                expected::got_with_type(&other, Some(schema.root()))
            ),
            "the arguments are JSON but not an object".to_owned(),
        ),
        Err(Flaw { kind, reason, line, column }) => {
            let place = match line {
                0 | 1 => format!("column {column}"),
                line => format!("line {line} column {column}"),
            };
            let are = match kind {
                FlawKind::NotJson => "are not valid JSON",
                FlawKind::GivenTwice => "can be read in two ways",
                FlawKind::TooManyDigits => "can't be taken without loss",
            };
            let got = if schema.has_secrets() { expected::NOT_SHOWN.into() } else { escaped(raw, ECHO_CAP) };
            (
                kind,
                format!("The arguments of tool \"{tool}\" {are}: {reason} at {place}; got {got}"),
                format!("the arguments {are}: {reason} at {place}"),
            )
        }
    };
    let step = match flaw {
        FlawKind::NotJson => "Send all arguments again as one JSON object.",
        FlawKind::GivenTwice => "Send all arguments again as one JSON object, each of them once.",
        FlawKind::TooManyDigits => {
            "Send all arguments again as one JSON object, with this number in quotes or with fewer digits."
        }
    };
    let error = ToolError::new(ToolErrorKind::MalformedArguments, detail).with_words(what);
    Err(Box::new(Malformed { error, step, one_reading: one_reading(raw) }))
}
