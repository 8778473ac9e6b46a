//! What a manifest says that it can't mean: warnings that need more than one field to be seen.
//!
//! Only what is surely not meant is reported: a warning that is wrong once is not read again.

mod circle;
mod fit;
mod names;
mod reach;
mod retry;
mod stand_in;

use backstop_core::{
    Action, Effect, ErrorClass, Reference, Strategy, ToolError, ToolErrorKind, error::ViewFacts, text,
};

use names::Names;

use super::{
    fallback::Fallback,
    http::HttpEndpoint,
    manifest::Manifest,
    toolset::{ToolsetConfig, ToolsetKind},
};
use crate::{
    diagnostic::{Diagnostic, Problems, code},
    reader::suggest,
};

/// Where a list of strategies is declared.
#[derive(Clone, Copy)]
enum Level<'m> {
    Agent,
    Toolset(&'m ToolsetConfig),
    Tool(&'m ToolsetConfig, &'m str),
}

/// A tool, by its toolset and its own name.
type Tool<'m> = (&'m ToolsetConfig, &'m str);

/// Reports every finding.
pub(super) fn lint(manifest: &Manifest, problems: &Problems) {
    let names = Names::new(manifest);
    let levels = levels(manifest);
    let is_use_tool = |strategy: &Strategy| matches!(strategy.action, Action::UseTool { .. });
    let any_serves = levels.iter().any(|(fallback, _)| fallback.strategies.iter().any(is_use_tool));
    for (fallback, level) in levels {
        let tools = tools_of(manifest, level);
        reach::order(fallback, level, problems);
        reach::impossible(fallback, level, problems);
        retry::retries(fallback, level, &tools, problems);
        retry::room(manifest, fallback, &tools, problems);
        tool_names(manifest, fallback, level, problems);
        instructions(fallback, &tools, problems);
        stand_in::serving(&names, fallback, &tools, problems);
    }
    if any_serves {
        circle::circles(&names, problems);
    }
    stand_in::reconciling(&names, problems);
}

fn levels(manifest: &Manifest) -> Vec<(&Fallback, Level<'_>)> {
    let mut levels: Vec<_> = manifest.fallback.iter().map(|list| (list, Level::Agent)).collect();
    for toolset in &manifest.toolsets {
        levels.extend(toolset.fallback.iter().map(|list| (list, Level::Toolset(toolset))));
        for (name, settings) in &toolset.tools {
            levels.extend(settings.fallback.iter().map(|list| (list, Level::Tool(toolset, name))));
        }
        for endpoint in endpoints(toolset) {
            let list = endpoint.settings.fallback.iter();
            levels.extend(list.map(|list| (list, Level::Tool(toolset, &endpoint.name))));
        }
    }
    levels
}

fn endpoints(toolset: &ToolsetConfig) -> &[HttpEndpoint] {
    match &toolset.kind {
        ToolsetKind::Http(http) => &http.endpoints,
        ToolsetKind::OpenApi(_) | ToolsetKind::Mcp(_) => &[],
    }
}

/// The tools that are known without asking anybody.
fn tools_in(toolset: &ToolsetConfig) -> impl Iterator<Item = Tool<'_>> {
    endpoints(toolset).iter().map(move |endpoint| (toolset, endpoint.name.as_str()))
}

/// The tool of this name, where it is known without asking anybody.
fn tool_in<'m>(toolset: &'m ToolsetConfig, name: &str) -> Option<Tool<'m>> {
    match &toolset.kind {
        ToolsetKind::Http(http) => Some((toolset, http.endpoints.named(name)?.name.as_str())),
        ToolsetKind::OpenApi(_) | ToolsetKind::Mcp(_) => None,
    }
}

/// The tools that a list is for: those without a nearer one.
fn tools_of<'m>(manifest: &'m Manifest, level: Level<'m>) -> Vec<Tool<'m>> {
    let bare = |(toolset, tool): &Tool<'m>| toolset.settings(tool).fallback.is_none();
    match level {
        Level::Tool(toolset, tool) => vec![(toolset, tool)],
        Level::Toolset(toolset) => tools_in(toolset).filter(bare).collect(),
        Level::Agent => {
            let open = manifest.toolsets.iter().filter(|toolset| toolset.fallback.is_none());
            open.flat_map(tools_in).filter(bare).collect()
        }
    }
}

/// Whether a name is the tool's own or one that the model may know it by.
fn answers_to(toolset: &ToolsetConfig, tool: &str, name: &str) -> bool {
    let known = format!("{}{tool}", toolset.prefix);
    name == tool || name == known || name == format!("{}_{known}", toolset.name.value)
}

