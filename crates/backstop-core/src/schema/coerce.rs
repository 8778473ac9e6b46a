//! Changes of arguments that a manifest may allow: declared, lossless, told to the model and written down.

use serde_json::{Map, Value};

use super::{CompiledSchema, place_in_words};

/// What may be changed about the arguments of a call before it is refused. Off unless declared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArgumentRules {
    /// Text that is almost JSON and has one reading is read as that: a code fence around it, a comma before a
    /// closing bracket, single quotes, an object in a JSON string.
    pub repair: bool,
    /// A value of the wrong type that stands for one of the right type is taken as that: `"5"`, `1.0`, `"true"`,
    /// an array or object as a JSON text. Never where a string is allowed.
    pub coerce: bool,
}

impl ArgumentRules {
    /// Allows repairing syntax.
    #[must_use]
    pub fn repair(mut self) -> Self {
        self.repair = true;
        self
    }

    /// Allows safe coercion.
    #[must_use]
    pub fn coerce(mut self) -> Self {
        self.coerce = true;
        self
    }
}

impl CompiledSchema {
    /// Changes values to the type that the schema wants, where that loses nothing; gives the places.
    pub(crate) fn coerce(&self, arguments: &mut Value) -> Vec<String> {
        let mut places = Vec::new();
        for problem in self.problems(arguments) {
            let to_another_type = problem.mend.filter(|mend| mend.is_from_text());
            if let Some(mend) = to_another_type
                && mend.apply(arguments).is_some()
            {
                places.push(place_in_words(&problem.pointer));
            }
        }
        whole_numbers(self.root(), arguments, "", 0, &mut places);
        places
    }
}

/// Nested schemas that are looked at for whole numbers.
const DEPTH: usize = 8;

/// Writes `1.0` as `1` where an integer is wanted: for JSON Schema they are the same, for most programs not.
fn whole_numbers(schema: &Value, value: &mut Value, pointer: &str, depth: usize, places: &mut Vec<String>) {
    /// From here on not every whole number is a float of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if depth > DEPTH {
        return;
    }
    match value {
        Value::Number(number) => {
            let whole = number
                .as_f64()
                .filter(|float| number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT);
            if let Some(float) = whole.filter(|_| schema.get("type").is_some_and(|kind| kind == "integer")) {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "whole and within the range of exact floats"
                )]
                let integer = float as i64;
                *value = integer.into();
                places.push(place_in_words(pointer));
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for (index, item) in items.iter_mut().enumerate() {
                    whole_numbers(schema, item, &format!("{pointer}/{index}"), depth + 1, places);
                }
            }
        }
        Value::Object(object) => {
            if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
                each_property(properties, object, pointer, depth, places);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn each_property(
    properties: &Map<String, Value>,
    object: &mut Map<String, Value>,
    pointer: &str,
    depth: usize,
    places: &mut Vec<String>,
) {
    for (name, schema) in properties {
        if let Some(value) = object.get_mut(name) {
            let at = format!("{pointer}/{}", super::violation::pointer_token(name));
            whole_numbers(schema, value, &at, depth + 1, places);
        }
    }
}
