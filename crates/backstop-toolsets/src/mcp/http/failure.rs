//! What an address answers instead of what was asked for.

use std::{error::Error, fmt, time::SystemTime};

use backstop_core::{
    ErrorClass, ToolError, ToolErrorKind,
    text::{escaped, size},
};
use reqwest::{
    Response, StatusCode,
    header::{HeaderMap, WWW_AUTHENTICATE},
};
use rmcp::{
    model::{ErrorData, JsonRpcMessage, ServerJsonRpcMessage},
    transport::streamable_http_client::StreamableHttpError,
};

use super::super::error::find;
use crate::http::{Media, body, fit, kind_of, retry_after};

/// Bytes of a body that operators get to see.
const SHOWN_CAP: usize = 300;

/// A request that has no answer which can be used, with its one reading.
#[derive(Debug)]
pub(in super::super) struct HttpFailure(pub(super) ToolError);

impl fmt::Display for HttpFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for HttpFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

impl From<HttpFailure> for StreamableHttpError<HttpFailure> {
    fn from(failure: HttpFailure) -> Self {
        Self::Client(failure)
    }
}

impl From<ToolError> for HttpFailure {
    fn from(error: ToolError) -> Self {
        Self(error)
    }
}

/// The typed error in what the library reports, where the way to a server is what failed.
pub(in super::super) fn http_failure(error: &(dyn Error + 'static)) -> Option<ToolError> {
    let failure = find::<StreamableHttpError<HttpFailure>>(error)?;
    Some(match failure {
        StreamableHttpError::Client(HttpFailure(error)) => error.clone(),
        // The server did not take the request, nor the one of the new session.
        StreamableHttpError::SessionExpired => {
            ToolError::unavailable("the server ended the session, and the next one as well").not_applied()
        }
        StreamableHttpError::ReinitializationFailed(said) => {
            let said = escaped(&said.message, SHOWN_CAP);
            ToolError::unavailable(format!("the server ended the session and gives no new one: `{said}`"))
                .not_applied()
        }
        other => ToolError::unavailable(format!(
            "the answer did not come: {}",
            escaped(&other.to_string(), SHOWN_CAP)
        )),
    })
}

/// An answer with an error status, as far as it was read.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Said {
    /// The JSON-RPC error that it holds.
    pub(super) fn error(&self) -> Option<ErrorData> {
        match serde_json::from_str::<ServerJsonRpcMessage>(&self.text) {
            Ok(JsonRpcMessage::Error(error)) => Some(error.error),
            _ => None,
        }
    }
}

/// Reads an answer with an error status.
pub(super) async fn read(mut response: Response, cap: usize) -> Said {
    let body = body::read_some(&mut response, cap).await;
    let text = Media::of(response.headers()).decode(&body.bytes).unwrap_or_default();
    Said { status: response.status(), headers: response.headers().clone(), text }
}

/// Reads the body of an answer that is a message.
///
/// # Errors
///
/// `invalid_output` for one that is too large, `upstream_failure` for one that breaks off.
pub(super) async fn body(mut response: Response, what: &str, cap: usize) -> Result<Vec<u8>, ToolError> {
    let body = body::read(&mut response, cap).await.map_err(|cause| {
        ToolError::upstream_failure(format!("{what}: the answer was cut off"))
            .with_source(cause.without_url())
    })?;
    match body.cut {
        false => Ok(body.bytes),
        true => Err(ToolError::invalid_output(format!("{what}: the answer is larger than {}", size(cap)))),
    }
}

/// The message that a body is.
///
/// # Errors
///
/// `invalid_output` for anything else.
pub(super) fn message(what: &str, media: &Media, body: &[u8]) -> Result<ServerJsonRpcMessage, ToolError> {
    serde_json::from_slice(body).map_err(|cause| {
        let text = media.decode(body).unwrap_or_default();
        let kind = if media.essence.is_empty() { "no content type" } else { &media.essence };
        let (kind, text) = (escaped(kind, 100), escaped(text.trim(), SHOWN_CAP));
        ToolError::invalid_output(format!("{what}: expected an MCP message, got ({kind}) `{text}`"))
            .with_source(cause)
    })
}

/// The error for an answer with an error status.
pub(super) fn of_status(what: &str, said: &Said) -> ToolError {
    let status = said.status.as_u16();
    let kind = match kind_of(status, false) {
        // Nothing that a model writes decides where a server is, and how it is spoken to.
        ToolErrorKind::NotFound | ToolErrorKind::Rejected | ToolErrorKind::Conflict if status != 413 => {
            ToolErrorKind::Misconfigured
        }
        kind => kind,
    };
    let mut detail = format!("{what}: {}", said.status.canonical_reason().unwrap_or("status without a name"));
    if let Some(wanted) = said.headers.get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok()) {
        detail.push_str(&format!(", wants `{}`", escaped(wanted, SHOWN_CAP)));
    }
    let error = said.error();
    if let Some(error) = &error {
        detail.push_str(&format!(
            ", JSON-RPC error {}: `{}`",
            error.code.0,
            escaped(&error.message, SHOWN_CAP)
        ));
    } else if !said.text.trim().is_empty() {
        detail.push_str(&format!(", body `{}`", escaped(said.text.trim(), SHOWN_CAP)));
    }
    let mut made = ToolError::new(kind, detail).with_status(status);
    if let Some(wait) = retry_after(&said.headers, SystemTime::now()) {
        made = made.with_retry_after(wait);
    }
    match error.and_then(|error| fit(&error.message)).filter(|_| kind.class() != ErrorClass::Operator) {
        Some(words) => made.say(words),
        None => made,
    }
}