fn is_for(strategy: &Strategy, (toolset, tool): &Tool<'_>) -> bool {
    let names = &strategy.when.tools;
    names.is_empty() || names.iter().any(|name| answers_to(toolset, tool, name))
}

/// Whether it is known what a tool does to the world.
fn has_known_effect((toolset, tool): &Tool<'_>) -> bool {
    toolset.declares_its_tools() || toolset.settings(tool).effect.is_some()
}

fn effect_of((toolset, tool): &Tool<'_>) -> Effect {
    toolset.settings(tool).effect.unwrap_or_default()
}

/// Names of tools that nothing answers to where the list holds.
fn tool_names(manifest: &Manifest, fallback: &Fallback, level: Level<'_>, problems: &Problems) {
    let all: Vec<Tool<'_>> = match level {
        Level::Tool(toolset, tool) => vec![(toolset, tool)],
        Level::Toolset(toolset) => tools_in(toolset).collect(),
        Level::Agent => manifest.toolsets.iter().flat_map(tools_in).collect(),
    };
    let all_are_known = match level {
        Level::Tool(..) => true,
        Level::Toolset(toolset) => toolset.declares_its_tools(),
        Level::Agent => manifest.toolsets.iter().all(ToolsetConfig::declares_its_tools),
    };
    if !all_are_known {
        return;
    }
    let known: Vec<&str> = all.iter().map(|(_, tool)| *tool).collect();
    for (strategy, span, path) in fallback.placed() {
        for name in &strategy.when.tools {
            if all.iter().any(|(toolset, tool)| answers_to(toolset, tool, name)) {
                continue;
            }
            let shown = text::escaped(name, 80);
            let problem = match level {
                Level::Tool(_, tool) => {
                    let message = format!("this list is of `{tool}` alone, so `{shown}` never matches");
                    Diagnostic::warning(code::NEVER_MATCHES, message)
                }
                Level::Agent | Level::Toolset(_) => {
                    let message = format!("there is no tool `{shown}`, so this never matches");
                    let hint = suggest(name, &known).filter(|hint| hint.starts_with("did you mean"));
                    Diagnostic::warning(code::NEVER_MATCHES, message).maybe_hint(hint)
                }
            };
            problems.push(problem.at(span, path.clone()));
        }
    }
}

/// Instructions that say what the model is told anyway.
fn instructions(fallback: &Fallback, tools: &[Tool<'_>], problems: &Problems) {
    for (strategy, span, path) in fallback.placed() {
        let Action::Continue { instructions: Some(instructions) } = &strategy.action else { continue };
        let is_meant = |tool: &&Tool<'_>| is_for(strategy, tool) && has_known_effect(tool);
        let tools: Vec<&Tool<'_>> = tools.iter().filter(is_meant).collect();
        let kinds = reach::kinds_of(&strategy.when);
        // What a call should have been is told by whoever checked it, better than by its kind.
        if tools.is_empty() || kinds.is_empty() || kinds.iter().any(|kind| kind.class() == ErrorClass::Model)
        {
            continue;
        }
        let folded = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        let said = folded(instructions);
        let says_the_same = |tool: &&Tool<'_>, kind: &ToolErrorKind| {
            usual_step(tool, *kind, strategy).is_some_and(|step| folded(&step) == said)
        };
        if tools.iter().all(|tool| kinds.iter().all(|kind| says_the_same(tool, kind))) {
            let message = "these instructions are the next step that the model is told anyway";
            let hint = "take `instructions` away";
            problems.push(Diagnostic::warning(code::NO_EFFECT, message).at(span, path).hint(hint));
        }
    }
}

/// The order that ends the usual text about a failure of this kind, where it is one and the same.
fn usual_step(tool: &Tool<'_>, kind: ToolErrorKind, strategy: &Strategy) -> Option<String> {
    let settings = tool.0.settings(tool.1);
    let name = format!("{}{}", tool.0.prefix, tool.1);
    let step = |applied| {
        let error = ToolError::new(kind, "").with_applied(applied);
        let facts = ViewFacts::new(&name, effect_of(tool), Reference::new(0))
            .find_with(settings.find_with.as_deref())
            .check_with(settings.check_with.as_deref());
        let view = facts.view(&error, None);
        view.as_str().rsplit_once('\n').map(|(_, step)| step.to_owned())
    };
    let when = &strategy.when.applied;
    let applied = if when.is_empty() { vec![kind.usually_applied()] } else { when.clone() };
    let mut steps = applied.into_iter().map(step);
    let first = steps.next()??;
    steps.all(|step| step.as_ref() == Some(&first)).then_some(first)
}
