//! Every way in which a model server fails, as a [`ModelError`].
//!
//! The status says most, but servers put the reason that matters into a code, and some only into words: no credit
//! left and a conversation that is too long look like any other refusal. This is the one place that reads them.

use std::time::{Duration, SystemTime};

use backstop_core::{ModelError, ModelErrorKind as Kind};
use reqwest::{StatusCode, header::HeaderMap};
use serde_json::Value;

/// Bytes of an error body that are read.
pub(super) const BODY_CAP: usize = 64 * 1024;

/// What servers say of a conversation that is too long, in lower case.
const TOO_LONG: [&str; 8] = [
    "maximum context length",
    "context length",
    "context size",
    "context window",
    "too many tokens",
    "prompt is too long",
    "input is too long",
    "exceed_context_size",
];

/// The server answered with a status that is none of success.
pub(super) fn refused(endpoint: &str, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> ModelError {
    let said = Said::read(body);
    let request = headers.get("x-request-id").and_then(|id| id.to_str().ok());
    let status = status.as_u16();
    let kind = said.kind(Some(status));
    let error = ModelError::new(kind, said.detail(format!("{endpoint} answered {status}"), request));
    let error = said.words_into(error).with_status(status);
    match retry_after(headers, SystemTime::now()) {
        Some(wait) => error.with_retry_after(wait),
        None => error,
    }
}

/// The server reports an error in a reply that began as a success. The code in it acts as the status.
pub(super) fn reported(endpoint: &str, error: &Value) -> ModelError {
    let said = Said::of(error);
    let what = format!("{endpoint} reported an error in its reply");
    let error = said.words_into(ModelError::new(said.kind(said.status), said.detail(what, None)));
    match said.status {
        Some(status) => error.with_status(status),
        None => error,
    }
}

/// The request did not get to the server, or no reply came back.
pub(super) fn not_sent(endpoint: &str, cause: reqwest::Error) -> ModelError {
    let (kind, what) = if cause.is_builder() {
        (Kind::Misconfigured, "is no address that a request can be made to")
    } else if cause.is_connect() {
        (Kind::Unavailable, "did not accept the connection")
    } else if cause.is_timeout() {
        (Kind::Timeout, "did not answer in time")
    } else {
        (Kind::UpstreamFailure, "closed the connection without an answer")
    };
    ModelError::new(kind, format!("{endpoint} {what}")).with_source(&cause.without_url())
}

/// The reply broke off.
pub(super) fn cut(endpoint: &str, cause: reqwest::Error) -> ModelError {
    let (kind, what) = if cause.is_timeout() {
        (Kind::Timeout, "did not go on in time")
    } else {
        (Kind::UpstreamFailure, "broke off in the middle of its reply")
    };
    ModelError::new(kind, format!("{endpoint} {what}")).with_source(&cause.without_url())
}

/// A good status with a page for people.
pub(super) fn not_a_model(endpoint: &str, kind: &str) -> ModelError {
    let kind = backstop_core::text::escaped(kind, 60);
    let detail = format!("{endpoint} answered `{kind}`: check the base URL, which usually ends in /v1");
    ModelError::new(backstop_core::ModelErrorKind::Misconfigured, detail)
}

/// The reply is more than we take.
pub(super) fn too_large(endpoint: &str, what: &str, cap: usize) -> ModelError {
    ModelError::new(Kind::MalformedReply, format!("{what} of {endpoint} is larger than {cap} bytes"))
}

/// The reply is not what the protocol says.
pub(super) fn malformed(endpoint: &str, what: &str, cause: &(dyn std::error::Error + 'static)) -> ModelError {
    ModelError::new(Kind::MalformedReply, format!("{what} of {endpoint} can't be read: {cause}"))
        .with_source(cause)
}

/// What a server says about a failure.
#[derive(Debug, Default)]
struct Said {
    /// For the person who waits.
    display: Option<String>,
    /// For a developer.
    message: Option<String>,
    /// Code, type and status as far as they are words, most telling first.
    names: Vec<String>,
    /// A code that is an HTTP status.
    status: Option<u16>,
}

impl Said {
    /// Reads an error body. A page of HTML says nothing.
    fn read(body: &[u8]) -> Self {
        if let Ok(value) = serde_json::from_slice::<Value>(body) {
            return Self::of(&value);
        }
        let text = std::str::from_utf8(body).unwrap_or_default().trim();
        // What begins like markup or JSON is a page, or a document that was cut.
        let is_plain = !text.starts_with(['<', '{', '[', '"']) && !text.contains("</");
        Self { message: Some(text.to_owned()).filter(|text| is_plain && !text.is_empty()), ..Self::default() }
    }

    /// Reads an error: in its envelope or without it, as an object or as text.
    fn of(value: &Value) -> Self {
        match value {
            Value::String(text) => Self { message: Some(text.clone()), ..Self::default() },
            Value::Array(items) => {
                items.first().filter(|item| item.is_object()).map(Self::of).unwrap_or_default()
            }
            Value::Object(object) => match object.get("error") {
                Some(error @ (Value::Object(_) | Value::Array(_))) => Self::of(error),
                Some(Value::String(text)) if !text.is_empty() => {
                    let mut said = Self::of_fields(value);
                    match said.message {
                        Some(_) => said.names.insert(0, text.to_lowercase()),
                        None => said.message = Some(text.clone()),
                    }
                    said
                }
                _ => Self::of_fields(value),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) => Self::default(),
        }
    }

    fn of_fields(error: &Value) -> Self {
        let words = |field: &str| match error.get(field)? {
            Value::String(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
            value @ (Value::Array(_) | Value::Object(_)) => Some(value.to_string()),
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        };
        let names = ["code", "type", "status"].iter().filter_map(|field| error.get(field)?.as_str());
        let status = ["code", "status", "status_code"].iter().filter_map(|field| {
            let number = match error.get(field)? {
                Value::String(text) => text.trim().parse().ok()?,
                value => value.as_u64()?,
            };
            u16::try_from(number).ok().filter(|number| (400..600).contains(number))
        });
        Self {
            display: words("display_message"),
            message: words("message").or_else(|| words("detail")),
            status: { status }.next(),
            names: names.map(str::to_lowercase).collect(),
        }
    }

    fn kind(&self, status: Option<u16>) -> Kind {
        let named = |names: &[&str]| self.names.iter().any(|name| names.contains(&name.as_str()));
        if status == Some(402)
            || named(&[
                "insufficient_quota",
                "insufficient_credits",
                "insufficient_balance",
                "quota_exhausted",
            ])
            || self.names.iter().any(|name| name.starts_with("billing"))
        {
            return Kind::QuotaExhausted;
        }
        if named(&["context_length_exceeded", "exceed_context_size_error", "context_window_exceeded"]) {
            return Kind::ContextTooLong;
        }
        if named(&["content_filter", "content_policy_violation", "content_filtered", "moderation_blocked"]) {
            return Kind::ContentFiltered;
        }
        if named(&["invalid_api_key"]) {
            return Kind::Unauthenticated;
        }
        if named(&["model_not_found", "deploymentnotfound"]) {
            return Kind::NotFound;
        }
        let limited =
            named(&["rate_limit_exceeded", "rate_limit_error", "rate_limited", "resource_exhausted"]);
        // Some servers run into the end of the context only while they write, and call it their own failure.
        if matches!(status, None | Some(400 | 413 | 422 | 500)) && !limited && self.says_too_long() {
            return Kind::ContextTooLong;
        }
        match status {
            Some(401 | 403) => Kind::Unauthenticated,
            Some(404) => Kind::NotFound,
            Some(408 | 504) => Kind::Timeout,
            Some(429) => Kind::RateLimited,
            // 529 is what one large provider answers when it is overloaded.
            Some(502 | 503 | 529) => Kind::Unavailable,
            Some(500..) => Kind::UpstreamFailure,
            Some(400..) => Kind::Rejected,
            Some(300..) => Kind::Misconfigured,
            Some(_) => Kind::MalformedReply,
            None if limited => Kind::RateLimited,
            None if named(&["overloaded", "overloaded_error", "service_unavailable", "unavailable"]) => {
                Kind::Unavailable
            }
            None if named(&["timeout", "timeout_error", "request_timeout"]) => Kind::Timeout,
            None if named(&["authentication_error", "permission_error", "unauthorized"]) => {
                Kind::Unauthenticated
            }
            None if named(&["not_found_error", "not_found"]) => Kind::NotFound,
            None if named(&["invalid_request_error", "bad_request"]) => Kind::Rejected,
            None => Kind::UpstreamFailure,
        }
    }

    fn says_too_long(&self) -> bool {
        [&self.message, &self.display].into_iter().flatten().any(|text| {
            let text = text.to_lowercase();
            TOO_LONG.iter().any(|phrase| text.contains(phrase))
        })
    }

    fn detail(&self, what: String, request: Option<&str>) -> String {
        let mut detail = what;
        if let Some(request) = request {
            detail.push_str(&format!(", request `{}`", backstop_core::text::escaped(request, 100)));
        }
        // What a person reads is kept apart; what is meant for a developer goes here.
        if let (Some(_), Some(message)) = (&self.display, &self.message) {
            detail.push_str(&format!(": {}", backstop_core::text::clean(message)));
        }
        detail
    }

    fn words_into(&self, error: ModelError) -> ModelError {
        let error = match self.display.as_ref().or(self.message.as_ref()) {
            Some(words) => error.say(words),
            None => error,
        };
        match self.names.first() {
            Some(name) => error.with_code(name),
            None => error,
        }
    }
}

/// How long the server asks to wait, in milliseconds, in seconds or as a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let seconds = |text: &str, unit: f64| {
        let number: f64 = text.parse().ok()?;
        Duration::try_from_secs_f64(number * unit).ok()
    };
    if let Some(wait) = value("retry-after-ms").and_then(|text| seconds(text, 0.001)) {
        return Some(wait);
    }
    let text = value("retry-after")?;
    seconds(text, 1.0).or_else(|| {
        let date = httpdate::parse_http_date(text).ok()?;
        // A date that is over asks for no wait.
        Some(date.duration_since(now).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(pairs: &[(&'static str, &str)]) -> Option<Duration> {
        let now = httpdate::parse_http_date("Wed, 21 Oct 2026 07:28:00 GMT").unwrap();
        let headers = pairs
            .iter()
            .map(|(name, value)| (reqwest::header::HeaderName::from_static(name), value.parse().unwrap()))
            .collect();
        retry_after(&headers, now)
    }

    #[test]
    fn a_wait_is_read_from_seconds_milliseconds_and_dates() {
        let cases = [
            ("retry-after", "3", Some(3000)),
            ("retry-after", "0", Some(0)),
            ("retry-after", "1.5", Some(1500)),
            ("retry-after", "86400", Some(86_400_000)),
            ("retry-after", "Wed, 21 Oct 2026 07:28:05 GMT", Some(5000)),
            ("retry-after", "Wed, 21 Oct 2026 07:27:00 GMT", Some(0)),
            ("retry-after", "soon", None),
            ("retry-after", "-1", None),
            ("retry-after", "inf", None),
            ("retry-after", "1e99", None),
            ("retry-after-ms", "250", Some(250)),
        ];
        for (name, value, expected) in cases {
            assert_eq!(wait(&[(name, value)]), expected.map(Duration::from_millis), "{name}: {value}");
        }
        assert_eq!(wait(&[]), None);
        let both = [("retry-after", "1"), ("retry-after-ms", "250")];
        assert_eq!(wait(&both), Some(Duration::from_millis(250)));
    }

    #[test]
    fn words_are_found_in_every_envelope_and_never_in_a_page() {
        let cases = [
            (r#"{"error":{"message":"a","display_message":"b"}}"#, Some("b")),
            (r#"{"error":{"message":"a"}}"#, Some("a")),
            (r#"[{"error":{"message":"a"}}]"#, Some("a")),
            (r#"{"error":"a"}"#, Some("a")),
            (r#"{"error":"unauthorized","message":"a"}"#, Some("a")),
            (r#"{"message":"a"}"#, Some("a")),
            (r#"{"detail":"a"}"#, Some("a")),
            (r#"{"detail":[{"msg":"a"}]}"#, Some(r#"[{"msg":"a"}]"#)),
            (r#"{"error":{"message":null}}"#, None),
            (r#""a""#, Some("a")),
            ("a plain sentence", Some("a plain sentence")),
            ("", None),
            ("null", None),
            ("<html><body>502 Bad Gateway</body></html>", None),
            ("\n <!DOCTYPE html>", None),
            ("oops <b>bold</b>", None),
            (r#"{"error":{"message":"cut in the mid"#, None),
        ];
        for (body, expected) in cases {
            let error = refused("h:1", StatusCode::IM_A_TEAPOT, &HeaderMap::new(), body.as_bytes());
            assert_eq!(error.words(), expected, "{body}");
        }
    }
}
