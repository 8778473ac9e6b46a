//! A toolset of functions, as a run sees it.

use std::time::Duration;

use backstop_core::{CallContext, Effect, ToolError, ToolErrorKind, ToolOutput, Toolset};
use backstop_toolsets::function::{FnTool, FnToolset, Json};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::support::{call, context, valid};

/// Not the description of the tool.
#[derive(Deserialize, JsonSchema)]
struct AddArgs {
    a: i64,
    /// The other one.
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Unit;

fn add() -> FnTool {
    FnTool::new("add", |args: AddArgs, _cx: CallContext| async move { Ok::<_, ToolError>(args.a + args.b) })
        .description("Adds two integers.")
        .effect(Effect::ReadOnly)
        .timeout(Duration::from_secs(3))
}

#[tokio::test]
async fn a_function_is_called_with_its_arguments() {
    let output = call(&FnToolset::from(add()), "add", json!({"a": 3, "b": 4.0})).await.unwrap();
    assert_eq!(output, ToolOutput::from(7_i64));
}

#[tokio::test]
async fn the_schema_comes_from_the_type() {
    let specs = FnToolset::from(add()).list().await.unwrap();
    assert_eq!(
        specs[0].input_schema,
        json!({
            "description": "Not the description of the tool.",
            "type": "object",
            "properties": {
                "a": {"type": "integer", "format": "int64"},
                "b": {"description": "The other one.", "type": "integer", "format": "int64"},
            },
            "required": ["a", "b"],
        })
    );
}

#[tokio::test]
async fn functions_without_parameters_take_the_empty_object() {
    let toolset = FnToolset::new("t")
        .tool(FnTool::new("nothing", |(): (), _cx: CallContext| async { Ok::<_, ToolError>("done") }))
        .tool(FnTool::new("unit", |Unit, cx: CallContext| async move {
            Ok::<_, ToolError>(Json(json!({"key": cx.idempotency_key})))
        }));
    assert_eq!(call(&toolset, "nothing", json!({})).await.unwrap(), ToolOutput::text("done"));
    assert_eq!(call(&toolset, "unit", json!({})).await.unwrap(), ToolOutput::Json(json!({"key": "key_1"})));
}

#[tokio::test]
async fn what_is_declared_is_listed() {
    let tool = add().exclusive().find_with("f").check_with("c").honours_idempotency_key();
    let toolset = FnToolset::new("math").tool(tool);
    assert_eq!(toolset.name(), "math");
    assert_eq!(toolset.timeout_of("add"), Some(Duration::from_secs(3)));
    assert_eq!(toolset.timeout_of("sub"), None);
    let spec = toolset.list().await.unwrap().remove(0);
    assert!(!spec.parallel_safe && spec.honours_idempotency_key);
    assert_eq!((spec.find_with.as_deref(), spec.check_with.as_deref()), (Some("f"), Some("c")));
    assert_eq!((spec.effect, spec.description.as_str()), (Effect::ReadOnly, "Adds two integers."));
}

#[tokio::test]
async fn two_tools_of_one_name_are_reported_and_neither_is_called() {
    let call = valid(&FnToolset::from(add()), "add", json!({"a": 1, "b": 2})).await;
    let toolset = FnToolset::new("math").tool(add()).tool(add());
    let error = toolset.list().await.unwrap_err();
    assert_eq!(error.to_string(), "misconfigured: toolset `math` has more than one tool `add`");
    assert_eq!(toolset.call(&call, &context()).await.unwrap_err().kind(), ToolErrorKind::UnknownTool);
}

#[tokio::test]
async fn arguments_that_are_not_an_object_are_reported() {
    let tool = FnTool::new("t", |n: i32, _cx: CallContext| async move { Ok::<_, ToolError>(n) });
    let error = FnToolset::from(tool).list().await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Misconfigured);
}

#[tokio::test]
async fn an_unknown_name_is_an_unknown_tool() {
    let call = valid(&FnToolset::from(add()), "add", json!({"a": 1, "b": 2})).await;
    let error = FnToolset::new("empty").call(&call, &context()).await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::UnknownTool);
}
