//! QuickApps manifests: read as they are, converted to what a native manifest would say.
//!
//! The conversion makes a [`Draft`] of the native data in which every value keeps its place in the
//! QuickApps text. [`Manifest::load`](crate::Manifest::load) reads the draft like a native text, and [`migrate()`]
//! writes it, so the two can't drift apart. What has no counterpart is reported with its place, never dropped
//! without a word. What QuickApps takes as plain text stays text: `${..}` refers to nothing there.

mod app;
mod authorization;
mod credential;
mod draft;
mod fallback;
mod mcp;
mod migrate;
mod model;
mod name;
mod parameter;
mod report;
mod tool;
mod toolset;
mod url;
mod yaml;

use std::{
    collections::{HashMap, HashSet},
    io,
    path::Path,
};

pub use migrate::{Migration, migrate};

use backstop_core::text;
use draft::{Data, Draft};

use crate::{
    context::Context,
    diagnostic::{Diagnostic, Problems, code},
    environment::Environment,
    reader::At,
    secret::SecretText,
    tree::{Node, Value},
};

/// The keys that the settings of an application stand behind in the configuration of DIAL Core.
const PROPERTIES: [&str; 2] = ["applicationProperties", "application_properties"];

/// Whether a text is a QuickApps manifest, or the configuration of a DIAL Core that holds some: by what stands in
/// it, not by its name.
pub(crate) fn is_quickapps(root: &Node) -> bool {
    let is_core = || root.entry("applications").is_some_and(|entry| !applications(&entry.node).is_empty());
    root.entry("version").is_none() && (is_app(root) || is_core())
}

fn is_app(node: &Node) -> bool {
    node.entry("orchestrator").is_some() || node.entry("tool_sets").is_some()
}

/// The QuickApps applications of a DIAL Core, by their names.
fn applications(node: &Node) -> Vec<(&str, &'static str)> {
    let Value::Map(entries) = &node.value else { return Vec::new() };
    let app = |entry: &'_ crate::tree::Entry| {
        PROPERTIES.into_iter().find(|key| entry.node.entry(key).is_some_and(|found| is_app(&found.node)))
    };
    entries.iter().filter_map(|entry| Some((entry.key.as_str(), app(entry)?))).collect()
}

/// The one application of a text, and its name where the text says it.
fn application<'c>(root: &At<'c>, node: &'c Node) -> Option<(At<'c>, Option<&'c str>)> {
    if is_app(node) {
        return Some((root.clone(), None));
    }
    let all = root.child("applications")?;
    match applications(&node.entry("applications")?.node).as_slice() {
        [(name, key)] => Some((all.child(name)?.child(key)?, Some(name))),
        several => {
            let names: Vec<String> =
                several.iter().map(|(name, _)| format!("`{}`", text::escaped(name, 80))).collect();
            let message = format!("there are several applications: {}", names.join(", "));
            let hint = "a manifest is one of them: put its `applicationProperties` into a file of its own";
            all.report(Diagnostic::error(code::EXACTLY_ONE, message).hint(hint));
            None
        }
    }
}

/// A native manifest made of a QuickApps one.
pub(crate) struct Converted {
    draft: Draft,
    secrets: HashMap<String, SecretText>,
}

/// Converts the manifest of a text. `source_name` gives the agent its name.
pub(crate) fn convert(
    source: &str,
    root: &Node,
    source_name: &str,
    base_dir: &Path,
    problems: &Problems,
) -> Option<Converted> {
    let nothing = crate::MapEnvironment::new();
    let cx = Context::new(source, base_dir, &nothing, problems).literal();
    let credentials = credential::Credentials::default();
    let (at, name) = application(&At::root(&cx, root), root)?;
    let draft = app::app(
        &at,
        &credentials,
        &name.map_or_else(|| app::agent_name(source_name), |name| name::agent_letters(name, "agent")),
    );
    Some(Converted { draft: draft?, secrets: credentials.into_values() })
}

impl Converted {
    /// The draft as a tree that the native reader takes.
    pub(crate) fn tree(&self) -> Node {
        self.draft.node()
    }

    /// The environment of a load: what was written out in the file answers under the name that it has now.
    pub(crate) fn environment<'e>(&'e self, base: &'e dyn Environment) -> impl Environment + 'e {
        Overlay { base, secrets: &self.secrets }
    }

    /// Reports the problems of the native reading by their places in the QuickApps data.
    pub(crate) fn relocate(&self, native: Problems, problems: &Problems) {
        let mut found = native.into_sorted();
        for problem in &mut found {
            if let Some(path) = problem.span.and_then(|span| self.draft.path_at(span)) {
                path.clone_into(&mut problem.path);
            }
        }
        // Where one value became several, each of them has the same problem.
        found.dedup();
        found.into_iter().for_each(|problem| problems.push(problem));
    }

    /// The names of those that are referred to as secrets, and not as variables.
    fn secrets(&self) -> HashSet<&str> {
        let mut found = HashSet::new();
        self.draft.walk(&mut |draft| {
            let Data::Text(text) = &draft.data else { return };
            let names = text.split("${secret:").skip(1);
            found.extend(names.filter_map(|rest| Some(rest.split_once('}')?.0)));
        });
        found
    }

    fn names(&self) -> HashSet<&str> {
        self.secrets.keys().map(String::as_str).collect()
    }
}

struct Overlay<'e> {
    base: &'e dyn Environment,
    secrets: &'e HashMap<String, SecretText>,
}

impl Environment for Overlay<'_> {
    fn var(&self, name: &str) -> Option<String> {
        self.secrets.get(name).map(|value| value.expose().to_owned()).or_else(|| self.base.var(name))
    }

    fn read_file(&self, path: &Path) -> io::Result<String> {
        self.base.read_file(path)
    }
}
