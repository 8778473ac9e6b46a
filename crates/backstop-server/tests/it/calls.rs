//! What is on offer, and what comes of calls.

use std::{
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use backstop_server::mcp::GatewayOptions;
use rmcp::{
    ClientHandler, RoleClient,
    model::{
        CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest, ElicitRequestParams,
        ElicitResult, ElicitationAction, ElicitationCapability, ErrorCode, FormElicitationCapability,
        Implementation, PaginatedRequestParams,
    },
    service::{NotificationContext, PeerRequestOptions, RequestContext, ServiceError},
};
use serde_json::{Value, json};

use crate::kit::{Counts, call, connected, gateway, shown};

#[tokio::test]
async fn tools_are_listed_with_what_they_do_to_the_world() {
    let gateway = gateway(&Arc::default(), GatewayOptions::default()).await;
    let client = connected(&gateway, ()).await;
    let server = client.peer_info().unwrap();
    assert_eq!(server.server_info.as_ref().unwrap().name, "shop");
    let tools = client.list_all_tools().await.unwrap();
    let listed: Vec<_> = tools
        .iter()
        .map(|tool| {
            let hints = tool.annotations.as_ref().unwrap();
            let hints = (
                hints.read_only_hint.unwrap(),
                hints.destructive_hint.unwrap(),
                hints.idempotent_hint.unwrap(),
            );
            format!("{} {hints:?} {}", tool.name, tool.output_schema.is_some())
        })
        .collect();
    insta::assert_snapshot!(listed.join("\n"));
    insta::assert_snapshot!(serde_json::to_string_pretty(&tools[0]).unwrap());
}

#[tokio::test]
async fn every_result_says_what_a_model_can_act_on() {
    let counts = Arc::new(Counts::default());
    let gateway = gateway(&counts, GatewayOptions::default()).await;
    let client = connected(&gateway, ()).await;
    let mut table = String::new();
    for (tool, arguments) in [
        ("add", json!({"n": 1})),
        ("add", json!({"n": "one"})),
        ("add", json!({})),
        ("ad", json!({"n": 1})),
        ("pay", json!({"n": 1})),
        ("read", json!({"n": 1})),
        ("boom", json!({"n": 1})),
        ("stop", json!({"n": 1})),
        ("value", json!({"n": 1})),
        ("guarded", json!({"n": 1})),
        ("parts", json!({"n": 1})),
    ] {
        let result = call(&client, tool, arguments.clone()).await;
        table +=
            &format!("## {tool} {arguments}\n{}\n\n", serde_json::to_string_pretty(&shown(&result)).unwrap());
    }
    insta::assert_snapshot!(table);
    // Retried where that is safe, and only there.
    assert_eq!((counts.read.load(Ordering::SeqCst), counts.paid.load(Ordering::SeqCst)), (2, 1));
}

#[tokio::test]
async fn a_large_result_is_read_in_parts() {
    let gateway = gateway(&Arc::default(), GatewayOptions::default()).await;
    let client = connected(&gateway, ()).await;
    let result = call(&client, "large", json!({"n": 1})).await;
    let text = result.content[0].as_text().unwrap().text.clone();
    assert!(text.len() <= 64 * 1024, "{}", text.len());
    let (_, order) = text.split_once("read them with read_result ").unwrap();
    let (arguments, _) = order.split_once(" …]").unwrap();
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    let part = call(&client, "read_result", arguments).await;
    assert_eq!(part.is_error, Some(false), "{part:?}");
    let text = part.content[0].as_text().unwrap().text.clone();
    assert!(
        text.starts_with("xxxx") && text.contains("of 200000; go on with read_result"),
        "{}",
        &text[text.len() - 200..]
    );
}

#[tokio::test]
async fn a_call_that_is_taken_back_is_cancelled() {
    let counts = Arc::new(Counts::default());
    let gateway = gateway(&counts, GatewayOptions::default()).await;
    let client = connected(&gateway, ()).await;
    let params =
        CallToolRequestParams::new("hang").with_arguments(json!({"n": 1}).as_object().cloned().unwrap());
    let request = ClientRequest::CallToolRequest(rmcp::model::CallToolRequest::new(params));
    let handle = client.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap();
    while gateway.open_calls() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    handle.cancel(None).await.unwrap();
    let ended = async {
        while gateway.open_calls() > 0 || counts.dropped.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), ended).await.unwrap();
}

