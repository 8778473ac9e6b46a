//! A tool of the catalog, as the protocol has it.

use std::sync::Arc;

use backstop::{CatalogEntry, Effect};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::Value;

/// The tool for a list.
pub(super) fn tool(entry: &CatalogEntry) -> Tool {
    let mut tool = Tool::new_with_raw(
        entry.name.clone(),
        Some(entry.spec.description.clone()).filter(|text| !text.is_empty()).map(Into::into),
        Arc::new(object(&entry.spec.input_schema)),
    );
    tool.output_schema = entry
        .spec
        .output_schema
        .as_ref()
        .filter(|schema| is_object(schema))
        .map(|schema| Arc::new(object(schema)));
    tool.annotations = Some(annotations(entry.spec.effect));
    tool
}

/// Whether a schema is one of objects, which is all that the protocol allows in most of its versions.
pub(super) fn is_object(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "object")
}

/// Every schema says that it is one of an object.
fn object(schema: &Value) -> JsonObject {
    let mut object = schema.as_object().cloned().unwrap_or_default();
    object.entry("type").or_insert_with(|| "object".into());
    object
}

fn annotations(effect: Effect) -> ToolAnnotations {
    let (read_only, idempotent) = match effect {
        Effect::ReadOnly => (true, true),
        Effect::Idempotent => (false, true),
        Effect::Mutating => (false, false),
    };
    ToolAnnotations::from_raw(None, Some(read_only), Some(!read_only), Some(idempotent), None)
}
