//! Building an agent: toolsets that are slow, silent, or lack what is declared for them.

use std::time::Duration;

use async_trait::async_trait;
use backstop_core::{CallContext, Effect, ToolError, ToolOutput, ToolSpec, Toolset, ValidCall};
use backstop_runtime::{BuildProblem, ToolsetOptions};
use backstop_test::{Reply, TestModel};

use crate::kit::{builder, spec};

/// Lists two tools after this time.
struct Slow(&'static str, Duration);

#[async_trait]
impl Toolset for Slow {
    fn name(&self) -> &str {
        self.0
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        tokio::time::sleep(self.1).await;
        Ok(vec![spec("get_time", Effect::ReadOnly), spec("set_time", Effect::Mutating)])
    }

    async fn call(&self, _: &ValidCall, _: &CallContext) -> Result<ToolOutput, ToolError> {
        Ok("done".into())
    }
}

fn shown(problems: &[BuildProblem]) -> Vec<String> {
    let cause = |problem: &BuildProblem| std::error::Error::source(problem).map(|cause| format!(": {cause}"));
    problems.iter().map(|problem| format!("{problem}{}", cause(problem).unwrap_or_default())).collect()
}

#[tokio::test(start_paused = true)]
async fn toolsets_list_at_the_same_time_and_each_has_its_own_deadline() {
    let start = tokio::time::Instant::now();
    let with = |limit: u64| {
        ToolsetOptions::default().list_timeout(Duration::from_secs(limit)).prefix(format!("t{limit}_"))
    };
    let mut agent = builder(&TestModel::new([Reply::text("Done.")]));
    for (name, takes, limit) in [("a", 90, 3), ("b", 25, 30), ("c", 1, 40), ("d", 90, 20)] {
        agent = agent.toolset_with(std::sync::Arc::new(Slow(name, Duration::from_secs(takes))), with(limit));
    }
    let (agent, problems) = agent.toolset(Slow("e", Duration::from_secs(11))).build().await;
    assert_eq!(start.elapsed(), Duration::from_secs(25));
    let catalog = agent.catalog();
    let names: Vec<&str> = catalog.entries().iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["t30_get_time", "t30_set_time", "t40_get_time", "t40_set_time"]);
    insta::assert_snapshot!(shown(&problems).join("\n"));
}

#[tokio::test(start_paused = true)]
async fn tools_that_are_declared_and_not_there_are_told_with_what_may_be_meant() {
    let options = ToolsetOptions::default().declared(["get_tim", "set_time", "stop\n"]);
    let silent = ToolsetOptions::default().declared(["get_time"]).list_timeout(Duration::from_millis(1));
    let (agent, problems) = builder(&TestModel::new([Reply::text("Done.")]))
        .toolset_with(std::sync::Arc::new(Slow("clock", Duration::ZERO)), options)
        .toolset_with(std::sync::Arc::new(Slow("gone", Duration::MAX)), silent)
        .build()
        .await;
    assert_eq!(agent.catalog().entries().len(), 2);
    insta::assert_snapshot!(shown(&problems).join("\n"));
}
