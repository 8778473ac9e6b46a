//! Answers that say the call worked.

use std::time::Duration;

use backstop_core::{
    Part, ToolError, ToolErrorKind, ToolOutput,
    text::{escaped, size},
};
use reqwest::{Method, Response, StatusCode, header::HeaderMap};
use serde_json::Value;
use tokio::time::Instant;
use url::Url;

use super::{
    Endpoint,
    answer::Seen,
    body::{self, Body},
    disposition::file_name,
    media::{Media, has_markup, looks_like_html},
    promise::Promise,
    status, transport,
};

/// Bytes of an error body that are read.
const ERROR_BODY_CAP: usize = 64 * 1024;
/// Bytes of an unusable body that operators get to see.
const SHOWN_CAP: usize = 200;
/// Why an answer is a failure, for operators.
const DECLARED: &str = "which is declared to be a failure";
const NO_SUCCESS: &str = "which is not the success that is declared";
const GRAPHQL: &str = "which has errors and no data";

/// What is known of a request while its answer is read.
pub(super) struct Exchange<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) promise: &'a Promise,
    /// Method, host and path, for operators.
    pub(super) what: String,
    pub(super) max_body: usize,
    pub(super) timeout: Duration,
    /// When that time is over.
    pub(super) until: Instant,
}

/// An answer, as far as it was read.
pub(super) struct Answer<'a> {
    pub(super) status: StatusCode,
    pub(super) headers: &'a HeaderMap,
    pub(super) url: &'a Url,
    pub(super) media: Media,
    pub(super) body: Body,
    /// The body as text, where it is one.
    pub(super) text: Option<String>,
    json: Option<Value>,
}

impl<'a> Answer<'a> {
    fn new(response: &'a Response, body: Body) -> Self {
        let media = Media::of(response.headers());
        let text = media.decode(&body.bytes);
        let may_be_json = |text: &&str| media.is_json() || text.trim_start().starts_with(['{', '[']);
        let json = text.as_deref().filter(may_be_json).and_then(|text| serde_json::from_str(text).ok());
        let (status, headers, url) = (response.status(), response.headers(), response.url());
        Self { status, headers, url, media, body, text, json }
    }

    fn seen(&self) -> Seen<'_> {
        let (text, json) = (self.text.as_deref(), self.json.as_ref());
        Seen { status: self.status.as_u16(), media: &self.media, text, json }
    }
}

/// Reads an answer.
///
/// # Errors
///
/// The kind that the status stands for, or that is declared for such an answer; `invalid_output` for a body that is
/// not what it promises or too large; `upstream_failure` for one that breaks off.
pub(super) async fn read(mut response: Response, exchange: &Exchange<'_>) -> Result<ToolOutput, ToolError> {
    let status = response.status();
    let rules = &exchange.endpoint.answer;
    if !rules.may_succeed(status.as_u16()) {
        let body = body::read_some(&mut response, ERROR_BODY_CAP).await;
        return Err(failure(exchange, &Answer::new(&response, body)));
    }
    let cap = exchange.max_body;
    let announced = response.content_length().is_some_and(|length| length > cap as u64);
    let body = if announced {
        Body { bytes: Vec::new(), cut: true }
    } else {
        body::read(&mut response, cap)
            .await
            .map_err(|cause| transport::cut_off(cause, &exchange.what, status.as_u16(), exchange.timeout))?
    };
    let answer = Answer::new(&response, body);
    // What is declared is about whole bodies; of an error status, what is there is enough.
    if answer.body.cut && status.is_success() {
        let limit = size(cap);
        let error =
            ToolError::invalid_output(format!("{}: the answer is larger than {limit}", exchange.what))
                .say(format!("the answer is larger than the limit of {limit}"));
        return Err(with_answer(error, &answer));
    }
    let seen = answer.seen();
    if let Some(kind) = rules.failure(&seen) {
        return Err(status::declared(exchange, &answer, kind, DECLARED));
    }
    if !rules.succeeded(&seen) {
        return Err(match status.is_success() {
            true => status::declared(exchange, &answer, ToolErrorKind::Rejected, NO_SUCCESS),
            false => status::failure(exchange, &answer),
        });
    }
    if let Some(began) = graphql_failure(answer.json.as_ref()) {
        let error = status::declared(exchange, &answer, ToolErrorKind::Rejected, GRAPHQL);
        return Err(if began { error.with_applied(backstop_core::Applied::Unknown) } else { error });
    }
    output(exchange, &answer).map_err(|error| with_answer(error, &answer))
}

fn failure(exchange: &Exchange<'_>, answer: &Answer<'_>) -> ToolError {
    match exchange.endpoint.answer.failure(&answer.seen()) {
        Some(kind) => status::declared(exchange, answer, kind, DECLARED),
        None => status::failure(exchange, answer),
    }
}

