//! The manifest as a whole.

use std::{collections::HashSet, path::Path};

use super::{
    credential::Credentials,
    draft::Draft,
    model::{Orchestrator, orchestrator},
    name::agent_letters,
    report::{all_unsupported, pointless, unsupported},
    toolset::{Names, toolset},
};
use crate::{
    diagnostic::{Diagnostic, code},
    reader::{At, Fields},
};

const KEYS: &[&str] = &[
    "orchestrator",
    "contexts",
    "tool_sets",
    "conversation_starters",
    "starters",
    "skills",
    "hooks",
    "features",
    "tool_defaults",
];
/// How long a tool may take where the text does not say it.
const USUAL_TIMEOUT: &str = "300s";
const LONGEST_TIMEOUT: f64 = 3600.0;
/// Fields that QuickApps only reads where its preview features are on.
const PREVIEW: &[&[&str]] = &[
    &["hooks"],
    &["orchestrator", "tool_discovery"],
    &["features", "web_fetch"],
    &["features", "representation_tooling"],
    &["features", "stage_display", "propagate_sub_stages"],
    &["features", "dial_files", "tool_call_result_offload"],
];

/// QuickApps manifests have no name: the one of their file is taken, or the one that DIAL knows them by.
pub(super) fn agent_name(source_name: &str) -> String {
    let stem = Path::new(source_name).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    agent_letters(stem, "agent")
}

/// Converts a manifest; `None` where something that can't be left out is missing, which is reported.
pub(super) fn app(at: &At<'_>, credentials: &Credentials, name: &str) -> Option<Draft> {
    let fields = at.fields_leniently(KEYS)?;
    let Orchestrator { model, prompt, turns } =
        fields.required("orchestrator").map(orchestrator).unwrap_or_default();
    let (contexts, folder) = fields.get("contexts").map(contexts).unwrap_or_default();
    all_unsupported(
        &fields,
        &[
            ("conversation_starters", "have no counterpart yet: they are left out"),
            ("starters", "have no counterpart yet: they are left out"),
            ("skills", "have no counterpart yet: they are left out"),
            ("hooks", "have no counterpart yet: they are left out"),
        ],
    );
    if let Some(at) = fields.get("features") {
        for feature in at.entries("a mapping").unwrap_or_default().iter().filter(|at| !at.is_null()) {
            unsupported(feature, "is a feature of QuickApps without a counterpart yet: it is left out");
        }
    }
    preview(at, folder);
    let timeout = fields.get("tool_defaults").and_then(tool_timeout);
    let mut names = Names::default();
    let toolsets = fields.get("tool_sets").and_then(|at| at.items("a list of toolsets")).unwrap_or_default();
    let toolsets: Vec<_> = toolsets.iter().flat_map(|at| toolset(at, credentials, &mut names)).collect();

    let mut members = vec![("version", Draft::plain(at, 1)), ("name", Draft::text(at, name))];
    old_names(at, &prompt, &contexts, &names);
    let instructions: Vec<String> =
        prompt.into_iter().chain(contexts).filter(|text| !text.trim().is_empty()).collect();
    members.push(("model", model?));
    if !instructions.is_empty() {
        let at =
            at.child("orchestrator").and_then(|at| at.child("system_prompt")).unwrap_or_else(|| at.clone());
        members.push(("instructions", Draft::text(&at, &instructions.join("\n\n"))));
    }
    let mut limits: Vec<_> = turns.map(|turns| ("turns", turns)).into_iter().collect();
    limits.push(("tool_timeout", timeout.unwrap_or_else(|| Draft::text(at, USUAL_TIMEOUT))));
    members.push(("limits", Draft::map(at, limits)));
    if !toolsets.is_empty() {
        let at = at.child("tool_sets").unwrap_or_else(|| at.clone());
        members.push(("toolsets", Draft::map(&at, toolsets)));
    }
    Some(Draft::map(at, members))
}

/// The texts of the contexts, and a folder if there is one.
fn contexts<'c>(at: &At<'c>) -> (Vec<String>, Option<At<'c>>) {
    let (mut texts, mut folder) = (Vec::new(), None);
    for item in at.items("a list of contexts").unwrap_or_default() {
        let Some(fields) =
            item.fields_leniently(&["type", "content", "url", "description", "max_depth", "mime"])
        else {
            continue;
        };
        match fields.required("type").and_then(At::text).as_deref() {
            Some("user-defined") => {
                texts.extend(fields.required("content").and_then(At::text));
                pointless(&fields, &["url", "description", "max_depth", "mime"]);
            }
            Some(kind) => {
                let kind = backstop_core::text::escaped(kind, 40);
                let message =
                    format!("a context of the type `{kind}` is left out: DIAL files can't be read yet");
                item.warn(code::QUICKAPPS_UNSUPPORTED, message);
                if kind == "folder" {
                    folder.get_or_insert(item);
                }
            }
            None => {}
        }
    }
    (texts, folder)
}

/// Names of tools that the prompt calls as an older QuickApps did.
fn old_names(at: &At<'_>, prompt: &Option<String>, contexts: &[String], names: &Names) {
    let below = |path: &[&str]| path.iter().try_fold(at.clone(), |at, key| at.child(key));
    let prompt = prompt.iter().map(|text| (text, below(&["orchestrator", "system_prompt"])));
    let contexts = contexts.iter().map(|text| (text, below(&["contexts"])));
    let mut told = HashSet::new();
    for (text, at) in prompt.chain(contexts) {
        for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))) {
            if let (Some(seen), Some(at)) = (names.without_hash(word), &at)
                && told.insert(word)
            {
                let message = format!(
                    "`{word}` is the name of a tool in an older QuickApps: it is called `{seen}` here"
                );
                at.report_key(Diagnostic::warning(code::QUICKAPPS_RENAMED, message));
            }
        }
    }
}

/// Says once that some fields may never have had an effect.
fn preview(at: &At<'_>, folder: Option<At<'_>>) {
    let below = |keys: &&[&str]| {
        let found = keys.iter().try_fold(at.clone(), |at, key| at.child(key));
        found.filter(|at| !at.is_null())
    };
    let skill = at.child("skills").and_then(|at| {
        at.elements().into_iter().find(|skill| {
            skill.child("type").and_then(|kind| kind.text()).is_some_and(|kind| kind == "dial-skill")
        })
    });
    if let Some(at) = PREVIEW.iter().find_map(below).or(folder).or(skill) {
        let message =
            "this and other preview fields have an effect in QuickApps only where preview features are on";
        let hint = "they are left out here; see the warnings about each of them";
        at.report_key(Diagnostic::warning(code::QUICKAPPS_PREVIEW, message).hint(hint));
    }
}

fn tool_timeout(at: &At<'_>) -> Option<Draft> {
    let fields: Fields<'_> = at.fields_leniently(&["timeout_seconds"])?;
    let at = fields.get("timeout_seconds")?;
    let seconds = at.number(0.001, LONGEST_TIMEOUT)?;
    let whole = seconds.fract() == 0.0;
    let text = if whole { format!("{seconds:.0}s") } else { format!("{:.0}ms", seconds * 1000.0) };
    Some(Draft::text(at, &text))
}
