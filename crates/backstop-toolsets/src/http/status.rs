//! Answers that say the call did not work: from the status to the kind.

use std::time::SystemTime;

use backstop_core::{Applied, ErrorClass, ToolError, ToolErrorKind, text::escaped};
use reqwest::{
    Method, Response, StatusCode,
    header::{HeaderMap, LOCATION, WWW_AUTHENTICATE},
};

use super::{
    Endpoint,
    body::Body,
    media::Media,
    response::Exchange,
    retry_after::retry_after,
    words::{Said, said_in},
};

/// Bytes of an error body that operators get to see.
const SHOWN_CAP: usize = 500;

/// What a status that is not 2xx stands for. `names_something`: an argument may be what was refused.
pub(crate) fn kind_of(status: u16, names_something: bool) -> ToolErrorKind {
    match status {
        401 => ToolErrorKind::Unauthenticated,
        403 if names_something => ToolErrorKind::AccessDenied,
        403 => ToolErrorKind::Unauthenticated,
        404 | 410 => ToolErrorKind::NotFound,
        // An address that has moved is for an operator to mend: nothing that the model writes can.
        300..=303 | 305..=399 | 405 | 407 | 501 => ToolErrorKind::Misconfigured,
        409 | 412 | 423 => ToolErrorKind::Conflict,
        429 => ToolErrorKind::RateLimited,
        // Too early: the service did not look at it.
        425 | 502 | 503 => ToolErrorKind::Unavailable,
        // 408 and 504 are deadlines of the other side, not of the call.
        408 | 500.. => ToolErrorKind::UpstreamFailure,
        _ => ToolErrorKind::Rejected,
    }
}

/// Whether the world may have changed all the same.
fn applied(kind: ToolErrorKind, status: u16, method: &Method) -> Applied {
    match status {
        // "See the result elsewhere" is how many services say that a form went through.
        301..=303 if !method.is_safe() => Applied::Unknown,
        425 => Applied::No,
        _ => kind.usually_applied(),
    }
}

/// The error for an answer whose status is not 2xx.
pub(super) fn failure(exchange: &Exchange<'_>, response: &Response, body: &Body) -> ToolError {
    let (status, headers) = (response.status(), response.headers());
    let code = status.as_u16();
    let endpoint = exchange.endpoint;
    let kind = kind_of(code, endpoint.takes_arguments());

    let media = Media::of(headers);
    let text = media.decode(&body.bytes).unwrap_or_default();
    let said = if status.is_redirection() {
        Said { words: Some(redirect(response)), code: None }
    } else {
        said_in(&media, &text, body.cut, code)
    };

    let mut detail = detail(exchange, response, &text);
    if kind == ToolErrorKind::Misconfigured
        && let Some(words) = said.words.as_deref().filter(|_| status.is_redirection())
    {
        detail.push_str(&format!(", {words}"));
    }
    let mut error = typed(endpoint, code, detail, said.words.as_deref());
    if let Some(code) = said.code {
        error = error.with_code(code);
    }
    if let Some(wait) = retry_after(headers, SystemTime::now()) {
        error = error.with_retry_after(wait);
    }
    with_ids(error, headers)
}

/// The error that an answer of this status becomes, with these words of the service where its body has some;
/// `None` for a status that says the call worked.
///
/// No request is made: this is for those who ask what would happen.
pub fn failure_of(endpoint: &Endpoint, status: u16, words: Option<&str>) -> Option<ToolError> {
    let known = StatusCode::from_u16(status).ok().filter(|status| status.as_u16() >= 300)?;
    let reason = known.canonical_reason().unwrap_or("status without a name");
    let said = words.map(|words| format!(", body `{}`", escaped(words.trim(), SHOWN_CAP)));
    let detail = format!("{} {}: {reason}{}", endpoint.method, endpoint.path, said.unwrap_or_default());
    Some(typed(endpoint, status, detail, words))
}

/// The error that a status stands for.
fn typed(endpoint: &Endpoint, code: u16, detail: String, words: Option<&str>) -> ToolError {
    let kind = kind_of(code, endpoint.takes_arguments());
    let mut error =
        ToolError::new(kind, detail).with_status(code).with_applied(applied(kind, code, &endpoint.method));
    // What concerns an operator stays with operators: a service may repeat half of a key in such a text.
    if let Some(words) = words.filter(|_| kind.class() != ErrorClass::Operator) {
        error = error.say(words);
    }
    if kind == ToolErrorKind::NotFound
        && let Some(argument) = endpoint.named_by()
    {
        let words = if error.words().is_none() { "not found" } else { "" };
        error = error.at(crate::pointer::child("", argument)).say(words);
    }
    error
}

/// Keeps the service's id of the request.
pub(super) fn with_ids(error: ToolError, headers: &HeaderMap) -> ToolError {
    let id = ["x-request-id", "request-id"].iter().find_map(|name| headers.get(*name)?.to_str().ok());
    match id {
        Some(id) => error.with_request_id(id),
        None => error,
    }
}

fn detail(exchange: &Exchange<'_>, response: &Response, text: &str) -> String {
    let reason = response.status().canonical_reason().unwrap_or("status without a name");
    let mut detail = format!("{}: {reason}", exchange.what);
    if let Some(wanted) = response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok()) {
        detail.push_str(&format!(", wants `{}`", escaped(wanted, 200)));
    }
    if !text.trim().is_empty() {
        detail.push_str(&format!(", body `{}`", escaped(text.trim(), SHOWN_CAP)));
    }
    detail
}

/// Names the host alone: path and query of a redirect may hold tokens.
fn redirect(response: &Response) -> String {
    if response.status() == StatusCode::NOT_MODIFIED {
        return "what the call names has not changed".into();
    }
    let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
    let target = location.and_then(|location| response.url().join(location).ok());
    match target.as_ref().and_then(|target| target.host_str()) {
        Some(host) => format!("the service redirects to {host}, which is not followed"),
        None => "the service answered with a redirect, which is not followed".into(),
    }
}
