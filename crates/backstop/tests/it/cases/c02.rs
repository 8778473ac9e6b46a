//! C02: tools whose names no provider takes, or whose names clash, are all on offer, and each call finds its tool.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use backstop::{
    Action, Agent, Approve, CallContext, Outcome, Strategy, ToolError, ToolErrorKind, ToolOutput, ToolSpec,
    Toolset, ToolsetOptions, ValidCall, When,
};
use backstop_test::TestToolset;
use serde_json::json;

use super::kit::{Lines, builder, calls, done};
use crate::tables::{
    provider::strict,
    server::{Answer, Server},
};

/// Each tool gives its toolset and its own name; `größe` fails.
fn toolset(name: &'static str, tools: &[&str]) -> TestToolset {
    tools.iter().fold(TestToolset::new(name), |toolset, tool| {
        toolset.tool(ToolSpec::new(*tool, json!({"type": "object"})), move |call: ValidCall, _| async move {
            match call.own_name() {
                "größe" => Err(ToolError::rejected("no size")),
                own => Ok(ToolOutput::text(format!("{name}: {own}"))),
            }
        })
    })
}

fn chrome() -> TestToolset {
    let tools = [
        "chrome_devtools_performance_analyze_insight_summary_a",
        "chrome_devtools_performance_analyze_insight_summary_b",
        "search.web",
        "search/web",
        "search_web",
        "Scan file",
        "größe",
        "検索",
        "",
    ];
    toolset("chrome_devtools_mcp", &tools)
}

/// Lists its tools late.
struct Slow(TestToolset);

#[async_trait]
impl Toolset for Slow {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        tokio::time::sleep(Duration::from_millis(50)).await;
        self.0.list().await
    }

    async fn call(&self, call: &ValidCall, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        self.0.call(call, cx).await
    }
}

/// The agent of three toolsets, and what is left out of it.
async fn agent(server: &Server, slow: bool) -> (Agent, Lines) {
    let chrome: Arc<dyn Toolset> = if slow { Arc::new(Slow(chrome())) } else { Arc::new(chrome()) };
    // Both rules name tools as their toolset does.
    let mut when = When::kind(ToolErrorKind::Rejected);
    when.tools.push("größe".into());
    let stop = Strategy { when, action: Action::Stop { message: Some("No sizes.".into()) } };
    let options = ToolsetOptions::default().prefix("chrome_devtools_mcp_").adjust(move |spec, policy| {
        policy.strategies = vec![stop.clone()];
        if spec.name == "search.web" {
            policy.approve = Approve::Always;
        }
    });
    let (agent, problems) = builder(server)
        .toolset_with(chrome, options)
        .toolset(toolset("other", &["search_web"]))
        .toolset(toolset("local", &["search_web"]))
        .build()
        .await;
    (agent, problems.iter().map(ToString::to_string).collect())
}

/// The names in a request.
fn offered(server: &Server) -> Lines {
    let bodies = server.bodies();
    let tools = bodies[0]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

const OFFERED: [&str; 10] = [
    "chrome_devtools_mcp_chrome_devtools_performance_analyze_85a0fa83",
    "chrome_devtools_mcp_chrome_devtools_performance_analyze_bf8afe42",
    "chrome_devtools_mcp_search_web_dd325fcb",
    "chrome_devtools_mcp_search_web_e28ec7f1",
    "chrome_devtools_mcp_search_web",
    "chrome_devtools_mcp_Scan_file",
    "chrome_devtools_mcp_gr__e",
    "chrome_devtools_mcp___",
    "search_web",
    "local_search_web",
];

#[tokio::test]
async fn every_name_is_taken_by_a_strict_provider_and_leads_to_its_tool() {
    // All but those of which a rule says something else.
    let names: Vec<&str> =
        OFFERED.iter().enumerate().filter(|(at, _)| !matches!(at, 2 | 6)).map(|(_, name)| *name).collect();
    let turn: Vec<(&str, &str, &str)> = names.iter().map(|name| (*name, *name, "{}")).collect();
    let server = strict(vec![calls(&turn), done()]).await;
    let (agent, left_out) = agent(&server, false).await;
    assert_eq!(left_out, ["tool `` of toolset `chrome_devtools_mcp` is left out: it has no name"]);
    let report = agent.run("go").await.unwrap();
    assert_eq!(offered(&server), OFFERED);
    let views: Lines = report.calls().into_iter().map(|call| call.view).collect();
    assert_eq!(
        views,
        [
            "chrome_devtools_mcp: chrome_devtools_performance_analyze_insight_summary_a",
            "chrome_devtools_mcp: chrome_devtools_performance_analyze_insight_summary_b",
            "chrome_devtools_mcp: search/web",
            "chrome_devtools_mcp: search_web",
            "chrome_devtools_mcp: Scan file",
            "chrome_devtools_mcp: 検索",
            "other: search_web",
            "local: search_web",
        ]
    );
    assert_eq!(report.answer(), Some("done"));
}

#[tokio::test]
async fn names_are_the_same_on_every_start_whichever_toolset_answers_first() {
    for slow in [false, true] {
        let server = strict(vec![done()]).await;
        let (agent, _) = agent(&server, slow).await;
        agent.run("go").await.unwrap();
        assert_eq!(offered(&server), OFFERED, "slow: {slow}");
    }
}

/// The end of a run that calls the tool of this place in the offer.
async fn called(at: usize) -> Outcome {
    let server = strict(vec![calls(&[("c1", OFFERED[at], "{}")]), Answer::Cut]).await;
    let (agent, _) = agent(&server, false).await;
    agent.run("go").await.unwrap().outcome().clone()
}

#[tokio::test]
async fn an_approval_by_the_original_name_holds_for_the_name_on_offer() {
    let Outcome::NeedsAnswer { question } = called(2).await else { panic!("no question") };
    assert_eq!((question.call.as_str(), question.tool.as_str()), ("c1", OFFERED[2]));
}

#[tokio::test]
async fn a_strategy_by_the_original_name_holds_for_the_name_on_offer() {
    let Outcome::Stopped { message, .. } = called(6).await else { panic!("not stopped") };
    assert_eq!(message, "No sizes.");
}
