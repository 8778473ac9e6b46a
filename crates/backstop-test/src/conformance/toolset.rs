//! What every [`Toolset`] does.

use std::{sync::Arc, time::Duration};

use backstop_core::{
    CallContext, Catalog, RunId, ToolCall, ToolErrorKind, ToolPolicy, ToolSpec, Toolset, ValidCall,
    catalog::CatalogSource,
};

/// A toolset to test, with a call of it that succeeds.
#[derive(Clone)]
pub struct Fixture {
    /// The toolset.
    pub toolset: Arc<dyn Toolset>,
    /// The own name of a tool of it.
    pub tool: &'static str,
    /// Arguments text with which that tool succeeds, however often.
    pub arguments: &'static str,
}

fn context(attempt: u32) -> CallContext {
    CallContext::new(RunId::new("conformance"), attempt, Duration::from_secs(10), "key-1")
}

fn valid(specs: Vec<ToolSpec>, tool: &str, arguments: &str) -> ValidCall {
    let tools = specs.into_iter().map(|spec| (spec, ToolPolicy::default())).collect();
    let (catalog, problems) = Catalog::build(vec![CatalogSource::new("fixture", tools)]);
    assert!(problems.is_empty(), "{problems:?}");
    catalog.validate(&ToolCall::new("c1", tool, arguments)).expect("the fixture's call is valid")
}

async fn good_call(fixture: &Fixture) -> ValidCall {
    let specs = fixture.toolset.list().await.expect("list");
    valid(specs, fixture.tool, fixture.arguments)
}

/// The same tools in the same order, each time.
pub async fn lists_the_same_tools_each_time(fixture: Fixture) {
    let first = fixture.toolset.list().await.expect("list");
    assert_eq!(first, fixture.toolset.list().await.expect("list again"));
    assert!(!first.is_empty(), "no tools");
}

/// Names differ and every input schema compiles.
pub async fn every_tool_can_be_offered(fixture: Fixture) {
    let specs = fixture.toolset.list().await.expect("list");
    let count = specs.len();
    let tools = specs.into_iter().map(|spec| (spec, ToolPolicy::default())).collect();
    let (catalog, problems) = Catalog::build(vec![CatalogSource::new("fixture", tools)]);
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(catalog.entries().len(), count);
}

/// A good call succeeds, again and again.
pub async fn a_good_call_succeeds(fixture: Fixture) {
    let call = good_call(&fixture).await;
    for attempt in 1..=3 {
        let result = fixture.toolset.call(&call, &context(attempt)).await;
        assert!(result.is_ok(), "attempt {attempt}: {result:?}");
    }
}

/// A name that it does not offer is `unknown_tool`, and not applied.
pub async fn an_unknown_tool_is_refused(fixture: Fixture) {
    let stranger = ToolSpec::new("a_tool_that_nobody_offers", serde_json::json!({"type": "object"}));
    let call = valid(vec![stranger], "a_tool_that_nobody_offers", "{}");
    let error = fixture.toolset.call(&call, &context(1)).await.expect_err("an unknown tool");
    assert_eq!(error.kind(), ToolErrorKind::UnknownTool);
    assert_eq!(error.applied(), backstop_core::Applied::No);
}

/// Calls run at the same time.
pub async fn calls_run_concurrently(fixture: Fixture) {
    let call = good_call(&fixture).await;
    let cx = context(1);
    let calls = (0..16).map(|_| fixture.toolset.call(&call, &cx));
    for result in futures_util::future::join_all(calls).await {
        assert!(result.is_ok(), "{result:?}");
    }
}

/// A call that is dropped at any await leaves the toolset usable.
pub async fn a_dropped_call_leaves_it_usable(fixture: Fixture) {
    let call = good_call(&fixture).await;
    for micros in [0, 1, 10, 100, 1000, 5000] {
        let cx = context(1);
        let attempt = fixture.toolset.call(&call, &cx);
        let _ = tokio::time::timeout(Duration::from_micros(micros), attempt).await;
    }
    let result = fixture.toolset.call(&call, &context(1)).await;
    assert!(result.is_ok(), "{result:?}");
}

/// The suite for a [`Toolset`]; takes an async closure that makes a [`Fixture`].
#[macro_export]
macro_rules! toolset_conformance {
    ($fixture:expr) => {
        $crate::toolset_conformance! { $fixture;
            lists_the_same_tools_each_time
            every_tool_can_be_offered
            a_good_call_succeeds
            an_unknown_tool_is_refused
            calls_run_concurrently
            a_dropped_call_leaves_it_usable
        }
    };
    ($fixture:expr; $($behaviour:ident)*) => {$(
        #[tokio::test]
        async fn $behaviour() {
            $crate::conformance::toolset::$behaviour(($fixture)().await).await;
        }
    )*};
}
