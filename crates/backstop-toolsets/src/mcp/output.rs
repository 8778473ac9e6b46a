//! From the result of a call to an output or a typed error.

use std::sync::OnceLock;

use backstop_core::{
    Applied, ErrorClass, Part, ToolError, ToolErrorKind, ToolOutput, schema::CompiledSchema, text::escaped,
};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Map, Value};

use super::said::{Said, named_by, said};
use crate::http::{AnswerRules, Media, Seen, fit};

/// Bytes of a result that operators get to see.
const SHOWN_CAP: usize = 500;

/// What a tool promises of its results.
#[derive(Debug)]
pub(super) struct Promise {
    schema: Value,
    compiled: OnceLock<Option<CompiledSchema>>,
}

impl Promise {
    pub(super) fn new(schema: Value) -> Self {
        Self { schema, compiled: OnceLock::new() }
    }

    /// What a value has that the promise rules out. A schema that can't be used promises nothing.
    fn misfit(&self, value: &Value) -> Option<String> {
        let compiled = self.compiled.get_or_init(|| CompiledSchema::compile(&self.schema).ok());
        compiled.as_ref()?.misfit(value)
    }
}

/// A call whose result came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Called<'a> {
    pub(super) tool: &'a str,
    pub(super) arguments: &'a Map<String, Value>,
    pub(super) rules: &'a AnswerRules,
    pub(super) promise: Option<&'a Promise>,
}

/// Reads the result of a call.
///
/// # Errors
///
/// The kind that the server's words surely show, `rejected` otherwise, for a result that is marked as a failure; the
/// declared kind for one that is declared to be one; `invalid_output` for one that is not what the tool promises.
pub(super) fn read(called: Called<'_>, result: CallToolResult) -> Result<ToolOutput, ToolError> {
    let text = text_of(&result.content);
    if let Some(meta) = &result.meta {
        let tool = called.tool;
        tracing::debug!(target: "backstop::mcp", tool, ?meta, "what the server said beside the result");
    }
    if result.is_error == Some(true) {
        return Err(marked(called, &text));
    }
    let json = result.structured_content.clone().or_else(|| json_in(&text));
    let media = Media::parse(if json.is_some() { "application/json" } else { "text/plain" });
    let seen = Seen { status: 200, media: &media, text: Some(&text), json: json.as_ref() };
    if let Some(kind) = called.rules.failure(&seen) {
        return Err(declared(called, kind, &text, "which is declared to be a failure"));
    }
    if !called.rules.succeeded(&seen) {
        return Err(declared(
            called,
            ToolErrorKind::Rejected,
            &text,
            "which is not the success that is declared",
        ));
    }
    check(called, &result, &text)?;
    let Some(path) = &called.rules.result else { return Ok(output(result, &text)) };
    json.as_ref().and_then(|json| path.part(json)).map(ToolOutput::Json).ok_or_else(|| {
        let (path, shown) = (escaped(path.as_str(), SHOWN_CAP), escaped(&text, SHOWN_CAP));
        broken(called, &format!("nothing is at `{path}` of `{shown}`"))
    })
}

/// A result that the server marked as a failure.
fn marked(called: Called<'_>, text: &str) -> ToolError {
    let Said { kind, words, code } = said(text, called.tool);
    let shown = escaped(text, SHOWN_CAP);
    let detail = match shown.is_empty() {
        true => format!("{}: the server says that it failed, and not why", what(called)),
        false => format!("{}: the server says `{shown}`", what(called)),
    };
    let mut error = with_words(called, ToolError::new(kind, detail), words);
    if let Some(code) = code {
        error = error.with_code(code);
    }
    error
}

/// A result that is declared to be a failure of this kind.
fn declared(called: Called<'_>, kind: ToolErrorKind, text: &str, why: &str) -> ToolError {
    let shown = escaped(text, SHOWN_CAP);
    let detail = format!("{}: the server says `{shown}`, {why}", what(called));
    let words = json_in(text).as_ref().and_then(message_in).or_else(|| said(text, called.tool).words);
    with_words(called, ToolError::new(kind, detail), words)
}

/// The words of a failure that are for the model, and the argument that they are about.
fn with_words(called: Called<'_>, error: ToolError, words: Option<String>) -> ToolError {
    let kind = error.kind();
    let Some(words) =
        words.filter(|_| kind.class() != ErrorClass::Operator && kind != ToolErrorKind::UnknownTool)
    else {
        return error;
    };
    let by_argument =
        matches!(kind, ToolErrorKind::NotFound | ToolErrorKind::AccessDenied | ToolErrorKind::Conflict);
    let argument = by_argument.then(|| named_by(&words, called.arguments)).flatten();
    match argument {
        Some(argument) => error.say(words).at(argument),
        None => error.say(words),
    }
}

/// The message of a failure that is written as JSON.
fn message_in(json: &Value) -> Option<String> {
    let message = ["error", "message", "detail", "reason"].iter().find_map(|key| json.get(*key))?;
    match message {
        Value::String(text) => fit(text),
        Value::Object(_) => message_in(message),
        _ => None,
    }
}

