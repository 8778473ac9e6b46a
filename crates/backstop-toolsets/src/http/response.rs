//! Answers that say the call worked.

use std::time::Duration;

use backstop_core::{ToolError, ToolOutput, text::escaped};
use reqwest::{Response, StatusCode, header::HeaderMap};
use serde_json::Value;

use super::{
    Endpoint,
    body::{self, Body},
    media::{Media, has_markup, looks_like_html},
    status, transport,
};

/// Bytes of an error body that are read.
const ERROR_BODY_CAP: usize = 64 * 1024;
/// Bytes of an unusable body that operators get to see.
const SHOWN_CAP: usize = 200;

/// What is known of a request while its answer is read.
pub(super) struct Exchange<'a> {
    pub(super) endpoint: &'a Endpoint,
    /// Method, host and path, for operators.
    pub(super) what: String,
    pub(super) max_body: usize,
    pub(super) timeout: Duration,
}

/// Reads an answer.
///
/// # Errors
///
/// The kind that the status stands for; `invalid_output` for a body that is not what it promises or too large;
/// `upstream_failure` for one that breaks off.
pub(super) async fn read(mut response: Response, exchange: &Exchange<'_>) -> Result<ToolOutput, ToolError> {
    let status = response.status();
    if !status.is_success() {
        let body = body::read_some(&mut response, ERROR_BODY_CAP).await;
        return Err(status::failure(exchange, &response, &body));
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
    let output = if body.cut {
        let limit = size(cap);
        Err(ToolError::invalid_output(format!("{}: the answer is larger than {limit}", exchange.what))
            .say(format!("the answer is larger than the limit of {limit}")))
    } else {
        output(exchange, status, response.headers(), &body.bytes)
    };
    output.map_err(|error| status::with_ids(error.with_status(status.as_u16()), response.headers()))
}

fn output(
    exchange: &Exchange<'_>,
    status: StatusCode,
    headers: &HeaderMap,
    bytes: &[u8],
) -> Result<ToolOutput, ToolError> {
    if bytes.is_empty() {
        return Ok(ToolOutput::text(no_content(status)));
    }
    let media = Media::of(headers);
    let text = media.decode(bytes);
    let schema = exchange.endpoint.spec.output_schema.as_ref();
    let declared = schema.is_some_and(|schema| schema.get("type").is_none_or(|kind| kind != "string"));
    if media.is_json() || declared {
        let Some(text) = text else { return Err(unusable(exchange, &media, &binary(&media, bytes), "JSON")) };
        return serde_json::from_str::<Value>(&text).map(ToolOutput::Json).map_err(|cause| {
            unusable(exchange, &media, &format!("`{}`", escaped(&text, SHOWN_CAP)), "JSON").with_source(cause)
        });
    }
    match text {
        // A login or an error page under a good status: nothing in it is the result that was asked for.
        Some(text) if (media.is_html() && has_markup(&text)) || looks_like_html(&text) => {
            let shown = format!("`{}`", escaped(&text, SHOWN_CAP));
            Err(unusable(exchange, &media, &shown, "data, not a page for people"))
        }
        Some(text) if media.is_text() => Ok(ToolOutput::Text(text)),
        Some(text) if media.essence.is_empty() => {
            Ok(serde_json::from_str(&text).map_or(ToolOutput::Text(text), ToolOutput::Json))
        }
        _ => Ok(ToolOutput::Text(format!("{}, which is not shown", binary(&media, bytes)))),
    }
}

fn unusable(exchange: &Exchange<'_>, media: &Media, got: &str, wanted: &str) -> ToolError {
    let media = if media.essence.is_empty() { "no content type" } else { &media.essence };
    let media = escaped(media, 100);
    ToolError::invalid_output(format!("{}: expected {wanted}, got ({media}) {got}", exchange.what))
}

/// `204 No Content`, or `200 OK, no content`: never empty, so that a success does not read as nothing.
fn no_content(status: StatusCode) -> String {
    if status == StatusCode::NO_CONTENT { status.to_string() } else { format!("{status}, no content") }
}

fn binary(media: &Media, bytes: &[u8]) -> String {
    let media = if media.essence.is_empty() { "binary content" } else { &media.essence };
    format!("{}, {}", escaped(media, 100), size(bytes.len()))
}

fn size(bytes: usize) -> String {
    const UNITS: [(usize, &str); 2] = [(1024 * 1024, "MiB"), (1024, "KiB")];
    let whole = UNITS.iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    match whole {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None if bytes == 1 => "1 byte".into(),
        None => format!("{bytes} bytes"),
    }
}