/// A client that is told of changes, and whose user answers.
#[derive(Clone, Default)]
struct Host {
    changed: Arc<Mutex<u32>>,
    answer: Option<Value>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation =
            Some(ElicitationCapability::new().with_form(FormElicitationCapability::default()));
        ClientConfig::new(capabilities, Implementation::new("host", "1"))
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        *self.changed.lock().unwrap() += 1;
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, rmcp::ErrorData> {
        if let ElicitRequestParams::FormElicitationParams { message, .. } = request {
            self.asked.lock().unwrap().push(message);
        }
        Ok(match &self.answer {
            Some(answer) => ElicitResult::new(ElicitationAction::Accept).with_content(answer.clone()),
            None => ElicitResult::new(ElicitationAction::Decline),
        })
    }
}

#[tokio::test]
async fn a_host_is_told_of_tools_that_come_up() {
    let gateway = gateway(&Arc::default(), GatewayOptions::default()).await;
    let host = Host::default();
    let client = connected(&gateway, host.clone()).await;
    let before = client.list_all_tools().await.unwrap().len();
    call(&client, "grow", json!({"n": 1})).await;
    let told = async {
        while *host.changed.lock().unwrap() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), told).await.unwrap();
    assert_eq!(client.list_all_tools().await.unwrap().len(), before + 1);
    assert_eq!(call(&client, "extra_0", json!({"n": 1})).await.is_error, Some(false));
}

#[tokio::test]
async fn what_a_person_must_allow_is_asked_through_the_host() {
    let gateway = gateway(&Arc::default(), GatewayOptions::default()).await;
    let mut host = Host { answer: Some(json!({"allow": true})), ..Host::default() };
    let allowed = call(connected(&gateway, host.clone()).await.peer(), "guarded", json!({"n": 1})).await;
    assert_eq!(shown(&allowed), json!({"content": [{"type": "text", "text": "done"}], "isError": false}));
    assert_eq!(*host.asked.lock().unwrap(), ["Allow the call of guarded?\nguarded {\"n\":1}"]);
    for answer in [Some(json!({"allow": false})), Some(json!({"allow": "yes"})), None] {
        host.answer = answer;
        let refused = call(connected(&gateway, host.clone()).await.peer(), "guarded", json!({"n": 1})).await;
        let text = &shown(&refused)["content"][0]["text"];
        assert_eq!(
            text,
            "A person did not allow the call of tool \"guarded\".\nDo not repeat the call: go on without it, or tell the user."
        );
    }
}

#[tokio::test]
async fn a_host_that_asks_by_itself_is_not_asked_again() {
    let mut options = GatewayOptions::default();
    options.host_approves = true;
    let gateway = gateway(&Arc::default(), options).await;
    let result = call(connected(&gateway, ()).await.peer(), "guarded", json!({"n": 1})).await;
    assert_eq!(result.is_error, Some(false));
}

#[tokio::test]
async fn a_cursor_of_another_list_is_refused() {
    let gateway = gateway(&Arc::default(), GatewayOptions::default()).await;
    let client = connected(&gateway, ()).await;
    for cursor in ["x", "-1", "9999"] {
        let mut params = PaginatedRequestParams::default();
        params.cursor = Some(cursor.into());
        let error = client.list_tools(Some(params)).await.unwrap_err();
        let ServiceError::McpError(error) = error else { panic!("{error}") };
        assert_eq!(
            (error.code, error.message.as_ref()),
            (ErrorCode::INVALID_PARAMS, "the cursor is none of this list")
        );
    }
}
