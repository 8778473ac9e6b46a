//! `backstop mcp` for the programs of others: the Python SDK's client, and the inspector, on both ways.

use std::{path::Path, process::Command, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    server::{Server, counterpart},
    shell::shop,
};

const BACKSTOP: &str = env!("CARGO_BIN_EXE_backstop");
const TOKEN: &str = "host-token-5521";

/// The quickstart's shop as a manifest of its own.
fn manifest(shop: &Server) -> TempDir {
    let folder = TempDir::new().unwrap();
    let endpoint = |path: &str, more: Value| {
        let mut endpoint =
            json!({"path": path, "parameters": {"order_id": {"type": "string", "pattern": "^A-[0-9]{4}$"}}});
        let members = endpoint.as_object_mut().unwrap();
        for (key, value) in more.as_object().unwrap() {
            match (members.get_mut(key), value) {
                (Some(Value::Object(known)), Value::Object(more)) => known.extend(more.clone()),
                _ => drop(members.insert(key.clone(), value.clone())),
            }
        }
        endpoint
    };
    let manifest = json!({
        "version": 1,
        "name": "shop",
        "model": {"name": "none", "base_url": "http://127.0.0.1:9"},
        "toolsets": {"shop": {"http": {"base_url": shop.url(), "endpoints": {
            "get_order": endpoint("/orders/{order_id}", json!({})),
            "refund_order": endpoint("/orders/{order_id}/refunds", json!({
                "method": "POST",
                "check_with": "list_refunds",
                "parameters": {
                    "amount": {"type": "number", "required": true, "minimum": 0.01},
                    "reason": {"type": "string", "required": true, "enum": ["damaged", "late"]},
                },
            })),
            "list_refunds": endpoint("/orders/{order_id}/refunds", json!({})),
        }}}},
    });
    std::fs::write(folder.path().join("shop.yaml"), manifest.to_string()).unwrap();
    folder
}

/// The gateway over HTTP, for everybody or for those with the token.
fn gateway(folder: &Path, token: bool) -> Server {
    let mut command = Command::new(BACKSTOP);
    command.arg("mcp").arg(folder.join("shop.yaml")).args(["--http", "127.0.0.1:0"]);
    if token {
        command.args(["--token-env", "TOKEN"]);
    }
    command.env("TOKEN", TOKEN).env("NO_PROXY", "127.0.0.1");
    Server::start(command, "tools at ", Duration::from_secs(20))
}

fn done(command: &mut Command) -> Value {
    let output = command.env("NO_PROXY", "127.0.0.1").output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{stdout}\n{stderr}");
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}\n{stderr}"))
}

fn host() -> Command {
    let mut command = Command::new(counterpart("mcp/bin/python"));
    command.arg(root().join("tests/counterparts/mcp_host.py"));
    command
}

/// What a host reads, without what differs from run to run.
fn shown(seen: &Value) -> String {
    serde_json::to_string_pretty(seen).unwrap()
}

/// Over both ways the same: the reply of the refund is lost, and nothing is refunded twice.
#[test]
fn a_host_in_python_reads_what_to_do() {
    let seen = ["stdio", "http"].map(|way| {
        let shop = shop();
        let folder = manifest(&shop);
        let mut host = host();
        let seen = if way == "stdio" {
            host.args(["stdio", BACKSTOP, "mcp"]).arg(folder.path().join("shop.yaml"));
            done(&mut host)
        } else {
            let gateway = gateway(folder.path(), true);
            let url = gateway.url().to_owned();
            done(host.args(["http", &url, TOKEN]))
        };
        assert_eq!(shop.get("/orders/A-1001/refunds").as_array().unwrap().len(), 1, "{way}");
        seen
    });
    assert_eq!(seen[0], seen[1]);
    insta::assert_snapshot!(shown(&seen[0]));
}

#[test]
fn the_inspector_drives_both_ways() {
    let shop = shop();
    let folder = manifest(&shop);
    let inspector = || {
        let mut command = Command::new(counterpart("npm-mcp/node_modules/.bin/mcp-inspector"));
        command.arg("--cli");
        command
    };
    let manifest = folder.path().join("shop.yaml");
    let listed = done(inspector().arg(BACKSTOP).arg("mcp").arg(&manifest).args(["--method", "tools/list"]));
    let names: Vec<_> =
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["get_order", "refund_order", "list_refunds"]);
    let call = ["--method", "tools/call", "--tool-name", "get_order", "--tool-arg", "order_id=1001"];
    let called = done(inspector().arg(BACKSTOP).arg("mcp").arg(&manifest).args(call));
    assert_eq!(
        (&called["isError"], &called["_meta"]["dev.backstop/error"]["kind"]),
        (&json!(true), &json!("invalid_arguments"))
    );

    // Its command line sends no headers.
    let gateway = gateway(folder.path(), false);
    let over_http = done(inspector().args([gateway.url(), "--transport", "http", "--method", "tools/list"]));
    assert_eq!(over_http, listed);
}

/// The same agent, model and flaky server: without the gateway the run ends badly, with it well.
#[test]
fn an_agent_of_another_framework_ends_well_behind_the_gateway() {
    let run = |way: &str| {
        let folder = TempDir::new().unwrap();
        let log = folder.path().join("calls.log");
        let flaky = root().join("tests/counterparts/flaky_mcp.py");
        let python = counterpart("mcp/bin/python");
        let manifest = json!({
            "version": 1,
            "name": "bank",
            "model": {"name": "none", "base_url": "http://127.0.0.1:9"},
            "toolsets": {"bank": {
                "mcp": {"command": [python, flaky, log]},
                "tools": {
                    "balance": {"effect": "read_only", "fail_when": {"contains": "temporarily unavailable", "kind": "unavailable"}},
                    "transfer": {"check_with": "list_transfers"},
                    "list_transfers": {"effect": "read_only"},
                },
            }},
        });
        let path = folder.path().join("bank.yaml");
        std::fs::write(&path, manifest.to_string()).unwrap();
        let mut agent = Command::new(counterpart("agents/bin/python"));
        agent.arg(root().join("tests/counterparts/mcp_agent.py"));
        if way == "direct" {
            agent.arg(&python).arg(&flaky).arg(&log);
        } else {
            agent.arg(BACKSTOP).arg("mcp").arg(&path);
        }
        let seen = done(&mut agent);
        let transfers =
            std::fs::read_to_string(&log).unwrap().lines().filter(|line| *line == "transfer").count();
        (seen, transfers)
    };
    let (direct, direct_transfers) = run("direct");
    let (behind, behind_transfers) = run("gateway");
    // The money moved once, and the agent says so.
    assert_eq!(behind_transfers, 1, "{behind:#}");
    assert_eq!(behind["answer"], "The balance is 100, and 5 were sent once.", "{behind:#}");
    // Without it the framework ends the run, or the money moves twice.
    assert!(direct["answer"].is_null() || direct_transfers > 1, "{direct_transfers}: {direct:#}");
    insta::assert_snapshot!(format!(
        "directly ({direct_transfers} transfers)\n{}\n\nbehind the gateway ({behind_transfers} transfer)\n{}",
        shown(&direct),
        shown(&behind)
    ));
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}
