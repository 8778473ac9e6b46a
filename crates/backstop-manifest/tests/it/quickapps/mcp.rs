//! Toolsets of the type `mcp`.

use backstop_manifest::v1::{Auth, McpHttp, McpServer, ToolsetKind};
use serde_json::{Value, json};

use super::{app, load, migrated, problems, projection, usable};

/// An MCP toolset with these fields beside its type.
fn toolset(more: Value) -> Value {
    let mut toolset =
        json!({"type": "mcp", "name": "Docs", "mcp_server_info": {"url": "https://h.example/mcp"}});
    toolset.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    toolset
}

fn address(text: &str) -> McpHttp {
    match &usable(text).toolsets[0].kind {
        ToolsetKind::Mcp(mcp) => match &mcp.server {
            McpServer::Http(http) => http.as_ref().clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

const WHOLE: &str = r#"{
  "orchestrator": {"deployment": {"deployment_id": "m"}}, "contexts": [],
  "tool_sets": [{
    "type": "mcp", "name": "My Docs", "description": "x",
    "mcp_server_info": {
      "url": "https://h.example/mcp?tenant=${a}&api_key=k-SECRET", "protocol": "streamable_http",
      "authorization": {"type": "api_key", "key": "h-SECRET", "name": "X-Key", "location": "query"}
    },
    "allowed_tools": ["search", "odd[*]"],
    "resources": {"enabled": true, "items": [{"uri": "doc://a", "eager": true}]},
    "attachment": {"supported_types": ["*/*"]},
    "fallback_configuration": {"strategies": [{"type": "continue", "instructions": "Say so."}]}
  }]
}"#;

#[test]
fn a_server_is_converted_with_all_that_has_a_counterpart() {
    insta::assert_snapshot!("whole_problems", problems(WHOLE));
    let (yaml, manifest) = migrated(WHOLE);
    insta::assert_snapshot!("whole_native", yaml);
    assert!(!yaml.contains("SECRET"));
    assert_eq!(projection(&manifest), projection(&usable(WHOLE)));
    let manifest = usable(WHOLE);
    assert!(!format!("{manifest:?}").contains("SECRET"));
    let kept: Vec<&str> = manifest.secrets.iter().map(|secret| secret.expose()).collect();
    assert_eq!(kept, ["h-SECRET", "k-SECRET"]);
    let toolset = &manifest.toolsets[0];
    assert_eq!((toolset.name.as_str(), toolset.prefix.as_str()), ("my-docs", "My_Docs_"));
    assert_eq!(toolset.fallback.as_ref().unwrap().strategies.len(), 3);
    let ToolsetKind::Mcp(mcp) = &toolset.kind else { panic!() };
    assert!(mcp.resources && !mcp.trusted);
    let offered = ["search", "odd[*]", "odd*", "odd"].map(|tool| mcp.offers(tool));
    assert_eq!(offered, [true, true, false, false]);
    let McpServer::Http(http) = &mcp.server else { panic!() };
    assert_eq!(http.url.value.as_url().as_str(), "https://h.example/mcp?tenant=${a}&api_key=k-SECRET");
    assert!(
        matches!(&http.auth, Auth::ApiKey { name, value, .. } if name == "X-Key" && value.expose() == "h-SECRET")
    );
}

#[test]
fn a_user_in_front_of_the_host_is_an_authorization() {
    let text =
        app(json!([toolset(json!({"mcp_server_info": {"url": "http://me:p%40-SECRET@h:8/mcp?x=1"}}))]));
    let http = address(&text);
    assert_eq!(http.url.to_string(), "http://h:8/mcp?x=1");
    assert!(matches!(&http.auth, Auth::Basic { password, .. } if password.expose() == "p@-SECRET"));
    assert!(!migrated(&text).0.contains("SECRET"));
}

#[test]
fn no_tool_is_allowed_where_the_list_is_empty_and_all_are_without_one() {
    let allowed = |value: Value| {
        let (manifest, _) = load(&app(json!([toolset(json!({"allowed_tools": value}))])));
        let ToolsetKind::Mcp(mcp) = &manifest.unwrap().toolsets[0].kind else { panic!() };
        mcp.offers("search")
    };
    assert_eq!([allowed(json!(null)), allowed(json!([])), allowed(json!(["search"]))], [true, false, true]);
}

#[test]
fn whatever_is_not_taken_over_is_named() {
    let long = "n".repeat(40);
    insta::assert_snapshot!(problems(&app(json!([
        toolset(json!({"mcp_server_info": {"url": "http://h/sse", "protocol": "sse"}})),
        toolset(
            json!({"mcp_server_info": {"url": "http://h", "authorization": {"type": "client_id_secret"}}})
        ),
        toolset(json!({"mcp_server_info": {"url": "http://h", "authorization": {"type": "bearer"}}})),
        toolset(json!({"mcp_server_info": {"url": "h/mcp"}})),
        toolset(json!({"mcp_server_info": {"protocol": "http"}})),
        toolset(json!({"mcp_server_info": null, "name": null})),
        toolset(
            json!({"resources": {"enabled": false, "items": []}, "allowed_tools": "all", "colour": "red"})
        ),
        toolset(json!({"name": long})),
        toolset(json!({"name": "Docs"})),
    ]))));
}
