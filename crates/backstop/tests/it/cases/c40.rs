//! C40: calls of one turn don't touch each other, not even when the process dies between them.

use std::{collections::HashSet, sync::Arc, time::Duration};

use backstop::{
    Action, CallContext, CallId, Event, MemoryStore, Record, RunStore, Strategy, ToolError, ToolErrorKind,
    ToolOutput, ToolSpec, Toolset, When,
    function::{FnTool, FnToolset},
};
use backstop_test::TestToolset;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::kit::{Lines, Scene, builder, built, calls, done, sent};
use crate::tables::{
    provider::strict,
    server::Answer,
    surface::{Body, Failure, Surface, Tool},
};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Numbered {
    n: i64,
}

/// The calls of the case: one fails, one stalls, and an id stands twice.
const CALLS: [(&str, &str, &str); 5] = [
    ("a", "ok_fast", r#"{"n":1}"#),
    ("b", "fails", "{}"),
    ("c", "ok_fast", r#"{"n":2}"#),
    ("d", "stalls", "{}"),
    ("a", "ok_fast", r#"{"n":3}"#),
];

fn tools() -> Vec<Tool> {
    let fails = Tool::new::<()>("fails").does(
        |_| Err(Failure::from(ToolError::rejected("x").say("boom"))),
        |_| Answer::json("422 Unprocessable Entity", r#"{"error":"boom"}"#),
    );
    let stalls = Tool::new::<()>("stalls").body(Body::Hangs).mutating();
    vec![Tool::new::<Numbered>("ok_fast"), fails, stalls]
}

/// What is sent after those calls, with these words for the one that stalls.
fn history(surface: Surface, stalled: &[&str]) -> Lines {
    let failed = match surface {
        // What a service says comes with who said it.
        Surface::Http => "tool b: POST /fails answered 422 Unprocessable Entity: boom",
        Surface::Function | Surface::Plain => "tool b: boom",
    };
    let before = [
        "user: go",
        "assistant: -",
        r#"  a ok_fast {"n":1}"#,
        "  b fails {}",
        r#"  c ok_fast {"n":2}"#,
        "  d stalls {}",
        r#"  call_1_4 ok_fast {"n":3}"#,
        r#"tool a: {"n":1}"#,
        failed,
        "Change the call accordingly, or tell the user: the same call fails again.",
        r#"tool c: {"n":2}"#,
    ];
    let after = [r#"tool call_1_4: {"n":3}"#];
    [before.as_slice(), stalled, &after].concat().into_iter().map(str::to_owned).collect()
}

const RAN: [&str; 5] = [
    "ran fails {}",
    r#"ran ok_fast {"n":1}"#,
    r#"ran ok_fast {"n":2}"#,
    r#"ran ok_fast {"n":3}"#,
    "ran stalls {}",
];

#[tokio::test]
async fn each_call_has_its_own_result_in_call_order_and_an_id_of_its_own() {
    for surface in Surface::ALL {
        let scene = Scene::new(tools(), vec![calls(&CALLS), done()]);
        let ran = scene.limits(|limits| limits.tool_timeout = Duration::from_millis(300)).on(surface).await;
        let timed_out = [
            r#"tool d: Tool call "stalls" timed out after 300 milliseconds."#,
            "The call may have taken effect: verify before repeating it, or tell the user.",
        ];
        assert_eq!(ran.sent(1), history(surface, &timed_out), "{surface:?}");
        assert_eq!(ran.log(), RAN, "{surface:?}");
    }
}

#[tokio::test]
async fn what_had_ended_when_the_process_died_is_kept_and_the_rest_is_interrupted() {
    for surface in Surface::ALL {
        let stage = Scene::new(tools(), vec![calls(&CALLS), done()]).stage(surface).await;
        let store: Arc<dyn RunStore> = Arc::new(MemoryStore::default());
        // The process dies when all but the one that stalls have ended.
        let driving = stage.agent.start("go").store(Arc::clone(&store)).drive();
        let died = tokio::time::timeout(Duration::from_secs(20), async {
            tokio::select! {
                _ = driving => panic!("the run ended"),
                run = all_but_one(&*store) => run,
            }
        });
        let run = died.await.unwrap();

        let report = stage.agent.resume(store, run).drive().await.unwrap();
        assert_eq!(report.answer(), Some("done"), "{surface:?}");
        let interrupted = [
            r#"tool d: Tool call "stalls" was interrupted before its result came."#,
            "The call may have taken effect: verify before repeating it, or tell the user.",
        ];
        let told = sent(&stage.server, 1, &report);
        assert_eq!(told, history(surface, &interrupted), "{surface:?}");
        assert_eq!(report.calls()[3].kind, Some(ToolErrorKind::Interrupted), "{surface:?}");
        assert_eq!(stage.log.lines(), RAN, "nothing is made again on {surface:?}");
    }
}

/// The run of the store, once four of its calls have ended.
async fn all_but_one(store: &dyn RunStore) -> backstop::RunId {
    loop {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let Some(run) = store.list().await.unwrap().pop() else { continue };
        let records = store.load(&run).await.unwrap();
        if records.iter().filter(|record| record.event.as_str() == "tool_finished").count() == 4 {
            return run;
        }
    }
}

/// Not over HTTP: the toolset's own task is what is awaited, and it holds nothing that a test can see.
#[tokio::test]
async fn a_strategy_that_stops_the_run_waits_for_the_siblings_it_ends() {
    let held = Arc::new(());
    let stalling = |held: &Arc<()>| {
        let held = Arc::clone(held);
        async move {
            let _held = held;
            std::future::pending::<Result<ToolOutput, ToolError>>().await
        }
    };
    let (plainly, typed) = (Arc::clone(&held), Arc::clone(&held));
    let spec = |name| ToolSpec::new(name, json!({"type": "object"}));
    let broken = || async {
        // Its sibling is running by then.
        tokio::time::sleep(Duration::from_millis(50)).await;
        Err::<ToolOutput, _>(ToolError::rejected("x").say("boom"))
    };
    let plain = TestToolset::new("t")
        .tool(spec("stalls"), move |_, _| stalling(&plainly))
        .tool(spec("fails"), move |_, _| broken());
    let functions = FnToolset::new("t")
        .tool(FnTool::new("stalls", move |(): (), _: CallContext| stalling(&typed)))
        .tool(FnTool::new("fails", move |(): (), _: CallContext| broken()));
    let toolsets: [Arc<dyn Toolset>; 2] = [Arc::new(plain), Arc::new(functions)];
    for toolset in toolsets {
        let server = strict(vec![calls(&[("d", "stalls", "{}"), ("b", "fails", "{}")])]).await;
        let when = When::kind(ToolErrorKind::Rejected);
        let stop = Strategy { when, action: Action::Stop { message: Some("It is broken.".into()) } };
        let builder = builder(&server).fallback(vec![stop]).toolset_with(toolset, Default::default());
        let agent = built(builder).await;
        let idle = Arc::strong_count(&held);
        let report = agent.run("go").await.unwrap();
        assert_eq!(Arc::strong_count(&held), idle, "nothing runs any more");
        let views: Lines = report.calls().into_iter().map(|call| call.view).collect();
        assert_eq!(
            views,
            [
                "The call of tool \"stalls\" was interrupted while it was running: the run has ended.\n\
                 The call may have taken effect: verify before repeating it, or tell the user.",
                "boom\nChange the call accordingly, or tell the user: the same call fails again.",
            ]
        );
    }
}

/// The most calls that ran at the same time, and the most beside one of these.
fn peaks(records: &[Record], alone: &HashSet<CallId>) -> (usize, usize) {
    let (mut running, mut peak, mut beside) = (HashSet::new(), 0, 0);
    for record in records {
        match &record.event {
            Event::ToolStarted { call, .. } => running.insert(call.clone()),
            Event::ToolFinished { call, .. } => running.remove(call),
            _ => continue,
        };
        peak = peak.max(running.len());
        if !running.is_disjoint(alone) {
            beside = beside.max(running.len() - 1);
        }
    }
    (peak, beside)
}

#[tokio::test]
async fn no_more_calls_run_than_the_cap_allows_and_exclusive_ones_run_alone() {
    let ids: Lines = (0..11).map(|at| format!("i{at}")).collect();
    let name = |at: usize| if matches!(at, 4 | 10) { "single" } else { "shared" };
    let turn: Vec<(&str, &str, &str)> =
        ids.iter().enumerate().map(|(at, id)| (id.as_str(), name(at), "{}")).collect();
    for surface in Surface::ALL {
        let late = |name| Tool::new::<()>(name).body(Body::Late(Duration::from_millis(10)));
        let scene = Scene::new(vec![late("shared"), late("single")], vec![calls(&turn), done()])
            .adjust(|spec, _| spec.parallel_safe = spec.name == "shared")
            .limits(|limits| {
                limits.parallel = 3;
                limits.same_results = 100;
            });
        let ran = scene.on(surface).await;
        let alone = HashSet::from(["i4", "i10"].map(CallId::new));
        assert_eq!(peaks(&ran.heard.records(), &alone), (3, 0), "{surface:?}");
        assert_eq!(ran.log().len(), 11, "{surface:?}");
        let results: Lines = ran.sent(1).split_off(13);
        let expected: Lines = ids.iter().map(|id| format!("tool {id}: {{}}")).collect();
        assert_eq!(results, expected, "{surface:?}");
    }
}
