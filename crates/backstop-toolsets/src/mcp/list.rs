//! What a server offers: its tools, page by page.

use std::collections::HashSet;

use backstop_core::{Effect, ToolError, ToolSpec, text::escaped};
use rmcp::model::{
    ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult, Tool, ToolAnnotations,
};
use serde_json::{Value, json};

use super::{
    McpConfig,
    call::{Failed, send},
    connection::Connection,
    errand::Errand,
    error,
};

/// Items of one list at most.
const ITEMS: usize = 4096;
/// Pages of one list at most.
const PAGES: usize = 1000;

/// One page: its items, and where the next one begins.
pub(super) type Page<T> = (Vec<T>, Option<String>);

/// Reads a list page by page, in the time that each page has.
///
/// # Errors
///
/// Those of a request; `misconfigured` for a list without an end.
pub(super) async fn pages<T>(
    config: &McpConfig,
    connection: &Connection,
    method: &str,
    request: impl Fn(Option<PaginatedRequestParams>) -> ClientRequest,
    read: impl Fn(ServerResult) -> Option<Page<T>>,
) -> Result<Vec<T>, ToolError> {
    let mut items = Vec::new();
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..PAGES {
        let params = cursor.as_ref().map(|cursor| {
            let mut params = PaginatedRequestParams::default();
            params.cursor = Some(cursor.clone());
            params
        });
        let errand = Errand::default();
        let limit = config.list_timeout;
        let sent = tokio::time::timeout(limit, send(connection, request(params), &errand, None)).await;
        let result = sent
            .unwrap_or(Err(Failed::Idle(limit)))
            .map_err(|failed| error::of_request(connection, method, failed))?;
        let Some((page, next)) = read(result) else {
            return Err(ToolError::invalid_output(format!("{method}: the answer is no list")).not_applied());
        };
        items.extend(page);
        if items.len() > ITEMS {
            return Err(ToolError::misconfigured(format!("{method}: the list is longer than {ITEMS} items")));
        }
        match next {
            None => return Ok(items),
            Some(next) if !seen.insert(next.clone()) => {
                return Err(ToolError::misconfigured(format!(
                    "{method}: the list leads back to an earlier page"
                )));
            }
            Some(next) => cursor = Some(next),
        }
    }
    Err(ToolError::misconfigured(format!("{method}: the list has more than {PAGES} pages")))
}

/// The tools that a server offers, and that the manifest lets through.
///
/// # Errors
///
/// Those of [`pages`].
pub(super) async fn tools(config: &McpConfig, connection: &Connection) -> Result<Vec<ToolSpec>, ToolError> {
    let request = |params| ClientRequest::ListToolsRequest(ListToolsRequest { params, ..Default::default() });
    let tools = pages(config, connection, "tools/list", request, |result| page(&config.name, result)).await?;
    Ok(tools.into_iter().filter(|tool| config.offers(&tool.name)).map(|tool| spec(config, tool)).collect())
}

/// A page of tools. One tool that can't be read takes no other with it.
fn page(toolset: &str, result: ServerResult) -> Option<Page<Tool>> {
    let value = match result {
        ServerResult::ListToolsResult(page) => return Some((page.tools, page.next_cursor)),
        ServerResult::CustomResult(value) => value.0,
        _ => return None,
    };
    let tools = value.get("tools")?.as_array()?.iter().filter_map(|tool| match readable(tool) {
        Ok(tool) => Some(tool),
        Err(cause) => {
            let tool = escaped(&tool.to_string(), 300);
            tracing::warn!(target: "backstop::mcp", toolset, %cause, "a tool of the server can't be used: `{tool}`");
            None
        }
    });
    let tools = tools.collect();
    Some((tools, value.get("nextCursor").and_then(Value::as_str).map(str::to_owned)))
}

/// A tool as far as it is one: what is not the name and the schema is left out where it can't be read.
fn readable(tool: &Value) -> Result<Tool, serde_json::Error> {
    serde_json::from_value(tool.clone()).or_else(|_| {
        let text = |key: &str| tool.get(key).and_then(Value::as_str);
        let schema = match tool.get("inputSchema") {
            None | Some(Value::Null) => json!({"type": "object"}),
            Some(schema) => schema.clone(),
        };
        serde_json::from_value(json!({
            "name": text("name"),
            "description": text("description"),
            "inputSchema": schema,
        }))
    })
}

fn spec(config: &McpConfig, tool: Tool) -> ToolSpec {
    let effect = match &tool.annotations {
        Some(annotations) if config.trusted => effect(annotations),
        _ => Effect::Mutating,
    };
    let title = tool.title.or_else(|| tool.annotations.and_then(|annotations| annotations.title));
    let description = tool.description.map(|text| text.into_owned()).or(title).unwrap_or_default();
    let mut spec = ToolSpec::new(tool.name, Value::Object((*tool.input_schema).clone()))
        .description(description.trim())
        .effect(effect);
    spec.output_schema = tool.output_schema.map(|schema| Value::Object((*schema).clone()));
    spec
}

/// What annotations say; of one that is not there the protocol assumes the worst.
fn effect(annotations: &ToolAnnotations) -> Effect {
    match (annotations.read_only_hint, annotations.idempotent_hint) {
        (Some(true), _) => Effect::ReadOnly,
        (_, Some(true)) => Effect::Idempotent,
        _ => Effect::Mutating,
    }
}
