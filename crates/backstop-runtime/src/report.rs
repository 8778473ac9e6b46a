//! What came of a run.

use std::collections::HashMap;

use backstop_core::{
    Applied, CallId, Message, OperatorView, Outcome, Reference, Run, RunId, ToolErrorKind, ToolOutput, Usage,
    message::ResultContent, run::CallReport,
};
use serde_json::Value;

/// What came of a run: its outcome, its conversation, its calls and its failures.
#[derive(Debug)]
pub struct RunReport {
    run: Run,
    outcome: Outcome,
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    /// It has a result or a failure that the model is told.
    Settled,
    /// It waits for a person.
    Waiting,
}

impl CallState {
    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Settled => "settled",
            Self::Waiting => "waiting",
        }
    }
}

/// One call of a run, whole.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CallSummary {
    /// The call's id.
    pub id: CallId,
    /// The tool, by the name that the model knows, or what the model wrote for it.
    pub tool: String,
    /// The arguments as they are replayed: a JSON object.
    pub arguments: Value,
    /// How far it is.
    pub state: CallState,
    /// Attempts that were made.
    pub attempts: u32,
    /// Whether the model got a result, be it a substitute.
    pub ok: bool,
    /// What went wrong, where something did; of a call that waits, what a person is asked about.
    pub kind: Option<ToolErrorKind>,
    /// Whether a failed call may have changed the world.
    pub applied: Option<Applied>,
    /// The reference of the failure.
    pub reference: Option<Reference>,
    /// What the model was shown; empty for a call that waits.
    pub view: String,
    /// The output, of a call that has one.
    pub output: Option<ToolOutput>,
}

impl RunReport {
    pub(crate) fn new(run: Run, outcome: Outcome) -> Self {
        Self { run, outcome }
    }

    /// How it ended.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// The answer, of a run that ended in one.
    pub fn answer(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Answered { text } => Some(text),
            Outcome::Stopped { .. }
            | Outcome::LimitReached { .. }
            | Outcome::ModelFailed { .. }
            | Outcome::Cancelled
            | Outcome::NeedsAnswer { .. } => None,
        }
    }

    /// The run's id.
    pub fn run(&self) -> &RunId {
        self.run.id()
    }

    /// Model replies.
    pub fn turns(&self) -> u32 {
        self.run.turns()
    }

    /// Tokens spent.
    pub fn usage(&self) -> Usage {
        self.run.usage()
    }

    /// The whole conversation, balanced, ready to be the input of a next run.
    pub fn messages(&self) -> Vec<Message> {
        self.run.transcript().messages().cloned().collect()
    }

    /// The operator's view of every failed attempt, in order.
    pub fn failures(&self) -> &[OperatorView] {
        self.run.failures()
    }

    /// Every call, in order. Of a run that waits for a person, those of the last turn that wait are among them.
    pub fn calls(&self) -> Vec<CallSummary> {
        let mut arguments = HashMap::new();
        let mut results = HashMap::new();
        for message in self.run.transcript().messages() {
            match message {
                Message::Assistant { calls, .. } => {
                    arguments.extend(calls.iter().map(|call| (&call.id, call.arguments.as_str())));
                }
                Message::Tool { call, content } => {
                    results.insert(call, content);
                }
                Message::System { .. } | Message::User { .. } => {}
            }
        }
        let settled = self.run.calls().iter().map(|call| {
            let text = arguments.get(&call.id).copied().unwrap_or("{}");
            CallSummary::new(call, CallState::Settled, text, results.get(&call.id).copied())
        });
        let open = self.run.open_calls();
        let open = open.iter().map(|call| {
            let state = if call.content.is_some() { CallState::Settled } else { CallState::Waiting };
            let mut summary = CallSummary::new(&call.report, state, &call.arguments, call.content);
            if state == CallState::Waiting
                && let Some(failure) = self.failures().iter().rfind(|failure| failure.call == summary.id)
            {
                summary.kind = Some(failure.kind);
                summary.applied = Some(failure.applied);
                summary.reference = Some(failure.reference);
            }
            summary
        });
        settled.chain(open).collect()
    }
}

impl CallSummary {
    fn new(call: &CallReport, state: CallState, arguments: &str, content: Option<&ResultContent>) -> Self {
        let output = match content {
            Some(
                ResultContent::Output(output)
                | ResultContent::Mended { output, .. }
                | ResultContent::Substitute { output, .. },
            ) => Some(output.clone()),
            Some(ResultContent::Failure(_)) | None => None,
        };
        Self {
            id: call.id.clone(),
            tool: call.tool.clone(),
            arguments: serde_json::from_str(arguments)
                .unwrap_or_else(|_| Value::String(arguments.to_owned())),
            state,
            attempts: call.attempts,
            ok: output.is_some(),
            kind: call.kind,
            applied: call.applied,
            reference: call.reference,
            view: content.map(|content| content.model_text()).unwrap_or_default(),
            output,
        }
    }
}
