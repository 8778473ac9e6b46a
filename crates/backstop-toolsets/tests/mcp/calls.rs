//! Calls that take long, are dropped, or run at the same time; resources and prompts.

use std::time::{Duration, Instant};

use backstop_core::{Applied, Effect, ToolErrorKind, Toolset};
use backstop_test::mcp::Behaviour;
use backstop_toolsets::mcp::McpToolset;
use futures_util::future::join_all;
use serde_json::json;

use crate::kit::{Fake, act, call, echo, lives, shown, within};

#[tokio::test]
async fn progress_keeps_a_call_alive_and_silence_does_not() {
    // Ten times 50 ms, each within the limit.
    let fake = Fake::new(Behaviour::Progress);
    let mut config = fake.config();
    config.idle_timeout = Some(Duration::from_millis(300));
    let toolset = McpToolset::new(config).unwrap();
    toolset.list().await.unwrap();
    assert_eq!(act(&toolset).await.unwrap().model_text(), "acted");

    let fake = Fake::new(Behaviour::NeverAnswers);
    let mut config = fake.config();
    config.idle_timeout = Some(Duration::from_millis(300));
    let toolset = McpToolset::new(config).unwrap();
    toolset.list().await.unwrap();
    insta::assert_snapshot!(shown(&act(&toolset).await));
    fake.until("the server is told", |log| log.iter().any(|m| m["method"] == "notifications/cancelled"))
        .await;
}

#[tokio::test]
async fn progress_does_not_outlast_the_time_of_the_call() {
    let fake = Fake::new(Behaviour::Progress);
    let mut config = fake.config();
    config.idle_timeout = Some(Duration::from_millis(300));
    let toolset = McpToolset::new(config).unwrap();
    toolset.list().await.unwrap();
    let begun = Instant::now();
    let error = call(&toolset, "act", json!({}), Duration::from_millis(200)).await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Timeout);
    assert!(begun.elapsed() < Duration::from_millis(400), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn one_server_answers_many_calls_at_the_same_time() {
    let fake = Fake::new(Behaviour::Good);
    let toolset = fake.toolset();
    toolset.list().await.unwrap();
    let calls = (0..100).map(|n| {
        let toolset = &toolset;
        async move {
            call(toolset, "add", json!({"a": n, "b": 1}), Duration::from_secs(20)).await.unwrap().to_value()
        }
    });
    let sums: Vec<_> = (0..100).map(|n| json!({"sum": n + 1})).collect();
    assert_eq!(join_all(calls).await, sums);
    assert_eq!(fake.pids().len(), 1);
}

#[tokio::test]
async fn a_lost_answer_is_never_asked_for_again() {
    let fake = Fake::new(Behaviour::Exits);
    let toolset = fake.toolset();
    toolset.list().await.unwrap();
    let error = act(&toolset).await.unwrap_err();
    assert_eq!((error.kind(), error.applied()), (ToolErrorKind::Unavailable, Applied::Unknown));
    within("the server is gone", || !lives(fake.pids()[0])).await;
    // The first new start comes at once.
    assert_eq!(echo(&toolset).await.unwrap().model_text(), "still here");
    assert_eq!(fake.pids().len(), 2);
    let acted = fake.log().iter().filter(|message| message["params"]["name"] == "act").count();
    assert_eq!(acted, 1);
}

#[tokio::test]
async fn a_server_that_dies_again_and_again_is_started_later_and_later() {
    let fake = Fake::new(Behaviour::ExitsAtStart);
    let toolset = fake.toolset();
    // Once for the newest protocol, and once for older ones.
    assert_eq!(toolset.list().await.unwrap_err().kind(), ToolErrorKind::Unavailable);
    assert_eq!(toolset.list().await.unwrap_err().retry_after(), None);
    let put_off = toolset.list().await.unwrap_err();
    assert_eq!((put_off.kind(), put_off.applied()), (ToolErrorKind::Unavailable, Applied::No));
    let wait = put_off.retry_after().unwrap();
    assert!(wait > Duration::from_millis(500) && wait <= Duration::from_secs(1), "{wait:?}");
    assert_eq!(
        put_off.detail(),
        "the server of toolset `fake` was lost 2 times: it is started again in 1 second"
    );
}

#[tokio::test]
async fn annotations_count_for_a_server_that_is_trusted() {
    let fake = Fake::new(Behaviour::Good);
    let effects = |trusted: bool| {
        let mut config = fake.config();
        config.trusted = trusted;
        async move {
            let specs = McpToolset::new(config).unwrap().list().await.unwrap();
            specs.into_iter().map(|spec| (spec.name, spec.effect)).collect::<Vec<_>>()
        }
    };
    let named =
        |act, echo, add| vec![("act".to_owned(), act), ("echo".to_owned(), echo), ("add".to_owned(), add)];
    assert_eq!(effects(false).await, named(Effect::Mutating, Effect::Mutating, Effect::Mutating));
    assert_eq!(effects(true).await, named(Effect::Idempotent, Effect::ReadOnly, Effect::ReadOnly));
}

#[tokio::test]
async fn resources_and_prompts_are_tools_where_they_are_asked_for() {
    let fake = Fake::new(Behaviour::Good);
    let mut config = fake.config();
    config.resources = true;
    config.prompts = true;
    let toolset = McpToolset::new(config).unwrap();
    let names: Vec<_> = toolset.list().await.unwrap().into_iter().map(|spec| spec.name).collect();
    assert_eq!(
        names,
        ["act", "echo", "add", "list_resources", "read_resource", "list_prompts", "get_prompt"]
    );
    let mut table = String::new();
    for (tool, arguments) in [
        ("list_resources", json!({})),
        ("read_resource", json!({"uri": "note://one"})),
        ("read_resource", json!({"uri": "note://two"})),
        ("list_prompts", json!({})),
        ("get_prompt", json!({"name": "greet", "arguments": {"who": "Ada"}})),
        ("get_prompt", json!({"name": "nothing"})),
    ] {
        let result = call(&toolset, tool, arguments.clone(), Duration::from_secs(5)).await;
        table += &format!("## {tool} {arguments}\n{}\n\n", shown(&result));
    }
    insta::assert_snapshot!(table);
}
