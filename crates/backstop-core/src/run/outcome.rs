//! How a run ends, and what is wrong when an event does not fit.

use serde::{Deserialize, Serialize};

use super::Limit;
use crate::{
    id::{CallId, Reference},
    model::ModelError,
};

/// How a run ended. Every way has a type; a limit is never an answer with a sentence in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Outcome {
    /// The model answered.
    Answered {
        /// The answer.
        text: String,
    },
    /// A strategy stopped the run.
    Stopped {
        /// What the user reads.
        message: String,
        /// The failure that it was stopped for.
        reference: Reference,
    },
    /// A budget is spent.
    LimitReached {
        /// Which one.
        which: Limit,
    },
    /// The model did not answer.
    ModelFailed {
        /// Why.
        error: ModelError,
    },
    /// Somebody cancelled it.
    Cancelled,
    /// It waits for a person; it goes on when they have answered.
    NeedsAnswer {
        /// What they are asked.
        question: Question,
    },
}

impl Outcome {
    /// The stable name.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Answered { .. } => "answered",
            Self::Stopped { .. } => "stopped",
            Self::LimitReached { .. } => "limit_reached",
            Self::ModelFailed { .. } => "model_failed",
            Self::Cancelled => "cancelled",
            Self::NeedsAnswer { .. } => "needs_answer",
        }
    }
}

/// What a person can do about a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// Answer it: the answer takes the place of the result.
    #[default]
    Answer,
    /// Allow the call, or refuse it.
    Approval,
}

/// What a person is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Question {
    /// What they can do.
    #[serde(default)]
    pub kind: QuestionKind,
    /// The call that waits for the answer.
    pub call: CallId,
    /// The tool of that call, by the name that the model knows.
    pub tool: String,
    /// The arguments of that call, as JSON text.
    pub arguments: String,
    /// The question.
    pub text: String,
}

/// An event that a run can't take: the driver, the journal or the definition is wrong, not the run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The event does not fit what the run waits for.
    #[error("event `{event}` does not fit: the run {waits}")]
    Unexpected {
        /// The event's name.
        event: &'static str,
        /// What the run does.
        waits: &'static str,
    },
    /// The event names a call or an attempt that is not waited for.
    #[error("event `{event}` names call `{call}`, which is not waited for")]
    UnknownCall {
        /// The event's name.
        event: &'static str,
        /// The call.
        call: CallId,
    },
    /// The conversation is not balanced: a call without a result, or a result without a call.
    #[error("the conversation is not balanced: {}", .calls.join(", "))]
    Unpaired {
        /// What is wrong, call by call.
        calls: Vec<String>,
    },
    /// The journal is not one.
    #[error("the journal can't be replayed: {reason}")]
    Journal {
        /// Why.
        reason: String,
    },
}
