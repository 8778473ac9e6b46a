//! The kinds of failure, grouped by who can fix it.

use serde::{Deserialize, Serialize};

/// Who can fix a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The call was wrong: the model can repair it.
    Model,
    /// The tool worked, and the world said no.
    Answer,
    /// It may pass by itself.
    Transient,
    /// Someone must act on the set-up.
    Operator,
    /// Forbidden here.
    Policy,
    /// The run was cancelled.
    Stop,
}

/// What went wrong with a tool call. A kind exists only where the loop, the model or an operator acts differently
/// on it; the names are stable and appear in manifests, traces and JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolErrorKind {
    /// The name was not offered.
    UnknownTool,
    /// The arguments are not one JSON object.
    MalformedArguments,
    /// The arguments do not fit the schema, or what the tool makes of it.
    InvalidArguments,
    /// What an argument names is not there.
    NotFound,
    /// What an argument names is not allowed.
    AccessDenied,
    /// What an argument names is in the way, or has changed meanwhile.
    Conflict,
    /// Any other refusal by a tool that worked.
    Rejected,
    /// Too many calls for the upstream.
    RateLimited,
    /// A deadline passed.
    Timeout,
    /// The upstream could not be reached.
    Unavailable,
    /// The upstream failed while it worked on the call.
    UpstreamFailure,
    /// The process that made the call died before the result came.
    Interrupted,
    /// The upstream does not know our credential, or does not accept it.
    Unauthenticated,
    /// The set-up of the tool is wrong.
    Misconfigured,
    /// The tool answered something other than it promises.
    InvalidOutput,
    /// A panic, or an error of a type that says nothing.
    Internal,
    /// A person or a rule said no.
    Denied,
    /// A budget is spent.
    LimitReached,
    /// The run was cancelled.
    Cancelled,
}

impl ToolErrorKind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 19] = [
        Self::UnknownTool,
        Self::MalformedArguments,
        Self::InvalidArguments,
        Self::NotFound,
        Self::AccessDenied,
        Self::Conflict,
        Self::Rejected,
        Self::RateLimited,
        Self::Timeout,
        Self::Unavailable,
        Self::UpstreamFailure,
        Self::Interrupted,
        Self::Unauthenticated,
        Self::Misconfigured,
        Self::InvalidOutput,
        Self::Internal,
        Self::Denied,
        Self::LimitReached,
        Self::Cancelled,
    ];

    /// Who can fix it.
    pub const fn class(self) -> ErrorClass {
        match self {
            Self::UnknownTool | Self::MalformedArguments | Self::InvalidArguments => ErrorClass::Model,
            Self::NotFound | Self::AccessDenied | Self::Conflict | Self::Rejected => ErrorClass::Answer,
            Self::RateLimited
            | Self::Timeout
            | Self::Unavailable
            | Self::UpstreamFailure
            | Self::Interrupted => ErrorClass::Transient,
            Self::Unauthenticated | Self::Misconfigured | Self::InvalidOutput | Self::Internal => {
                ErrorClass::Operator
            }
            Self::Denied | Self::LimitReached => ErrorClass::Policy,
            Self::Cancelled => ErrorClass::Stop,
        }
    }

    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown_tool",
            Self::MalformedArguments => "malformed_arguments",
            Self::InvalidArguments => "invalid_arguments",
            Self::NotFound => "not_found",
            Self::AccessDenied => "access_denied",
            Self::Conflict => "conflict",
            Self::Rejected => "rejected",
            Self::RateLimited => "rate_limited",
            Self::Timeout => "timeout",
            Self::Unavailable => "unavailable",
            Self::UpstreamFailure => "upstream_failure",
            Self::Interrupted => "interrupted",
            Self::Unauthenticated => "unauthenticated",
            Self::Misconfigured => "misconfigured",
            Self::InvalidOutput => "invalid_output",
            Self::Internal => "internal",
            Self::Denied => "denied",
            Self::LimitReached => "limit_reached",
            Self::Cancelled => "cancelled",
        }
    }

    /// What a failure of this kind says about the world when its adapter says nothing more exact.
    pub const fn usually_applied(self) -> Applied {
        match self {
            Self::UnknownTool
            | Self::MalformedArguments
            | Self::InvalidArguments
            | Self::NotFound
            | Self::AccessDenied
            | Self::Conflict
            | Self::Rejected
            | Self::RateLimited
            | Self::Unauthenticated
            | Self::Misconfigured
            | Self::Denied
            | Self::LimitReached => Applied::No,
            Self::Timeout
            | Self::Unavailable
            | Self::UpstreamFailure
            | Self::Interrupted
            | Self::InvalidOutput
            | Self::Internal
            | Self::Cancelled => Applied::Unknown,
        }
    }
}

impl ErrorClass {
    /// Every class, in the order of the documentation.
    pub const ALL: [Self; 6] =
        [Self::Model, Self::Answer, Self::Transient, Self::Operator, Self::Policy, Self::Stop];

    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Answer => "answer",
            Self::Transient => "transient",
            Self::Operator => "operator",
            Self::Policy => "policy",
            Self::Stop => "stop",
        }
    }
}

/// Did a failed attempt change the world?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Applied {
    /// Surely not.
    No,
    /// Surely, at least in part.
    Yes,
    /// Nobody can say.
    Unknown,
}

impl Applied {
    /// Every answer.
    pub const ALL: [Self; 3] = [Self::No, Self::Yes, Self::Unknown];

    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Yes => "yes",
            Self::Unknown => "unknown",
        }
    }
}

macro_rules! display_name {
    ($($name:ident)*) => {$(
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )*};
}
display_name!(ErrorClass ToolErrorKind Applied);
