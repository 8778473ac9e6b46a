//! What a manifest declares about answers, against a service.

use std::path::Path;

use backstop::{
    Agent, Overrides, agent_from_manifest,
    manifest::{Manifest, MapEnvironment},
};
use serde_json::json;

use crate::tables::server::{Answer, Server};

async fn agent(server: &Server, script: &str) -> Agent {
    let text = format!(
        "
version: 1
name: chat
model: {{ provider: scripted, script: script.yaml }}
toolsets:
  chat:
    large_results: keep
    http:
      base_url: '{}'
      endpoints:
        search:
          path: /search
          success_when: {{ path: $.ok, equals: true }}
          fail_when: [{{ path: /error, equals: not_found, kind: not_found }}]
          result: $.messages[*].text
        export: {{ path: /export }}
",
        server.url
    );
    let (manifest, problems) =
        Manifest::load(&text, "chat.yaml", Path::new("nowhere"), &MapEnvironment::new());
    let manifest = manifest.unwrap_or_else(|| panic!("{problems:#?}"));
    let mut overrides = Overrides::default();
    overrides.script = Some(script.to_owned());
    let (agent, problems) = agent_from_manifest(&manifest, &overrides).await.unwrap();
    assert!(problems.is_empty(), "{problems:?}");
    agent
}

#[tokio::test]
async fn a_success_has_its_result_and_what_is_none_has_its_kind() {
    let server = Server::in_order(vec![
        Answer::json("200 OK", r#"{"ok":true,"messages":[{"text":"hi"},{"text":"ho"}]}"#),
        Answer::json("200 OK", r#"{"ok":false,"message":"too many words"}"#),
        Answer::json("200 OK", r#"{"ok":false,"error":"not_found"}"#),
        Answer::json("200 OK", r#"{"ok":true}"#),
    ])
    .await;
    let agent = agent(&server, "- text: unused").await;
    let mut told = Vec::new();
    for _ in 0..4 {
        let report = agent.call("search", "{}", None).await.unwrap();
        let call = report.calls().remove(0);
        told.push(match call.reference {
            Some(id) => call.view.replace(&id.to_string(), "REF"),
            None => call.view,
        });
    }
    assert_eq!(
        told,
        [
            r#"["hi","ho"]"#,
            "GET /search answered 200 OK: too many words\n\
             Change the call accordingly, or tell the user: the same call fails again.",
            "GET /search answered 200 OK: not_found\n\
             Change the call accordingly, or tell the user: the same call fails again.",
            "Tool \"search\" answered in a form that can't be used. (status 200) (error reference: REF)\n\
             There is no result: use another tool or tell the user, and do not make one up.",
        ]
    );
}

#[tokio::test]
async fn a_large_result_is_read_back_in_the_same_run() {
    let lines: Vec<String> = (0..6000).map(|line| format!("message {line:0>8}")).collect();
    let whole = json!(lines).to_string();
    let answer = whole.clone();
    let server = Server::start(move |_, _| Answer::json("200 OK", answer.clone())).await;
    // The handle is made of the id of the call.
    let script = "
- calls: [{ id: call_1, tool: export, arguments: {} }]
- calls: [{ tool: read_result, arguments: { result: rc9b9c430, from: 60000, length: 40 } }]
- calls: [{ tool: read_result, arguments: { result: rffffffff } }]
- text: done
";
    let agent = agent(&server, script).await;
    let report = agent.run("Export.").await.unwrap();
    assert_eq!(report.answer(), Some("done"), "{:?}", report.outcome());
    let views: Vec<String> = report.calls().into_iter().map(|call| call.view).collect();
    assert!(
        views[0]
            .contains("left out; read them with read_result {\"result\":\"rc9b9c430\",\"from\":32640} …]"),
        "{}",
        &views[0][32_000..33_000]
    );
    assert_eq!(
        views[1],
        format!(
            "{}\n[bytes 60000 to 60040 of {}; go on with read_result {{\"result\":\"rc9b9c430\",\"from\":60040}}]",
            &whole[60_000..60_040],
            whole.len()
        )
    );
    assert_eq!(
        views[2],
        "Invalid value for parameter \"result\" of tool \"read_result\": no such result is kept; the oldest ones \
         are given up first\n\
         Do not guess another \"result\": use one that you were given, or tell the user."
    );
}
