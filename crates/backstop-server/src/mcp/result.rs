//! What came of a call, as the protocol has it.

use backstop::{
    CallState, CallSummary, CatalogEntry, OperatorView, Outcome, Part, RunReport, ToolOutput,
    text::{MODEL_TEXT_CAP, head_and_tail},
};
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Resource, ResourceContents};
use serde_json::{Value, json};

use super::tool::is_object;

/// Where the data of a failure stand in the `_meta` of a result.
pub const ERROR_META: &str = "dev.backstop/error";
/// Bytes of a text that are shown in any case.
const LEAST: usize = 256;
/// What is said of a result that can't be given in the form that its tool promises.
const NOT_STRUCTURED: &str =
    "[The result is not given as the structured content that the tool promises; its text follows.]";

/// The result of the one call of a report; none where it was cancelled before there was any.
pub(super) fn result(report: &RunReport, entry: Option<&CatalogEntry>) -> Option<CallToolResult> {
    let calls = report.calls();
    let call = calls.first().filter(|call| call.state == CallState::Settled)?;
    let mut result = match &call.output {
        Some(output) => success(call, output, entry),
        None => CallToolResult::error(failure(call, report)),
    };
    // What failed on the way to a success that is declared is told as well.
    if let Some(failure) = report.failures().last().filter(|_| call.kind.is_some() || !call.ok) {
        let mut meta = MetaObject::new();
        meta.0.insert(ERROR_META.into(), data(failure, call.attempts));
        result.meta = Some(meta);
    }
    Some(result)
}

/// The words of a failure, and what a strategy has to say to the user.
fn failure(call: &CallSummary, report: &RunReport) -> Vec<ContentBlock> {
    let mut content = vec![ContentBlock::text(&call.view)];
    if let Outcome::Stopped { message, .. } = report.outcome() {
        content.push(ContentBlock::text(message));
    }
    content
}

/// The data of a failure, for programs.
fn data(failure: &OperatorView, attempts: u32) -> Value {
    let mut data = json!({
        "kind": failure.kind.as_str(),
        "class": failure.class.as_str(),
        "retryable": failure.retryable,
        "applied": failure.applied.as_str(),
        "reference": failure.reference.to_string(),
        "attempts": attempts,
    });
    let more = [
        ("status", failure.status.map(Value::from)),
        ("retryAfterMs", failure.retry_after_ms.map(Value::from)),
        ("pointer", failure.pointer.clone().map(Value::from)),
        ("violations", (!failure.violations.is_empty()).then(|| json!(failure.violations))),
    ];
    if let Some(data) = data.as_object_mut() {
        data.extend(more.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    }
    data
}

fn success(call: &CallSummary, output: &ToolOutput, entry: Option<&CatalogEntry>) -> CallToolResult {
    let mut content = Vec::new();
    let text = output.model_text();
    // What the model reads beside the output: that it was served otherwise, or what was mended.
    let note = call.view.strip_suffix(&text).map_or("", str::trim_end);
    if !note.is_empty() {
        content.push(ContentBlock::text(note));
    }
    match output {
        ToolOutput::Parts(parts) => content.extend(blocks(parts)),
        _ => content.push(ContentBlock::text(text.as_str())),
    }
    let structured = match output {
        ToolOutput::Json(value @ Value::Object(_)) => Some(value.clone()),
        ToolOutput::Parts(parts) => parts.iter().find_map(|part| match part {
            Part::Json { value: value @ Value::Object(_) } => Some(value.clone()),
            _ => None,
        }),
        _ => None,
    };
    let promised = entry.and_then(|entry| entry.spec.output_schema.as_ref()).is_some_and(is_object);
    if promised && structured.is_none() {
        // Clients take a success without it for a broken server, and what it says for nothing.
        content.insert(0, ContentBlock::text(NOT_STRUCTURED));
        return CallToolResult::error(content);
    }
    let mut result = CallToolResult::success(content);
    result.structured_content = structured;
    result
}

/// The parts as blocks, whose texts together are no longer than what a model may read at once.
fn blocks(parts: &[Part]) -> Vec<ContentBlock> {
    let mut left = MODEL_TEXT_CAP;
    let shown = parts.iter().map(|part| match part {
        Part::Text { .. } | Part::Json { .. } => {
            let whole = part.model_text();
            let text =
                if whole.len() <= left { whole.into_owned() } else { head_and_tail(&whole, left.max(LEAST)) };
            left = left.saturating_sub(text.len());
            ContentBlock::text(text)
        }
        _ => block(part),
    });
    shown.collect()
}

fn block(part: &Part) -> ContentBlock {
    match part {
        Part::Blob { media_type, data, .. } if media_type.starts_with("image/") => {
            ContentBlock::image(data.to_string(), media_type)
        }
        Part::Blob { media_type, data, .. } if media_type.starts_with("audio/") => audio(data, media_type),
        Part::Blob { media_type, data, name } => {
            let uri = format!("file:///{}", name.as_deref().unwrap_or("result"));
            let blob = ResourceContents::blob(data.to_string(), uri).with_mime_type(media_type);
            ContentBlock::resource(blob)
        }
        Part::Link { uri, name, media_type, size } => {
            let mut link = Resource::new(uri, name.clone().unwrap_or_else(|| uri.clone()));
            link.mime_type.clone_from(media_type);
            link.size = *size;
            ContentBlock::resource_link(link)
        }
        _ => ContentBlock::text(part.model_text()),
    }
}

fn audio(data: &str, media_type: &str) -> ContentBlock {
    ContentBlock::Audio(rmcp::model::AudioContent::new(data, media_type))
}
