//! The guards of the architecture's invariants that clippy and the compiler can't keep (see `ARCHITECTURE.md`).

use std::{collections::BTreeSet, path::Path, process::Command};

use backstop::{Limit, ModelError, ModelErrorKind, Outcome, Reference};
use serde_json::Value;

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Everything that a crate of ours is built from, its own name included.
fn closure(metadata: &Value, name: &str) -> BTreeSet<String> {
    let name_of = |id: &Value| -> String {
        let packages = metadata["packages"].as_array().unwrap();
        packages.iter().find(|package| package["id"] == *id).unwrap()["name"].as_str().unwrap().to_owned()
    };
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let mut open = vec![nodes.iter().find(|node| name_of(&node["id"]) == name).unwrap()["id"].clone()];
    let (mut seen, mut names) = (BTreeSet::new(), BTreeSet::new());
    while let Some(id) = open.pop() {
        if !seen.insert(id.to_string()) {
            continue;
        }
        names.insert(name_of(&id));
        let node = nodes.iter().find(|node| node["id"] == id).unwrap();
        for dependency in node["deps"].as_array().unwrap() {
            let kinds = dependency["dep_kinds"].as_array().unwrap();
            if kinds.iter().any(|kind| kind["kind"].is_null()) {
                open.push(dependency["pkg"].clone());
            }
        }
    }
    names
}

#[test]
fn the_core_has_no_runtime_no_http_and_no_adapter() {
    let core = closure(&metadata(), "backstop-core");
    for forbidden in
        ["tokio", "async-std", "smol", "hyper", "reqwest", "mio", "rand", "getrandom_os", "uuid", "jiff"]
    {
        assert!(!core.contains(forbidden), "backstop-core is built from {forbidden}");
    }
    let own: Vec<&String> = core.iter().filter(|name| name.starts_with("backstop")).collect();
    assert_eq!(own, ["backstop-core"]);
}

#[test]
fn runtime_adapters_and_manifests_do_not_know_each_other() {
    let metadata = metadata();
    let siblings = ["backstop-manifest", "backstop-runtime", "backstop-toolsets"];
    for sibling in siblings {
        let own: Vec<String> =
            closure(&metadata, sibling).into_iter().filter(|name| name.starts_with("backstop")).collect();
        assert_eq!(own, ["backstop-core", sibling], "{sibling}");
    }
}

/// Wire shapes live at the edges: the words of a provider's protocol do not stand in the crates that are shared.
#[test]
fn no_wire_shape_is_named_in_core_or_runtime() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let words =
        ["tool_call_id", "finish_reason\"", "\"choices\"", "chat/completions", "custom_content", "jsonrpc"];
    let mut files = vec![root.join("backstop-core/src"), root.join("backstop-runtime/src")];
    let mut read = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        read += 1;
        for word in words {
            assert!(!text.contains(word), "{} names {word}", path.display());
        }
    }
    assert!(read > 30, "only {read} files were read");
}

/// A way for a run to end that is not in this list does not compile; none but an answer carries an answer's text.
#[test]
fn every_outcome_has_a_type_of_its_own() {
    let error = ModelError::new(ModelErrorKind::Timeout, "late");
    let outcomes = [
        Outcome::Answered { text: "yes".into() },
        Outcome::Stopped { message: "no".into(), reference: Reference::new(1) },
        Outcome::LimitReached { which: Limit::Turns },
        Outcome::ModelFailed { error },
        Outcome::Cancelled,
    ];
    let names: Vec<&str> = outcomes
        .iter()
        .map(|outcome| match outcome {
            Outcome::Answered { .. } => "answered",
            Outcome::Stopped { .. } => "stopped",
            Outcome::LimitReached { .. } => "limit_reached",
            Outcome::ModelFailed { .. } => "model_failed",
            Outcome::Cancelled => "cancelled",
            Outcome::NeedsAnswer { .. } => "needs_answer",
        })
        .collect();
    for (outcome, name) in outcomes.iter().zip(&names) {
        assert_eq!(outcome.as_str(), *name);
        assert_eq!(serde_json::to_value(outcome).unwrap()["type"], *name);
    }
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), outcomes.len());
}
