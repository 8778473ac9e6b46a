//! Servers at an address: what goes along with each request.

use backstop::CallerHeaders;
use backstop_test::server::{Reply, Request, Server};
use serde_json::{Value, json};

use super::kit::{load, names, shown};

/// A server that lists one tool, which says `done`.
fn service() -> Server {
    Server::answering(|request| {
        if request.target() == "/token" {
            return Reply::json("200 OK", json!({"access_token": "made", "token_type": "Bearer"}));
        }
        if !request.line().starts_with("POST") {
            return Reply::new("405 Method Not Allowed", &[], "");
        }
        let message = request.json();
        let result = match message["method"].as_str().unwrap() {
            "initialize" => json!({
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "test", "version": "1"},
            }),
            "tools/list" => json!({"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}),
            "tools/call" => json!({"content": [{"type": "text", "text": "done"}]}),
            method if method.starts_with("notifications/") => return Reply::new("202 Accepted", &[], ""),
            _ => {
                let error = json!({"code": -32601, "message": "Method not found"});
                return Reply::json("200 OK", json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
            }
        };
        Reply::json("200 OK", json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    })
}

fn is(request: &Request, method: &str) -> bool {
    request.line().starts_with("POST")
        && request.target() != "/token"
        && request.json()["method"] == json!(method)
}

#[tokio::test]
async fn headers_and_credentials_go_with_every_request_and_those_of_the_caller_with_calls() {
    let service = service();
    let folder = tempfile::tempdir().unwrap();
    let toolsets = format!(
        "  docs:
    mcp:
      url: '{}/mcp?v=2'
      headers: {{ X-Tenant: t1 }}
      auth: {{ bearer: '${{secret:KEY}}' }}
      caller_headers: [X-User]
",
        service.url
    );
    let script = "[{calls: [{tool: look, arguments: {}}]}, {text: Done.}]";
    let (agent, problems) = load(folder.path(), &toolsets, script).await.unwrap();
    assert_eq!(shown(&problems), "");
    assert_eq!(names(&agent), ["look", "read_result"]);
    let caller = CallerHeaders::new([("x-user", "u-7"), ("x-other", "o")]);
    let report = agent.start("Go.").caller_headers(caller).drive().await.unwrap();
    assert_eq!(report.calls().remove(0).view, "done");
    let seen = service.seen();
    let all = |name: &str, value: &str| seen.iter().all(|request| request.header(name) == Some(value));
    assert!(all("x-tenant", "t1") && all("authorization", "Bearer sesame-sesame"), "{seen:#?}");
    assert!(seen.iter().all(|request| request.target() == "/mcp?v=2" && request.header("x-other").is_none()));
    let call = seen.iter().find(|request| is(request, "tools/call")).unwrap();
    assert_eq!(call.header("x-user"), Some("u-7"));
    let list = seen.iter().find(|request| is(request, "tools/list")).unwrap();
    assert_eq!(list.header("x-user"), None);
}

#[tokio::test]
async fn tokens_of_client_credentials_are_asked_for_where_the_manifest_says() {
    let service = service();
    let folder = tempfile::tempdir().unwrap();
    let toolsets = format!(
        "  docs:
    mcp:
      url: '{url}/mcp'
      auth: {{ oauth2: {{ token_url: '{url}/token', client_id: c, client_secret: '${{secret:KEY}}' }} }}
",
        url = service.url
    );
    let (agent, problems) = load(folder.path(), &toolsets, "- text: hi").await.unwrap();
    assert_eq!(shown(&problems), "");
    assert_eq!(names(&agent), ["look", "read_result"]);
    let seen = service.seen();
    let credentials: Vec<Value> = seen
        .iter()
        .filter(|request| request.target() == "/mcp")
        .map(|request| json!(request.header("authorization")))
        .collect();
    assert!(
        !credentials.is_empty() && credentials.iter().all(|sent| sent == "Bearer made"),
        "{credentials:?}"
    );
}

#[tokio::test]
async fn an_address_that_may_not_be_dialled_leaves_no_agent() {
    let folder = tempfile::tempdir().unwrap();
    let toolsets = "  docs: { mcp: { url: 'http://127.0.0.1:9/mcp', connection: { network: public } } }\n";
    let error = load(folder.path(), toolsets, "- text: hi").await.err().unwrap();
    assert_eq!(
        super::kit::with_causes(&error),
        "the toolset `docs` can't be made: misconfigured: `127.0.0.1` is not a public address: allow it under \
         `connection: { network: [...] }`"
    );
}
