//! What a manifest says that it can't mean: warnings that need more than one field to be seen.

use backstop_core::{Action, Applied, Effect, ErrorClass, Strategy, When};

use super::{
    fallback::Fallback,
    manifest::Manifest,
    toolset::{ToolsetConfig, ToolsetKind},
};
use crate::diagnostic::{Diagnostic, Problems, code};

/// Where a list of strategies is declared.
#[derive(Clone, Copy)]
enum Level<'m> {
    Agent,
    Toolset(&'m ToolsetConfig),
    Tool(&'m ToolsetConfig, &'m str),
}

/// Reports every finding.
pub(super) fn lint(manifest: &Manifest, problems: &Problems) {
    for (fallback, level) in levels(manifest) {
        order(fallback, problems);
        retries(fallback, level, problems);
        if !matches!(level, Level::Tool(..)) {
            tool_names(manifest, fallback, level, problems);
        }
    }
}

fn levels(manifest: &Manifest) -> Vec<(&Fallback, Level<'_>)> {
    let mut levels: Vec<_> = manifest.fallback.iter().map(|list| (list, Level::Agent)).collect();
    for toolset in &manifest.toolsets {
        levels.extend(toolset.fallback.iter().map(|list| (list, Level::Toolset(toolset))));
        for (name, settings) in &toolset.tools {
            levels.extend(settings.fallback.iter().map(|list| (list, Level::Tool(toolset, name))));
        }
        match &toolset.kind {
            ToolsetKind::Http(http) => {
                for endpoint in &http.endpoints {
                    let list = endpoint.settings.fallback.iter();
                    levels.extend(list.map(|list| (list, Level::Tool(toolset, &endpoint.name))));
                }
            }
        }
    }
    levels
}

/// Strategies that never get their turn.
fn order(fallback: &Fallback, problems: &Problems) {
    let mut taken: Vec<(&When, usize)> = Vec::new();
    for (strategy, span, path) in fallback.placed() {
        let earlier = taken.iter().find(|(when, _)| **when == When::always() || **when == strategy.when);
        if let Some((_, line)) = earlier {
            let message = format!("the strategy on line {line} takes every failure that this one is for");
            let hint = "the first strategy that matches decides: put this one before it";
            problems.push(Diagnostic::warning(code::UNREACHABLE_STRATEGY, message).at(span, path).hint(hint));
        } else if !matches!(strategy.action, Action::Retry { .. } | Action::UseTool { .. }) {
            // A retry that is spent or unsafe falls through to the next one.
            taken.push((&strategy.when, span.line));
        }
    }
}

/// Retries that are never made.
fn retries(fallback: &Fallback, level: Level<'_>, problems: &Problems) {
    for (strategy, span, path) in fallback.placed() {
        if !matches!(strategy.action, Action::Retry { .. } | Action::UseTool { .. }) {
            continue;
        }
        if !is_ever_retried(&strategy.when) {
            let message = "these failures do not pass by themselves, so they are never retried";
            let hint = "only failures of the class `transient` are";
            problems.push(Diagnostic::warning(code::USELESS_RETRY, message).at(span, path).hint(hint));
            continue;
        }
        let tools = if may_have_applied(&strategy.when) { unsafe_tools(level, strategy) } else { Vec::new() };
        if !tools.is_empty() {
            let tools: Vec<String> = tools.iter().map(|tool| format!("`{tool}`")).collect();
            let message = format!(
                "a call of {} may have taken effect, and is then not retried but falls through to the next \
                 strategy",
                tools.join(", ")
            );
            let hint = "declare `idempotent_key: true` or `effect: idempotent` if a repetition does no harm, \
                        or add `applied: no` to `when`";
            problems.push(Diagnostic::warning(code::UNSAFE_RETRY, message).at(span, path).hint(hint));
        }
    }
}

fn is_ever_retried(when: &When) -> bool {
    let class = when.classes.is_empty() || when.classes.contains(&ErrorClass::Transient);
    let kind = when.kinds.is_empty() || when.kinds.iter().any(|kind| kind.class() == ErrorClass::Transient);
    class && kind
}

/// Whether the failures include some after which nobody knows what happened.
fn may_have_applied(when: &When) -> bool {
    let said = when.applied.is_empty() || when.applied.iter().any(|applied| *applied != Applied::No);
    let kind = when.kinds.is_empty()
        || when
            .kinds
            .iter()
            .any(|kind| kind.class() == ErrorClass::Transient && kind.usually_applied() != Applied::No);
    said && kind
}

/// The tools of a list that change something each time. The agent's list is for all tools: there, falling
/// through is what a reader expects.
fn unsafe_tools<'m>(level: Level<'m>, strategy: &Strategy) -> Vec<&'m str> {
    let changes = |toolset: &ToolsetConfig, tool: &str| {
        let keyed = match &toolset.kind {
            ToolsetKind::Http(http) => {
                http.endpoints.iter().any(|endpoint| endpoint.name.value == tool && endpoint.idempotent_key)
            }
        };
        !keyed && toolset.settings(tool).effect.unwrap_or_default() == Effect::Mutating
    };
    match level {
        Level::Agent => Vec::new(),
        Level::Tool(toolset, tool) => changes(toolset, tool).then_some(tool).into_iter().collect(),
        Level::Toolset(toolset) => match &toolset.kind {
            ToolsetKind::Http(http) => http
                .endpoints
                .iter()
                .map(|endpoint| endpoint.name.as_str())
                .filter(|tool| toolset.settings(tool).fallback.is_none())
                .filter(|tool| is_named(&strategy.when, toolset, tool))
                .filter(|tool| changes(toolset, tool))
                .collect(),
        },
    }
}

fn is_named(when: &When, toolset: &ToolsetConfig, tool: &str) -> bool {
    when.tools.is_empty() || when.tools.iter().any(|name| answers_to(toolset, tool, name))
}

/// Whether a name is the tool's own or one that the model may know it by.
fn answers_to(toolset: &ToolsetConfig, tool: &str, name: &str) -> bool {
    let known = format!("{}{tool}", toolset.prefix);
    name == tool || name == known || name == format!("{}_{known}", toolset.name.value)
}

/// Names of tools that nothing answers to.
fn tool_names(manifest: &Manifest, fallback: &Fallback, level: Level<'_>, problems: &Problems) {
    let is_known = |name: &str| {
        manifest
            .toolsets
            .iter()
            .filter(|toolset| match level {
                Level::Toolset(own) => own.name == toolset.name,
                Level::Agent | Level::Tool(..) => true,
            })
            .any(|toolset| match &toolset.kind {
                ToolsetKind::Http(http) => {
                    http.endpoints.iter().any(|endpoint| answers_to(toolset, &endpoint.name, name))
                }
            })
    };
    for (strategy, span, path) in fallback.placed() {
        for name in strategy.when.tools.iter().filter(|name| !is_known(name)) {
            let name = backstop_core::text::escaped(name, 80);
            let message = format!("there is no tool `{name}`, so this never matches");
            problems.push(Diagnostic::warning(code::NEVER_MATCHES, message).at(span, path.clone()));
        }
    }
}
