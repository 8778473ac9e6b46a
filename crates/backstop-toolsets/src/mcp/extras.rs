//! Resources and prompts of a server, as tools.

use backstop_core::{Effect, Part, ToolError, ToolErrorKind, ToolOutput, ToolSpec};
use rmcp::model::{
    ClientRequest, GetPromptRequest, GetPromptRequestParams, ListPromptsRequest,
    ListResourceTemplatesRequest, ListResourcesRequest, ReadResourceRequest, ReadResourceRequestParams, Role,
    ServerResult,
};
use serde_json::{Map, Value, json};

use super::{
    McpConfig,
    call::{Failed, send},
    connection::Connection,
    errand::Errand,
    error,
    list::pages,
    output::{parts_of, resource_parts},
};

const LIST_RESOURCES: &str = "list_resources";
const READ_RESOURCE: &str = "read_resource";
const LIST_PROMPTS: &str = "list_prompts";
const GET_PROMPT: &str = "get_prompt";

/// The tools beside the server's own: for its resources and prompts, where the manifest asks for them and the server
/// has any.
pub(super) fn specs(config: &McpConfig, connection: &Connection) -> Vec<ToolSpec> {
    let server = connection.server();
    let has = |what: fn(&rmcp::model::ServerCapabilities) -> bool| {
        server.as_ref().is_some_and(|server| what(&server.capabilities))
    };
    let mut specs = Vec::new();
    if config.resources && has(|capabilities| capabilities.resources.is_some()) {
        let none = json!({"type": "object", "properties": {}, "additionalProperties": false});
        let schema = json!({
            "type": "object",
            "properties": {"uri": {"type": "string", "description": "The address of the resource, as it is listed."}},
            "required": ["uri"],
            "additionalProperties": false,
        });
        specs.push(
            ToolSpec::new(LIST_RESOURCES, none)
                .description("Lists the resources that can be read, with their addresses.")
                .effect(Effect::ReadOnly),
        );
        specs.push(
            ToolSpec::new(READ_RESOURCE, schema)
                .description("Reads a resource by its address.")
                .effect(Effect::ReadOnly)
                .find_with(LIST_RESOURCES),
        );
    }
    if config.prompts && has(|capabilities| capabilities.prompts.is_some()) {
        let none = json!({"type": "object", "properties": {}, "additionalProperties": false});
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "The name of the prompt, as it is listed."},
                "arguments": {
                    "type": "object",
                    "description": "What the prompt is filled in with.",
                    "additionalProperties": {"type": "string"},
                },
            },
            "required": ["name"],
            "additionalProperties": false,
        });
        specs.push(
            ToolSpec::new(LIST_PROMPTS, none)
                .description("Lists the prompts that can be filled in, with their arguments.")
                .effect(Effect::ReadOnly),
        );
        specs.push(
            ToolSpec::new(GET_PROMPT, schema)
                .description("Fills in a prompt and gives its text.")
                .effect(Effect::ReadOnly)
                .find_with(LIST_PROMPTS),
        );
    }
    specs
}

/// Makes a call of one of these tools.
///
/// # Errors
///
/// `not_found` for a resource or a prompt that is not there, and those of a request.
pub(super) async fn call(
    config: &McpConfig,
    connection: &Connection,
    tool: &str,
    arguments: &Map<String, Value>,
) -> Result<ToolOutput, ToolError> {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
    match tool {
        LIST_RESOURCES => list_resources(config, connection).await,
        READ_RESOURCE => read_resource(connection, text("uri")).await,
        LIST_PROMPTS => list_prompts(config, connection).await,
        GET_PROMPT => {
            let filled = arguments.get("arguments").and_then(Value::as_object);
            get_prompt(connection, text("name"), filled.cloned()).await
        }
        _ => Err(ToolError::new(ToolErrorKind::UnknownTool, "the toolset has no such tool")),
    }
}

