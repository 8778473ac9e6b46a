//! The calls of one turn, and what is known about each.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Limit, Outcome, repeats::CallKey};
use crate::{
    call::{ToolCall, ValidCall},
    error::{Applied, ToolError, ToolErrorKind},
    id::{CallId, Reference, Timestamp},
    message::{Message, PastCall, ResultContent, replayable_name, stand_in},
};

/// One call of the current turn.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: CallId,
    /// As the model wrote it.
    pub(super) asked: ToolCall,
    /// Whether the arguments text is a JSON object, and so can be replayed as it is.
    pub(super) replayable: bool,
    /// Once its arguments fit.
    pub(super) valid: Option<Arc<ValidCall>>,
    pub(super) key: CallKey,
    pub(super) attempts: u32,
    /// The call of another tool that serves this one after a failure.
    pub(super) standby: Option<Standby>,
    /// The call that finds out whether this one took effect.
    pub(super) reconciling: Option<Reconciling>,
    /// Attempts that were made to find that out.
    pub(super) side_attempts: u32,
    /// Whether an earlier attempt may have changed the world, whatever a later one says of itself.
    pub(super) may_have_applied: bool,
    pub(super) state: CallState,
}

/// Another tool in place of the one that was called.
#[derive(Debug)]
pub(super) struct Standby {
    pub(super) valid: Arc<ValidCall>,
    /// Attempts that were made before it took over.
    pub(super) attempts_before: u32,
    /// Tools that failed before it, so that none is used twice.
    pub(super) used: Vec<String>,
    /// Why it took over.
    pub(super) failure: FailureFacts,
}

/// A call that finds out whether another one took effect, and the failure that left it open.
#[derive(Debug)]
pub(super) struct Reconciling {
    pub(super) valid: Arc<ValidCall>,
    pub(super) error: ToolError,
    pub(super) reference: Reference,
    pub(super) elapsed_ms: u64,
}

#[derive(Debug)]
pub(super) enum CallState {
    /// A person must allow it first.
    Unapproved,
    /// The attempt after `attempts` may start.
    Ready,
    Running,
    /// Ready again at this time.
    Waiting(Timestamp),
    /// A person is asked for the result.
    Asking(String),
    Settled(Settled),
}

/// What came of a call.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) content: ResultContent,
    pub(super) failure: Option<FailureFacts>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct FailureFacts {
    pub(super) kind: ToolErrorKind,
    pub(super) applied: Applied,
    pub(super) reference: Reference,
}

impl Call {
    /// Whether it is settled as a failure, without a result or a substitute.
    pub(super) fn gave_nothing(&self) -> bool {
        matches!(&self.state, CallState::Settled(Settled { content: ResultContent::Failure(_), .. }))
    }

    pub(super) fn is_settled(&self) -> bool {
        matches!(self.state, CallState::Settled(_))
    }

    /// What is executed: the call itself, that of the tool that serves it, or what finds out about it.
    pub(super) fn executed(&self) -> Option<&Arc<ValidCall>> {
        self.reconciling.as_ref().map(|reconciling| &reconciling.valid).or(self.serving())
    }

    /// What the result comes from: the call itself, or that of the tool that serves it.
    pub(super) fn serving(&self) -> Option<&Arc<ValidCall>> {
        self.standby.as_ref().map(|standby| &standby.valid).or(self.valid.as_ref())
    }

    /// The name for results and logs: the tool that is executed, or what the model wrote.
    pub(super) fn tool(&self) -> &str {
        self.serving().map_or(&self.asked.name, |valid| valid.tool())
    }

    /// The arguments as a person reads them who is asked about the call: valid and with defaults, where they are.
    pub(super) fn shown_arguments(&self) -> String {
        let valid = self.serving().and_then(|valid| serde_json::to_string(&valid.arguments).ok());
        valid.unwrap_or_else(|| self.asked.arguments.0.clone())
    }

    /// What came of it so far; of a call that is not settled, nothing is known to have failed for good.
    fn report(&self) -> CallReport {
        let failure = match &self.state {
            CallState::Settled(settled) => settled.failure,
            CallState::Unapproved
            | CallState::Ready
            | CallState::Running
            | CallState::Waiting(_)
            | CallState::Asking(_) => None,
        };
        CallReport {
            id: self.id.clone(),
            tool: self.valid.as_ref().map_or_else(|| self.asked.name.clone(), |valid| valid.tool.clone()),
            attempts: self.attempts,
            served_by: self.standby.as_ref().map(|standby| standby.valid.tool.clone()),
            kind: failure.map(|failure| failure.kind),
            applied: failure.map(|failure| failure.applied),
            reference: failure.map(|failure| failure.reference),
        }
    }

