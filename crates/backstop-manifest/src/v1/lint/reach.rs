//! Strategies that never get their turn, and conditions that nothing meets.

use backstop_core::{Action, Applied, Strategy, ToolErrorKind, When, policy::TextMatch};

use super::{
    super::{fallback::Fallback, toolset::ToolsetKind},
    Level,
};
use crate::diagnostic::{Diagnostic, Problems, code};

/// Kinds of failures that an HTTP answer with a good status can still be: one that is not what it promises, or
/// that breaks off.
const DESPITE_A_GOOD_STATUS: [ToolErrorKind; 3] =
    [ToolErrorKind::InvalidOutput, ToolErrorKind::UpstreamFailure, ToolErrorKind::Timeout];

/// Strategies whose failures an earlier one takes.
pub(super) fn order(fallback: &Fallback, level: Level<'_>, problems: &Problems) {
    let mut earlier: Vec<(&Strategy, usize)> = Vec::new();
    for (strategy, span, path) in fallback.placed() {
        // What matches nothing is reported as that.
        if impossibility(&strategy.when, level).is_some() {
            continue;
        }
        if let Some((_, line)) = earlier.iter().find(|(first, _)| shadows(first, strategy)) {
            let message = format!("the strategy on line {line} takes every failure that this one is for");
            let hint = "the first strategy that matches decides: put this one before it";
            problems.push(Diagnostic::warning(code::UNREACHABLE_STRATEGY, message).at(span, path).hint(hint));
        } else {
            earlier.push((strategy, span.line));
        }
    }
}

/// Whether nothing is left for `later`.
fn shadows(first: &Strategy, later: &Strategy) -> bool {
    let leaves_nothing = match (&first.action, &later.action) {
        // What falls through a retry falls through a like one with no more attempts.
        (Action::Retry { max, backoff }, Action::Retry { max: second, backoff: other }) => {
            second <= max && backoff == other
        }
        // Both fall through now and then.
        (Action::Retry { .. }, _) => false,
        (Action::UseTool { .. }, other) => matches!(other, Action::UseTool { .. }),
        (
            Action::Continue { .. } | Action::Stop { .. } | Action::UseValue { .. } | Action::AskHuman { .. },
            _,
        ) => true,
    };
    leaves_nothing && covers(&first.when, &later.when)
}

/// Whether `broad` surely matches every failure that `narrow` matches.
fn covers(broad: &When, narrow: &When) -> bool {
    fn all<T: PartialEq>(broad: &[T], narrow: &[T]) -> bool {
        broad.is_empty() || (!narrow.is_empty() && narrow.iter().all(|value| broad.contains(value)))
    }
    let whole = |applied: &[Applied]| {
        Applied::ALL.into_iter().filter(|one| applied.is_empty() || applied.contains(one)).collect::<Vec<_>>()
    };
    let (broad_kinds, narrow_kinds) = (kinds_of(broad), kinds_of(narrow));
    !narrow_kinds.is_empty()
        && narrow_kinds.iter().all(|kind| broad_kinds.contains(kind))
        && whole(&narrow.applied).iter().all(|one| whole(&broad.applied).contains(one))
        && all(&broad.statuses, &narrow.statuses)
        && all(&broad.tools, &narrow.tools)
        && broad.text.iter().all(|test| narrow.text.iter().any(|other| follows(test, other)))
}

/// The kinds that a condition is for, by kind and class together.
pub(super) fn kinds_of(when: &When) -> Vec<ToolErrorKind> {
    let kinds = ToolErrorKind::ALL.into_iter();
    kinds
        .filter(|kind| when.kinds.is_empty() || when.kinds.contains(kind))
        .filter(|kind| when.classes.is_empty() || when.classes.contains(&kind.class()))
        .collect()
}

/// Whether a message that passes `given` surely passes `test` as well.
fn follows(test: &TextMatch, given: &TextMatch) -> bool {
    if test == given {
        return true;
    }
    let (TextMatch::Contains { text: part, case_sensitive: strict }
    | TextMatch::Equals { text: part, case_sensitive: strict }) = test
    else {
        return false;
    };
    let (TextMatch::Contains { text: known, case_sensitive: known_strict }
    | TextMatch::Equals { text: known, case_sensitive: known_strict }) = given
    else {
        return false;
    };
    // A message that is known up to case can't be held against a test that minds it.
    if *strict && !known_strict {
        return false;
    }
    let fold = |text: &str| if *strict { text.to_owned() } else { text.to_lowercase() };
    match (test, given) {
        (TextMatch::Contains { .. }, TextMatch::Equals { .. }) => fold(known.trim()).contains(&fold(part)),
        (TextMatch::Contains { .. }, _) => fold(known).contains(&fold(part)),
        (_, TextMatch::Equals { .. }) => fold(known.trim()) == fold(part.trim()),
        _ => false,
    }
}

/// Conditions that no failure meets where the list holds.
pub(super) fn impossible(fallback: &Fallback, level: Level<'_>, problems: &Problems) {
    for (strategy, span, path) in fallback.placed() {
        if let Some((message, hint)) = impossibility(&strategy.when, level) {
            problems.push(Diagnostic::warning(code::NEVER_MATCHES, message).at(span, path).hint(hint));
        }
    }
}

fn impossibility(when: &When, level: Level<'_>) -> Option<(&'static str, &'static str)> {
    let kinds = kinds_of(when);
    let only = |unmet: ToolErrorKind| !kinds.is_empty() && kinds.iter().all(|kind| *kind == unmet);
    if only(ToolErrorKind::Cancelled) {
        return Some((
            "a cancelled call ends the run before any strategy is looked at, so this never matches",
            "take it away: there is nothing to declare for it",
        ));
    }
    let toolset = match level {
        Level::Agent => return None,
        Level::Toolset(toolset) | Level::Tool(toolset, _) => toolset,
    };
    // An MCP server may have given up a tool that it lists.
    if only(ToolErrorKind::UnknownTool) && !matches!(toolset.kind, ToolsetKind::Mcp(_)) {
        return Some((
            "a tool that is declared is never unknown, so this never matches",
            "declare it in the agent's own `fallback`, which holds for names that no toolset has",
        ));
    }
    match &toolset.kind {
        ToolsetKind::Mcp(_) => None,
        ToolsetKind::Http(_) | ToolsetKind::OpenApi(_) => {
            let good = |status: &u16| (200..300).contains(status);
            let all_good = !when.statuses.is_empty() && when.statuses.iter().all(good);
            let none = !kinds.iter().any(|kind| DESPITE_A_GOOD_STATUS.contains(kind));
            (all_good && none && !kinds.is_empty()).then_some((
                "an answer with such a status is no failure of this kind, so this never matches",
                "under a good status there are only `invalid_output`, `upstream_failure` and `timeout`",
            ))
        }
    }
}
