//! The way from a model's call to a toolset, as a run takes it.

use std::time::Duration;

use backstop_core::{
    CallContext, Catalog, Reference, RunId, ToolCall, ToolError, ToolOutput, ToolPolicy, Toolset, ValidCall,
    catalog::CatalogSource, error::ViewFacts,
};
use serde_json::Value;

pub(crate) async fn catalog(toolset: &dyn Toolset) -> Catalog {
    let tools = toolset.list().await.unwrap().into_iter().map(|spec| (spec, ToolPolicy::default())).collect();
    let (catalog, problems) = Catalog::build(vec![CatalogSource::new(toolset.name(), tools)]);
    assert_eq!(problems, []);
    catalog
}

pub(crate) async fn valid(toolset: &dyn Toolset, tool: &str, arguments: Value) -> ValidCall {
    catalog(toolset).await.validate(&ToolCall::new("call_1", tool, arguments.to_string())).unwrap()
}

pub(crate) fn context() -> CallContext {
    context_for(Duration::from_secs(20))
}

pub(crate) fn context_for(timeout: Duration) -> CallContext {
    CallContext::new(RunId::new("run_1"), 1, timeout, "key_1")
}

/// One attempt of a call whose arguments fit.
pub(crate) async fn call(
    toolset: &dyn Toolset,
    tool: &str,
    arguments: Value,
) -> Result<ToolOutput, ToolError> {
    toolset.call(&valid(toolset, tool, arguments).await, &context()).await
}

/// What the model reads about a failure.
pub(crate) async fn view(toolset: &dyn Toolset, tool: &str, error: &ToolError) -> String {
    let catalog = catalog(toolset).await;
    let spec = &catalog.get(tool).unwrap().spec;
    let facts = ViewFacts::new(tool, spec.effect, Reference::new(0x1a2b_3c4d))
        .find_with(spec.find_with.as_deref())
        .check_with(spec.check_with.as_deref());
    facts.view(error, None).to_string()
}
