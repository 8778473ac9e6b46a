//! What a tool that stands in is given, against what it takes and what there is to give.

use std::collections::HashSet;

use backstop_core::text;
use serde_json::{Map, Value};

use super::{Tool, names::Names, stand_in::Place};
use crate::{
    diagnostic::{Diagnostic, code},
    reader::suggest,
};

/// The parameters of a tool.
struct Parameters {
    all: Vec<String>,
    /// Those that have no default.
    required: Vec<String>,
}

/// Reports what the run would refuse or leave out. `from` are the tools whose calls `to` is made for.
pub(super) fn arguments(
    declared: &Map<String, Value>,
    from: &[Tool<'_>],
    to: Tool<'_>,
    names: &Names<'_>,
    place: &Place<'_>,
) {
    let (Some(takes), name) = (parameters(names, to), to.1) else { return };
    let from: Option<Vec<Parameters>> = from.iter().map(|tool| parameters(names, *tool)).collect();
    if declared.is_empty() {
        return same(&from.unwrap_or_default(), &takes, name, place);
    }
    let all: Vec<&str> = takes.all.iter().map(String::as_str).collect();
    for argument in declared.keys().filter(|argument| !takes.all.contains(argument)) {
        let message =
            format!("`{name}` does not take `{}`, so it is never called", text::escaped(argument, 80));
        place.push(Diagnostic::warning(code::UNFIT_ARGUMENTS, message).maybe_hint(suggest(argument, &all)));
    }
    let missing = takes.required.iter().filter(|argument| !declared.contains_key(*argument));
    needs(missing, name, place);
    // Without the tools there is nothing to hold a name against.
    let Some(from) = from.filter(|from| !from.is_empty()) else { return };
    let mut seen = HashSet::new();
    let known = from.iter().flat_map(|tool| &tool.all).map(String::as_str).filter(|name| seen.insert(*name));
    let known: Vec<&str> = known.collect();
    for (argument, source) in declared.iter().filter_map(|(key, value)| Some((key, placeholder(value)?))) {
        if known.contains(&source) {
            continue;
        }
        let then = match takes.required.contains(argument) {
            true => format!("`{name}` is never called, because it needs `{argument}`"),
            false => format!("`{}` is left out", text::escaped(argument, 80)),
        };
        let message = format!("no failed call has an argument `{}`, so {then}", text::escaped(source, 80));
        place.push(Diagnostic::warning(code::UNFIT_ARGUMENTS, message).maybe_hint(suggest(source, &known)));
    }
}

/// The failed call's own arguments: only what holds for every tool is surely not meant.
fn same(from: &[Parameters], takes: &Parameters, name: &str, place: &Place<'_>) {
    let Some((first, others)) = from.split_first() else { return };
    let in_all = |argument: &&String| others.iter().all(|tool| tool.all.contains(argument));
    let unknown: Vec<String> = first
        .all
        .iter()
        .filter(in_all)
        .filter(|argument| !takes.all.contains(argument))
        .map(|argument| format!("`{argument}`"))
        .collect();
    let hint = "name the arguments that it gets under `arguments`";
    if !unknown.is_empty() {
        let message = format!(
            "`{name}` gets the arguments of the failed call and does not take {}, so no call with that is served",
            unknown.join(", ")
        );
        place.push(Diagnostic::warning(code::UNFIT_ARGUMENTS, message).hint(hint));
    }
    let given: HashSet<&String> = from.iter().flat_map(|tool| &tool.all).collect();
    needs(takes.required.iter().filter(|argument| !given.contains(argument)), name, place);
}

fn needs<'a>(missing: impl Iterator<Item = &'a String>, name: &str, place: &Place<'_>) {
    let missing: Vec<String> = missing.map(|argument| format!("`{argument}`")).collect();
    if !missing.is_empty() {
        let message = format!("`{name}` needs {}, so it is never called", missing.join(", "));
        let hint = "name all of its arguments under `arguments`";
        place.push(Diagnostic::warning(code::UNFIT_ARGUMENTS, message).hint(hint));
    }
}

/// The parameters of a tool; `None` where they are not known without asking somebody.
fn parameters(names: &Names<'_>, tool: Tool<'_>) -> Option<Parameters> {
    let schema = &names.entry(tool)?.spec.input_schema;
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let has_default = |name: &&str| {
        properties.and_then(|all| all.get(*name)).is_some_and(|property| property.get("default").is_some())
    };
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    Some(Parameters {
        all: properties.map(|all| all.keys().cloned().collect()).unwrap_or_default(),
        // What has a default is never missing.
        required: required.filter(|name| !has_default(name)).map(str::to_owned).collect(),
    })
}

/// The argument that a declared value stands for.
fn placeholder(value: &Value) -> Option<&str> {
    let name = value.as_str()?.strip_prefix('{')?.strip_suffix('}')?;
    (!name.contains(['{', '}'])).then_some(name)
}
