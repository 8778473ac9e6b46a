//! C08: an error in a tool's body becomes the one result of its call, however the body fails.

use std::sync::Arc;

use backstop::{
    Action, CallContext, Effect, Strategy, ToolError, ToolErrorKind, ToolOutput, ToolSpec, Toolset, When,
    function::{FnTool, FnToolset},
};
use backstop_test::TestToolset;
use serde_json::json;
use tokio::task::JoinSet;

use super::kit::{Scene, builder, built, calls, done};
use crate::tables::{
    provider::strict,
    server::Answer,
    surface::{Surface, Tool},
};

/// Fails with an error of no known type, and as a service that does the same.
fn boom() -> Tool {
    Tool::new::<()>("explode")
        .does(|_| Err("boom".into()), |_| Answer::json("422 Unprocessable Entity", r#"{"error":"boom"}"#))
}

/// Panics in a task of its own, whose end it hands on.
async fn panics_elsewhere() -> Result<ToolOutput, Box<dyn std::error::Error + Send + Sync>> {
    let mut tasks = JoinSet::new();
    tasks.spawn(async { panic!("boom at 10.1.2.3") });
    match tasks.join_next().await {
        Some(Err(panic)) => Err(panic.into()),
        _ => Ok(ToolOutput::text("no panic")),
    }
}

/// Not over HTTP: of a service that panics only the broken connection is seen.
#[tokio::test]
async fn a_panic_in_a_task_of_the_tool_is_answered_and_its_sibling_runs() {
    let spec = |name| ToolSpec::new(name, json!({"type": "object"})).effect(Effect::ReadOnly);
    let plain = TestToolset::new("t")
        .tool(spec("explode"), |_, _| async { panics_elsewhere().await.map_err(ToolError::from_any) })
        .tool(spec("echo"), |_, _| async { Ok(ToolOutput::text("here")) });
    let functions = FnToolset::new("t")
        .tool(FnTool::new("explode", |(): (), _: CallContext| panics_elsewhere()).effect(Effect::ReadOnly))
        .tool(FnTool::new("echo", |(): (), _: CallContext| async { Ok::<_, ToolError>("here") }));
    let toolsets: [Arc<dyn Toolset>; 2] = [Arc::new(plain), Arc::new(functions)];
    for toolset in toolsets {
        let turn = calls(&[("t1", "explode", "{}"), ("t2", "echo", "{}")]);
        let server = strict(vec![turn, done()]).await;
        let agent = built(builder(&server).toolset_with(toolset, Default::default())).await;
        let report = agent.run("go").await.unwrap();
        let reference = &report.failures()[0].reference;
        let views: Vec<String> = report.calls().into_iter().map(|call| call.view).collect();
        let error =
            format!(r#"An error occurred while executing tool "explode". (error reference: {reference})"#);
        assert_eq!(views, [error, "here".to_owned()]);
        assert_eq!(report.calls()[0].kind, Some(ToolErrorKind::Internal));
        assert_eq!(report.answer(), Some("done"));
    }
}

#[tokio::test]
async fn a_strategy_stops_the_run_and_a_second_turn_goes_on_with_its_history() {
    for surface in Surface::ALL {
        let scene = Scene::new(vec![boom()], vec![calls(&[("t1", "explode", "{}")]), done()]);
        let mut when = When::kind(ToolErrorKind::Internal);
        // The service's way to say it.
        when.kinds.push(ToolErrorKind::Rejected);
        let ran =
            scene.fallback(vec![Strategy { when, action: Action::Stop { message: None } }]).on(surface).await;
        assert_eq!(
            ran.ended(),
            "stopped: A tool encountered an error and the agent was stopped. Please try again or contact your \
             administrator if the issue persists. (error reference: REF)",
            "{surface:?}"
        );
        assert_eq!((ran.requests(), ran.log()), (1, vec!["ran explode {}".to_owned()]), "{surface:?}");
        let told = match surface {
            Surface::Http => [
                "tool t1: POST /explode answered 422 Unprocessable Entity: boom",
                "Change the call accordingly, or tell the user: the same call fails again.",
            ]
            .as_slice(),
            Surface::Function | Surface::Plain => {
                &[r#"tool t1: An error occurred while executing tool "explode". (error reference: REF)"#]
            }
        };
        let expected = [&["user: go", "assistant: -", "  t1 explode {}"], told, &["user: go on"]].concat();
        assert_eq!(ran.next_turn().await, expected, "{surface:?}");
    }
}
