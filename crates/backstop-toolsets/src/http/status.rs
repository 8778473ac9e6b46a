//! Answers that say the call did not work: from the status to the kind.

use std::time::SystemTime;

use backstop_core::{
    Applied, ErrorClass, ToolError, ToolErrorKind,
    text::{escaped, head},
};
use reqwest::{
    Method, StatusCode,
    header::{HeaderMap, LOCATION, WWW_AUTHENTICATE},
};

use super::{
    Endpoint,
    response::{Answer, Exchange},
    retry_after::retry_after,
    words::{ErrorBody, Said, said_in},
};

/// Bytes of an error body that operators get to see.
const SHOWN_CAP: usize = 500;
/// Bytes of a path that a model gets to see.
const PATH_CAP: usize = 200;

/// What a status that is not 2xx stands for. `names_something`: an argument may be what was refused.
pub(crate) fn kind_of(status: u16, names_something: bool) -> ToolErrorKind {
    match status {
        401 => ToolErrorKind::Unauthenticated,
        403 | 451 if names_something => ToolErrorKind::AccessDenied,
        403 => ToolErrorKind::Unauthenticated,
        404 | 410 => ToolErrorKind::NotFound,
        // An address that has moved, a proxy or a version of HTTP are for an operator to mend: nothing that the
        // model writes can.
        300..=303 | 305..=399 | 405..=407 | 426 | 501 | 505 | 511 => ToolErrorKind::Misconfigured,
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
pub(super) fn failure(exchange: &Exchange<'_>, answer: &Answer<'_>) -> ToolError {
    let (code, endpoint) = (answer.status.as_u16(), exchange.endpoint);
    let kind = kind_of(code, endpoint.takes_arguments());
    let said = if answer.status.is_redirection() {
        Said { words: Some(redirect(answer)), ..Said::default() }
    } else {
        said(exchange, answer, (400..500).contains(&code))
    };
    let mut detail = detail(exchange, answer);
    if kind == ToolErrorKind::Misconfigured
        && let Some(words) = said.words.as_deref().filter(|_| answer.status.is_redirection())
    {
        detail.push_str(&format!(", {words}"));
    }
    let error = typed(endpoint, answer.status, kind, detail, said);
    hinted(error.with_applied(applied(kind, code, &endpoint.method)), answer)
}

/// The error for an answer that is a failure of this kind, whatever its status says. `why` is for operators.
pub(super) fn declared(
    exchange: &Exchange<'_>,
    answer: &Answer<'_>,
    kind: ToolErrorKind,
    why: &str,
) -> ToolError {
    let (code, endpoint) = (answer.status.as_u16(), exchange.endpoint);
    let said = said(exchange, answer, true);
    let detail = format!("{}, {why}", detail(exchange, answer));
    let error = typed(endpoint, answer.status, kind, detail, said);
    // A declared kind does not undo what the status leaves open.
    let by_status = || applied(kind_of(code, endpoint.takes_arguments()), code, &endpoint.method);
    let is_open = !answer.status.is_success() && by_status() == Applied::Unknown;
    hinted(if is_open { error.with_applied(Applied::Unknown) } else { error }, answer)
}

/// The error that an answer of this status becomes, with these words of the service where its body has some;
/// `None` for a status that says the call worked.
///
/// No request is made: this is for those who ask what would happen.
pub fn failure_of(endpoint: &Endpoint, status: u16, words: Option<&str>) -> Option<ToolError> {
    let known = StatusCode::from_u16(status).ok().filter(|status| status.as_u16() >= 300)?;
    let shown = words.map(|words| format!(", body `{}`", escaped(words.trim(), SHOWN_CAP)));
    let detail =
        format!("{} {}: {}{}", endpoint.method, endpoint.path, reason(known), shown.unwrap_or_default());
    let said = Said { words: words.map(str::to_owned), ..Said::default() };
    let kind = kind_of(status, endpoint.takes_arguments());
    Some(typed(endpoint, known, kind, detail, said).with_applied(applied(kind, status, &endpoint.method)))
}

/// What the body says.
fn said(exchange: &Exchange<'_>, answer: &Answer<'_>, is_for_caller: bool) -> Said {
    let body = ErrorBody {
        media: &answer.media,
        text: answer.text.as_deref().unwrap_or_default(),
        cut: answer.body.cut,
        status: answer.status.as_u16(),
        is_for_caller,
    };
    said_in(&body, exchange.endpoint)
}

/// The error of this kind, with who answered and what was said.
fn typed(
    endpoint: &Endpoint,
    status: StatusCode,
    kind: ToolErrorKind,
    detail: String,
    said: Said,
) -> ToolError {
    let mut error = ToolError::new(kind, detail).with_status(status.as_u16());
    if let Some(code) = said.code {
        error = error.with_code(code);
    }
    // What concerns an operator stays with operators: a service may repeat half of a key in such a text.
    if kind.class() == ErrorClass::Operator {
        return error;
    }
    let name = status.canonical_reason().map(|name| format!(" {name}")).unwrap_or_default();
    let path = head(&endpoint.path, PATH_CAP);
    error = error.answered(format!("{} {path} answered {}{name}", endpoint.method, status.as_u16()));
    if let Some(words) = &said.words {
        error = error.say(words);
    }
    let named = || endpoint.named_by().map(|argument| crate::pointer::child("", argument));
    let argument = match kind.class() {
        ErrorClass::Answer | ErrorClass::Model => {
            said.argument.or_else(|| named().filter(|_| kind == ToolErrorKind::NotFound))
        }
        _ => None,
    };
    match argument {
        Some(argument) => error.at(argument),
        None => error,
    }
}

/// Keeps how long to wait, and the service's id of the request.
fn hinted(error: ToolError, answer: &Answer<'_>) -> ToolError {
    let error = match retry_after(answer.headers, SystemTime::now()) {
        Some(wait) => error.with_retry_after(wait),
        None => error,
    };
    with_ids(error, answer.headers)
}

/// Keeps the service's id of the request.
pub(super) fn with_ids(error: ToolError, headers: &HeaderMap) -> ToolError {
    let id = ["x-request-id", "request-id"].iter().find_map(|name| headers.get(*name)?.to_str().ok());
    match id {
        Some(id) => error.with_request_id(id),
        None => error,
    }
}

fn reason(status: StatusCode) -> &'static str {
    status.canonical_reason().unwrap_or("status without a name")
}

fn detail(exchange: &Exchange<'_>, answer: &Answer<'_>) -> String {
    let mut detail = format!("{}: {}", exchange.what, reason(answer.status));
    if let Some(wanted) = answer.headers.get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok()) {
        detail.push_str(&format!(", wants `{}`", escaped(wanted, 200)));
    }
    let text = answer.text.as_deref().unwrap_or_default().trim();
    if !text.is_empty() {
        detail.push_str(&format!(", body `{}`", escaped(text, SHOWN_CAP)));
    }
    detail
}

/// Names the host alone: path and query of a redirect may hold tokens.
fn redirect(answer: &Answer<'_>) -> String {
    if answer.status == StatusCode::NOT_MODIFIED {
        return "what the call names has not changed".into();
    }
    let location = answer.headers.get(LOCATION).and_then(|location| location.to_str().ok());
    let target = location.and_then(|location| answer.url.join(location).ok());
    match target.as_ref().and_then(|target| target.host_str()) {
        Some(host) => format!("the service redirects to {host}, which is not followed"),
        None => "the service answered with a redirect, which is not followed".into(),
    }
}
