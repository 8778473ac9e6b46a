//! What a run may spend.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::ErrorClass;

/// What a run may spend. Every limit has a default; none can be switched off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Limits {
    /// Model replies.
    pub turns: u32,
    /// Tool calls that the model may make.
    pub tool_calls: u32,
    /// Time from the start to the end, but for that in which nobody drives the run.
    pub wall_clock: Duration,
    /// Time for one attempt of a call, where the tool has no limit of its own.
    pub tool_timeout: Duration,
    /// Time for one model reply.
    pub model_timeout: Duration,
    /// Calls that run at the same time.
    pub parallel: u32,
    /// Failures of the same call with the same arguments before it is refused; twice as many end the run.
    pub repeats: u32,
    /// Like `repeats`, for calls that succeed with the same result each time.
    pub same_results: u32,
    /// Failed calls.
    pub failures: u32,
    /// Failed calls in a row, with no call in between that gave a result.
    pub failures_in_row: u32,
    /// Failed calls of one class.
    pub failures_of: ClassLimits,
    /// Retries of all calls together.
    pub retries: u32,
    /// Retries of one call when no strategy says otherwise.
    pub call_retries: u32,
    /// Retries of one model turn.
    pub model_retries: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turns: 15,
            tool_calls: 60,
            wall_clock: Duration::from_secs(600),
            tool_timeout: Duration::from_secs(60),
            model_timeout: Duration::from_secs(300),
            parallel: 8,
            repeats: 3,
            same_results: 10,
            failures: 30,
            failures_in_row: 10,
            failures_of: ClassLimits::default(),
            retries: 20,
            call_retries: 2,
            model_retries: 2,
        }
    }
}

/// Failed calls that a run may have class by class; `None` where only the limits of all classes together hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ClassLimits {
    /// Calls that were wrong.
    pub model: Option<u32>,
    /// Calls that the world said no to.
    pub answer: Option<u32>,
    /// Failures that may pass, after their retries.
    pub transient: Option<u32>,
    /// Failures that someone must act on.
    pub operator: Option<u32>,
    /// Calls that were forbidden.
    pub policy: Option<u32>,
}

impl ClassLimits {
    /// What a class may have, and the limit's name. A cancelled run ends by itself.
    pub(super) const fn of(self, class: ErrorClass) -> Option<(u32, Limit)> {
        let (most, limit) = match class {
            ErrorClass::Model => (self.model, Limit::ModelFailures),
            ErrorClass::Answer => (self.answer, Limit::AnswerFailures),
            ErrorClass::Transient => (self.transient, Limit::TransientFailures),
            ErrorClass::Operator => (self.operator, Limit::OperatorFailures),
            ErrorClass::Policy => (self.policy, Limit::PolicyFailures),
            ErrorClass::Stop => (None, Limit::Failures),
        };
        match most {
            Some(most) => Some((most, limit)),
            None => None,
        }
    }
}

/// Which limit ended a run, or kept it from making a call or making one again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Limit {
    /// [`Limits::turns`].
    Turns,
    /// [`Limits::tool_calls`].
    ToolCalls,
    /// [`Limits::wall_clock`].
    WallClock,
    /// [`Limits::failures`].
    Failures,
    /// [`Limits::failures_in_row`].
    FailuresInRow,
    /// [`ClassLimits::model`].
    ModelFailures,
    /// [`ClassLimits::answer`].
    AnswerFailures,
    /// [`ClassLimits::transient`].
    TransientFailures,
    /// [`ClassLimits::operator`].
    OperatorFailures,
    /// [`ClassLimits::policy`].
    PolicyFailures,
    /// [`Limits::repeats`] or [`Limits::same_results`].
    Repeats,
    /// [`Limits::retries`]. Ends no run.
    Retries,
    /// [`Limits::call_retries`], or the `max` of a strategy. Ends no run.
    CallRetries,
}

impl Limit {
    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::ToolCalls => "tool_calls",
            Self::WallClock => "wall_clock",
            Self::Failures => "failures",
            Self::FailuresInRow => "failures_in_row",
            Self::ModelFailures => "model_failures",
            Self::AnswerFailures => "answer_failures",
            Self::TransientFailures => "transient_failures",
            Self::OperatorFailures => "operator_failures",
            Self::PolicyFailures => "policy_failures",
            Self::Repeats => "repeats",
            Self::Retries => "retries",
            Self::CallRetries => "call_retries",
        }
    }
}
