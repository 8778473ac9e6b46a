//! QuickApps manifests: what they come to, what is said about them, and what `migrate` writes.

mod convert;
mod every_field;
mod fallback;
mod mcp;
mod migrate;
mod properties;
mod reports;

use std::path::Path;

use backstop_manifest::{Diagnostic, Manifest, MapEnvironment, migrate as migrate_text};
use serde_json::{Value, json};

const SHOP: &str = include_str!("shop.json");

fn load(text: &str) -> (Option<Manifest>, Vec<Diagnostic>) {
    Manifest::load(text, "my shop.json", Path::new("base"), &MapEnvironment::new())
}

#[track_caller]
fn usable(text: &str) -> Manifest {
    let (manifest, problems) = load(text);
    manifest.unwrap_or_else(|| panic!("{}", crate::shown(&problems)))
}

fn problems(text: &str) -> String {
    let (manifest, problems) = load(text);
    assert_eq!(manifest.is_none(), problems.iter().any(Diagnostic::is_error), "{}", crate::shown(&problems));
    crate::shown(&problems)
}

/// A manifest with these toolsets.
fn app(tool_sets: Value) -> String {
    let app = json!({"orchestrator": {"deployment": {"deployment_id": "m"}}, "contexts": [], "tool_sets": tool_sets});
    serde_json::to_string_pretty(&app).unwrap()
}

/// A REST tool with these fields beside its name and address.
fn tool(name: &str, more: Value) -> Value {
    let mut tool = json!({
        "open_ai_tool": {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}},
        "rest_api_method_info": {"method_url": format!("http://h/{name}"), "method_type": "get"},
    });
    tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    tool
}

/// A manifest with one REST toolset `s` of these tools.
fn rest(tools: Value) -> String {
    app(json!([{"type": "rest-api", "name": "s", "tools": tools}]))
}

/// What the native form of a text loads to, with all of its secrets set.
#[track_caller]
fn migrated(text: &str) -> (String, Manifest) {
    let migration = migrate_text(text, "my shop.json");
    let yaml = migration.yaml.clone().unwrap_or_else(|| panic!("{}", crate::shown(&migration.report)));
    // The values are those of the text itself.
    let original = usable(text);
    let mut environment = MapEnvironment::new();
    for name in &migration.secrets {
        let used = original.secrets.iter().find(|value| migration_of(text, name, value.expose()));
        environment = environment.with_var(name, used.map_or("?", |value| value.expose()));
    }
    let (manifest, problems) = Manifest::load(&yaml, "my shop.json", Path::new("base"), &environment);
    (yaml.clone(), manifest.unwrap_or_else(|| panic!("{}\n{yaml}", crate::shown(&problems))))
}

/// Whether a variable stands for this value: the places of both are told by the same warning.
fn migration_of(text: &str, name: &str, value: &str) -> bool {
    let (_, problems) = load(text);
    problems.iter().any(|problem| {
        let span = problem.span.unwrap();
        let place = text.get(span.start..span.end).unwrap_or_default();
        let hint = problem.hint.as_deref().unwrap_or_default();
        let written = serde_json::to_string(value).unwrap();
        let is_there = place == written || place.starts_with("\"http") && place.contains(value);
        problem.code == "plain-secret" && hint.ends_with(&format!(" {name}")) && is_there
    })
}

/// All that makes a difference for a run.
fn projection(manifest: &Manifest) -> String {
    let mut plain = String::new();
    for toolset in &manifest.toolsets {
        for spec in toolset.specs() {
            let strategies = manifest.strategies_for(&toolset.name, &spec.name);
            plain.push_str(&format!("{spec:?} {strategies:?}\n"));
        }
    }
    let secrets: Vec<&str> = manifest.secrets.iter().map(|secret| secret.expose()).collect();
    let without_places = spans_out(&format!("{:?} {:?}", manifest.model, manifest.toolsets));
    format!(
        "{:?} {:?} {:?}\n{secrets:?}\n{without_places}\n{plain}",
        manifest.name.value, manifest.instructions, manifest.limits
    )
}

fn spans_out(text: &str) -> String {
    let span = regex::Regex::new(r#"Span \{[^}]*\}|path: "toolsets[^"]*""#).unwrap();
    span.replace_all(text, "").into_owned()
}
