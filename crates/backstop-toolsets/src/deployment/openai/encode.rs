//! Messages and tools as the bytes of a request. Each is written once in the life of a run or a catalog, straight
//! into the buffer that every later request reuses.

use backstop_core::{
    CatalogEntry,
    message::{Message, PastCall},
};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

use crate::deployment::profile::{NoText, SchemaProfile};

/// Where a message keeps what the provider sent along with single calls, one entry per call: some providers sign
/// a call and want the signature back with it.
pub(super) const CALL_EXTRA: &str = "tool_call_extra";
/// Fields of an assistant message that `extra` can't set.
const OURS: [&str; 4] = ["role", "content", "tool_calls", CALL_EXTRA];

/// Appends one message, with a comma before all but the first.
pub(super) fn message(profile: &SchemaProfile, message: &Message, out: &mut Vec<u8>) {
    if !out.is_empty() {
        out.push(b',');
    }
    match message {
        Message::System { text } => write(out, &Plain { role: "system", content: text }),
        Message::User { text } => write(out, &Plain { role: "user", content: text }),
        Message::Assistant { text, calls, extra } => {
            write(out, &Assistant { text: text.as_deref(), calls, extra, no_text: profile.no_text() });
        }
        Message::Tool { call, content } => {
            let content = content.model_text();
            write(out, &ToolResult { role: "tool", tool_call_id: call.as_str(), content: &content });
        }
    }
}

/// The array of all tools, or nothing where none of them can be sent. What is lost on the way is logged.
pub(super) fn tools(profile: &SchemaProfile, entries: &[CatalogEntry]) -> Vec<u8> {
    let mut tools = Vec::new();
    for entry in entries {
        let (parameters, notes) = profile.tool(entry);
        for note in notes {
            tracing::warn!(
                target: "backstop::schema",
                tool = %entry.name,
                toolset = %entry.toolset_name,
                profile = profile.name(),
                "{note}",
            );
        }
        let Some(parameters) = parameters else { continue };
        let description = &entry.spec.description;
        tools.push(Tool {
            r#type: "function",
            function: Definition { name: &entry.name, description, parameters },
        });
    }
    let mut out = Vec::new();
    if !tools.is_empty() {
        write(&mut out, &tools);
    }
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
    no_text: NoText,
}

impl Serialize for Assistant<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", "assistant")?;
        let text = self.text.filter(|text| !text.is_empty());
        // Without calls no server takes `null`.
        let nothing = if self.calls.is_empty() { NoText::Empty } else { self.no_text };
        let content = text.or(match nothing {
            NoText::Null => None,
            NoText::Empty => Some(""),
        });
        map.serialize_entry("content", &content)?;
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
    parameters: Value,
}
