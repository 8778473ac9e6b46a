//! The JSON documents of `run` and `call`.

use backstop::{CallState, CallSummary, Outcome, RunReport, ToolOutput, run::Question, text};
use serde_json::{Value, json};

use super::stdout::plain;

/// Bytes of a call's arguments that a person is shown.
const ARGUMENTS_CAP: usize = 2000;

/// The document of `run --json`.
pub(crate) fn run_document(report: &RunReport) -> Value {
    json!({
        "run": report.run(),
        "outcome": outcome(report.outcome()),
        "turns": report.turns(),
        "usage": report.usage(),
        "calls": report.calls().iter().map(call).collect::<Vec<_>>(),
    })
}

fn outcome(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::NeedsAnswer { question } => {
            json!({"type": outcome.as_str(), "question": question_document(question)})
        }
        Outcome::Answered { .. }
        | Outcome::Stopped { .. }
        | Outcome::LimitReached { .. }
        | Outcome::ModelFailed { .. }
        | Outcome::Cancelled => json!(outcome),
    }
}

/// What a person is asked, with the arguments as JSON where they are any.
fn question_document(question: &Question) -> Value {
    let arguments: Option<Value> = serde_json::from_str(&question.arguments).ok();
    json!({
        "kind": question.kind,
        "call": question.call,
        "tool": question.tool,
        "arguments": arguments.unwrap_or_else(|| json!(question.arguments)),
        "text": question.text,
    })
}

fn call(call: &CallSummary) -> Value {
    json!({
        "id": call.id,
        "tool": call.tool,
        "arguments": call.arguments,
        "state": call.state.as_str(),
        "attempts": call.attempts,
        "ok": call.ok,
        "kind": call.kind,
        "applied": call.applied,
        "reference": call.reference,
        "view": view(call),
        "output": call.output.as_ref().map(ToolOutput::to_value),
    })
}

/// What the model was shown of a call, once that is known.
fn view(call: &CallSummary) -> Option<&str> {
    (call.state == CallState::Settled).then_some(call.view.as_str())
}

/// The document of `call --json`. There is no call where it was cancelled before it began.
pub(crate) fn call_document(report: &RunReport, call: Option<&CallSummary>) -> Value {
    let failed = call.is_none_or(|call| call.kind.is_some());
    let operator = report.failures().last().filter(|_| failed);
    let error = operator.map(|operator| {
        json!({
            "kind": operator.kind,
            "class": operator.class,
            "applied": operator.applied,
            "retryable": operator.retryable,
            "reference": operator.reference,
            "model_view": call.and_then(view),
            "violations": operator.violations,
            "operator_view": operator,
        })
    });
    let question = match report.outcome() {
        Outcome::NeedsAnswer { question } => Some(question_document(question)),
        Outcome::Answered { .. }
        | Outcome::Stopped { .. }
        | Outcome::LimitReached { .. }
        | Outcome::ModelFailed { .. }
        | Outcome::Cancelled => None,
    };
    json!({
        "ok": call.is_some_and(|call| call.ok),
        "output": call.and_then(|call| call.output.as_ref()).map(ToolOutput::to_value),
        "attempts": call.map_or(0, |call| call.attempts),
        "question": question,
        "error": error,
    })
}

/// The call that a question is about, for a person.
pub(crate) fn asked_about(question: &Question) -> String {
    format!("{} {}", plain(&question.tool), text::head(&plain(&question.arguments), ARGUMENTS_CAP))
}

/// How a run that gave no answer ended, for a person.
pub(crate) fn ending(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Answered { text } => text.clone(),
        Outcome::Stopped { message, .. } => message.clone(),
        Outcome::LimitReached { which } => {
            format!("the run's limit of {} is reached", which.as_str().replace('_', " "))
        }
        Outcome::ModelFailed { error } => error.to_string(),
        Outcome::Cancelled => "cancelled".into(),
        Outcome::NeedsAnswer { question } => {
            let (asked, call) = (plain(&question.text), asked_about(question));
            format!("the run waits for a person's answer: {asked}\n  {call}")
        }
    }
}
