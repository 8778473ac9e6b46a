//! What can happen to a run, and how it is written down.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    error::ToolError,
    id::{CallId, RunId, Timestamp},
    message::Message,
    model::{ModelError, ModelReply},
    output::ToolOutput,
};

/// What happened. Payloads are shared, so an event is cheap to clone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The run began.
    Started(Started),
    /// The model answered a turn.
    ModelReplied {
        /// The reply, as it came.
        reply: Arc<ModelReply>,
    },
    /// The model failed.
    ModelFailed {
        /// Why.
        error: ModelError,
    },
    /// An attempt of a call is about to be made.
    ToolStarted {
        /// The call.
        call: CallId,
        /// The attempt, counted from 1.
        attempt: u32,
        /// The tool that is executed: the one that was called, one that serves the call in its place, or one that
        /// finds out about it. Not in the earliest journals.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        tool: String,
        /// What was changed about the arguments by declared rules, where something was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mended: Option<String>,
    },
    /// An attempt of a call ended.
    ToolFinished {
        /// The call.
        call: CallId,
        /// What came of it.
        #[serde(with = "tool_result")]
        result: Result<ToolOutput, ToolError>,
        /// Time it took, in milliseconds.
        #[serde(default)]
        elapsed_ms: u64,
    },
    /// The time of [`Step::Await`](super::Step::Await) has come.
    TimerFired,
    /// A person answered a question.
    Answered {
        /// The call that the question is about.
        call: CallId,
        /// The answer.
        answer: String,
    },
    /// A person allowed a call.
    Approved {
        /// The call.
        call: CallId,
    },
    /// A person did not allow a call, or did not answer the question about it.
    Refused {
        /// The call.
        call: CallId,
        /// Why, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Somebody drives the run again, after a crash or while it waited for a person: the time in between is not
    /// spent.
    Resumed,
    /// Somebody cancelled the run.
    Cancelled,
}

/// How a run began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// The run.
    pub run: RunId,
    /// What references and jitter follow from; random.
    pub seed: u64,
    /// The conversation so far, ending with what the model shall answer.
    pub input: Arc<Vec<Message>>,
}

impl Event {
    /// The stable name.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Started(_) => "started",
            Self::ModelReplied { .. } => "model_replied",
            Self::ModelFailed { .. } => "model_failed",
            Self::ToolStarted { .. } => "tool_started",
            Self::ToolFinished { .. } => "tool_finished",
            Self::TimerFired => "timer_fired",
            Self::Answered { .. } => "answered",
            Self::Approved { .. } => "approved",
            Self::Refused { .. } => "refused",
            Self::Resumed => "resumed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The version of the journal's form that this crate writes. It reads all earlier ones.
pub const RECORD_VERSION: u32 = 1;

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of the form.
    pub v: u32,
    /// Place in the journal, from 0.
    pub seq: u64,
    /// When it happened, in milliseconds since the Unix epoch.
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

impl Record {
    /// A record in the form that is written today.
    pub fn new(seq: u64, at: Timestamp, event: Event) -> Self {
        Self { v: RECORD_VERSION, seq, at, event }
    }
}

mod tool_result {
    //! A result as `{"ok": …}` or `{"err": …}`.

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::{error::ToolError, output::ToolOutput};

    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    enum Written<'a> {
        Ok(&'a ToolOutput),
        Err(&'a ToolError),
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Read {
        Ok(ToolOutput),
        Err(ToolError),
    }

    pub(super) fn serialize<S: Serializer>(
        result: &Result<ToolOutput, ToolError>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match result {
            Ok(output) => Written::Ok(output),
            Err(error) => Written::Err(error),
        }
        .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Result<ToolOutput, ToolError>, D::Error> {
        Ok(match Read::deserialize(deserializer)? {
            Read::Ok(output) => Ok(output),
            Read::Err(error) => Err(error),
        })
    }
}
