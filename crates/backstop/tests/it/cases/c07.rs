//! C07: a tool name that the model invented costs one result, not the run.

use backstop::{Action, Strategy, ToolErrorKind, When};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::{Scene, calls, done, raw_calls};
use crate::tables::{
    provider::call,
    surface::{Surface, Tool},
};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Search {
    q: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Read {
    url: String,
}

const INVENTED: [(&str, &str, &str); 2] =
    [("u1", "get_US_A PresidentService", "{}"), ("u2", "search_docs", r#"{"q":"x"}"#)];

fn tools() -> Vec<Tool> {
    vec![Tool::new::<Search>("search_docs"), Tool::new::<Read>("read_page")]
}

#[tokio::test]
async fn the_model_is_told_what_there_is_and_the_other_call_runs() {
    for surface in Surface::ALL {
        let ran = Scene::new(tools(), vec![calls(&INVENTED), done()]).on(surface).await;
        assert_eq!(
            ran.sent(1),
            [
                "user: go",
                "assistant: -",
                "  u1 get_US_A_PresidentService {}",
                r#"  u2 search_docs {"q":"x"}"#,
                r#"tool u1: Tool "get_US_A PresidentService" was not found, please use one of these: search_docs, read_page."#,
                "Call one of these tools instead, or answer without a tool.",
                r#"tool u2: {"q":"x"}"#,
            ],
            "{surface:?}"
        );
        assert_eq!(ran.log(), [r#"ran search_docs {"q":"x"}"#], "{surface:?}");
        // Who reads the log finds the name as the model wrote it.
        let names: Vec<String> = ran.report.calls().into_iter().map(|call| call.tool).collect();
        assert_eq!(names, ["get_US_A PresidentService", "search_docs"]);
        assert_eq!(ran.report.failures()[0].tool, "get_US_A PresidentService");
    }
}

#[tokio::test]
async fn no_name_and_an_empty_one_are_names_that_are_not_there() {
    for surface in Surface::ALL {
        let turn =
            [call("u1", r#"{"name":"","arguments":"{}"}"#), call("u2", r#"{"name":null,"arguments":"{}"}"#)];
        let ran = Scene::new(tools(), vec![raw_calls(&turn), done()]).on(surface).await;
        assert_eq!(
            ran.sent(1)[2..],
            [
                "  u1 unnamed {}",
                "  u2 unnamed {}",
                r#"tool u1: Tool "" was not found, please use one of these: search_docs, read_page."#,
                "Call one of these tools instead, or answer without a tool.",
                r#"tool u2: Tool "" was not found, please use one of these: search_docs, read_page."#,
                "Call one of these tools instead, or answer without a tool.",
            ],
            "{surface:?}"
        );
        assert_eq!(ran.log(), ["ran nothing"], "{surface:?}");
    }
}

#[tokio::test]
async fn a_strategy_stops_the_run_and_its_history_can_go_on() {
    for surface in Surface::ALL {
        let stop = |kind| Strategy {
            when: When::kind(kind),
            action: Action::Stop { message: Some(format!("stopped on {kind}")) },
        };
        let strategies = vec![stop(ToolErrorKind::InvalidArguments), stop(ToolErrorKind::UnknownTool)];
        let ran = Scene::new(tools(), vec![calls(&INVENTED), done()]).fallback(strategies).on(surface).await;
        assert_eq!(ran.ended(), "stopped: stopped on unknown_tool", "{surface:?}");
        assert_eq!(ran.requests(), 1, "{surface:?}");
        assert_eq!(ran.log(), ["ran nothing"], "{surface:?}");
        assert_eq!(
            ran.next_turn().await,
            [
                "user: go",
                "assistant: -",
                "  u1 get_US_A_PresidentService {}",
                r#"  u2 search_docs {"q":"x"}"#,
                r#"tool u1: Tool "get_US_A PresidentService" was not found, please use one of these: search_docs, read_page."#,
                "Call one of these tools instead, or answer without a tool.",
                r#"tool u2: The call of tool "search_docs" was not started: the run has ended."#,
                "There is no result: do not make one up.",
                "user: go on",
            ],
            "{surface:?}"
        );
    }
}
