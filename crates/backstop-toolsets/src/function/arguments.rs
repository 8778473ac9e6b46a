//! From arguments that fit the schema to the type that the function takes.

use backstop_core::ToolError;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use super::{
    explain::{self, At},
    schema::is_secret,
};
use crate::pointer;

/// The typed arguments. `unit` is set for types that serde writes as null.
///
/// # Errors
///
/// `invalid_arguments` with the place of the argument, for types that are stricter than their schema.
pub(super) fn typed<A: DeserializeOwned>(
    arguments: &Map<String, Value>,
    schema: &Value,
    unit: bool,
) -> Result<A, ToolError> {
    if unit {
        return A::deserialize(Value::Null).map_err(|cause| {
            ToolError::internal("a type without fields does not deserialise from null").with_source(cause)
        });
    }
    // The path is only kept track of when it is needed.
    if let Ok(typed) = A::deserialize(arguments) {
        return Ok(typed);
    }
    // JSON Schema counts 1.0 as an integer, serde does not.
    let whole = Value::Object(arguments.iter().map(|(key, value)| (key.clone(), whole(value))).collect());
    serde_path_to_error::deserialize(&whole).map_err(|error| unfit(&error, &whole, schema))
}

/// `value` with each float that is a whole number as an integer.
fn whole(value: &Value) -> Value {
    /// Above this, floats are too coarse to mean one integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => match number.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "whole and within the exact range")]
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT => {
                Value::from(float as i64)
            }
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(whole).collect(),
        Value::Object(object) => {
            Value::Object(object.iter().map(|(key, value)| (key.clone(), whole(value))).collect())
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}

fn unfit(
    error: &serde_path_to_error::Error<serde_json::Error>,
    arguments: &Value,
    schema: &Value,
) -> ToolError {
    let (mut pointer, value) = place(error.path(), arguments);
    let explanation = explain::explain(&error.inner().to_string(), value);
    let words = match &explanation.at {
        At::Value if !is_secret(schema, &pointer) => {
            format!("{}; got {}{}", explanation.must, explain::quoted(value), explanation.meant)
        }
        At::Value => explanation.must,
        At::Missing(field) => {
            pointer = pointer::child(&pointer, field);
            explanation.must
        }
        At::Unknown(field) => {
            // The path mostly goes up to it already.
            if pointer.rsplit('/').next() != Some(field) || value.get(field).is_some() {
                pointer = pointer::child(&pointer, field);
            }
            explanation.must + &explanation.meant
        }
    };
    let detail = format!("the typed arguments do not deserialise at `{pointer}`: {}", error.inner());
    let error = ToolError::invalid_arguments(detail).say(words);
    if pointer.is_empty() { error } else { error.at(pointer) }
}

/// The place as a JSON Pointer, as far as the arguments go, and what is there.
fn place<'a>(path: &serde_path_to_error::Path, arguments: &'a Value) -> (String, &'a Value) {
    let (mut pointer, mut value) = (String::new(), arguments);
    for segment in path {
        let (token, next) = match segment {
            Segment::Seq { index } => (index.to_string(), value.get(index)),
            // The variant of an enum is a key of the JSON only where it is written as one.
            Segment::Map { key } | Segment::Enum { variant: key } => (key.clone(), value.get(key)),
            Segment::Unknown => break,
        };
        let Some(next) = next else { continue };
        pointer = pointer::child(&pointer, &token);
        value = next;
    }
    (pointer, value)
}
