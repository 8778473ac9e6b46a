//! `orchestrator`: the model and what it is told.

use super::{
    draft::{Data, Draft},
    report::{all_unsupported, pointless, unsupported},
};
use crate::{
    diagnostic::{Diagnostic, code},
    reader::{At, JsonType},
};

const KEYS: &[&str] = &[
    "deployment",
    "system_prompt",
    "max_iterations",
    "propagate_stages",
    "attachment_strategy",
    "tool_discovery",
];
const DEPLOYMENT_KEYS: &[&str] = &["deployment_id", "name", "parameters"];
/// What the client writes into the request itself.
const OWNED: [&str; 3] = ["model", "messages", "stream"];
/// What stands for the deployment where none is named, as in QuickApps.
const USUAL_DEPLOYMENT: &str = "${DEFAULT_ORCHESTRATOR_DEPLOYMENT_ID}";

/// What the orchestrator comes to.
#[derive(Default)]
pub(super) struct Orchestrator {
    pub(super) model: Option<Draft>,
    pub(super) prompt: Option<String>,
    pub(super) turns: Option<Draft>,
}

pub(super) fn orchestrator(at: &At<'_>) -> Orchestrator {
    let Some(fields) = at.fields_leniently(KEYS) else { return Orchestrator::default() };
    all_unsupported(
        &fields,
        &[
            ("propagate_stages", "has no counterpart: progress is shown where the run is watched"),
            ("attachment_strategy", "has no counterpart yet: attachments are left out"),
            ("tool_discovery", "has no counterpart yet: the model sees all tools from the start"),
        ],
    );
    Orchestrator {
        model: match fields.get("deployment") {
            Some(at) => deployment(at),
            None => Some(model(at, Draft::reference(at, USUAL_DEPLOYMENT))),
        },
        prompt: fields.get("system_prompt").and_then(prompt),
        turns: fields.get("max_iterations").and_then(turns),
    }
}

fn deployment(at: &At<'_>) -> Option<Draft> {
    let fields = at.fields_leniently(DEPLOYMENT_KEYS)?;
    let named = fields.get("deployment_id").or(fields.get("name"));
    if fields.get("deployment_id").is_some() {
        pointless(&fields, &["name"]);
    }
    let name = match named {
        Some(at) => Draft::text(at, &at.some_text()?),
        None => Draft::reference(at, USUAL_DEPLOYMENT),
    };
    let mut model = model(named.unwrap_or(at), name);
    if let (Some(at), Data::Map(members)) = (fields.get("parameters"), &mut model.data) {
        parameters(at, members);
    }
    Some(model)
}

fn model(at: &At<'_>, name: Draft) -> Draft {
    let message = "a DIAL deployment is not supported yet: the model of this name is asked for at OPENAI_BASE_URL, \
                   with the key in OPENAI_API_KEY";
    let hint = "set OPENAI_BASE_URL to an OpenAI-compatible endpoint that has this model";
    at.report(Diagnostic::warning(code::QUICKAPPS_MODEL, message).hint(hint));
    let members = [
        ("provider", Draft::text(at, "openai")),
        ("base_url", Draft::reference(at, "${OPENAI_BASE_URL:-https://api.openai.com/v1}")),
        ("api_key", Draft::reference(at, "${secret:OPENAI_API_KEY:-}")),
        ("name", name),
    ];
    Draft::map(at, members)
}

fn parameters(at: &At<'_>, members: &mut Vec<(String, Draft)>) {
    let mut extra = Vec::new();
    for entry in at.entries("a mapping").unwrap_or_default().iter().filter(|entry| !entry.is_null()) {
        let key = entry.key().value;
        let Some(value) = entry.json(None) else { continue };
        match key.as_str() {
            "temperature" | "max_tokens" => members.push((key, Draft::json(entry, &value))),
            "tools" => {
                unsupported(entry, "of the deployment itself have no counterpart yet: they are left out")
            }
            owned if OWNED.contains(&owned) => unsupported(entry, "is left out: the client writes it itself"),
            _ => extra.push((key, Draft::json(entry, &value))),
        }
    }
    if !extra.is_empty() {
        members.push(("extra".into(), Draft::map(at, extra)));
    }
}

fn prompt(at: &At<'_>) -> Option<String> {
    if at.is_scalar() {
        return at.text();
    }
    let fields = at.fields_leniently(&["type", "content", "variables", "path", "template"])?;
    let kind = fields.get("type").and_then(At::text).unwrap_or_else(|| "custom".into());
    if kind != "custom" {
        let kind = backstop_core::text::escaped(&kind, 40);
        let message =
            format!("of the type `{kind}` is kept by DIAL: the agent has no prompt but its contexts");
        unsupported(at, &message);
        return None;
    }
    pointless(&fields, &["path", "template"]);
    let mut content = fields.required("content")?.text()?;
    let mut variables = Vec::new();
    for entry in fields.get("variables").and_then(|at| at.entries("a mapping")).unwrap_or_default() {
        if let Some(value) = entry.text() {
            variables.push((format!("{{{}}}", entry.key().value), value));
        }
    }
    if !variables.is_empty() {
        content = filled(&content, &variables);
    }
    Some(content)
}

/// Puts the values in, in one pass: what comes out of a variable is no variable.
fn filled(content: &str, variables: &[(String, String)]) -> String {
    let mut out = String::new();
    let mut rest = content;
    while let Some(start) = rest.find('{') {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let (text, length) = match variables.iter().find(|(name, _)| from.starts_with(name.as_str())) {
            Some((name, value)) => (value.as_str(), name.len()),
            None => ("{", 1),
        };
        out.push_str(text);
        rest = from.get(length..).unwrap_or_default();
    }
    out + rest
}

fn turns(at: &At<'_>) -> Option<Draft> {
    let value = at.json(Some(JsonType::Integer))?;
    match value.as_i64() {
        Some(1..=10_000) => Some(Draft::json(at, &value)),
        _ => {
            let message = format!("`{value}` is no number of turns that a run can have: the default is kept");
            let hint = "a run always ends: give a number from 1 to 10000";
            at.report(Diagnostic::warning(code::QUICKAPPS_CHANGED, message).hint(hint));
            None
        }
    }
}