/// Checks a result against what the tool promises of it.
fn check(called: Called<'_>, result: &CallToolResult, text: &str) -> Result<(), ToolError> {
    let Some(promise) = called.promise else { return Ok(()) };
    let misfit = match &result.structured_content {
        Some(value) => {
            promise.misfit(value).map(|misfit| format!("the result does not fit its schema: {misfit}"))
        }
        // Some servers write it as a text alone.
        None => match json_in(text) {
            Some(value) if promise.misfit(&value).is_none() => None,
            _ => Some("the result has a schema, and nothing that could fit it".into()),
        },
    };
    match misfit {
        Some(misfit) if called.rules.lenient => {
            tracing::debug!(target: "backstop::answer", "{}: {misfit}, and is passed on", what(called));
            Ok(())
        }
        Some(misfit) => Err(broken(called, &misfit)),
        None => Ok(()),
    }
}

fn broken(called: Called<'_>, why: &str) -> ToolError {
    ToolError::invalid_output(format!("{}: {why}", what(called))).with_applied(Applied::Yes)
}

fn what(called: Called<'_>) -> String {
    format!("tools/call `{}`", escaped(called.tool, 100))
}

/// All texts of a result.
fn text_of(content: &[ContentBlock]) -> String {
    let text = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => Some(text.text.clone()),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { text, .. } => Some(text.clone()),
            _ => None,
        },
        _ => None,
    };
    content.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

fn json_in(text: &str) -> Option<Value> {
    let text = text.trim();
    text.starts_with(['{', '[']).then(|| serde_json::from_str(text).ok()).flatten()
}

/// The content of a success. A value beside the text that says the same is kept once.
fn output(result: CallToolResult, text: &str) -> ToolOutput {
    let parts: Vec<Part> = result.content.into_iter().flat_map(parts_of).collect();
    let only_text = parts.iter().all(|part| matches!(part, Part::Text { .. }));
    let Some(value) = result.structured_content else {
        return match parts.as_slice() {
            [] => ToolOutput::text(""),
            [Part::Text { .. }] => ToolOutput::text(text),
            _ => ToolOutput::Parts(parts),
        };
    };
    if only_text && says(text, &value) {
        return match inner(&value) {
            // A text that was put in an object, because nothing but an object may be a value.
            Some((_, Value::String(inner))) if inner.trim() == text.trim() => ToolOutput::text(text),
            Some(("result", inner)) if is_text_of(text, inner) => ToolOutput::Json(inner.clone()),
            _ => ToolOutput::Json(value),
        };
    }
    ToolOutput::Parts(parts.into_iter().chain([Part::Json { value }]).collect())
}

/// Whether a text says no more than a value.
fn says(text: &str, value: &Value) -> bool {
    text.trim().is_empty()
        || is_text_of(text, value)
        || inner(value).is_some_and(|(_, inner)| is_text_of(text, inner))
}

fn is_text_of(text: &str, value: &Value) -> bool {
    match value {
        Value::String(value) if value.trim() == text.trim() => true,
        _ => serde_json::from_str::<Value>(text).is_ok_and(|said| said == *value) || list_of(text, value),
    }
}

/// Whether each line is an item of the list: some SDKs write a text for each.
fn list_of(text: &str, value: &Value) -> bool {
    let Value::Array(items) = value else { return false };
    let lines: Vec<&str> = text.lines().collect();
    let says = |(line, item): (&&str, &Value)| match item {
        Value::String(item) => item == line,
        _ => serde_json::from_str::<Value>(line).is_ok_and(|said| said == *item),
    };
    lines.len() == items.len() && lines.iter().zip(items).all(says)
}

/// The one value in an object with nothing else, which SDKs make of what is no object, and its name.
fn inner(value: &Value) -> Option<(&str, &Value)> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    object.iter().next().map(|(name, value)| (name.as_str(), value))
}

/// What a block of content is for a model.
pub(super) fn parts_of(block: ContentBlock) -> Vec<Part> {
    match block {
        ContentBlock::Text(text) => vec![Part::Text { text: text.text }],
        ContentBlock::Image(image) => {
            vec![Part::Blob { media_type: image.mime_type, data: image.data.into(), name: None }]
        }
        ContentBlock::Audio(audio) => {
            vec![Part::Blob { media_type: audio.mime_type, data: audio.data.into(), name: None }]
        }
        ContentBlock::ResourceLink(link) => {
            vec![Part::Link {
                uri: link.uri,
                name: Some(link.name),
                media_type: link.mime_type,
                size: link.size,
            }]
        }
        ContentBlock::Resource(resource) => resource_parts(resource.resource),
        other => serde_json::to_value(other).map(|value| Part::Json { value }).into_iter().collect(),
    }
}

/// What a resource is for a model: where it is from, and what it holds.
pub(super) fn resource_parts(resource: ResourceContents) -> Vec<Part> {
    match resource {
        ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
            vec![Part::Link { uri, name: None, media_type: mime_type, size: None }, Part::Text { text }]
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            let media_type = mime_type.unwrap_or_else(|| "application/octet-stream".into());
            vec![Part::Blob { media_type, data: blob.into(), name: Some(uri) }]
        }
        other => serde_json::to_value(other).map(|value| Part::Json { value }).into_iter().collect(),
    }
}
