//! `backstop migrate`: a QuickApps manifest becomes a native one.

use insta::assert_snapshot;

use crate::shell::Folder;

const CLERK: &str = r#"{
  "orchestrator": {"deployment": {"deployment_id": "gpt-4o"}, "max_iterations": -1},
  "contexts": [],
  "tool_sets": [
    {"type": "mcp", "name": "fetch", "mcp_server_info": {"url": "http://127.0.0.1:9/sse", "protocol": "sse"}},
    {
      "type": "rest-api",
      "name": "shop",
      "authorization": {"type": "bearer", "token": "tok-SECRET"},
      "tools": [
        {
          "open_ai_tool": {"type": "function", "function": {"name": "get_order", "description": "Reads an order.", "parameters": {
            "type": "object",
            "properties": {"id": {"type": "string", "parameter_info": {"type": "url", "key": "id"}}},
            "required": ["id"]
          }}},
          "rest_api_method_info": {"method_url": "http://127.0.0.1:9/orders/{id}", "method_type": "get"},
          "fallback_configuration": {"strategies": [{"type": "retry", "instructions": "Tell the user."}]}
        }
      ]
    }
  ]
}
"#;

fn folder() -> Folder {
    Folder::new().with("clerk.json", CLERK)
}

#[test]
fn the_manifest_goes_to_stdout_and_the_report_to_stderr() {
    let ended = folder().backstop(&["migrate", "clerk.json"]).run();
    assert!(!ended.to_string().contains("SECRET"), "{ended}");
    assert_snapshot!(ended);
}

#[test]
fn what_is_written_can_be_used() {
    let folder = folder();
    assert_snapshot!(folder.backstop(&["migrate", "clerk.json", "-o", "clerk.yaml"]).run());
    let checked = folder.backstop(&["check", "clerk.yaml"]).env("SHOP_TOKEN", "tok").run();
    assert_snapshot!("what_is_written_checks", checked);
    let tools =
        |file: &str| folder.backstop(&["tools", "--json", file]).env("SHOP_TOKEN", "tok").run().stdout;
    assert_eq!(tools("clerk.yaml"), tools("clerk.json"));
}

#[test]
fn a_quickapps_manifest_is_used_as_it_is() {
    assert_snapshot!(folder().backstop(&["check", "clerk.json"]).run());
    let called = folder().backstop(&["call", "clerk.json", "shop_get_order", "{\"id\":\"A-1\"}"]).run();
    assert!(called.stdout.contains("Tell the user."), "{called}");
}

#[test]
fn nothing_that_is_there_is_overwritten() {
    let folder = folder().with("clerk.yaml", "mine");
    assert_snapshot!(folder.backstop(&["migrate", "clerk.json", "-o", "clerk.yaml"]).run());
    assert_eq!(folder.read("clerk.yaml"), "mine");
}

#[test]
fn a_native_manifest_stays_as_it_is() {
    let folder = folder();
    assert_eq!(folder.backstop(&["migrate", "clerk.json", "-o", "once.yaml"]).run().code, Some(0));
    let ended = folder.backstop(&["migrate", "once.yaml", "-o", "twice.yaml"]).run();
    assert_snapshot!(ended);
    assert_eq!(folder.read("once.yaml"), folder.read("twice.yaml"));
}

#[test]
fn what_can_not_be_read_is_not_migrated() {
    let folder = folder().with("broken.json", "{\"orchestratr\": {\"deployment\": {}}, \"tool_sets\": 5}");
    let ended = [["migrate", "broken.json"], ["migrate", "missing.json"]];
    let ended = ended.map(|arguments| folder.backstop(&arguments).run().to_string());
    assert_snapshot!(ended.join("\n"));
    let ended = folder.backstop(&["migrate", "broken.json", "-o", "new.yaml", "--json"]).run();
    assert_snapshot!("what_can_not_be_read_as_data", ended);
    assert!(!folder.path("new.yaml").exists());
}

#[test]
fn the_report_is_data_with_json() {
    assert_snapshot!(folder().backstop(&["migrate", "clerk.json", "-o", "new.yaml", "--json"]).run());
}
