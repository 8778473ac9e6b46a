//! What a model answers, and how it fails.

use std::{fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{call::ToolCall, text::head};

/// One whole reply of a model: it ends a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    /// What it said; `None` or empty beside calls as a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The tool calls it made, in order, as it wrote them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    #[serde(default)]
    pub finish: FinishReason,
    /// Tokens spent.
    #[serde(default)]
    pub usage: Usage,
    /// What the provider sent along with the message and expects back, such as reasoning state.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl ModelReply {
    /// A reply in words.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// A reply that makes calls.
    pub fn calls(calls: Vec<ToolCall>) -> Self {
        Self { calls, finish: FinishReason::ToolCalls, ..Self::default() }
    }
}

/// Why a model stopped. Calls run for every reason but a cut or a filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was done, or did not say.
    #[default]
    Stop,
    /// It made tool calls.
    ToolCalls,
    /// The token limit cut it.
    Length,
    /// A filter cut it.
    ContentFilter,
}

/// Tokens spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the requests.
    pub input_tokens: u64,
    /// Tokens of the replies.
    pub output_tokens: u64,
    /// Tokens of the requests that came from a cache.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Tokens of the replies that the model spent on reasoning.
    #[serde(default)]
    pub reasoning_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cached_tokens += other.cached_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
    }
}

/// Why a model did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// Too many requests or tokens.
    RateLimited,
    /// The account has no credit left.
    QuotaExhausted,
    /// The conversation does not fit the model's context.
    ContextTooLong,
    /// A filter refused the prompt or cut the reply.
    ContentFiltered,
    /// The deployment does not know or accept our credential.
    Unauthenticated,
    /// There is no such model or deployment.
    NotFound,
    /// The deployment refused the request for another reason.
    Rejected,
    /// It could not be reached.
    Unavailable,
    /// It failed while it worked on the request.
    UpstreamFailure,
    /// A deadline passed.
    Timeout,
    /// The reply is not what the protocol says.
    MalformedReply,
    /// The reply is empty: no text, no call.
    EmptyReply,
    /// The token limit cut the answer.
    CutAtTokenLimit,
    /// The set-up of the client is wrong.
    Misconfigured,
}

impl ModelErrorKind {
    /// Every kind.
    pub const ALL: [Self; 14] = [
        Self::RateLimited,
        Self::QuotaExhausted,
        Self::ContextTooLong,
        Self::ContentFiltered,
        Self::Unauthenticated,
        Self::NotFound,
        Self::Rejected,
        Self::Unavailable,
        Self::UpstreamFailure,
        Self::Timeout,
        Self::MalformedReply,
        Self::EmptyReply,
        Self::CutAtTokenLimit,
        Self::Misconfigured,
    ];

    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::QuotaExhausted => "quota_exhausted",
            Self::ContextTooLong => "context_too_long",
            Self::ContentFiltered => "content_filtered",
            Self::Unauthenticated => "unauthenticated",
            Self::NotFound => "not_found",
            Self::Rejected => "rejected",
            Self::Unavailable => "unavailable",
            Self::UpstreamFailure => "upstream_failure",
            Self::Timeout => "timeout",
            Self::MalformedReply => "malformed_reply",
            Self::EmptyReply => "empty_reply",
            Self::CutAtTokenLimit => "cut_at_token_limit",
            Self::Misconfigured => "misconfigured",
        }
    }

    /// Whether the same request may succeed when it is made again. Asking a model changes nothing, so what may
    /// pass is retried.
    pub const fn may_pass(self) -> bool {
        match self {
            Self::RateLimited
            | Self::Unavailable
            | Self::UpstreamFailure
            | Self::Timeout
            | Self::MalformedReply
            | Self::EmptyReply => true,
            Self::QuotaExhausted
            | Self::ContextTooLong
            | Self::ContentFiltered
            | Self::Unauthenticated
            | Self::NotFound
            | Self::Rejected
            | Self::CutAtTokenLimit
            | Self::Misconfigured => false,
        }
    }

    /// What a person reads about it, before the server's own words.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::RateLimited => "the model is called too often",
            Self::QuotaExhausted => "the account of the model has no credit left",
            Self::ContextTooLong => "the conversation is longer than the model's context",
            Self::ContentFiltered => "a content filter refused the conversation or cut the reply",
            Self::Unauthenticated => "the model server did not accept the API key",
            Self::NotFound => "the model server does not know this model or address",
            Self::Rejected => "the model server refused the request",
            Self::Unavailable => "the model server can't be reached",
            Self::UpstreamFailure => "the model server failed",
            Self::Timeout => "the model did not answer in time",
            Self::MalformedReply => "the model server's reply is not a chat completion",
            Self::EmptyReply => "the model's reply is empty",
            Self::CutAtTokenLimit => "the model's answer was cut off at its token limit",
            Self::Misconfigured => "the model is not set up correctly",
        }
    }
}

