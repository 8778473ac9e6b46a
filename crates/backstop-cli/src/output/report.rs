//! The JSON documents of `run` and `call`.

use backstop::{Agent, Applied, CallSummary, Effect, ErrorClass, OperatorView, Outcome, RunReport};
use serde_json::{Value, json};

/// The document of `run --json`.
pub(crate) fn run_document(report: &RunReport) -> Value {
    json!({
        "run": report.run(),
        "outcome": report.outcome(),
        "turns": report.turns(),
        "usage": report.usage(),
        "calls": report.calls().iter().map(call).collect::<Vec<_>>(),
    })
}

fn call(call: &CallSummary) -> Value {
    json!({
        "id": call.id,
        "tool": call.tool,
        "arguments": call.arguments,
        "attempts": call.attempts,
        "ok": call.ok,
        "kind": call.kind,
        "applied": call.applied,
        "reference": call.reference,
        "view": call.view,
        "output": call.output,
    })
}

/// The document of `call --json`. There is no call in it where the call has no result, such as when it waits for
/// a person.
pub(crate) fn call_document(agent: &Agent, report: &RunReport, call: Option<&CallSummary>) -> Value {
    let failed = call.is_none_or(|call| call.kind.is_some());
    let operator = report.failures().last().filter(|_| failed);
    let error = operator.map(|operator| {
        json!({
            "kind": operator.kind,
            "class": operator.class,
            "applied": operator.applied,
            "retryable": is_retryable(agent, operator),
            "reference": operator.reference,
            "model_view": call.map(|call| &call.view),
            "violations": operator.violations,
            "operator_view": operator,
        })
    });
    json!({
        "ok": call.is_some_and(|call| call.ok),
        "output": call.and_then(|call| call.output.as_ref()),
        "attempts": call.map_or_else(|| operator.map_or(0, |operator| operator.attempt), |call| call.attempts),
        "error": error,
    })
}

/// Whether the same call may be made again: it may succeed then, and a second execution does no harm.
fn is_retryable(agent: &Agent, failure: &OperatorView) -> bool {
    let spec = agent.catalog().get(&failure.tool).map(|entry| &entry.spec);
    let effect = spec.map_or(Effect::ReadOnly, |spec| spec.effect);
    let keyed = spec.is_some_and(|spec| spec.honours_idempotency_key);
    failure.class == ErrorClass::Transient
        && (effect != Effect::Mutating || failure.applied == Applied::No || keyed)
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
            format!("the run waits for a person's answer: {}", question.text)
        }
    }
}
