//! Which types a schema is about.

use serde_json::{Map, Value};

/// Whether lists are among what a schema names as its type.
pub(super) fn is_array(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "array",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        _ => false,
    }
}

/// The types that a schema names, or that its keywords are about.
pub(super) fn types(object: &Map<String, Value>) -> Vec<&'static str> {
    const ALL: [&str; 7] = ["string", "integer", "number", "boolean", "object", "array", "null"];
    let known = |named: &Value| ALL.into_iter().find(|kind| named == kind);
    match object.get("type") {
        Some(Value::Array(named)) => {
            let mut kinds: Vec<&str> = Vec::new();
            for kind in named.iter().filter_map(known) {
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
            kinds
        }
        Some(named) => known(named).into_iter().collect(),
        None => {
            let about = |kind: &&str| object.keys().any(|keyword| is_about(keyword) == Some(kind));
            ["object", "array", "string", "number"]
                .iter()
                .find(|kind| about(kind))
                .copied()
                .into_iter()
                .collect()
        }
    }
}

/// The types of all alternatives; nothing where one is of any.
pub(super) fn types_of_all(choice: &[Map<String, Value>]) -> Option<Vec<&'static str>> {
    let mut all: Vec<&str> = Vec::new();
    for alternative in choice {
        let kinds = types(alternative);
        if kinds.is_empty() {
            return None;
        }
        all.extend(kinds);
    }
    all.sort_unstable();
    all.dedup();
    Some(all)
}

/// The type that a keyword is about; numbers of both kinds are `number`.
pub(super) fn is_about(keyword: &str) -> Option<&'static str> {
    Some(match keyword {
        "properties"
        | "required"
        | "additionalProperties"
        | "patternProperties"
        | "propertyNames"
        | "minProperties"
        | "maxProperties"
        | "unevaluatedProperties"
        | "dependentSchemas"
        | "dependentRequired" => "object",
        "items" | "prefixItems" | "contains" | "minItems" | "maxItems" | "uniqueItems" | "minContains"
        | "maxContains" | "unevaluatedItems" => "array",
        "pattern" | "minLength" | "maxLength" => "string",
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => "number",
        _ => return None,
    })
}

pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
