//! Calls of one turn run at the same time, and their results stand in call order.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use backstop_core::{Effect, Limits, ToolOutput};
use backstop_test::{Reply, TestModel, TestToolset};
use tokio::time::Instant;

use crate::kit::{agent, builder, built, spec};

#[tokio::test(start_paused = true)]
async fn results_stand_in_call_order_whatever_ends_first() {
    let calls = [("slow", r#"{"n":30}"#), ("slow", r#"{"n":10}"#), ("echo", r#"{"n":1}"#)];
    let model = TestModel::new([Reply::calls(&calls), Reply::text("done")]);
    let started = Instant::now();
    let report = agent(&model).await.run("go").await.unwrap();
    assert_eq!(report.answer(), Some("done"));
    assert_eq!(model.last_results(), ["30", "10", "1"]);
    // The slowest one, not the sum.
    assert_eq!(started.elapsed().as_millis() / 10, 30);
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_run_than_the_cap_allows_and_exclusive_ones_run_alone() {
    let (now, peak, alone) =
        (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let count = |exclusive: bool| {
        let (now, peak, alone) = (Arc::clone(&now), Arc::clone(&peak), Arc::clone(&alone));
        move |_, _| {
            let (now, peak, alone) = (Arc::clone(&now), Arc::clone(&peak), Arc::clone(&alone));
            async move {
                let running = now.fetch_add(1, Ordering::SeqCst) + 1;
                peak.fetch_max(running, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(5)).await;
                if exclusive && now.load(Ordering::SeqCst) == 1 {
                    alone.fetch_add(1, Ordering::SeqCst);
                }
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(ToolOutput::text("ok"))
            }
        }
    };
    let tools = TestToolset::new("t")
        .tool(spec("shared", Effect::ReadOnly), count(false))
        .tool(spec("single", Effect::ReadOnly).exclusive(), count(true));
    let mut calls = vec![("shared", "{}"); 9];
    calls.insert(4, ("single", "{}"));
    calls.push(("single", "{}"));
    let model = TestModel::new([Reply::calls(&calls), Reply::text("done")]);
    let mut limits = Limits::default();
    limits.parallel = 3;
    limits.same_results = 100;
    let report = built(builder(&model).toolset(tools).limits(limits)).await.run("go").await.unwrap();
    assert_eq!(report.answer(), Some("done"));
    assert_eq!(peak.load(Ordering::SeqCst), 3);
    assert_eq!(alone.load(Ordering::SeqCst), 2);
    assert_eq!(model.last_results(), vec!["ok"; 11]);
}

#[tokio::test]
async fn two_runs_of_one_agent_do_not_mix() {
    let model = TestModel::new([Reply::text("one"), Reply::text("two")]);
    let agent = agent(&model).await;
    let (a, b) = tokio::join!(agent.run("a"), agent.run("b"));
    let (a, b) = (a.unwrap(), b.unwrap());
    assert_ne!(a.run(), b.run());
    let mut answers = [a.answer().unwrap(), b.answer().unwrap()];
    answers.sort_unstable();
    assert_eq!(answers, ["one", "two"]);
}
