//! The error itself.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use super::{Applied, Causes, ErrorClass, ToolErrorKind};
use crate::{
    schema::Violation,
    text::{clean, head},
};

/// Bytes kept of an operator's detail.
const DETAIL_CAP: usize = 4 * 1024;
/// Bytes kept of words that are meant for the model.
pub(crate) const WORDS_CAP: usize = 1024;
/// Bytes kept of who answered and how.
const ANSWERED_CAP: usize = 300;

/// Why a tool call failed: a [kind](ToolErrorKind), whether the world may have changed, and what each reader may
/// know.
///
/// Cheap to clone. `Display` writes one layer, for operators; [`source`](Error::source) gives the next one.
/// Nothing here reaches a model but the violations of a schema, the fixed sentence of the kind, and words given
/// to [`say`](Self::say).
///
/// # Example
///
/// ```
/// use backstop_core::{Applied, ToolError, ToolErrorKind};
///
/// let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
/// let error = ToolError::unavailable("weather service did not accept a connection")
///     .not_applied()
///     .with_source(refused);
/// assert_eq!(error.kind(), ToolErrorKind::Unavailable);
/// assert_eq!(error.applied(), Applied::No);
/// assert_eq!(error.to_string(), "unavailable: weather service did not accept a connection");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolError(Arc<Parts>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Parts {
    pub(crate) kind: ToolErrorKind,
    pub(crate) applied: Applied,
    pub(crate) detail: String,
    /// Words for the model: of the service, or the fixed ones of a call that could not be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) words: Option<String>,
    /// Who answered and how, in front of the words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answered: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<String>,
    /// The argument at fault, as a JSON Pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pointer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "millis")]
    pub(crate) retry_after: Option<Duration>,
    /// The limit that ran out, of a timeout.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "millis")]
    pub(crate) limit: Option<Duration>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) violations: Vec<Violation>,
    /// The order that ends the model view, where validation knows a better one than the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next_step: Option<String>,
    #[serde(default)]
    pub(crate) causes: Causes,
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident => $kind:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(detail: impl Into<String>) -> Self {
            Self::new(ToolErrorKind::$kind, detail)
        }
    )*};
}

impl ToolError {
    /// An error of this kind, with a detail for the operator: lowercase, no final period, no secret.
    pub fn new(kind: ToolErrorKind, detail: impl Into<String>) -> Self {
        Self(Arc::new(Parts {
            kind,
            applied: kind.usually_applied(),
            detail: head(&detail.into(), DETAIL_CAP),
            words: None,
            answered: None,
            status: None,
            code: None,
            request_id: None,
            pointer: None,
            retry_after: None,
            limit: None,
            violations: Vec::new(),
            next_step: None,
            causes: Causes::default(),
        }))
    }

    constructors! {
        /// The arguments fit the schema but not what the tool makes of it. See [`at`](Self::at).
        invalid_arguments => InvalidArguments;
        /// What an argument names is not there.
        not_found => NotFound;
        /// What an argument names is not allowed.
        access_denied => AccessDenied;
        /// What an argument names is in the way, or has changed meanwhile.
        conflict => Conflict;
        /// Any other refusal by a tool that worked.
        rejected => Rejected;
        /// Too many calls for the upstream. See [`retry_after`](Self::with_retry_after).
        rate_limited => RateLimited;
        /// The upstream could not be reached.
        unavailable => Unavailable;
        /// The upstream failed while it worked on the call.
        upstream_failure => UpstreamFailure;
        /// The upstream does not know or accept our credential.
        unauthenticated => Unauthenticated;
        /// The set-up of the tool is wrong.
        misconfigured => Misconfigured;
        /// The tool answered something other than it promises.
        invalid_output => InvalidOutput;
        /// A panic, or an error of a type that says nothing.
        internal => Internal;
        /// A person or a rule said no.
        denied => Denied;
    }

    /// A deadline of this length passed.
    pub fn timeout(limit: Duration, detail: impl Into<String>) -> Self {
        Self::new(ToolErrorKind::Timeout, detail).change(|parts| parts.limit = Some(limit))
    }

    /// An error of a type that says nothing: `internal`, with the whole chain for the operator. A [`ToolError`]
    /// in the box comes out as it is.
    pub fn from_any(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        match error.into().downcast::<Self>() {
            Ok(typed) => *typed,
            Err(other) => Self::internal("the tool returned an untyped error").with_source_arc(other.into()),
        }
    }

    fn change(mut self, change: impl FnOnce(&mut Parts)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.0
    }