/// A failed model turn. `Display` writes what a person reads: what happened and the server's own words.
///
/// # Example
///
/// ```
/// use backstop_core::{ModelError, ModelErrorKind};
/// let error = ModelError::new(ModelErrorKind::RateLimited, "429 from the gateway").say("Slow down.").with_status(429);
/// assert_eq!(error.to_string(), "the model is called too often: Slow down. (status 429)");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelError(Arc<Parts>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Parts {
    kind: ModelErrorKind,
    detail: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    words: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    /// What had been said when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partial: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    causes: Vec<String>,
}

impl ModelError {
    /// A failure of this kind, with a detail for the operator.
    pub fn new(kind: ModelErrorKind, detail: impl Into<String>) -> Self {
        Self(Arc::new(Parts {
            kind,
            detail: head(&detail.into(), 4096),
            words: None,
            status: None,
            code: None,
            retry_after_ms: None,
            partial: None,
            causes: Vec::new(),
        }))
    }

    fn change(mut self, change: impl FnOnce(&mut Parts)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Keeps the server's own words, for a person.
    #[must_use]
    pub fn say(self, words: impl AsRef<str>) -> Self {
        let words = crate::text::clean(&head(words.as_ref(), 2048));
        if words.is_empty() { self } else { self.change(|parts| parts.words = Some(words)) }
    }

    /// Keeps the server's status code.
    #[must_use]
    pub fn with_status(self, status: u16) -> Self {
        self.change(|parts| parts.status = Some(status))
    }

    /// Keeps the server's error code.
    #[must_use]
    pub fn with_code(self, code: impl AsRef<str>) -> Self {
        self.change(|parts| parts.code = Some(head(code.as_ref(), 128)))
    }

    /// Keeps how long the server asked to wait.
    #[must_use]
    pub fn with_retry_after(self, wait: Duration) -> Self {
        self.change(|parts| parts.retry_after_ms = Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)))
    }

    /// Keeps what had been said when it failed.
    #[must_use]
    pub fn with_partial(self, text: impl Into<String>) -> Self {
        let text = text.into();
        if text.is_empty() { self } else { self.change(|parts| parts.partial = Some(text)) }
    }

    /// Keeps the cause and its causes, as texts.
    #[must_use]
    pub fn with_source(self, source: &(dyn std::error::Error + 'static)) -> Self {
        let causes =
            std::iter::successors(Some(source), |layer| layer.source()).take(16).map(ToString::to_string);
        let causes = causes.collect();
        self.change(|parts| parts.causes = causes)
    }

    /// Changes every text in it: how secrets are taken out.
    #[must_use]
    pub(crate) fn map_texts(self, map: &impl Fn(&str) -> Option<String>) -> Self {
        self.change(|parts| {
            let texts =
                [Some(&mut parts.detail), parts.words.as_mut(), parts.code.as_mut(), parts.partial.as_mut()];
            for text in texts.into_iter().flatten().chain(&mut parts.causes) {
                if let Some(mapped) = map(text) {
                    *text = mapped;
                }
            }
        })
    }

    /// What went wrong.
    pub fn kind(&self) -> ModelErrorKind {
        self.0.kind
    }

    /// The server's status code.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// The server's error code.
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// The server's own words.
    pub fn words(&self) -> Option<&str> {
        self.0.words.as_deref()
    }

    /// The operator's detail.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// How long the server asked to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after_ms.map(Duration::from_millis)
    }

    /// What had been said when it failed.
    pub fn partial(&self) -> Option<&str> {
        self.0.partial.as_deref()
    }

    /// The causes, outermost first.
    pub fn causes(&self) -> &[String] {
        &self.0.causes
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.kind.sentence())?;
        if let Some(words) = &self.0.words {
            write!(f, ": {words}")?;
        } else if !self.0.detail.is_empty() {
            write!(f, ": {}", self.0.detail)?;
        }
        self.0.status.map_or(Ok(()), |status| write!(f, " (status {status})"))
    }
}

impl std::error::Error for ModelError {}
