//! Tools that are called for others: `use_tool` serves a failed call, `reconcile` finds out about one.

use backstop_core::{Action, Effect, text};

use super::{
    super::fallback::Fallback,
    Tool, effect_of, fit, has_known_effect, is_for,
    names::{Found, Names},
};
use crate::{
    diagnostic::{Diagnostic, Problems, code},
    reader::suggest,
    span::Span,
};

/// Where something is said about a tool that stands in.
pub(super) struct Place<'p> {
    problems: &'p Problems,
    span: Span,
    path: String,
}

impl Place<'_> {
    pub(super) fn push(&self, problem: Diagnostic) {
        self.problems.push(problem.at(self.span, self.path.clone()));
    }
}

/// Tools that a list has serve failed calls. `tools` are those that it is for.
pub(super) fn serving(names: &Names<'_>, fallback: &Fallback, tools: &[Tool<'_>], problems: &Problems) {
    for (strategy, span, path) in fallback.placed() {
        let Action::UseTool { tool: name, arguments } = &strategy.action else { continue };
        let place = Place { problems, span, path };
        let Some(target) = target(names, name, &place) else { continue };
        let is_other = |tool: &Tool<'_>| !(std::ptr::eq(tool.0, target.0) && tool.1 == target.1);
        let served: Vec<Tool<'_>> =
            tools.iter().copied().filter(|tool| is_for(strategy, tool) && is_other(tool)).collect();
        fit::arguments(arguments, &served, target, names, &place);
        let looks = |tool: &&Tool<'_>| has_known_effect(tool) && effect_of(tool) == Effect::ReadOnly;
        let looking: Vec<String> =
            served.iter().filter(looks).map(|tool| format!("`{}`", names.name_of(*tool))).collect();
        if effect_of(&target) != Effect::ReadOnly && !looking.is_empty() {
            let message = format!(
                "`{}` changes something, and it stands in for calls of {}, which only look",
                names.name_of(target),
                looking.join(", ")
            );
            let hint = "declare `effect: read_only` if it only looks, or say with `when.tools` whose calls it serves";
            place.push(Diagnostic::warning(code::UNSAFE_USE_TOOL, message).hint(hint));
        }
    }
}

/// Tools that find out whether calls took effect.
pub(super) fn reconciling(names: &Names<'_>, problems: &Problems) {
    for toolset in &names.manifest.toolsets {
        let declared = toolset.tools.iter().map(|(name, settings)| (name.as_str(), "tools", settings));
        let endpoints = super::endpoints(toolset).iter();
        let endpoints =
            endpoints.map(|endpoint| (endpoint.name.as_str(), "http.endpoints", &endpoint.settings));
        for (tool, under, settings) in declared.chain(endpoints) {
            let Some(reconcile) = &settings.reconcile else { continue };
            let path = format!("toolsets.{}.{under}.{tool}.reconcile", toolset.name.value);
            let place = Place { problems, span: reconcile.span, path };
            let lost = (toolset, tool);
            if has_known_effect(&lost) && effect_of(&lost) != Effect::Mutating {
                let message =
                    "the tool is not mutating, so nothing needs to be found out about its lost calls";
                let hint = "take `reconcile` away: such a call is made again";
                place.push(Diagnostic::warning(code::NO_EFFECT, message).hint(hint));
            }
            let Some(target) = target(names, &reconcile.tool, &place) else { continue };
            if effect_of(&target) != Effect::ReadOnly {
                let message = format!("`{}` changes something: finding out must not", names.name_of(target));
                let hint = "declare `effect: read_only` if it only looks";
                place.push(Diagnostic::warning(code::UNSAFE_RECONCILE, message).hint(hint));
            }
            fit::arguments(&reconcile.arguments, &[lost], target, names, &place);
        }
    }
}

/// The tool of this name; reports where there surely is none.
fn target<'m>(names: &Names<'m>, name: &str, place: &Place<'_>) -> Option<Tool<'m>> {
    match names.find(name) {
        Found::Tool(tool) => return Some(tool),
        Found::Unknown => return None,
        Found::Nothing => {}
    }
    let shown = text::escaped(name, 80);
    let alike: Vec<Tool<'_>> = names.all().filter(|(_, tool)| *tool == name).collect();
    let meant = if alike.is_empty() { names.all().collect() } else { alike.clone() };
    let meant: Vec<String> = meant.into_iter().map(|tool| names.name_of(tool)).collect();
    let meant: Vec<&str> = meant.iter().map(String::as_str).collect();
    let message = match alike.len() {
        0 => format!("there is no tool `{shown}`"),
        several => format!("{several} tools are called `{shown}`"),
    };
    place.push(Diagnostic::error(code::UNKNOWN_TOOL, message).maybe_hint(suggest(name, &meant)));
    None
}