    pub(crate) fn from_parts(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// Marks words as meant for the caller: the model reads them instead of the fixed sentence of the kind.
    ///
    /// Only for text that the service wrote for its callers, such as the message of a REST error body. Control
    /// characters are taken out and the length is capped; blank words are ignored.
    #[must_use]
    pub fn say(self, words: impl AsRef<str>) -> Self {
        let words = clean(&head(words.as_ref(), WORDS_CAP));
        if words.is_empty() { self } else { self.change(|parts| parts.words = Some(words)) }
    }

    /// Says who answered and how, such as `GET /orders/{id} answered 404 Not Found`: the model reads it in front of
    /// the [words](Self::say), and no number of the status behind them. It must hold no value and no host.
    #[must_use]
    pub fn answered(self, sentence: impl AsRef<str>) -> Self {
        let sentence = clean(&head(sentence.as_ref(), ANSWERED_CAP));
        if sentence.is_empty() { self } else { self.change(|parts| parts.answered = Some(sentence)) }
    }

    /// The attempt surely did not change the world.
    #[must_use]
    pub fn not_applied(self) -> Self {
        self.with_applied(Applied::No)
    }

    /// Says whether the attempt changed the world.
    #[must_use]
    pub fn with_applied(self, applied: Applied) -> Self {
        self.change(|parts| parts.applied = applied)
    }

    /// Names the argument at fault as a JSON Pointer (RFC 6901), such as `/path` or `/items/0/id`.
    #[must_use]
    pub fn at(self, pointer: impl Into<String>) -> Self {
        self.change(|parts| parts.pointer = Some(pointer.into()))
    }

    /// Keeps the upstream's status code.
    #[must_use]
    pub fn with_status(self, status: u16) -> Self {
        self.change(|parts| parts.status = Some(status))
    }

    /// Keeps the upstream's own error code.
    #[must_use]
    pub fn with_code(self, code: impl AsRef<str>) -> Self {
        self.change(|parts| parts.code = Some(head(&clean(code.as_ref()), 128)))
    }

    /// Keeps the upstream's id of the request.
    #[must_use]
    pub fn with_request_id(self, id: impl AsRef<str>) -> Self {
        self.change(|parts| parts.request_id = Some(head(&clean(id.as_ref()), 128)))
    }

    /// Keeps how long the upstream asked to wait.
    #[must_use]
    pub fn with_retry_after(self, wait: Duration) -> Self {
        self.change(|parts| parts.retry_after = Some(wait))
    }

    /// Keeps the cause, with its own causes.
    #[must_use]
    pub fn with_source(self, source: impl Error + Send + Sync + 'static) -> Self {
        self.with_source_arc(Arc::new(source))
    }

    fn with_source_arc(self, source: Arc<dyn Error + Send + Sync>) -> Self {
        self.change(|parts| parts.causes = Causes::new(source))
    }

    pub(crate) fn with_violations(self, violations: Vec<Violation>) -> Self {
        self.change(|parts| parts.violations = violations)
    }

    pub(crate) fn with_next_step(self, order: String) -> Self {
        self.change(|parts| parts.next_step = Some(order))
    }

    pub(crate) fn with_words(self, words: String) -> Self {
        self.change(|parts| parts.words = Some(words))
    }

    /// What went wrong.
    pub fn kind(&self) -> ToolErrorKind {
        self.0.kind
    }

    /// Who can fix it.
    pub fn class(&self) -> ErrorClass {
        self.0.kind.class()
    }

    /// Whether the attempt changed the world.
    pub fn applied(&self) -> Applied {
        self.0.applied
    }

    /// How long the upstream asked to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The upstream's status code.
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// The upstream's own error code.
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// The argument at fault, as a JSON Pointer.
    pub fn pointer(&self) -> Option<&str> {
        self.0.pointer.as_deref()
    }

    /// What the schema says against the arguments, in schema order.
    pub fn violations(&self) -> &[Violation] {
        &self.0.violations
    }

    /// The operator's detail.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// The words that are meant for the caller.
    pub fn words(&self) -> Option<&str> {
        self.0.words.as_deref()
    }

    /// The causes, outermost first.
    pub fn causes(&self) -> Vec<String> {
        self.0.causes.texts()
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.kind)?;
        if !self.0.detail.is_empty() {
            write!(f, ": {}", self.0.detail)?;
        }
        self.0.status.map_or(Ok(()), |status| write!(f, " (status {status})"))
    }
}

impl Error for ToolError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.causes.source()
    }
}

mod millis {
    //! An optional duration as a number of milliseconds.

    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        value: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.map(|value| u64::try_from(value.as_millis()).unwrap_or(u64::MAX)).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_millis))
    }
}
