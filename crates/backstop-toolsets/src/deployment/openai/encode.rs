//! Messages and tools as the bytes of a request. Each is written once in the life of a run or a catalog, straight
//! into the buffer that every later request reuses.

use std::borrow::Cow;

use backstop_core::{
    CatalogEntry,
    message::{Message, PastCall},
};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value, json};

/// The name of this wire form in the caches of transcripts and catalogs.
pub(super) const FORM: &str = "openai.chat";
/// Where a message keeps what the provider sent along with single calls, one entry per call: some providers sign
/// a call and want the signature back with it.
pub(super) const CALL_EXTRA: &str = "tool_call_extra";
/// Fields of an assistant message that `extra` can't set.
const OURS: [&str; 4] = ["role", "content", "tool_calls", CALL_EXTRA];
/// Levels of a schema that are looked into.
const DEPTH: usize = 64;

/// Appends one message, with a comma before all but the first.
pub(super) fn message(message: &Message, out: &mut Vec<u8>) {
    if !out.is_empty() {
        out.push(b',');
    }
    match message {
        Message::System { text } => write(out, &Plain { role: "system", content: text }),
        Message::User { text } => write(out, &Plain { role: "user", content: text }),
        Message::Assistant { text, calls, extra } => {
            write(out, &Assistant { text: text.as_deref(), calls, extra });
        }
        Message::Tool { call, content } => {
            let content = content.model_text();
            write(out, &ToolResult { role: "tool", tool_call_id: call.as_str(), content: &content });
        }
    }
}

/// The array of all tools.
pub(super) fn tools(entries: &[CatalogEntry]) -> Vec<u8> {
    let mut out = Vec::new();
    let tools: Vec<_> = entries
        .iter()
        .map(|entry| Tool {
            r#type: "function",
            function: Definition {
                name: &entry.name,
                description: &entry.spec.description,
                parameters: parameters(&entry.spec.input_schema),
            },
        })
        .collect();
    write(&mut out, &tools);
    out
}

#[expect(clippy::expect_used, reason = "text, and maps whose keys are text, always serialise into a Vec")]
fn write(out: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(out, value).expect("serialises");
}

#[derive(Serialize)]
struct Plain<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct ToolResult<'a> {
    role: &'static str,
    tool_call_id: &'a str,
    content: &'a str,
}

struct Assistant<'a> {
    text: Option<&'a str>,
    calls: &'a [PastCall],
    extra: &'a Map<String, Value>,
}

impl Serialize for Assistant<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", "assistant")?;
        let text = self.text.filter(|text| !text.is_empty());
        // `null` is what all clients send beside calls; without calls some servers refuse it.
        map.serialize_entry("content", &if self.calls.is_empty() { Some(text.unwrap_or("")) } else { text })?;
        if !self.calls.is_empty() {
            let extras = self.extra.get(CALL_EXTRA).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            map.serialize_entry("tool_calls", &Calls { calls: self.calls, extras })?;
        }
        for (field, value) in self.extra {
            if !OURS.contains(&field.as_str()) {
                map.serialize_entry(field, value)?;
            }
        }
        map.end()
    }
}

struct Calls<'a> {
    calls: &'a [PastCall],
    extras: &'a [Value],
}

impl Serialize for Calls<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.calls.iter().enumerate().map(|(index, call)| Call {
            id: call.id.as_str(),
            r#type: "function",
            function: Function { name: &call.name, arguments: &call.arguments },
            extra: self.extras.get(index).and_then(Value::as_object),
        }))
    }
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
    #[serde(flatten)]
    extra: Option<&'a Map<String, Value>>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Definition<'a>,
}

#[derive(Serialize)]
struct Definition<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: Cow<'a, Value>,
}

/// The input schema as servers take it. They refuse the whole request over one tool without parameters, a schema
/// without `type` or an array without `items`.
fn parameters(schema: &Value) -> Cow<'_, Value> {
    let Some(object) = schema.as_object().filter(|object| !object.is_empty()) else {
        return Cow::Owned(json!({"type": "object", "properties": {}}));
    };
    let mut mended = object.clone();
    if !mended.contains_key("type") {
        mended.insert("type".into(), "object".into());
    }
    if mended.get("type").is_some_and(|kind| kind == "object") && !mended.contains_key("properties") {
        mended.insert("properties".into(), json!({}));
    }
    let mut mended = Value::Object(mended);
    add_items(&mut mended, DEPTH);
    if mended == *schema { Cow::Borrowed(schema) } else { Cow::Owned(mended) }
}

/// Gives each array of a schema its `items`. Looks only where schemas stand, never into values such as defaults.
fn add_items(schema: &mut Value, depth: usize) {
    let (Some(object), Some(depth)) = (schema.as_object_mut(), depth.checked_sub(1)) else {
        return;
    };
    let is_array = match object.get("type") {
        Some(Value::String(kind)) => kind == "array",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        _ => false,
    };
    if is_array && !object.contains_key("items") && !object.contains_key("prefixItems") {
        object.insert("items".into(), json!({}));
    }
    for (keyword, value) in object.iter_mut() {
        match (keyword.as_str(), value) {
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(schemas),
            ) => {
                schemas.values_mut().for_each(|schema| add_items(schema, depth));
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(|schema| add_items(schema, depth));
            }
            (
                "items"
                | "additionalProperties"
                | "unevaluatedItems"
                | "unevaluatedProperties"
                | "contains"
                | "not"
                | "if"
                | "then"
                | "else"
                | "propertyNames",
                schema,
            ) => add_items(schema, depth),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_gets_what_servers_insist_on_and_nothing_else() {
        let cases = [
            (Value::Null, json!({"type": "object", "properties": {}})),
            (json!(true), json!({"type": "object", "properties": {}})),
            (json!({}), json!({"type": "object", "properties": {}})),
            (json!({"type": "object"}), json!({"type": "object", "properties": {}})),
            (
                json!({"properties": {"a": {"type": "string"}}}),
                json!({"properties": {"a": {"type": "string"}}, "type": "object"}),
            ),
            (
                json!({"type": "object", "properties": {
                    "formats": {"type": ["array", "null"], "default": [{"type": "array"}]},
                    "type": {"anyOf": [{"type": "array"}, {"type": "array", "items": {"type": "array"}}]},
                    "free": true,
                }}),
                json!({"type": "object", "properties": {
                    "formats": {"type": ["array", "null"], "default": [{"type": "array"}], "items": {}},
                    "type": {"anyOf": [{"type": "array", "items": {}}, {"type": "array", "items": {"type": "array", "items": {}}}]},
                    "free": true,
                }}),
            ),
        ];
        for (schema, expected) in cases {
            assert_eq!(*parameters(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn a_good_schema_is_sent_as_it_is() {
        let schema =
            json!({"type": "object", "properties": {"a": {"type": "array", "items": {}}}, "required": ["a"]});
        assert!(matches!(parameters(&schema), Cow::Borrowed(_)));
    }
}
