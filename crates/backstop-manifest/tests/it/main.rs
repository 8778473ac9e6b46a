//! Manifests as their writers see them: text in, data and diagnostics out.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests are tests; clippy only exempts the functions themselves"
)]

mod answers;
mod arguments;
mod c09;
mod connection;
mod diagnostics;
mod endpoints;
mod fallback;
mod forms;
mod hostile;
mod mcp;
mod openapi;
mod places;
mod quickapps;
mod references;
mod secrets;
mod stand_in;
mod values;

use std::path::Path;

use backstop_manifest::{Diagnostic, Manifest, MapEnvironment, v1::HttpConfig, v1::ToolsetKind};

/// Variables and files that most tests use.
fn environment() -> MapEnvironment {
    MapEnvironment::new()
        .with_var("TOKEN", "tok-SECRET-1")
        .with_var("KEY", "key-SECRET-2")
        .with_var("HOST", "shop.example.test")
        .with_var("EMPTY", "")
        .with_var("NESTED", "${TOKEN}")
        .with_var("DB_PASSWORD_FILE", "/run/secrets/db")
        .with_file("/run/secrets/db", "file-SECRET-3\n")
        .with_file("base/keys/shop.txt", "file-SECRET-4\r\n")
}

fn load(text: &str) -> (Option<Manifest>, Vec<Diagnostic>) {
    Manifest::load(text, "agent.yaml", Path::new("base"), &environment())
}

/// The manifest of a text that has no problems.
#[track_caller]
fn good(text: &str) -> Manifest {
    let (manifest, problems) = load(text);
    assert_eq!(shown(&problems), "");
    manifest.expect("no problems and no manifest")
}

/// The problems of a text, as a reader sees them.
fn problems(text: &str) -> String {
    let (manifest, problems) = load(text);
    assert_eq!(manifest.is_none(), problems.iter().any(Diagnostic::is_error), "{}", shown(&problems));
    shown(&problems)
}

fn shown(problems: &[Diagnostic]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// A manifest with this below its head.
fn with(rest: &str) -> String {
    format!("version: 1\nname: a\nmodel: {{name: m, base_url: 'http://h/v1'}}\n{rest}")
}

/// A manifest with one toolset `s` of these endpoints, in flow form.
fn endpoints(endpoints: &str) -> String {
    with(&format!("toolsets:\n  s:\n    http:\n      base_url: http://h\n      endpoints: {endpoints}\n"))
}

fn http(manifest: &Manifest) -> &HttpConfig {
    match &manifest.toolsets[0].kind {
        ToolsetKind::Http(http) => http,
        other => panic!("{other:?}"),
    }
}
