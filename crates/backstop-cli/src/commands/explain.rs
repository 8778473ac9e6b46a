//! `backstop explain`: what would happen with a failure, before it does.

use std::{path::Path, time::Duration};

use backstop::{
    Budget, CatalogEntry, Decision, Definition, Effect, Failure, Reference, Strategy, ToolError,
    ToolErrorKind, ToolOutput, decide,
    error::ViewFacts,
    explain, failure_of_status,
    manifest::{Manifest, ProcessEnvironment, v1::Fallback},
    message::ResultContent,
    policy::{Explanation, served_by_note, stop_message, substitute_note},
};

use super::{Exit, built, manifest, overrides, say, say_json};
use crate::{
    args::{Hypothesis, ModelFlags},
    output::explanation,
};

/// The reference that stands in for that of a real failure.
const REFERENCE: Reference = Reference::new(0x1a2b_3c4d);
/// Jitter that takes as much off a wait as can be, in per mille.
const MOST_JITTER: u16 = 999;
/// Attempts that are looked at; no strategy has more retries.
const MOST_ATTEMPTS: usize = 100;

/// One failed attempt, and what happens then.
pub(crate) struct Attempt {
    pub(crate) number: u32,
    pub(crate) explained: Explanation,
    /// Of a retry: the shortest and the longest wait.
    pub(crate) waits: Option<(Duration, Duration)>,
}

/// A failure that did not happen, and all that would come of it.
pub(crate) struct Explained<'a> {
    pub(crate) tool: &'a str,
    pub(crate) toolset: &'a str,
    pub(crate) effect: Effect,
    pub(crate) keyed: bool,
    pub(crate) error: &'a ToolError,
    /// Why the same call may not be made again by the runtime, if it may not.
    pub(crate) unsafe_because: Option<String>,
    pub(crate) strategies: &'a [Strategy],
    /// Where they are declared, and on which lines.
    pub(crate) declared: Option<Fallback>,
    /// From the attempt that was asked for to the one that settles the call.
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) model: Reading,
    pub(crate) user: Reading,
}

/// What somebody reads in the end.
pub(crate) enum Reading {
    Text(String),
    /// Nothing that is fixed: this is said about it instead.
    Open(String),
}

pub(crate) async fn run(file: &Path, tool: &str, asked: &Hypothesis, json: bool) -> Result<Exit, Exit> {
    let manifest = manifest(file, &ProcessEnvironment)?;
    let agent = built(&manifest, &overrides(&ModelFlags::default())).await?;
    let definition = agent.definition();
    let entry = match definition.catalog.find(tool) {
        Ok(entry) => Some(entry),
        // What happens with names that are not on offer can be asked as well.
        Err(_) if asked.kind == Some(ToolErrorKind::UnknownTool) => None,
        Err(unknown) => return Err(Exit::usage(unknown.words().unwrap_or("there is no such tool"))),
    };
    let error = hypothetical(&manifest, &definition, tool, entry, asked).await?;
    let explained = explained(&manifest, &definition, tool, entry, &error, asked.attempt);
    if json {
        say_json(&explanation::document(&explained));
    } else {
        say(&explanation::rendered(&explained, file));
    }
    Ok(Exit::with(0))
}

/// The failure that is asked about.
async fn hypothetical(
    manifest: &Manifest,
    definition: &Definition,
    tool: &str,
    entry: Option<&CatalogEntry>,
    asked: &Hypothesis,
) -> Result<ToolError, Exit> {
    let words = asked.message.as_deref();
    let Some(entry) = entry else {
        let call = backstop::ToolCall::new("call", tool, "{}");
        return definition.catalog.validate(&call).err().ok_or_else(|| Exit::usage("there is such a tool"));
    };
    let error = match (asked.status, asked.kind) {
        (Some(status), _) => {
            let own_name = &entry.spec.name;
            let failure = failure_of_status(manifest, &entry.toolset_name, own_name, status, words).await;
            failure.ok_or_else(|| {
                Exit::usage(format!("no call of `{own_name}` fails with the status {status}"))
            })?
        }
        (None, Some(ToolErrorKind::UnknownTool)) => {
            let message = format!("`{}` is on offer, so no call of it fails with `unknown_tool`", entry.name);
            return Err(Exit::usage(format!("{message}\n  hint: ask with a name that is not")));
        }
        (None, Some(ToolErrorKind::Timeout)) => {
            let limit = entry.policy.timeout.unwrap_or(definition.limits.tool_timeout);
            said(ToolError::timeout(limit, words.unwrap_or_default()), words)
        }
        (None, Some(kind)) => said(ToolError::new(kind, words.unwrap_or_default()), words),
        // Words alone are those of a tool that worked and refused the call.
        (None, None) => said(ToolError::rejected(words.unwrap_or_default()), words),
    };
    Ok(match asked.applied {
        Some(applied) => error.with_applied(applied),
        None => error,
    })
}

/// Words reach the model only where nothing of them concerns an operator alone.
fn said(error: ToolError, words: Option<&str>) -> ToolError {
    match words.filter(|_| error.class() != backstop::ErrorClass::Operator) {
        Some(words) => error.say(words),
        None => error,
    }
}

