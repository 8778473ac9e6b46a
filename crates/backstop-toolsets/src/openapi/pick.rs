//! Which operations become tools, and under which names.

use std::collections::{HashMap, hash_map::Entry};

use super::{
    name::Names,
    operation::Operation,
    read::{OpenApiOptions, OpenApiProblem, problem},
    select::{Candidate, Matcher, Selector},
};

/// The places of the operations that become tools.
pub(super) fn picked(
    operations: &[Operation<'_>],
    options: &OpenApiOptions,
    problems: &mut Vec<OpenApiProblem>,
) -> Vec<usize> {
    let mut matchers = |selectors: &[Selector], what: &str| -> Vec<Matcher> {
        let mut all = Vec::new();
        for selector in selectors {
            match selector.matcher() {
                Ok(matcher) => {
                    if !operations.iter().any(|operation| matcher.matches(&candidate(operation))) {
                        let meant = suggestion(selector, operations);
                        let message = format!("`{what}` picks no operation: {selector}{meant}");
                        problems.push(problem("/paths".into(), message));
                    }
                    all.push(matcher);
                }
                Err(why) => problems.push(problem("/paths".into(), format!("`{what}`: {why}"))),
            }
        }
        all
    };
    let (include, exclude) = (matchers(&options.include, "include"), matchers(&options.exclude, "exclude"));
    let is_picked = |operation: &Operation<'_>| {
        let candidate = candidate(operation);
        (options.include.is_empty() || include.iter().any(|matcher| matcher.matches(&candidate)))
            && !exclude.iter().any(|matcher| matcher.matches(&candidate))
            && !(options.without_deprecated && operation.node.flag("deprecated"))
    };
    operations
        .iter()
        .enumerate()
        .filter(|(_, operation)| is_picked(operation))
        .map(|(index, _)| index)
        .collect()
}

fn candidate<'o>(operation: &'o Operation<'_>) -> Candidate<'o> {
    Candidate {
        operation: &operation.id,
        tags: &operation.tags,
        path: operation.path,
        method: operation.method,
    }
}

/// What is near to what a selector names, in words; empty where nothing is.
fn suggestion(selector: &Selector, operations: &[Operation<'_>]) -> String {
    let all = |of: fn(&Operation<'_>) -> Vec<String>| operations.iter().flat_map(of).collect::<Vec<_>>();
    let named = [
        selector.operation.as_deref().map(|name| (name, all(|operation| vec![operation.id.clone()]))),
        selector.tag.as_deref().map(|name| {
            (name, all(|operation| operation.tags.iter().map(|tag| (*tag).to_owned()).collect()))
        }),
        selector.path.as_deref().map(|name| (name, all(|operation| vec![operation.path.to_owned()]))),
    ];
    let mut near = named.iter().flatten().filter_map(|(name, known)| {
        backstop_core::text::nearest(name, known.iter().map(String::as_str)).first().copied()
    });
    near.next().map(|near| format!(", did you mean `{near}`?")).unwrap_or_default()
}

/// The names of the tools by the places of their operations; each is there once.
pub(super) fn names(
    operations: &[Operation<'_>],
    picked: &[usize],
    options: &OpenApiOptions,
    problems: &mut Vec<OpenApiProblem>,
) -> HashMap<usize, String> {
    let picked: Vec<(usize, &Operation<'_>)> =
        picked.iter().filter_map(|index| Some((*index, operations.get(*index)?))).collect();
    let mut by_name: HashMap<String, (usize, &str)> = HashMap::new();
    for (index, operation) in &picked {
        by_name.insert(format!("{} {}", operation.method, operation.path), (*index, &operation.id));
    }
    by_name.extend(
        picked.iter().map(|(index, operation)| (operation.id.clone(), (*index, operation.id.as_str()))),
    );
    let mut wanted: Vec<(usize, &str, &str)> = Vec::new();
    for (from, to) in &options.rename {
        match by_name.get(from) {
            Some((index, id)) => wanted.push((*index, id, to)),
            None => {
                let near = backstop_core::text::nearest(from, picked.iter().map(|(_, one)| one.id.as_str()));
                let meant = near.first().map(|near| format!(", did you mean `{near}`?")).unwrap_or_default();
                let message = format!("`rename`: there is no operation `{from}`{meant}");
                problems.push(problem("/paths".into(), message));
            }
        }
    }
    let mut taken = Names::default();
    let mut names = HashMap::new();
    for (index, operation) in &picked {
        if !wanted.iter().any(|(renamed, _, _)| renamed == index) {
            taken.take(&operation.id);
            names.insert(*index, operation.id.clone());
        }
    }
    for (index, id, to) in wanted {
        let Entry::Vacant(entry) = names.entry(index) else {
            problems.push(problem("/paths".into(), format!("`rename`: `{id}` has two new names")));
            continue;
        };
        if taken.take(to) {
            entry.insert(to.to_owned());
        } else {
            problems.push(problem("/paths".into(), format!("`rename`: two operations are called `{to}`")));
            entry.insert(taken.free(id.to_owned()));
        }
    }
    names
}
