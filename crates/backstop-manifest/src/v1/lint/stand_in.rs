//! Tools that are called for others: `use_tool` serves a failed call, `reconcile` finds out about one.

use std::collections::HashSet;

use backstop_core::{Action, Effect, ToolSpec, text};
use serde_json::{Map, Value};

use super::{
    super::{fallback::Fallback, manifest::Manifest, toolset::ToolsetConfig},
    Level, Tool, answers_to, effect_of, is_for, tools_in,
};
use crate::{
    diagnostic::{Diagnostic, Problems, code},
    reader::suggest,
    span::Span,
};

/// Whether all tools are known without asking anybody.
fn all_are_known(manifest: &Manifest) -> bool {
    manifest.toolsets.iter().all(ToolsetConfig::declares_its_tools)
}

/// The tool that a run finds by this name: by the one that the model knows, else by its own where that is unique.
fn find<'m>(manifest: &'m Manifest, name: &str) -> Option<Tool<'m>> {
    let all = || manifest.toolsets.iter().flat_map(tools_in);
    let known = all().find(|(toolset, tool)| *tool != name && answers_to(toolset, tool, name));
    let mut own = all().filter(|(_, tool)| *tool == name);
    match (own.next(), own.next()) {
        (Some(only), None) => Some(only),
        (Some((toolset, tool)), Some(_)) if toolset.prefix.is_empty() => Some((toolset, tool)),
        (Some(_), Some(_)) | (None, _) => known,
    }
}

fn spec_of((toolset, tool): Tool<'_>) -> Option<ToolSpec> {
    toolset.specs().into_iter().find(|spec| spec.name == tool)
}

/// Where something is said about a tool that stands in.
struct Place<'p> {
    problems: &'p Problems,
    span: Span,
    path: String,
}

impl Place<'_> {
    fn push(&self, problem: Diagnostic) {
        self.problems.push(problem.at(self.span, self.path.clone()));
    }
}

