//! `backstop mcp`: a server on stdin and stdout, and the way into a host's configuration.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{fixture::shop, shell::Folder};

fn lines(messages: &[Value]) -> String {
    messages.iter().map(|message| format!("{message}\n")).collect()
}

#[test]
fn stdout_is_the_protocol_and_nothing_else() {
    let folder = shop("- text: hi");
    let call = |id: u32, tool: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
    let messages = lines(&[
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
        }}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        call(3, "get_order", json!({"order_id": "B-1"})),
    ]);
    // The input ends with the last message: what was asked is answered all the same.
    let ended = folder.backstop(&["mcp", "backstop.yaml"]).stdin(messages).run();
    let mut answers = ended.json_lines();
    // They come as they are done.
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers[0]["result"]["serverInfo"]["name"], "clerk");
    let names: Vec<_> = answers[1]["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["get_order", "refund_order", "list_refunds"]);
    assert_eq!(answers[2]["result"]["isError"], true);
    assert_eq!(answers[2]["result"]["_meta"]["dev.backstop/error"]["kind"], "invalid_arguments");
    assert_eq!((ended.code, answers.len()), (Some(0), 3));
    // One record of the failure, without being asked for.
    assert_eq!(
        ended.stderr.lines().filter(|line| line.contains("backstop::failure")).count(),
        1,
        "{}",
        ended.stderr
    );
}

#[test]
fn an_address_that_others_reach_needs_a_token() {
    let folder = shop("- text: hi");
    let shown = [
        folder.backstop(&["mcp", "backstop.yaml", "--http", "0.0.0.0:0"]).run().to_string(),
        folder
            .backstop(&["mcp", "backstop.yaml", "--http", "0.0.0.0:0", "--token-env", "NOTHING"])
            .run()
            .to_string(),
        folder
            .backstop(&["mcp", "backstop.yaml", "--http", "127.0.0.1:0", "--token-file", "none"])
            .run()
            .to_string(),
        folder.backstop(&["mcp", "backstop.yaml", "--token-env", "X"]).run().to_string(),
        folder.backstop(&["mcp", "backstop.yaml", "--http", "127.0.0.1:0", "--stdio"]).run().to_string(),
    ];
    assert_snapshot!(shown.join("\n"));
}

/// A block without what differs from machine to machine.
fn block(folder: &Folder, name: &str) -> String {
    let text = folder.read(name);
    let mut value: Value = serde_json::from_str(&text).unwrap();
    for key in ["mcpServers", "servers"] {
        if let Some(entry) =
            value.pointer_mut(&format!("/{key}/clerk")).filter(|entry| entry.get("command").is_some())
        {
            assert!(entry["command"].as_str().unwrap().ends_with("backstop"), "{entry}");
            assert!(entry["args"][1].as_str().unwrap().ends_with("/backstop.yaml"), "{entry}");
            entry["command"] = json!("BACKSTOP");
            entry["args"][1] = json!("MANIFEST");
        }
    }
    serde_json::to_string(&value).unwrap()
}

#[test]
fn a_host_is_told_of_the_server_and_keeps_what_it_has() {
    let folder = shop("- text: hi").with(
        "host.json",
        "{\n\t\"theme\": \"dark\",\n\t\"mcpServers\": {\"other\": {\"command\": \"x\"}}\n}\n",
    );
    let add = |file: &str, more: &[&str]| {
        let mut arguments = vec!["mcp", "backstop.yaml", "--add-to", file];
        arguments.extend(more);
        folder.backstop(&arguments).run()
    };
    let before = folder.read("host.json");
    let asked = add("host.json", &[]);
    assert_eq!((asked.code, folder.read("host.json")), (Some(0), before));
    assert_eq!(asked.stderr, "nobody can be asked: give `--yes` to write it\n`host.json` is left as it is\n");

    assert_eq!(add("host.json", &["--yes"]).stderr, "wrote `host.json`\n");
    assert_eq!(
        block(&folder, "host.json"),
        r#"{"theme":"dark","mcpServers":{"other":{"command":"x"},"clerk":{"command":"BACKSTOP","args":["mcp","MANIFEST"]}}}"#
    );
    assert!(folder.read("host.json").starts_with("{\n\t\"theme\""));
    assert_eq!(add("host.json", &["--yes"]).stdout, "`host.json` has it already\n");

    // Other hosts, and a file that is not there yet.
    assert_eq!(add("new.json", &["--yes", "--http", "127.0.0.1:8790"]).code, Some(0));
    assert_eq!(block(&folder, "new.json"), r#"{"mcpServers":{"clerk":{"url":"http://127.0.0.1:8790/mcp"}}}"#);
    std::fs::create_dir(folder.path(".vscode")).unwrap();
    assert_eq!(add(".vscode/mcp.json", &["--yes", "--host-approves"]).code, Some(0));
    assert_eq!(
        block(&folder, ".vscode/mcp.json"),
        r#"{"servers":{"clerk":{"type":"stdio","command":"BACKSTOP","args":["mcp","MANIFEST","--host-approves"]}}}"#
    );
}

#[test]
fn a_configuration_that_would_lose_something_is_left() {
    let folder = shop("- text: hi").with("code.json", "{\n  // mine\n  \"servers\": {}\n}\n");
    let before = folder.read("code.json");
    let ended = folder.backstop(&["mcp", "backstop.yaml", "--add-to", "code.json", "--yes"]).run();
    assert_eq!((ended.code, folder.read("code.json")), (Some(2), before));
    assert!(ended.stdout.contains("\"clerk\""), "{}", ended.stdout);
    assert_eq!(
        ended.stderr,
        "error: `code.json` is left as it is: it is not plain JSON (line 2, column 3): files with comments or trailing commas are left to you\n  \
         hint: add the block above by hand\n"
    );
}
