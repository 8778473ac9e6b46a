//! The circuit breaker: a wrapper like any toolset, and when it opens and closes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use backstop_core::{
    CallContext, Catalog, Effect, RunId, ToolCall, ToolError, ToolErrorKind, ToolOutput, ToolPolicy, Toolset,
    ValidCall, catalog::CatalogSource,
};
use backstop_runtime::{Breaker, BreakerLimits, CIRCUIT_OPEN};
use backstop_test::{TestToolset, conformance::toolset::Fixture};
use tokio::time::{advance, timeout};

use crate::kit::{spec, tools};

mod conformance {
    use super::{Arc, Breaker, BreakerLimits, Fixture, tools};

    backstop_test::toolset_conformance!(|| async {
        let toolset = Arc::new(Breaker::new(Arc::new(tools()), BreakerLimits::default()));
        Fixture { toolset, tool: "echo", arguments: r#"{"n":1}"# }
    });
}

struct Bench {
    breaker: Breaker,
    broken: Arc<AtomicBool>,
    made: Arc<AtomicU32>,
}

const LIMITS: BreakerLimits = BreakerLimits { failures: 3, open_for: Duration::from_secs(30) };

fn bench() -> Bench {
    let (broken, made) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU32::new(0)));
    let (is_broken, count) = (Arc::clone(&broken), Arc::clone(&made));
    let tools = TestToolset::new("t")
        .tool(spec("flaky", Effect::ReadOnly), move |_, _| {
            count.fetch_add(1, Ordering::SeqCst);
            let broken = is_broken.load(Ordering::SeqCst);
            async move {
                if broken { Err(ToolError::upstream_failure("500")) } else { Ok(ToolOutput::text("ok")) }
            }
        })
        .tool(spec("no", Effect::ReadOnly), |_, _| async { Err(ToolError::not_found("nothing")) })
        .tool(spec("hang", Effect::ReadOnly), |_, _| std::future::pending());
    Bench { breaker: Breaker::new(Arc::new(tools), LIMITS), broken, made }
}

impl Bench {
    async fn valid(&self, tool: &str) -> ValidCall {
        let specs = self
            .breaker
            .list()
            .await
            .unwrap()
            .into_iter()
            .map(|spec| (spec, ToolPolicy::default()))
            .collect();
        let (catalog, _) = Catalog::build(vec![CatalogSource::new("t", specs)]);
        catalog.validate(&ToolCall::new("c1", tool, "{}")).unwrap()
    }

    async fn call(&self, tool: &str) -> Result<ToolOutput, ToolError> {
        let cx = CallContext::new(RunId::new("r"), 1, Duration::from_secs(1), "k");
        self.breaker.call(&self.valid(tool).await, &cx).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_fails_in_a_row_is_left_alone_and_then_tried_once() {
    let bench = bench();
    for _ in 0..3 {
        assert_eq!(bench.call("flaky").await.unwrap_err().kind(), ToolErrorKind::UpstreamFailure);
    }
    let error = bench.call("flaky").await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ToolErrorKind::Unavailable, Some(CIRCUIT_OPEN)));
    assert_eq!(error.applied(), backstop_core::Applied::No);
    assert_eq!(error.words(), Some("Tool \"flaky\" is not tried at the moment: it failed 3 times in a row."));
    assert_eq!(bench.made.load(Ordering::SeqCst), 3);

    // One call tries it, fails, and it is left alone again.
    advance(Duration::from_secs(31)).await;
    assert_eq!(bench.call("flaky").await.unwrap_err().kind(), ToolErrorKind::UpstreamFailure);
    assert_eq!(bench.call("flaky").await.unwrap_err().code(), Some(CIRCUIT_OPEN));
    assert_eq!(bench.made.load(Ordering::SeqCst), 4);

    // It works again.
    bench.broken.store(false, Ordering::SeqCst);
    advance(Duration::from_secs(31)).await;
    for _ in 0..3 {
        assert_eq!(bench.call("flaky").await.unwrap(), ToolOutput::text("ok"));
    }
    // Other tools were never touched.
    assert_eq!(bench.call("no").await.unwrap_err().kind(), ToolErrorKind::NotFound);
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_no_failure_and_a_dropped_call_is_one() {
    let bench = bench();
    for _ in 0..10 {
        assert_eq!(bench.call("no").await.unwrap_err().kind(), ToolErrorKind::NotFound);
    }
    for _ in 0..3 {
        assert!(timeout(Duration::from_millis(10), bench.call("hang")).await.is_err());
    }
    assert_eq!(bench.call("hang").await.unwrap_err().code(), Some(CIRCUIT_OPEN));
}

#[tokio::test(start_paused = true)]
async fn only_one_call_tries_a_tool_that_was_left_alone() {
    let bench = bench();
    for _ in 0..3 {
        assert!(timeout(Duration::from_millis(10), bench.call("hang")).await.is_err());
    }
    advance(Duration::from_secs(31)).await;
    let (probe, other) =
        tokio::join!(timeout(Duration::from_millis(10), bench.call("hang")), bench.call("hang"));
    assert!(probe.is_err());
    assert_eq!(other.unwrap_err().code(), Some(CIRCUIT_OPEN));
}
