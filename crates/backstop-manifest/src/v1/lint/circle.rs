//! Tools that serve each other's calls in a circle.

use std::collections::{HashMap, VecDeque};

use backstop_core::Action;

use super::{
    super::toolset::ToolsetConfig,
    Tool, is_for,
    names::{Found, Names},
};
use crate::{
    diagnostic::{Diagnostic, Problems, code},
    span::Span,
};

/// Tools of one circle that are named.
const SHOWN: usize = 6;

/// The way from one tool to another that serves its calls.
struct Way {
    to: usize,
    span: Span,
    path: String,
}

/// Tells of each tool the shortest circle that begins with it and holds none before it, so no circle is told
/// twice.
pub(super) fn circles(names: &Names<'_>, problems: &Problems) {
    let tools: Vec<Tool<'_>> = names.all().collect();
    let mut places = HashMap::with_capacity(tools.len());
    for (place, tool) in tools.iter().enumerate() {
        places.entry(key(*tool)).or_insert(place);
    }
    let ways: Vec<Vec<Way>> = tools.iter().map(|tool| ways(names, &places, *tool)).collect();
    for first in 0..tools.len() {
        let Some(circle) = shortest(&ways, first) else { continue };
        let place = circle.get(1).copied().unwrap_or(first);
        let Some(way) = ways.get(first).and_then(|ways| ways.iter().find(|way| way.to == place)) else {
            continue;
        };
        let called = |tool: usize| tools.get(tool).map(|tool| format!("`{}`", names.name_of(*tool)));
        let mut shown: Vec<String> = circle.iter().copied().take(SHOWN).filter_map(called).collect();
        if circle.len() > SHOWN {
            shown.push("…".into());
        }
        shown.extend(called(first));
        let message = format!("calls are served in a circle: {}", shown.join(" → "));
        let hint =
            "a tool that failed a call is not used for it again: there the model is told of the failure";
        problems.push(Diagnostic::warning(code::CIRCLE, message).at(way.span, way.path.clone()).hint(hint));
    }
}

/// A tool by its toolset and its name.
type Key<'m> = (*const ToolsetConfig, &'m str);

fn key((toolset, tool): Tool<'_>) -> Key<'_> {
    (std::ptr::from_ref(toolset), tool)
}

/// Where the list that holds for a tool leads to. `places` are those of all tools.
fn ways(names: &Names<'_>, places: &HashMap<Key<'_>, usize>, tool: Tool<'_>) -> Vec<Way> {
    let (toolset, own) = tool;
    let Some(list) = names.manifest.fallback_for(&toolset.name.value, own) else { return Vec::new() };
    let is_shared = toolset.settings(own).fallback.is_none();
    let placed = list.placed().filter_map(|(strategy, span, path)| {
        let Action::UseTool { tool: name, .. } = &strategy.action else { return None };
        let Found::Tool(next) = names.find(name) else { return None };
        // A shared list that is for all tools is also for the one that serves them: nobody means that by it.
        let is_aside = is_shared && strategy.when.tools.is_empty() && key(next) == key(tool);
        if is_aside || !is_for(strategy, &tool) {
            return None;
        }
        Some(Way { to: *places.get(&key(next))?, span, path })
    });
    placed.collect()
}

/// The shortest way from `first` back to itself over later tools: the tools on it, without the end.
fn shortest(ways: &[Vec<Way>], first: usize) -> Option<Vec<usize>> {
    let mut came_from: Vec<Option<usize>> = vec![None; ways.len()];
    let mut queue = VecDeque::from([first]);
    while let Some(at) = queue.pop_front() {
        for way in ways.get(at).into_iter().flatten() {
            if way.to == first {
                let back = std::iter::successors(Some(at), |at| {
                    came_from.get(*at).copied().flatten().filter(|_| *at != first)
                });
                let mut circle: Vec<usize> = back.collect();
                circle.reverse();
                return Some(circle);
            }
            if let Some(before @ None) = came_from.get_mut(way.to).filter(|_| way.to > first) {
                *before = Some(at);
                queue.push_back(way.to);
            }
        }
    }
    None
}
