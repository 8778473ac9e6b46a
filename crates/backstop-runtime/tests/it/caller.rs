//! What whoever starts a run sent along: tools have it, nothing that leaves the run does.

use std::sync::Arc;

use backstop_core::{CallerHeaders, Effect, RunStore, ToolError, ToolOutput};
use backstop_runtime::MemoryStore;
use backstop_test::{Reply, TestModel, TestToolset};

use crate::kit::{builder, built, spec};

/// `echo` answers with what it was given, `blame` fails with it.
fn tools() -> TestToolset {
    TestToolset::new("t")
        .tool(spec("echo", Effect::ReadOnly), |_, cx| async move {
            let headers = &cx.caller_headers;
            let shown = format!("{} for {}", given(headers), headers.get("X-Tenant").unwrap_or("nobody"));
            Ok(ToolOutput::text(shown))
        })
        .tool(spec("blame", Effect::ReadOnly), |_, cx| async move {
            Err(ToolError::rejected(format!("no {}", given(&cx.caller_headers)))
                .say(given(&cx.caller_headers)))
        })
}

fn given(headers: &CallerHeaders) -> String {
    headers.get("authorization").unwrap_or("none").to_owned()
}

#[tokio::test]
async fn tools_have_the_headers_of_the_caller_and_nobody_reads_them() {
    let script =
        [Reply::calls(&[("echo", "{}"), ("blame", "{}")]), Reply::text("It is Bearer user-token-1.")];
    let model = TestModel::new(script);
    let agent = built(builder(&model).toolset(tools())).await;
    let store = Arc::new(MemoryStore::default());
    let caller = CallerHeaders::new([("Authorization", "Bearer user-token-1"), ("x-tenant", "t-7")]);
    let start = agent.start("go").store(Arc::clone(&store) as Arc<dyn RunStore>).caller_headers(caller);
    let report = start.drive().await.unwrap();
    let views: Vec<String> = report.calls().into_iter().map(|call| call.view).collect();
    assert_eq!(
        views,
        [
            "[secret] for t-7",
            "[secret]\nChange the call accordingly, or tell the user: the same call fails again."
        ]
    );
    assert_eq!(report.answer(), Some("It is [secret]."));
    assert_eq!(report.failures()[0].message, "no [secret]");
    let journal = store.load(report.run()).await.unwrap();
    let written = serde_json::to_string(&journal).unwrap();
    assert!(!written.contains("user-token-1"), "{written}");
}

#[tokio::test]
async fn runs_do_not_share_what_their_callers_sent() {
    let call = || [Reply::calls(&[("echo", "{}")]), Reply::text("done")];
    let model = TestModel::new(call().into_iter().chain(call()));
    let agent = built(builder(&model).toolset(tools())).await;
    let caller = CallerHeaders::new([("x-tenant", "t-7")]);
    let one = agent.start("go").caller_headers(caller).drive().await.unwrap();
    let other = agent.run("go").await.unwrap();
    assert_eq!([&one, &other].map(|run| run.calls()[0].view.clone()), ["none for t-7", "none for nobody"]);
}
