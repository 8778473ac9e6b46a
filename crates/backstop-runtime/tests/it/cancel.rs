//! Cancelling leaves a usable conversation (C12), and ends in bounded time whatever tools do.

use std::{sync::Arc, time::Duration};

use backstop_core::{Effect, Limits, Message, Outcome, ToolErrorKind, ToolOutput};
use backstop_runtime::{CancellationToken, RunReport};
use backstop_test::{Reply, TestModel, TestToolset};
use tokio::time::Instant;

use crate::kit::{agent, builder, built, spec, tools};

async fn cancelled_after(millis: u64, model: &TestModel, parallel: u32) -> RunReport {
    let mut limits = Limits::default();
    limits.parallel = parallel;
    let agent = built(builder(model).toolset(tools()).limits(limits)).await;
    let token = CancellationToken::new();
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(millis)).await;
        token.cancel();
    };
    let (report, ()) = tokio::join!(agent.start("go").cancel(token.clone()).drive(), cancel);
    report.unwrap()
}

#[tokio::test(start_paused = true)]
async fn finished_running_and_queued_calls_each_say_what_became_of_them() {
    let calls = [("echo", r#"{"n":1}"#), ("hang", "{}"), ("slow", r#"{"n":1}"#)];
    let model = TestModel::new([Reply::calls(&calls), Reply::text("never asked")]);
    let report = cancelled_after(100, &model, 1).await;
    assert_eq!(report.outcome(), &Outcome::Cancelled);
    let views: Vec<String> = report.calls().iter().map(|call| call.view.clone()).collect();
    assert_eq!(
        views,
        [
            "1",
            "The call of tool \"hang\" was interrupted while it was running: the run was cancelled.\n\
             The call may have taken effect: verify before repeating it, or tell the user.",
            "The call of tool \"slow\" was not started: the run was cancelled.\n\
             There is no result: do not make one up.",
        ]
    );
    let kinds: Vec<_> = report.calls().iter().map(|call| call.kind).collect();
    assert_eq!(kinds, [None, Some(ToolErrorKind::Cancelled), Some(ToolErrorKind::Cancelled)]);

    // The conversation goes on: the test model refuses one that is not balanced.
    let next = TestModel::new([Reply::text("going on")]);
    let mut messages = report.messages();
    messages.push(Message::user("go on"));
    let report = agent(&next).await.run(messages).await.unwrap();
    assert_eq!(report.answer(), Some("going on"));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_model_turn_ends_the_run_at_once() {
    let report = cancelled_after(50, &TestModel::new([Reply::Hang]), 8).await;
    assert_eq!(report.outcome(), &Outcome::Cancelled);
    assert_eq!(report.messages(), [Message::user("go")]);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_wait_between_attempts_starts_nothing_more() {
    let model = TestModel::new([Reply::calls(&[("down", "{}")]), Reply::text("never asked")]);
    let report = cancelled_after(1, &model, 8).await;
    assert_eq!(report.outcome(), &Outcome::Cancelled);
    let call = &report.calls()[0];
    assert_eq!((call.attempts, call.kind), (1, Some(ToolErrorKind::Cancelled)));
    assert!(
        call.view
            .starts_with("The call of tool \"down\" failed and was not made again: the run was cancelled.")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelling_returns_within_a_second_even_if_a_tool_ignores_it() {
    let tools = TestToolset::new("t").tool(spec("block", Effect::Mutating), |_, _| async {
        std::thread::sleep(Duration::from_secs(3));
        Ok(ToolOutput::text("late"))
    });
    let model = TestModel::new([Reply::calls(&[("block", "{}")]), Reply::text("never asked")]);
    let agent = Arc::new(built(builder(&model).toolset(tools)).await);
    let token = CancellationToken::new();
    let mut runs = tokio::task::JoinSet::new();
    let (driven, cancel) = (Arc::clone(&agent), token.clone());
    runs.spawn(async move { driven.start("go").cancel(cancel).drive().await.unwrap() });
    tokio::time::sleep(Duration::from_millis(100)).await;
    let asked = Instant::now();
    token.cancel();
    let report = runs.join_next().await.unwrap().unwrap();
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    assert_eq!(report.outcome(), &Outcome::Cancelled);
}

#[tokio::test]
async fn a_token_that_is_cancelled_before_the_start_calls_nothing() {
    let model = TestModel::new([Reply::text("never asked")]);
    let token = CancellationToken::new();
    token.cancel();
    let report = agent(&model).await.start("go").cancel(token).drive().await.unwrap();
    assert_eq!(report.outcome(), &Outcome::Cancelled);
    assert_eq!(model.requests().len(), 0);
}
