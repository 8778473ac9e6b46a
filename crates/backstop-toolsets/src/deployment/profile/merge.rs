//! Several schemas for one value made into one.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

/// Alternatives of one property at most; beyond them it is any value.
const ALTERNATIVES: usize = 16;
/// Values of one property at most that alternatives bring together; beyond them it is any value.
const VALUES: usize = 256;
/// Levels of properties that are made into one.
const LEVELS: usize = 32;

/// Adds to `into` what it does not say yet.
pub(super) fn fill(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (keyword, value) in from {
        into.entry(keyword).or_insert(value);
    }
}

/// A value must fit both. What `into` says holds; properties and required names are brought together.
pub(super) fn all_of(into: &mut Map<String, Value>, from: Map<String, Value>) {
    both(into, from, 0);
}

fn both(into: &mut Map<String, Value>, from: Map<String, Value>, level: usize) {
    for (keyword, value) in from {
        match (keyword.as_str(), into.get_mut(&keyword), value) {
            (_, None, value) => {
                into.insert(keyword, value);
            }
            ("properties", Some(Value::Object(properties)), Value::Object(more)) => {
                for (name, property) in more {
                    match (properties.get_mut(&name), property) {
                        (Some(Value::Object(property)), Value::Object(more)) if level < LEVELS => {
                            both(property, more, level + 1);
                        }
                        (Some(_), _) => {}
                        (None, property) => {
                            properties.insert(name, property);
                        }
                    }
                }
            }
            ("required", Some(Value::Array(names)), Value::Array(more)) => {
                let known: HashSet<Value> = names.iter().cloned().collect();
                names.extend(more.into_iter().filter(|name| !known.contains(name)));
            }
            ("allOf", Some(Value::Array(schemas)), Value::Array(more)) => schemas.extend(more),
            (_, Some(_), _) => {}
        }
    }
}

/// A value must fit `into` and one of `alternatives`: all their properties, of which only those are required that
/// each alternative requires.
pub(super) fn any_of(into: &mut Map<String, Value>, alternatives: Vec<Map<String, Value>>) {
    let mut properties: Map<String, Value> = Map::new();
    let mut required: Option<Vec<Value>> = None;
    for mut alternative in alternatives {
        if let Some(Value::Object(more)) = alternative.shift_remove("properties") {
            for (name, property) in more {
                match properties.get_mut(&name) {
                    Some(known) => either(known, property),
                    None => {
                        properties.insert(name, property);
                    }
                }
            }
        }
        let names = match alternative.shift_remove("required") {
            Some(Value::Array(names)) => names,
            _ => Vec::new(),
        };
        required = Some(match required {
            None => names,
            Some(known) => {
                let names: HashSet<Value> = names.into_iter().collect();
                known.into_iter().filter(|name| names.contains(name)).collect()
            }
        });
    }
    let mut made = Map::new();
    if !properties.is_empty() {
        made.insert("properties".into(), properties.into());
    }
    if let Some(required) = required.filter(|required| !required.is_empty()) {
        made.insert("required".into(), required.into());
    }
    all_of(into, made);
}

/// Makes `known` a schema for what fits it or `other`.
fn either(known: &mut Value, other: Value) {
    if *known == other || *known == json!({}) {
        return;
    }
    if other == json!({}) {
        *known = other;
        return;
    }
    // What tells alternatives apart is a constant in each.
    if let (Some(mut values), Some(more)) = (values(known), values(&other))
        && let Some(object) = known.as_object_mut()
    {
        let more: Vec<Value> = more.into_iter().filter(|value| !values.contains(value)).collect();
        values.extend(more);
        if values.len() > VALUES {
            *known = json!({});
            return;
        }
        object.shift_remove("const");
        object.insert("enum".into(), values.into());
        return;
    }
    let is_choice = known.as_object().is_some_and(|known| known.len() == 1);
    match known.get_mut("anyOf").and_then(Value::as_array_mut).filter(|_| is_choice) {
        Some(choice) if choice.contains(&other) => {}
        Some(choice) if choice.len() < ALTERNATIVES => choice.push(other),
        Some(_) => *known = json!({}),
        None => *known = json!({"anyOf": [known.take(), other]}),
    }
}

/// The texts that a schema allows, where that is all it says.
fn values(schema: &Value) -> Option<Vec<Value>> {
    let object = schema.as_object()?;
    let is_all =
        |keyword: &String| matches!(keyword.as_str(), "enum" | "const" | "type" | "description" | "title");
    let listed = object.get("enum").and_then(Value::as_array).cloned();
    let values = listed.or_else(|| Some(vec![object.get("const")?.clone()]))?;
    (object.keys().all(is_all) && values.iter().all(Value::is_string)).then_some(values)
}