async fn list_resources(config: &McpConfig, connection: &Connection) -> Result<ToolOutput, ToolError> {
    let resources = pages(
        config,
        connection,
        "resources/list",
        |params| ClientRequest::ListResourcesRequest(ListResourcesRequest { params, ..Default::default() }),
        |result| match result {
            ServerResult::ListResourcesResult(page) => Some((page.resources, page.next_cursor)),
            _ => None,
        },
    );
    let templates = pages(
        config,
        connection,
        "resources/templates/list",
        |params| {
            ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest {
                params,
                ..Default::default()
            })
        },
        |result| match result {
            ServerResult::ListResourceTemplatesResult(page) => {
                Some((page.resource_templates, page.next_cursor))
            }
            _ => None,
        },
    );
    let resources = resources.await?;
    // Servers without templates often don't know the question.
    let templates = templates.await.unwrap_or_default();
    let mut listed = Map::new();
    listed.insert("resources".into(), listed_as(&resources)?);
    if !templates.is_empty() {
        listed.insert("templates".into(), listed_as(&templates)?);
    }
    Ok(ToolOutput::Json(Value::Object(listed)))
}

async fn list_prompts(config: &McpConfig, connection: &Connection) -> Result<ToolOutput, ToolError> {
    let prompts = pages(
        config,
        connection,
        "prompts/list",
        |params| ClientRequest::ListPromptsRequest(ListPromptsRequest { params, ..Default::default() }),
        |result| match result {
            ServerResult::ListPromptsResult(page) => Some((page.prompts, page.next_cursor)),
            _ => None,
        },
    );
    listed_as(&prompts.await?).map(|prompts| ToolOutput::Json(json!({ "prompts": prompts })))
}

/// A list for a model: without pictures, and without what is for programs.
fn listed_as<T: serde::Serialize>(items: &[T]) -> Result<Value, ToolError> {
    let mut value = serde_json::to_value(items)
        .map_err(|cause| ToolError::invalid_output("a list can't be written").with_source(cause))?;
    for item in value.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        item.retain(|key, _| !matches!(key.as_str(), "icons" | "_meta" | "annotations"));
    }
    Ok(value)
}

async fn read_resource(connection: &Connection, uri: &str) -> Result<ToolOutput, ToolError> {
    let request = ReadResourceRequest::new(ReadResourceRequestParams::new(uri));
    let sent = send(connection, ClientRequest::ReadResourceRequest(request), &Errand::default(), None).await;
    match sent.map_err(|failed| missing(connection, "resources/read", "/uri", failed))? {
        ServerResult::ReadResourceResult(result) => {
            Ok(ToolOutput::Parts(result.contents.into_iter().flat_map(resource_parts).collect()))
        }
        _ => Err(ToolError::invalid_output("resources/read: the answer is no resource").not_applied()),
    }
}

async fn get_prompt(
    connection: &Connection,
    name: &str,
    arguments: Option<Map<String, Value>>,
) -> Result<ToolOutput, ToolError> {
    let mut params = GetPromptRequestParams::new(name);
    params.arguments = arguments;
    let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
    let sent = send(connection, request, &Errand::default(), None).await;
    match sent.map_err(|failed| missing(connection, "prompts/get", "", failed))? {
        ServerResult::GetPromptResult(result) => {
            let mut parts = Vec::new();
            for message in result.messages {
                let role = if message.role == Role::User { "user" } else { "assistant" };
                parts.push(Part::Text { text: format!("{role}:") });
                parts.extend(parts_of(message.content));
            }
            Ok(ToolOutput::Parts(parts))
        }
        _ => Err(ToolError::invalid_output("prompts/get: the answer is no prompt").not_applied()),
    }
}

/// The error of a request that names something. Servers have one code for a bad request, which is all that it can be:
/// what these requests have but a name fits its schema already.
fn missing(connection: &Connection, method: &str, pointer: &str, failed: Failed) -> ToolError {
    let error = error::of_request(connection, method, failed);
    let kind = error.kind();
    if pointer.is_empty() || !matches!(kind, ToolErrorKind::InvalidArguments | ToolErrorKind::NotFound) {
        return error;
    }
    let mut missing = ToolError::not_found(error.detail()).at(pointer);
    if let Some(words) = error.words() {
        missing = missing.say(words);
    }
    match error.code() {
        Some(code) => missing.with_code(code),
        None => missing,
    }
}
