//! QuickApps manifests: read as they are, converted to what a native manifest would say.
//!
//! The conversion makes a [`Draft`](draft::Draft) of the native data in which every value keeps its place in the
//! QuickApps text. [`Manifest::load`](crate::Manifest::load) reads the draft like a native text, and [`migrate`]
//! writes it, so the two can't drift apart. What has no counterpart is reported with its place, never dropped
//! without a word. What QuickApps takes as plain text stays text: `${..}` refers to nothing there.

mod app;
mod credential;
mod draft;
mod fallback;
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

use crate::{
    context::Context,
    diagnostic::{Diagnostic, Problems},
    environment::Environment,
    reader::At,
    secret::SecretText,
    tree::Node,
};
use draft::Draft;

/// Whether a text is a QuickApps manifest: by what stands in it, not by its name.
pub(crate) fn is_quickapps(root: &Node) -> bool {
    let has = |key: &str| root.entry(key).is_some();
    !has("version") && (has("orchestrator") || has("tool_sets"))
}

/// A native manifest made of a QuickApps one.
pub(crate) struct Converted {
    draft: Draft,
    secrets: HashMap<String, SecretText>,
}

/// Converts the manifest of a text. `source_name` gives the agent its name.
pub(crate) fn convert(
    text: &str,
    root: &Node,
    source_name: &str,
    base_dir: &Path,
    problems: &Problems,
) -> Option<Converted> {
    let nothing = crate::MapEnvironment::new();
    let cx = Context::new(text, base_dir, &nothing, problems).literal();
    let credentials = credential::Credentials::default();
    let draft = app::app(&At::root(&cx, root), &credentials, source_name);
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

    /// Says of a problem of the native reading where in the QuickApps data it is.
    pub(crate) fn relocate(&self, found: Diagnostic) -> Diagnostic {
        let path = found.span.and_then(|span| self.draft.path_at(span));
        match path {
            Some(path) => Diagnostic { path: path.to_owned(), ..found },
            None => found,
        }
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
