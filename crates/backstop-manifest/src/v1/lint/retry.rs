//! Retries that are never made, or not as often as they say.

use std::time::Duration;

use backstop_core::{Action, Applied, Backoff, Effect, ErrorClass, Strategy, ToolErrorKind, When, text};

use super::{
    super::{fallback::Fallback, manifest::Manifest, toolset::ToolsetKind},
    Level, Tool, effect_of, has_known_effect, is_for,
    reach::kinds_of,
};
use crate::diagnostic::{Diagnostic, Problems, code};

/// Retries of what does not pass, and of what may not be done twice.
pub(super) fn retries(fallback: &Fallback, level: Level<'_>, tools: &[Tool<'_>], problems: &Problems) {
    for (strategy, span, path) in fallback.placed() {
        // No retry at all is a way to say so, not a retry.
        if matches!(strategy.action, Action::Retry { max: 0, .. }) {
            continue;
        }
        let (done, counts): (&str, fn(&ToolErrorKind) -> bool) = match &strategy.action {
            Action::Retry { .. } if !is_ever_retried(&strategy.when) => {
                let message = "these failures do not pass by themselves, so they are never retried";
                let hint = "only failures of the class `transient` are";
                problems.push(Diagnostic::warning(code::USELESS_RETRY, message).at(span, path).hint(hint));
                continue;
            }
            Action::Retry { .. } => ("retried", |kind: &ToolErrorKind| kind.class() == ErrorClass::Transient),
            Action::UseTool { .. } => ("served by another tool", |_| true),
            Action::Continue { .. }
            | Action::Stop { .. }
            | Action::UseValue { .. }
            | Action::AskHuman { .. } => continue,
        };
        // The agent's list is for all tools: there, falling through is what a reader expects.
        if matches!(level, Level::Agent) || !may_have_applied(&strategy.when, counts) {
            continue;
        }
        let is_unsafe = |tool: &&Tool<'_>| {
            is_for(strategy, tool)
                && has_known_effect(tool)
                && effect_of(tool) == Effect::Mutating
                && (matches!(strategy.action, Action::UseTool { .. }) || !is_keyed(tool))
        };
        let tools: Vec<String> =
            tools.iter().filter(is_unsafe).map(|(_, tool)| format!("`{tool}`")).collect();
        if !tools.is_empty() {
            let message = format!(
                "a call of {} may have taken effect, and is then not {done} but falls through to the next \
                 strategy",
                tools.join(", ")
            );
            let hint = match &strategy.action {
                Action::UseTool { .. } => {
                    "declare `effect: idempotent` if doing it twice does no harm, or add `applied: no` to `when`"
                }
                _ => {
                    "declare `idempotent_key: true` or `effect: idempotent` if a repetition does no harm, \
                     or add `applied: no` to `when`"
                }
            };
            problems.push(Diagnostic::warning(code::UNSAFE_RETRY, message).at(span, path).hint(hint));
        }
    }
}

fn is_ever_retried(when: &When) -> bool {
    // A condition that matches nothing is reported as that.
    let kinds = kinds_of(when);
    kinds.is_empty() || kinds.iter().any(|kind| kind.class() == ErrorClass::Transient)
}

/// Whether the failures include some after which nobody knows what happened.
fn may_have_applied(when: &When, counts: fn(&ToolErrorKind) -> bool) -> bool {
    let said = when.applied.is_empty() || when.applied.iter().any(|applied| *applied != Applied::No);
    let unsure = |kind: &ToolErrorKind| counts(kind) && kind.usually_applied() != Applied::No;
    said && kinds_of(when).iter().any(unsure)
}

fn is_keyed((toolset, tool): &Tool<'_>) -> bool {
    match &toolset.kind {
        ToolsetKind::OpenApi(_) | ToolsetKind::Mcp(_) => false,
        ToolsetKind::Http(http) => http.endpoints.named(tool).is_some_and(|endpoint| endpoint.idempotent_key),
    }
}

/// Retries that there is no time for, or that the run does not have.
pub(super) fn room(manifest: &Manifest, fallback: &Fallback, tools: &[Tool<'_>], problems: &Problems) {
    let limits = &manifest.limits;
    for (strategy, span, path) in fallback.placed() {
        let Action::Retry { max, backoff } = &strategy.action else { continue };
        if !is_ever_retried(&strategy.when) {
            continue;
        }
        let report = |message: String, hint: &str| {
            problems.push(Diagnostic::warning(code::NO_ROOM, message).at(span, path.clone()).hint(hint));
        };
        if *max > limits.retries {
            let message = format!("a call may have {max} retries, and the whole run has {}", limits.retries);
            report(message, "raise `limits.retries` or lower `max`");
            continue;
        }
        let takes = shortest_attempt(manifest, strategy, tools);
        if let Some((fit, needed)) = last_that_fits(*max, backoff, takes, limits.wall_clock) {
            let (needed, run) = (text::duration(needed), text::duration(limits.wall_clock));
            let message = format!(
                "of {max} retries only {fit} can be made: up to the next one it takes {needed}, and the whole \
                 run has {run}"
            );
            report(message, "raise `limits.wall_clock`, or lower `max`, `backoff` or the timeout");
        }
    }
}

/// The least time that an attempt takes which fails in this way: all of it where it is a timeout, else none.
fn shortest_attempt(manifest: &Manifest, strategy: &Strategy, tools: &[Tool<'_>]) -> Duration {
    if kinds_of(&strategy.when) != [ToolErrorKind::Timeout] {
        return Duration::ZERO;
    }
    let timeout =
        |(toolset, tool): &Tool<'_>| toolset.settings(tool).timeout.unwrap_or(manifest.limits.tool_timeout);
    let tools = tools.iter().filter(|tool| is_for(strategy, tool));
    tools.map(timeout).min().unwrap_or_default()
}

/// How many of `max` retries fit into `time`, and what one more would take; `None` where all of them do.
fn last_that_fits(max: u32, backoff: &Backoff, takes: Duration, time: Duration) -> Option<(u32, Duration)> {
    const MOST_JITTER: u16 = 999;
    let mut needed = Duration::ZERO;
    for attempt in 1..=max {
        needed = needed.saturating_add(takes).saturating_add(backoff.wait(attempt, MOST_JITTER));
        if needed >= time {
            return Some((attempt - 1, needed));
        }
    }
    None
}
