//! What becomes of a call whose attempt ended.

use serde_json::Value;

use super::{
    Run,
    call_state::{CallState, FailureFacts, Reconciling, Settled, Turn},
};
use crate::{
    error::{Applied, ToolError, ToolErrorKind},
    message::ResultContent,
    output::ToolOutput,
    policy::{reconciled_note, served_by_note},
};

impl Run {
    /// An attempt ended.
    pub(super) fn finished(
        &mut self,
        turn: &mut Turn,
        index: usize,
        result: Result<ToolOutput, ToolError>,
        elapsed_ms: u64,
    ) {
        let reconciling = turn.calls.get_mut(index).and_then(|call| {
            call.side_attempts += u32::from(call.reconciling.is_some());
            call.reconciling.take()
        });
        if let Some(reconciling) = reconciling {
            self.reconciled(turn, index, &reconciling, result);
            return;
        }
        match result {
            Ok(output) => {
                let Some(call) = turn.calls.get_mut(index) else { return };
                self.repeats.succeeded(call.key, &output);
                let mended = call.valid.as_ref().and_then(|valid| valid.mended.clone());
                let failure = call.standby.as_ref().map(|standby| standby.failure);
                let content = match (&call.standby, mended) {
                    (Some(standby), _) => {
                        let asked =
                            call.valid.as_ref().map_or(call.asked.name.as_str(), |valid| valid.tool());
                        let asked = crate::text::escaped(asked, 100);
                        let note = served_by_note(&asked, standby.valid.tool());
                        ResultContent::Substitute { output, note }
                    }
                    (None, Some(note)) => ResultContent::Mended { output, note },
                    (None, None) => ResultContent::Output(output),
                };
                call.state = CallState::Settled(Settled { content, failure });
            }
            Err(error) => self.call_failed(turn, index, &error, elapsed_ms),
        }
    }

    /// It was found out whether a call took effect, or not.
    fn reconciled(
        &mut self,
        turn: &mut Turn,
        index: usize,
        reconciling: &Reconciling,
        result: Result<ToolOutput, ToolError>,
    ) {
        let Some(call) = turn.calls.get_mut(index) else { return };
        let applied = match &result {
            Ok(output) => says_applied(output),
            Err(error) if error.kind() == ToolErrorKind::NotFound => Some(false),
            Err(_) => None,
        };
        match (applied, result) {
            (Some(true), Ok(output)) => {
                let note = reconciled_note(call.tool(), reconciling.valid.tool());
                let facts = FailureFacts {
                    kind: reconciling.error.kind(),
                    applied: Applied::Yes,
                    reference: reconciling.reference,
                };
                self.repeats.succeeded(call.key, &output);
                let content = ResultContent::Substitute { output, note };
                call.state = CallState::Settled(Settled { content, failure: Some(facts) });
            }
            (Some(false), _) => {
                call.may_have_applied = false;
                let error = reconciling.error.clone().not_applied();
                self.decide_about(turn, index, &error, reconciling.elapsed_ms, true);
            }
            _ => self.decide_about(turn, index, &reconciling.error, reconciling.elapsed_ms, true),
        }
    }
}

/// What an answer says about a call that may have taken effect.
fn says_applied(output: &ToolOutput) -> Option<bool> {
    Some(match output {
        ToolOutput::Text(text) => !text.trim().is_empty(),
        ToolOutput::Parts(_) => !output.whole_text().trim().is_empty(),
        ToolOutput::Json(value) => match value {
            Value::Null => false,
            Value::Bool(applied) => *applied,
            Value::String(text) => !text.trim().is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Object(object) => match object.get("applied") {
                Some(Value::Bool(applied)) => *applied,
                Some(_) | None => !object.is_empty(),
            },
            Value::Number(number) => number.as_f64() != Some(0.0),
        },
    })
}
