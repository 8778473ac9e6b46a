//! Questions of a server to a model (MCP: sampling).
#![expect(
    deprecated,
    reason = "2026-07-28 takes sampling out, and servers of all earlier protocols may still ask"
)]

use std::{sync::Arc, time::Duration};

use backstop_core::{Catalog, FinishReason, Message, ModelRequest, Transcript};
use rmcp::{
    ErrorData,
    model::{
        CreateMessageRequestParams, CreateMessageResult, Role, SamplingMessage, SamplingMessageContentBlock,
    },
};

use super::McpConfig;

/// Time for a model to answer a server.
const ANSWER: Duration = Duration::from_secs(120);
/// Messages that a server may ask with.
const MESSAGES: usize = 200;

/// Answers what a server asks a model, with text alone: it is offered no tools.
///
/// # Errors
///
/// To the server: that nobody answers it, or that the model failed.
pub(super) async fn answer(
    config: &McpConfig,
    params: CreateMessageRequestParams,
) -> Result<CreateMessageResult, ErrorData> {
    let Some(model) = &config.model else {
        return Err(ErrorData::invalid_request("no model answers this server", None));
    };
    if params.messages.len() > MESSAGES {
        return Err(ErrorData::invalid_params("too many messages", None));
    }
    let mut messages: Vec<Message> = params.system_prompt.into_iter().map(Message::system).collect();
    for SamplingMessage { role, content, .. } in params.messages {
        let mut text = String::new();
        for block in content.into_vec() {
            match block {
                SamplingMessageContentBlock::Text(block) => text.push_str(&block.text),
                _ => return Err(ErrorData::invalid_params("the model answers texts only", None)),
            }
        }
        messages.push(match role {
            Role::Assistant => Message::assistant(text),
            Role::User => Message::user(text),
        });
    }
    let transcript = Transcript::new(Arc::new(messages));
    let tools = Catalog::default();
    let request = ModelRequest::new(&transcript, &tools, ANSWER);
    let reply = tokio::time::timeout(ANSWER, model.respond(request, None)).await;
    let reply = match reply {
        Ok(Ok(reply)) => reply,
        Ok(Err(cause)) => {
            let toolset = &config.name;
            tracing::warn!(target: "backstop::mcp", toolset, %cause, "the model did not answer the server");
            return Err(ErrorData::internal_error("the model did not answer", None));
        }
        Err(_) => return Err(ErrorData::internal_error("the model did not answer in time", None)),
    };
    let text = SamplingMessageContentBlock::text(reply.text.unwrap_or_default());
    let message = SamplingMessage::new(Role::Assistant, text);
    let mut result = CreateMessageResult::new(message, model.name().to_owned());
    let stop = match reply.finish {
        FinishReason::Length => CreateMessageResult::STOP_REASON_END_MAX_TOKEN,
        _ => CreateMessageResult::STOP_REASON_END_TURN,
    };
    result.stop_reason = Some(stop.to_owned());
    Ok(result)
}
