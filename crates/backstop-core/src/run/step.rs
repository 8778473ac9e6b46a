//! What a run wants done.

use std::{sync::Arc, time::Duration};

use super::{Event, Outcome, Question};
use crate::{call::ValidCall, id::Timestamp};

/// What to do next. Exhaustive on purpose: a driver must handle all of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Ask the model for the next turn, then apply `ModelReplied` or `ModelFailed`.
    CallModel(ModelTurn),
    /// Start these calls, each after its `ToolStarted` is applied; apply `ToolFinished` when one ends.
    StartTools(Vec<StartTool>),
    /// Wait for a running call; apply `TimerFired` if the time comes first.
    Await {
        /// When something is due.
        until: Timestamp,
    },
    /// Ask a person, then apply `Answered`; or put the run aside.
    Ask(Question),
    /// The run has ended.
    Done(Outcome),
}

/// A turn of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelTurn {
    /// The turn, counted from 1.
    pub turn: u32,
    /// The attempt, counted from 1.
    pub attempt: u32,
    /// Time the reply has.
    pub timeout: Duration,
    /// When the run's time is over: apply `TimerFired` then.
    pub until: Timestamp,
}

/// An attempt of a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StartTool {
    /// The call.
    pub call: Arc<ValidCall>,
    /// The attempt, counted from 1.
    pub attempt: u32,
    /// Time this attempt has.
    pub timeout: Duration,
    /// The same for all attempts of this call; unique otherwise.
    pub idempotency_key: String,
}

impl StartTool {
    /// The event that is applied before the attempt is made.
    pub fn started(&self) -> Event {
        Event::ToolStarted {
            call: self.call.id().clone(),
            attempt: self.attempt,
            tool: self.call.tool().to_owned(),
            mended: self.call.mended().map(str::to_owned),
        }
    }
}