fn explained<'a>(
    manifest: &Manifest,
    definition: &'a Definition,
    asked_name: &'a str,
    entry: Option<&'a CatalogEntry>,
    error: &'a ToolError,
    first: u32,
) -> Explained<'a> {
    let strategies = definition.strategies_for(entry);
    let effect = entry.map_or(Effect::ReadOnly, |entry| entry.spec.effect);
    let keyed = entry.is_some_and(|entry| entry.spec.honours_idempotency_key);
    let tool = entry.map_or(asked_name, |entry| entry.name.as_str());
    let own_name = entry.map_or("", |entry| entry.spec.name.as_str());
    let failure = Failure { error, tool, own_name, attempt: first, keyed };
    let attempts = attempts(definition, entry, &failure, effect, strategies);
    let declared = entry
        .and_then(|entry| manifest.fallback_for(&entry.toolset_name, &entry.spec.name))
        .filter(|list| list.strategies == strategies)
        .or_else(|| manifest.fallback.clone().filter(|list| list.strategies == strategies));
    // Without strategies and with all of its budget, only what makes a repetition unsafe speaks against one.
    let unsafe_because = match explain(
        &Failure { attempt: 1, ..failure },
        effect,
        &[],
        &Budget { call_retries: 1, run_retries: 1, time: Duration::MAX, jitter: 0 },
    )
    .usual
    {
        Some(backstop::policy::Verdict::NotRetried(why)) => Some(why.to_string()),
        Some(_) => None,
        None => Some("the run is cancelled".to_owned()),
    };
    let decision = attempts.last().map_or(Decision::Abort, |attempt| attempt.explained.decision.clone());
    let (model, user) = readings(entry, error, tool, effect, &decision);
    let toolset = entry.map_or("", |entry| entry.toolset_name.as_str());
    Explained {
        tool,
        toolset,
        effect,
        keyed,
        error,
        unsafe_because,
        strategies,
        declared,
        attempts,
        model,
        user,
    }
}

/// Every attempt until one settles the call, where nothing else of the run fails and each attempt fails alike: at
/// once, or after all of its time where it is a timeout.
fn attempts(
    definition: &Definition,
    entry: Option<&CatalogEntry>,
    failure: &Failure<'_>,
    effect: Effect,
    strategies: &[Strategy],
) -> Vec<Attempt> {
    let limits = &definition.limits;
    let timeout = entry.and_then(|entry| entry.policy.timeout).unwrap_or(limits.tool_timeout);
    let takes = if failure.error.kind() == ToolErrorKind::Timeout { timeout } else { Duration::ZERO };
    let mut budget = Budget {
        call_retries: limits.call_retries,
        run_retries: limits.retries.saturating_sub(failure.attempt.saturating_sub(1)),
        time: limits.wall_clock,
        jitter: 0,
    };
    let mut attempts = Vec::new();
    let mut failure = *failure;
    while attempts.len() < MOST_ATTEMPTS {
        budget.time = budget.time.saturating_sub(takes);
        let explained = explain(&failure, effect, strategies, &budget);
        let longest = match explained.decision {
            Decision::Retry { after } => Some(after),
            _ => None,
        };
        let shortest = match decide(&failure, effect, strategies, &Budget { jitter: MOST_JITTER, ..budget }) {
            Decision::Retry { after } => after,
            _ => longest.unwrap_or_default(),
        };
        let waits = longest.map(|longest| (shortest, longest));
        attempts.push(Attempt { number: failure.attempt, explained, waits });
        let Some(longest) = longest else { break };
        budget.time = budget.time.saturating_sub(longest);
        budget.run_retries = budget.run_retries.saturating_sub(1);
        failure.attempt = failure.attempt.saturating_add(1);
    }
    attempts
}

/// What the model and the user read when this is the end of the call.
fn readings(
    entry: Option<&CatalogEntry>,
    error: &ToolError,
    tool: &str,
    effect: Effect,
    decision: &Decision,
) -> (Reading, Reading) {
    let spec = entry.map(|entry| &entry.spec);
    let view = |instructions: Option<&str>| {
        ViewFacts::new(tool, effect, REFERENCE)
            .find_with(spec.and_then(|spec| spec.find_with.as_deref()))
            .check_with(spec.and_then(|spec| spec.check_with.as_deref()))
            .view(error, instructions)
            .to_string()
    };
    let answers = || Reading::Open("what the model answers".into());
    match decision {
        Decision::Continue { instructions } => (Reading::Text(view(instructions.as_deref())), answers()),
        Decision::Substitute { value, note } => {
            let note = substitute_note(note.as_deref(), tool);
            let content = ResultContent::Substitute { output: ToolOutput::Json(value.clone()), note };
            (Reading::Text(content.model_text()), answers())
        }
        Decision::UseTool { tool: other, .. } => {
            let note = served_by_note(tool, other);
            (Reading::Open(format!("{note} and the result of that tool below it")), answers())
        }
        Decision::Ask { question } => {
            (Reading::Open("the person's answer".into()), Reading::Text(backstop::text::clean(question)))
        }
        Decision::Stop { message } => (
            Reading::Open("nothing: it is not asked again".into()),
            Reading::Text(stop_message(message.as_deref(), REFERENCE)),
        ),
        Decision::Abort => (
            Reading::Open("nothing: it is not asked again".into()),
            Reading::Open("that the run was cancelled".into()),
        ),
        // No strategy has so many retries.
        Decision::Retry { .. } => (Reading::Open("nothing yet".into()), answers()),
    }
}
