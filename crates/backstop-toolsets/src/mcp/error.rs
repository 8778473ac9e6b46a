//! From what went wrong on the way to a server, or by its protocol, to a typed error.

use std::error::Error;

use backstop_core::{
    Applied, ErrorClass, ToolError, ToolErrorKind,
    text::{duration, escaped},
};
use rmcp::{
    model::{ErrorCode, ErrorData},
    service::{ClientInitializeError, ServiceError},
};
use serde_json::Value;

use super::{
    call::Failed,
    connection::Connection,
    frames::is_unreadable,
    http::http_failure,
    said::{Said, said},
};
use crate::http::fit;

/// Bytes of what a server said that operators get to see.
const SHOWN_CAP: usize = 500;
/// The code of a request that needs a person to visit an address first (MCP 2025-11-25).
const URL_WANTED: ErrorCode = ErrorCode(-32042);

/// The error of a call of `tool` that has no result. `applied` is what is known of the request without an answer.
pub(super) fn failure(connection: &Connection, tool: &str, failed: Failed, applied: Applied) -> ToolError {
    let what = format!("tools/call `{}`", escaped(tool, 100));
    match failed {
        Failed::Service(error) => of_service(&what, Some(tool), error, connection, applied),
        Failed::Idle(idle) => {
            let detail = format!("{what}: neither an answer nor any progress within {}", duration(idle));
            ToolError::timeout(idle, detail).with_applied(applied)
        }
    }
}

/// The error of any other request, such as `tools/list`.
pub(super) fn of_request(connection: &Connection, method: &str, failed: Failed) -> ToolError {
    match failed {
        Failed::Service(error) => of_service(method, None, error, connection, Applied::No),
        Failed::Idle(idle) => {
            ToolError::timeout(idle, format!("{method}: no answer within {}", duration(idle))).not_applied()
        }
    }
}

fn of_service(
    what: &str,
    tool: Option<&str>,
    error: ServiceError,
    connection: &Connection,
    applied: Applied,
) -> ToolError {
    let why = |why: &str| match connection.obituary() {
        Some(obituary) => format!("{what}: {obituary}"),
        None => format!("{what}: {why}"),
    };
    match error {
        ServiceError::McpError(data) if is_unreadable(&data) => {
            ToolError::invalid_output(format!("{what}: {}", data.message)).with_applied(applied)
        }
        ServiceError::McpError(data) => by_code(what, tool, &data),
        ServiceError::TransportSend(cause) => match http_failure(&cause) {
            // What an address answered says more than that the request was sent.
            Some(known) => known,
            None => {
                connection.give_up();
                let detail = why("the request could not be sent");
                ToolError::unavailable(detail).with_applied(applied).with_source(cause)
            }
        },
        ServiceError::TransportClosed => {
            ToolError::unavailable(why("the connection ended before an answer came")).with_applied(applied)
        }
        ServiceError::Timeout { timeout } => {
            ToolError::timeout(timeout, format!("{what}: no answer within {}", duration(timeout)))
                .with_applied(applied)
        }
        ServiceError::Cancelled { reason } => {
            let reason =
                reason.map(|reason| format!(": {}", escaped(&reason, SHOWN_CAP))).unwrap_or_default();
            ToolError::upstream_failure(format!("{what}: the server took the request back{reason}"))
                .with_applied(applied)
        }
        other => ToolError::invalid_output(format!("{what}: {other}")).with_applied(applied),
    }
}

/// The error that a JSON-RPC error stands for.
fn by_code(what: &str, tool: Option<&str>, data: &ErrorData) -> ToolError {
    let code = data.code;
    let Said { kind: by_words, words, code: _ } = said(&data.message, tool.unwrap_or_default());
    let kind = match code {
        ErrorCode::INVALID_PARAMS if by_words == ToolErrorKind::UnknownTool => ToolErrorKind::UnknownTool,
        ErrorCode::INVALID_PARAMS => ToolErrorKind::InvalidArguments,
        ErrorCode::RESOURCE_NOT_FOUND => ToolErrorKind::NotFound,
        ErrorCode::METHOD_NOT_FOUND
        | ErrorCode::INVALID_REQUEST
        | ErrorCode::PARSE_ERROR
        | ErrorCode::HEADER_MISMATCH
        | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY => ToolErrorKind::Misconfigured,
        // Of these two every SDK makes something else: an exception, a deadline, a lost connection of its own.
        ErrorCode::INTERNAL_ERROR | ErrorCode(-32_001 | -32_000) => ToolErrorKind::UpstreamFailure,
        _ => ToolErrorKind::Rejected,
    };
    let mut detail = format!("{what}: JSON-RPC error {}: `{}`", code.0, escaped(&data.message, SHOWN_CAP));
    if let Some(more) = &data.data {
        detail.push_str(&format!(", data `{}`", escaped(&more.to_string(), SHOWN_CAP)));
    }
    let error = ToolError::new(kind, detail).with_code(code.0.to_string());
    let words = match code {
        URL_WANTED => Some(with_urls(&data.message, data.data.as_ref())),
        // Some write a list of problems for themselves there.
        _ if data.message.trim_start().starts_with(['[', '{']) => None,
        _ => words.or_else(|| fit(&data.message)),
    };
    match words {
        Some(words) if kind.class() != ErrorClass::Operator && kind != ToolErrorKind::UnknownTool => {
            error.say(words)
        }
        _ => error,
    }
}

fn with_urls(message: &str, data: Option<&Value>) -> String {
    let wanted = data.and_then(|data| data.get("elicitations")).and_then(Value::as_array);
    let urls = wanted.into_iter().flatten().filter_map(|wanted| wanted.get("url")?.as_str());
    urls.fold(message.to_owned(), |text, url| format!("{text} The user has to visit {url} first."))
}

/// The error of a server that could not be connected to.
pub(super) fn start(cause: ClientInitializeError, obituary: Option<String>) -> ToolError {
    if let Some(known) = transport_failure(&cause) {
        return known.not_applied();
    }
    let error = match (&cause, obituary) {
        (ClientInitializeError::JsonRpcError(data), _) => by_code("the handshake", None, data),
        (ClientInitializeError::NoCompatibleProtocolVersion { .. }, _) => {
            ToolError::misconfigured("the server speaks no protocol version that is known here")
        }
        (_, Some(obituary)) => ToolError::unavailable(obituary),
        (ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. }, None) => {
            ToolError::unavailable("the connection ended before the handshake was done")
        }
        _ => ToolError::invalid_output("the server did not do the handshake as it should"),
    };
    error.not_applied().with_source(cause)
}

/// What an address answered, if that is why there is no connection.
fn transport_failure(cause: &ClientInitializeError) -> Option<ToolError> {
    match cause {
        ClientInitializeError::TransportError { error, .. } => http_failure(error),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => transport_failure(fallback),
        _ => None,
    }
}

/// The first error of this type among the causes of `error`.
pub(super) fn find<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    std::iter::successors(Some(error), |layer: &&'e (dyn Error + 'static)| (*layer).source())
        .find_map(|layer| layer.downcast_ref())
}
