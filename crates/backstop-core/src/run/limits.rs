//! What a run may spend.

use std::time::Duration;

use serde::{Deserialize, Serialize};

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
            retries: 20,
            call_retries: 2,
            model_retries: 2,
        }
    }
}

/// Which limit ended a run.
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
    /// [`Limits::failures`] or [`Limits::failures_in_row`].
    Failures,
    /// [`Limits::repeats`] or [`Limits::same_results`].
    Repeats,
}

impl Limit {
    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::ToolCalls => "tool_calls",
            Self::WallClock => "wall_clock",
            Self::Failures => "failures",
            Self::Repeats => "repeats",
        }
    }
}
