//! A QuickApps manifest as native text.

use std::path::Path;

use super::{convert, is_quickapps, yaml};
use crate::{
    context::Context,
    diagnostic::{Diagnostic, Problems, Severity},
    environment::MapEnvironment,
    parse::parse,
    v1::Manifest,
};

/// What became of a manifest that was to be native.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Migration {
    /// The native text; `None` where the manifest has errors.
    pub yaml: Option<String>,
    /// What was changed or left out, and what is wrong, in the order of the text.
    pub report: Vec<Diagnostic>,
    /// The secrets that the native text refers to and that stood in the manifest: names of variables to set.
    pub secrets: Vec<String>,
    /// Whether the text was native already; then it is returned as it is.
    pub native: bool,
}

impl Migration {
    /// Whether there is no native text.
    pub fn failed(&self) -> bool {
        self.report.iter().any(|found| found.severity == Severity::Error)
    }
}

/// Writes a QuickApps manifest as a native one. A native text is returned unchanged.
///
/// Credentials that stand in the text do not stand in the result: it refers to [`Migration::secrets`] instead.
/// Loaded with these set, it is the manifest that [`Manifest::load`] makes of the text itself. `source_name` is
/// what the text is called; the agent gets its name from it.
///
/// # Example
///
/// ```
/// let text = r#"{"orchestrator": {"deployment": {"deployment_id": "gpt-4o"}}, "contexts": [], "tool_sets": []}"#;
/// let migration = backstop_manifest::migrate(text, "clerk.json");
/// assert!(migration.yaml.unwrap().contains("name: \"clerk\""));
/// ```
pub fn migrate(text: &str, source_name: &str) -> Migration {
    let problems = Problems::default();
    let nowhere = Path::new(".");
    let root = parse(text, &problems);
    let Some(root) = root.filter(|_| !problems.has_errors()) else {
        return Migration { yaml: None, report: problems.into_sorted(), secrets: Vec::new(), native: false };
    };
    if !is_quickapps(&root) {
        let (yaml, report) = (Some(text.to_owned()), Vec::new());
        return Migration { yaml, report, secrets: Vec::new(), native: true };
    }
    let converted = convert(text, &root, source_name, nowhere, &problems);
    if let Some(converted) = &converted {
        // Whether the variables of the machine are set is no matter of the text.
        let unset = MapEnvironment::new().with_var("DEFAULT_ORCHESTRATOR_DEPLOYMENT_ID", "unset");
        let environment = converted.environment(&unset);
        let tree = converted.tree();
        let native = Problems::default();
        let cx = Context::new(text, nowhere, &environment, &native);
        Manifest::read_tree(cx, &tree, source_name);
        converted.relocate(native, &problems);
    }
    let failed = problems.has_errors();
    let report = problems.into_sorted();
    let Some(converted) = converted.filter(|_| !failed) else {
        return Migration { yaml: None, report, secrets: Vec::new(), native: false };
    };
    let mut secrets: Vec<String> = converted.names().into_iter().map(str::to_owned).collect();
    secrets.sort();
    // In a URL a secret is a variable, and there are no files for those.
    let kept = converted.secrets();
    let (in_files, plain): (Vec<&str>, Vec<&str>) =
        secrets.iter().map(String::as_str).partition(|name| kept.contains(name));
    let set = format!("Set these variables, or give files with NAME_FILE: {}", in_files.join(", "));
    let set_plain = format!("Set these variables: {}", plain.join(", "));
    let mut head =
        vec!["A QuickApps manifest, written by `backstop migrate`. Comments that start with `line` are"];
    head.push("about that line of the QuickApps file: what is not the same here, or left out.");
    if !in_files.is_empty() {
        head.push(&set);
    }
    if !plain.is_empty() {
        head.push(&set_plain);
    }
    let yaml = yaml::written(&converted.draft, &report, &head);
    Migration { yaml: Some(yaml), report, secrets, native: false }
}