fn with_answer(error: ToolError, answer: &Answer<'_>) -> ToolError {
    status::with_ids(error.with_status(answer.status.as_u16()), answer.headers)
}

/// Whether this is the answer of a GraphQL service that has errors and no data; then whether the request was begun:
/// [without `data`](https://spec.graphql.org/October2021/#sec-Errors) it was refused before.
fn graphql_failure(json: Option<&Value>) -> Option<bool> {
    let object = json?.as_object()?;
    let errors = object.get("errors")?.as_array()?;
    let is_graphql = object.keys().all(|key| matches!(key.as_str(), "errors" | "data" | "extensions"))
        && errors.iter().all(|error| error.get("message").is_some_and(Value::is_string));
    let data = object.get("data");
    (is_graphql && !errors.is_empty() && data.is_none_or(Value::is_null)).then_some(data.is_some())
}

fn output(exchange: &Exchange<'_>, answer: &Answer<'_>) -> Result<ToolOutput, ToolError> {
    let endpoint = exchange.endpoint;
    if answer.body.bytes.is_empty() {
        let may_be_empty = endpoint.method == Method::HEAD
            || matches!(
                answer.status,
                StatusCode::ACCEPTED | StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT
            );
        if exchange.promise.is_content() && !may_be_empty {
            exchange.promise.broken(exchange, "content was promised, and there is none")?;
        }
        return Ok(ToolOutput::text(no_content(answer.status)));
    }
    let output = content(exchange, answer)?;
    exchange.promise.check(exchange, &output)?;
    let Some(path) = &endpoint.answer.result else { return Ok(output) };
    let part = match &output {
        ToolOutput::Json(value) => path.part(value),
        _ => None,
    };
    part.map(ToolOutput::Json).ok_or_else(|| {
        let shown = escaped(answer.text.as_deref().unwrap_or_default(), SHOWN_CAP);
        let path = escaped(path.as_str(), SHOWN_CAP);
        ToolError::invalid_output(format!("{}: nothing is at `{path}` of `{shown}`", exchange.what))
    })
}

/// The body as what it says it is.
fn content(exchange: &Exchange<'_>, answer: &Answer<'_>) -> Result<ToolOutput, ToolError> {
    let (media, promise) = (&answer.media, exchange.promise);
    if media.is_json() {
        let Some(text) = &answer.text else { return Err(unusable(exchange, answer, "JSON")) };
        let value = serde_json::from_str::<Value>(text)
            .map_err(|cause| unusable(exchange, answer, "JSON").with_source(cause))?;
        if !promise.allows(media) {
            promise.not_kept(unusable(exchange, answer, &promise.in_words()))?;
        }
        return Ok(ToolOutput::Json(value));
    }
    if let Some(text) = &answer.text {
        // A login or an error page under a good status: nothing in it is the result that was asked for.
        let is_page = (media.is_html() && has_markup(text)) || looks_like_html(text);
        if is_page && !promise.names(media) {
            return Err(unusable(exchange, answer, "data, not a page for people"));
        }
        // Many services say `text/plain` of everything.
        if promise.is_json() || media.essence.is_empty() {
            match serde_json::from_str::<Value>(text) {
                Ok(value) => return Ok(ToolOutput::Json(value)),
                Err(cause) if promise.is_json() => {
                    let error = unusable(exchange, answer, "JSON").with_source(cause);
                    promise.not_kept(error)?;
                }
                Err(_) => {}
            }
        }
    }
    if !promise.allows(media) {
        promise.not_kept(unusable(exchange, answer, &promise.in_words()))?;
    }
    match &answer.text {
        Some(text) if media.is_text() || media.essence.is_empty() => Ok(ToolOutput::Text(text.clone())),
        _ => {
            let kind = if media.essence.is_empty() { "application/octet-stream" } else { &media.essence };
            let part = Part::blob(kind, &answer.body.bytes, file_name(answer.headers));
            Ok(ToolOutput::Parts(vec![part]))
        }
    }
}

fn unusable(exchange: &Exchange<'_>, answer: &Answer<'_>, wanted: &str) -> ToolError {
    let media = if answer.media.essence.is_empty() { "no content type" } else { &answer.media.essence };
    let media = escaped(media, 100);
    let got = match &answer.text {
        Some(text) => format!("`{}`", escaped(text, SHOWN_CAP)),
        None => size(answer.body.bytes.len()),
    };
    ToolError::invalid_output(format!("{}: expected {wanted}, got ({media}) {got}", exchange.what))
}

/// `204 No Content`, or `200 OK, no content`: never empty, so that a success does not read as nothing.
fn no_content(status: StatusCode) -> String {
    if status == StatusCode::NO_CONTENT { status.to_string() } else { format!("{status}, no content") }
}