    /// The arguments for the transcript: a JSON object, whatever the model wrote.
    fn replayed_arguments(&self) -> String {
        let mended = self.valid.as_ref().filter(|valid| valid.mended.is_some());
        if let Some(valid) = mended {
            return serde_json::to_string(&valid.arguments).unwrap_or_default();
        }
        let raw = &self.asked.arguments.0;
        match self.replayable {
            true if raw.trim().is_empty() || raw.trim() == "null" => "{}".to_owned(),
            true => raw.clone(),
            false => stand_in(raw),
        }
    }

    /// Attempts of the tool that is executed.
    pub(super) fn attempts_of_tool(&self) -> u32 {
        let before = self.standby.as_ref().map_or(0, |standby| standby.attempts_before);
        self.attempts.saturating_sub(before + self.side_attempts)
    }
}

/// Whether calls that are not settled are closed when the run ends like this: a spent number of calls lets those
/// within it run.
pub(super) const fn closes_turn(outcome: &Outcome) -> bool {
    !matches!(outcome, Outcome::LimitReached { which: Limit::ToolCalls | Limit::Repeats })
}

/// A turn whose calls are not all settled.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) text: Option<String>,
    pub(super) extra: Map<String, Value>,
    pub(super) calls: Vec<Call>,
    /// How the run ends with this turn, if it does.
    pub(super) end: Option<Outcome>,
}

impl Turn {
    pub(super) fn position(&self, id: &CallId) -> Option<usize> {
        self.calls.iter().position(|call| call.id == *id)
    }

    /// The run ends with this turn. What closes the turn goes before what lets its other calls end.
    pub(super) fn ends(&mut self, outcome: Outcome) {
        if self.end.as_ref().is_none_or(|end| !closes_turn(end) && closes_turn(&outcome)) {
            self.end = Some(outcome);
        }
    }

    pub(super) fn is_settled(&self) -> bool {
        self.calls.iter().all(Call::is_settled)
    }

    /// The calls as they are before the turn is settled.
    pub(super) fn open_calls(&self) -> impl Iterator<Item = OpenCall<'_>> {
        self.calls.iter().map(|call| OpenCall {
            report: call.report(),
            arguments: call.replayed_arguments(),
            content: match &call.state {
                CallState::Settled(settled) => Some(&settled.content),
                CallState::Unapproved
                | CallState::Ready
                | CallState::Running
                | CallState::Waiting(_)
                | CallState::Asking(_) => None,
            },
        })
    }

    /// The messages of the turn, once settled: the assistant's, then one result per call in call order.
    pub(super) fn into_messages(self, reports: &mut Vec<CallReport>) -> Vec<Message> {
        let mut results = Vec::with_capacity(self.calls.len() + 1);
        let mut past = Vec::with_capacity(self.calls.len());
        for call in self.calls {
            let name =
                call.valid.as_ref().map_or_else(|| replayable_name(&call.asked.name), |v| v.tool.clone());
            let (report, arguments) = (call.report(), call.replayed_arguments());
            let CallState::Settled(settled) = call.state else { continue };
            reports.push(report);
            past.push(PastCall { id: call.id.clone(), name, arguments });
            results.push(Message::Tool { call: call.id, content: settled.content });
        }
        let assistant = Message::Assistant { text: self.text, calls: past, extra: self.extra };
        let mut messages = Vec::with_capacity(results.len() + 1);
        messages.push(assistant);
        messages.extend(results);
        messages
    }
}

/// What came of one call of a run; its arguments and result are in the transcript.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CallReport {
    /// The call, as it is in the transcript.
    pub id: CallId,
    /// The tool, by the name that the model knows, or what the model wrote for it.
    pub tool: String,
    /// Attempts that were made.
    pub attempts: u32,
    /// The tool that served it in place of the one that was called, where one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served_by: Option<String>,
    /// Of a failed call: what went wrong.
    pub kind: Option<ToolErrorKind>,
    /// Of a failed call: whether the world may have changed.
    pub applied: Option<Applied>,
    /// Of a failed call: the reference of its last failure.
    pub reference: Option<Reference>,
}

/// One call of a turn that is not in the transcript yet, since not each of its calls is settled.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OpenCall<'a> {
    /// What came of it so far.
    pub report: CallReport,
    /// The arguments as they will be replayed: a JSON object.
    pub arguments: String,
    /// Its result, once it is settled.
    pub content: Option<&'a ResultContent>,
}