/// Tools that a list has serve failed calls.
pub(super) fn serving(
    manifest: &Manifest,
    fallback: &Fallback,
    level: Level<'_>,
    tools: &[Tool<'_>],
    problems: &Problems,
) {
    for (strategy, span, path) in fallback.placed() {
        let Action::UseTool { tool: name, arguments } = &strategy.action else { continue };
        let place = Place { problems, span, path };
        let served: Vec<Tool<'_>> = tools.iter().copied().filter(|tool| is_for(strategy, tool)).collect();
        let Some(target) = target(manifest, name, &place) else { continue };
        check_arguments(arguments, &served, target, &place);
        if let Level::Tool(toolset, tool) = level {
            check_circle(manifest, (toolset, tool), target, &place);
        }
    }
}

/// Tools that find out whether calls took effect.
pub(super) fn reconciling(manifest: &Manifest, problems: &Problems) {
    for lost in manifest.toolsets.iter().flat_map(tools_in) {
        let Some(declared) = lost.0.settings(lost.1).reconcile else { continue };
        let settings = lost.0.tools.iter().find(|(name, _)| name.value == lost.1);
        let under = match settings.is_some_and(|(_, settings)| settings.reconcile.is_some()) {
            true => "tools",
            false => "http.endpoints",
        };
        let path = format!("toolsets.{}.{under}.{}.reconcile", lost.0.name.value, lost.1);
        let place = Place { problems, span: declared.span, path };
        if effect_of(&lost) != Effect::Mutating {
            let message = "the tool is not mutating, so nothing needs to be found out about its lost calls";
            place.push(
                Diagnostic::warning(code::NO_EFFECT, message)
                    .hint("take `reconcile` away: such a call is made again"),
            );
        }
        let Some(target) = target(manifest, &declared.tool, &place) else { continue };
        if effect_of(&target) == Effect::Mutating {
            let message = format!("`{}` is mutating: finding out must not change anything", target.1);
            place.push(
                Diagnostic::warning(code::UNSAFE_RECONCILE, message)
                    .hint("declare `effect: read_only` if it only looks"),
            );
        }
        check_arguments(&declared.arguments, &[lost], target, &place);
    }
}

/// The tool of this name; reports where there is none.
fn target<'m>(manifest: &'m Manifest, name: &str, place: &Place<'_>) -> Option<Tool<'m>> {
    let found = find(manifest, name);
    if found.is_none() && all_are_known(manifest) {
        let known: Vec<&str> = manifest.toolsets.iter().flat_map(tools_in).map(|(_, tool)| tool).collect();
        let own = known.iter().filter(|tool| **tool == name).count();
        let shown = text::escaped(name, 80);
        let (message, hint) = if own > 1 {
            let hint = "write it with the prefix or the name of its toolset in front";
            (format!("{own} tools are called `{shown}`"), Some(hint.to_owned()))
        } else {
            (format!("there is no tool `{shown}`"), suggest(name, &known))
        };
        place.push(Diagnostic::error(code::UNKNOWN_TOOL, message).maybe_hint(hint));
    }
    found
}

/// What the tool that stands in is given, against what it takes and what there is to give.
fn check_arguments(declared: &Map<String, Value>, from: &[Tool<'_>], to: Tool<'_>, place: &Place<'_>) {
    let Some(to) = spec_of(to) else { return };
    let given: Vec<String> = match declared.is_empty() {
        // The same arguments: those that all of the tools have.
        true => match from {
            [only] => spec_of(*only).map(|spec| parameters(&spec)).unwrap_or_default(),
            _ => return,
        },
        false => declared.keys().cloned().collect(),
    };
    let takes = parameters(&to);
    let names: Vec<&str> = takes.iter().map(String::as_str).collect();
    for name in declared.keys().filter(|name| !takes.contains(name)) {
        let message = format!("`{}` has no parameter `{}`", to.name, text::escaped(name, 80));
        place.push(Diagnostic::error(code::UNKNOWN_KEY, message).maybe_hint(suggest(name, &names)));
    }
    let missing = required(&to).into_iter().filter(|name| !given.contains(name));
    let missing: Vec<String> = missing.map(|name| format!("`{name}`")).collect();
    if !missing.is_empty() {
        let message = format!("`{}` needs {}, which it is not given", to.name, missing.join(", "));
        let hint = "name all of its arguments under `arguments`";
        place.push(Diagnostic::error(code::MISSING_KEY, message).hint(hint));
    }
    let sources: Vec<Vec<String>> =
        from.iter().filter_map(|tool| Some(parameters(&spec_of(*tool)?))).collect();
    for name in declared.values().filter_map(placeholder) {
        if sources.is_empty() || sources.iter().any(|parameters| parameters.iter().any(|known| known == name))
        {
            continue;
        }
        let known: Vec<&str> = sources.iter().flatten().map(String::as_str).collect();
        let message = format!("the failed call has no argument `{}`", text::escaped(name, 80));
        place.push(Diagnostic::error(code::UNKNOWN_KEY, message).maybe_hint(suggest(name, &known)));
    }
}

fn parameters(spec: &ToolSpec) -> Vec<String> {
    let properties = spec.input_schema.get("properties").and_then(Value::as_object);
    properties.map(|properties| properties.keys().cloned().collect()).unwrap_or_default()
}

fn required(spec: &ToolSpec) -> Vec<String> {
    let required = spec.input_schema.get("required").and_then(Value::as_array);
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    // What has a default is never missing.
    let has_default =
        |name: &&str| spec.input_schema.pointer(&format!("/properties/{name}/default")).is_some();
    names.filter(|name| !has_default(name)).map(str::to_owned).collect()
}

/// The argument that a declared value stands for.
fn placeholder(value: &Value) -> Option<&str> {
    let name = value.as_str()?.strip_prefix('{')?.strip_suffix('}')?;
    (!name.contains(['{', '}'])).then_some(name)
}

/// A tool that is served by one which comes back to it: told once, at the first tool of the circle.
fn check_circle(manifest: &Manifest, first: Tool<'_>, next: Tool<'_>, place: &Place<'_>) {
    let name = |(toolset, tool): &Tool<'_>| (toolset.name.value.clone(), (*tool).to_owned());
    let all: Vec<_> = manifest.toolsets.iter().flat_map(tools_in).map(|tool| name(&tool)).collect();
    let rank = |tool: &Tool<'_>| all.iter().position(|known| *known == name(tool));
    let mut way = vec![next];
    let mut seen = HashSet::from([name(&next)]);
    if !leads_back(manifest, &first, &mut way, &mut seen) || way.iter().any(|tool| rank(tool) < rank(&first))
    {
        return;
    }
    let mut names: Vec<String> = vec![format!("`{}`", first.1)];
    names.extend(way.iter().map(|(_, tool)| format!("`{tool}`")));
    if way.last().is_some_and(|last| name(last) != name(&first)) {
        names.push(format!("`{}`", first.1));
    }
    let message = format!("these tools serve each other's calls in a circle: {}", names.join(" → "));
    let hint = "a call goes round once at most, then its failure is told to the model";
    place.push(Diagnostic::warning(code::CIRCLE, message).hint(hint));
}

/// Extends the way from its last tool until it is at `first` again; gives whether it gets there.
fn leads_back<'m>(
    manifest: &'m Manifest,
    first: &Tool<'_>,
    way: &mut Vec<Tool<'m>>,
    seen: &mut HashSet<(String, String)>,
) -> bool {
    let same = |a: &Tool<'_>, b: &Tool<'_>| a.0.name.value == b.0.name.value && a.1 == b.1;
    let Some(at) = way.last().copied() else { return false };
    if same(&at, first) {
        return true;
    }
    for strategy in manifest.strategies_for(&at.0.name.value, at.1) {
        let Action::UseTool { tool, .. } = &strategy.action else { continue };
        let Some(next) = find(manifest, tool).filter(|_| is_for(&strategy, &at)) else { continue };
        if same(&next, first) {
            return true;
        }
        if seen.insert((next.0.name.value.clone(), next.1.to_owned())) {
            way.push(next);
            if leads_back(manifest, first, way, seen) {
                return true;
            }
            way.pop();
        }
    }
    false
}
