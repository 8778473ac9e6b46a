//! What the tests share.

use std::time::Duration;

use backstop_core::{Effect, Limits, ToolError, ToolOutput, ToolSpec};
use backstop_runtime::{Agent, AgentBuilder};
use backstop_test::{TestModel, TestToolset};
use serde_json::{Value, json};

pub(crate) fn spec(name: &str, effect: Effect) -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    ToolSpec::new(name, schema).effect(effect)
}

pub(crate) fn n(arguments: &serde_json::Map<String, Value>) -> u64 {
    arguments.get("n").and_then(Value::as_u64).unwrap_or(0)
}

/// `echo` answers at once, `slow` after n × 10 ms, `hang` never, `boom` panics, `down` is unavailable, `pay` loses
/// its reply after it took effect.
pub(crate) fn tools() -> TestToolset {
    TestToolset::new("kit")
        .tool(
            spec("echo", Effect::ReadOnly),
            |call, _| async move { Ok(ToolOutput::from(n(call.arguments()))) },
        )
        .tool(spec("slow", Effect::ReadOnly), |call, _| async move {
            tokio::time::sleep(Duration::from_millis(10 * n(call.arguments()))).await;
            Ok(ToolOutput::from(n(call.arguments())))
        })
        .tool(spec("hang", Effect::Mutating), |_, _| std::future::pending())
        .tool(spec("boom", Effect::ReadOnly), |_, _| async move { panic!("boom at 10.1.2.3") })
        .tool(spec("down", Effect::ReadOnly), |_, _| async move {
            Err(ToolError::unavailable("the shop did not accept a connection")
                .say("Shop closed.")
                .with_status(503))
        })
        .tool(spec("pay", Effect::Mutating), |_, _| async move {
            Err(ToolError::upstream_failure("reply lost").with_status(502))
        })
}

pub(crate) fn builder(model: &TestModel) -> AgentBuilder {
    Agent::builder(model.clone()).limits(Limits::default())
}

pub(crate) async fn agent(model: &TestModel) -> Agent {
    built(builder(model).toolset(tools())).await
}

pub(crate) async fn built(builder: AgentBuilder) -> Agent {
    let (agent, problems) = builder.build().await;
    assert!(problems.is_empty(), "{problems:?}");
    agent
}
