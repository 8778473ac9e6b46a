//! One request to a server, from the moment it is made to the moment nobody waits for it any more.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use backstop_core::{Applied, ToolError};
use rmcp::{
    RoleClient,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, GetExtensions as _,
        InputRequiredResult, ServerResult,
    },
    service::{Peer, PeerRequestOptions, RequestHandle, ServiceError},
};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::{connection::Connection, errand::Errand, error};

/// Times that a server may ask for more before it answers.
const ROUNDS: usize = 16;
/// Time between two rounds in which a server asked for nothing.
const PAUSE: Duration = Duration::from_millis(250);

/// A request that nobody waits for any more is taken back when this is dropped.
struct Waiting<'a> {
    handle: Option<RequestHandle<RoleClient>>,
    abandoned: &'a mpsc::Sender<RequestHandle<RoleClient>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            // Where thousands are taken back at once, a server works on for nothing.
            let _ = self.abandoned.try_send(handle);
        }
    }
}

/// Sends a request and waits for its answer. With `idle`, there must be an answer or some progress within that time.
///
/// # Errors
///
/// What the server answered, or why there is no answer.
pub(super) async fn send(
    connection: &Connection,
    mut request: ClientRequest,
    errand: &Errand,
    idle: Option<Duration>,
) -> Result<ServerResult, Failed> {
    request.extensions_mut().insert(errand.clone());
    let peer: &Peer<RoleClient> = connection.peer();
    let handle = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await?;
    let watch = idle.map(|_| connection.news().watch(handle.progress_token.clone()));
    let mut waiting = Waiting { handle: Some(handle), abandoned: connection.abandoned() };
    let Some(handle) = &mut waiting.handle else { return Err(ServiceError::TransportClosed.into()) };
    let answer = loop {
        let (Some(idle), Some(watch)) = (idle, &watch) else { break (&mut handle.rx).await };
        tokio::select! {
            answer = &mut handle.rx => break answer,
            () = watch.seen() => {}
            () = tokio::time::sleep(idle) => return Err(Failed::Idle(idle)),
        }
    };
    waiting.handle = None;
    Ok(answer.map_err(|_| ServiceError::TransportClosed)??)
}

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum Failed {
    /// What the server or the way to it said.
    Service(ServiceError),
    /// Nothing was heard of it for so long.
    Idle(Duration),
}

impl From<ServiceError> for Failed {
    fn from(error: ServiceError) -> Self {
        Self::Service(error)
    }
}

/// Calls a tool, and answers what the server wants to know before it goes on.
///
/// # Errors
///
/// Any kind but those of a result: see [`error::failure`].
pub(super) async fn call_tool(
    connection: &Arc<Connection>,
    tool: &str,
    arguments: &Map<String, Value>,
    errand: &Errand,
    idle: Option<Duration>,
) -> Result<CallToolResult, ToolError> {
    let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments.clone());
    for _ in 0..ROUNDS {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()));
        match send(connection, request, errand, idle).await {
            Ok(ServerResult::CallToolResult(result)) => return Ok(result),
            Ok(ServerResult::InputRequiredResult(wanted)) => {
                let (answers, state) = answers(connection, wanted).await.map_err(|detail| {
                    ToolError::rejected(format!("tools/call `{tool}`: {detail}"))
                        .say("the server asked for input that nobody here can give")
                })?;
                params.input_responses = answers;
                params.request_state = state;
            }
            // Nothing at all is the shortest answer that some give.
            Ok(ServerResult::EmptyResult(_)) => return Ok(CallToolResult::default()),
            Ok(_) => {
                let detail = format!("tools/call `{tool}`: the answer is none to a call of a tool");
                return Err(ToolError::invalid_output(detail));
            }
            Err(failed) => return Err(error::failure(connection, tool, failed, errand.applied())),
        }
    }
    let detail = format!("tools/call `{tool}`: the server asked for more {ROUNDS} times");
    Err(ToolError::upstream_failure(detail).with_applied(Applied::Unknown))
}

/// Answers to what a server wants to know, and what it wants back to go on.
async fn answers(
    connection: &Connection,
    wanted: InputRequiredResult,
) -> Result<(Option<BTreeMap<String, Value>>, Option<String>), String> {
    let requests = wanted.input_requests.unwrap_or_default();
    if requests.is_empty() {
        if wanted.request_state.is_none() {
            return Err("the server asked for more and did not say what".into());
        }
        tokio::time::sleep(PAUSE).await;
        return Ok((None, wanted.request_state));
    }
    let mut answers = BTreeMap::new();
    for (key, request) in requests {
        let answer = connection.handler().input(request).await.map_err(|error| error.message.into_owned())?;
        answers.insert(key, answer);
    }
    Ok((Some(answers), wanted.request_state))
}
