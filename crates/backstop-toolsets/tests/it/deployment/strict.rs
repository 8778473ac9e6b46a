//! Servers that refuse a whole request because of one schema, each in its own way.

use backstop_toolsets::deployment::SchemaProfile;
use serde_json::Value;

/// What a server refuses in a schema, as its error; the checks are the servers' own, not ours.
pub(super) type Strict = fn(&Value, &str) -> Result<(), String>;

/// Calls `check` on each schema in `schema`, wherever schemas stand.
pub(super) fn each(schema: &Value, at: &str, check: Strict) -> Result<(), String> {
    check(schema, at)?;
    for keyword in ["properties", "$defs", "patternProperties"] {
        for (name, schema) in schema.get(keyword).and_then(Value::as_object).into_iter().flatten() {
            each(schema, &format!("{at}/{keyword}/{name}"), check)?;
        }
    }
    for keyword in ["items", "additionalProperties", "not"] {
        if let Some(schema) = schema.get(keyword).filter(|schema| keyword == "items" || schema.is_object()) {
            each(schema, &format!("{at}/{keyword}"), check)?;
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        for schema in schema.get(keyword).and_then(Value::as_array).into_iter().flatten() {
            each(schema, &format!("{at}/{keyword}"), check)?;
        }
    }
    Ok(())
}

fn refuse(wrong: bool, what: &str, at: &str) -> Result<(), String> {
    if wrong { Err(format!("{what} at `{at}`")) } else { Ok(()) }
}

fn has(schema: &Value, keywords: &[&str]) -> bool {
    keywords.iter().any(|keyword| schema.get(keyword).is_some())
}

fn pattern(schema: &Value) -> &str {
    schema.get("pattern").and_then(Value::as_str).unwrap_or("^$")
}

pub(super) fn like_openai(schema: &Value, at: &str) -> Result<(), String> {
    let is_array = schema["type"] == "array";
    refuse(is_array && !has(schema, &["items", "prefixItems"]), "array schema missing items", at)?;
    refuse(pattern(schema).contains("(?"), "regex lookaround is not supported", at)?;
    refuse(
        at.is_empty() && (schema["type"] != "object" || !has(schema, &["properties"])),
        "not an object",
        at,
    )?;
    refuse(
        at.is_empty() && has(schema, &["anyOf", "oneOf", "allOf", "enum", "not"]),
        "choice at the top level",
        at,
    )
}

pub(super) fn like_gemini(schema: &Value, at: &str) -> Result<(), String> {
    const FIELDS: [&str; 17] = [
        "type",
        "title",
        "description",
        "enum",
        "format",
        "pattern",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "items",
        "minItems",
        "maxItems",
        "properties",
        "required",
        "anyOf",
        "default",
    ];
    let Some(object) = schema.as_object() else { return Err(format!("not an object at `{at}`")) };
    refuse(!object.keys().all(|keyword| FIELDS.contains(&keyword.as_str())), "Unknown name", at)?;
    refuse(!has(schema, &["type", "anyOf"]), "type: must be specified", at)?;
    refuse(schema.get("type").is_some_and(|kind| !kind.is_string()), "cannot start list", at)?;
    refuse(schema["type"] == "array" && !has(schema, &["items"]), "items: missing field", at)?;
    refuse(
        schema["type"] != "object" && has(schema, &["properties", "required"]),
        "only for OBJECT type",
        at,
    )?;
    refuse(schema["type"] != "string" && has(schema, &["enum"]), "enum: only for STRING type", at)?;
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let undeclared =
        required.filter(|name| schema["properties"].get(name.as_str().unwrap()).is_none()).count();
    refuse(undeclared > 0, "required: property is not defined", at)
}

pub(super) fn like_llama_cpp(schema: &Value, at: &str) -> Result<(), String> {
    let kinds = ["type", "enum", "const", "anyOf", "properties", "$ref"];
    refuse(!schema.is_object() || !has(schema, &kinds), "Unrecognized schema", at)?;
    refuse(has(schema, &["$ref"]), "Unsupported ref", at)?;
    let pattern = pattern(schema);
    let anchored = pattern.starts_with('^') && pattern.ends_with('$');
    refuse(!anchored || pattern.contains("(?") || pattern.contains("\\d"), "failed to parse grammar", at)
}

pub(super) fn like_the_strictest(schema: &Value, at: &str) -> Result<(), String> {
    refuse(
        has(schema, &["$ref", "$defs", "pattern", "format", "default", "oneOf", "allOf"]),
        "unknown keyword",
        at,
    )?;
    like_openai(schema, at)?;
    like_gemini(schema, at)?;
    like_llama_cpp(schema, at)
}

fn strict(profile: SchemaProfile) -> Strict {
    match profile.name() {
        "openai" => like_openai,
        "gemini" => like_gemini,
        "llama_cpp" => like_llama_cpp,
        _ => like_the_strictest,
    }
}

pub(super) fn accepted(profile: SchemaProfile, schema: &Value) -> Result<(), String> {
    each(schema, "", strict(profile))
}
