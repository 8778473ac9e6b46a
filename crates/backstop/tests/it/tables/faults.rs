//! Symfony AI: the fault tolerant toolbox, which tells the model what went wrong.

use std::collections::BTreeMap;

use backstop::{Agent, ModelError, ModelErrorKind, ToolError, ToolOutput, ToolSpec};
use backstop_test::{Reply, TestModel, TestToolset};
use futures_util::FutureExt;
use serde_json::json;

use super::{
    kit::{Row, check},
    report::{Log, left_out},
    server::Answer,
    shapes::{TextAndNumber, WithEnums},
    surface::{Case, Failure, Surface, Tool, functions},
};

/// Throws an error of no known type; a service answers with a page for its own developers.
pub(super) fn faulty(name: &'static str) -> Tool {
    Tool::new::<()>(name).does(
        |_| Err("Tool error.".into()),
        |_| Answer::Whole("500 Internal Server Error", "text/html", "<html><body>Tool error.".into()),
    )
}

/// Throws an error that says something to the model.
pub(super) fn outspoken(name: &'static str) -> Tool {
    Tool::new::<()>(name).does(
        |_| {
            Err(Failure::from(
                ToolError::rejected("refused").with_status(422).with_code("ERR42").say("custom"),
            ))
        },
        |_| {
            Answer::json(
                "422 Unprocessable Entity",
                r#"{"error":true,"error_code":"ERR42","message":"custom"}"#,
            )
        },
    )
}

pub(super) fn no_params(name: &'static str) -> Tool {
    Tool::new::<()>(name)
}

pub(super) fn required_params() -> Tool {
    Tool::new::<TextAndNumber>("tool_required_params")
}

pub(super) const TELLS_A_SERVICE: &str = "a service that fails is told apart from a tool that does";
const PRIVATE: &str = "a next step is added, and only operators read the cause";

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row::on_surfaces(
            "F1",
            "a tool throws an error of no known type",
            || Case::one(faulty("tool_foo"), "{}").limits(|limits| limits.call_retries = 0),
            &[
                "tool_foo internal",
                r#"An error occurred while executing tool "tool_foo". (error reference: REF)"#,
                "ran tool_foo {}",
            ],
        )
        .differs("the reference leads an operator to the cause")
        .except(
            Surface::Http,
            TELLS_A_SERVICE,
            &[
                "tool_foo upstream_failure",
                "POST /tool_foo answered 500 Internal Server Error",
                "There is no result: use another tool or tell the user, and do not make one up.",
                "ran tool_foo {}",
            ],
        ),
        Row::on_surfaces(
            "F2",
            "a tool is called that is not there",
            || Case::new(vec![no_params("tool_no_params"), required_params()], &[("tool_xyz", "{}")]),
            &[
                "tool_xyz unknown_tool",
                r#"Tool "tool_xyz" was not found, please use one of these: tool_no_params, tool_required_params."#,
                "Call one of these tools instead, or answer without a tool.",
                "ran nothing",
            ],
        )
        .differs(PRIVATE),
        Row::on_surfaces(
            "F3",
            "a tool throws an error with a payload for the model",
            || Case::one(outspoken("tool_custom"), "{}"),
            &[
                "tool_custom rejected",
                "custom (status 422)",
                "Change the call accordingly, or tell the user: the same call fails again.",
                "ran tool_custom {}",
            ],
        ).except(
Surface::Http,
"who answered is said in front of the words",
&[
                "tool_custom rejected",
                "POST /tool_custom answered 422 Unprocessable Entity: custom",
                "Change the call accordingly, or tell the user: the same call fails again.",
                "ran tool_custom {}",
            ],
)
        .differs("the model reads words and the next step, not a value that looks like a result"),
        Row::on_surfaces(
            "F4",
            "a missing argument is told through the whole toolbox",
            || {
                let tools = vec![no_params("tool_no_params"), required_params()];
                Case::new(tools, &[("tool_required_params", r#"{"text":"Hello"}"#)]).with_journal()
            },
            &[
                "tool_required_params invalid_arguments",
                r#"Parameter "number" is mandatory for tool "tool_required_params"."#,
                r#"Call tool_required_params again with "number" added."#,
                "ran nothing",
                "journal: started, model_replied, model_replied",
            ],
        ),
        Row::on_surfaces(
            "F5",
            "a value that fits no enum is told through the whole toolbox",
            || {
                let arguments = r#"{"searchTerms":["symfony"],"mode":"not_a_mode","priority":10}"#;
                Case::one(Tool::new::<WithEnums>("tool_with_backed_enums"), arguments).with_journal()
            },
            &[
                "tool_with_backed_enums invalid_arguments",
                r#"Invalid value for parameter "mode" of tool "tool_with_backed_enums": must be one of "and", "or", "not"; got "not_a_mode""#,
                r#"Call tool_with_backed_enums again with "mode" corrected."#,
                "ran nothing",
                "journal: started, model_replied, model_replied",
            ],
        ),
        Row::own(
            "F6",
            "a tool whose set-up is wrong is told to the host",
            || {
                async {
                    let spec = ToolSpec::new("broken", json!({"type": "no such type"}));
                    let tools = TestToolset::new("table").tool(spec, |_, _| async { Ok(().into()) });
                    left_out(Agent::builder(TestModel::new([])).toolset(tools)).await
                }
                .boxed()
            },
            &[
                "tool `broken` of toolset `table` is left out: its input schema can't be used: \"no such type\" is not valid under any of the schemas listed in the 'anyOf' keyword (at `/type`)",
                "tools: ",
            ],
        ),
        Row::on_surfaces(
            "F6",
            "a limit that is reached is told to the host",
            || Case::one(no_params("tool_no_params"), "{}").limits(|limits| limits.turns = 1),
            &["tool_no_params ok", "{}", "ran tool_no_params {}", "limit_reached: turns after 1 turns"],
        ),
        Row::own(
            "F6",
            "a result that can't be written is told to the host",
            || {
                async {
                    let tool = no_params("tool_odd").does(
                        |_| Ok(ToolOutput::json(&BTreeMap::from([(vec![1], 2)]))?),
                        |_| Answer::Cut,
                    );
                    let model = TestModel::new([Reply::calls(&[("tool_odd", "{}")]), Reply::text("done")]);
                    let tools = functions(&[tool], &Log::default());
                    let (agent, _) = Agent::builder(model).toolset(tools).build().await;
                    let report = agent.run("go").await.unwrap();
                    let failure = &report.failures()[0];
                    vec![format!("{}: {} {:?}", failure.kind, failure.message, failure.causes)]
                }
                .boxed()
            },
            &[r#"invalid_output: the tool's result does not serialise ["key must be a string"]"#],
        ),
        Row::on_surfaces(
            "F6",
            "a model that fails is told to the host",
            || {
                let error = ModelError::new(ModelErrorKind::Unauthenticated, "no key");
                let script = vec![Reply::calls(&[("tool_no_params", "{}")]), Reply::Fail(error)];
                Case::new(vec![no_params("tool_no_params")], &[]).script(script)
            },
            &[
                "tool_no_params ok",
                "{}",
                "ran tool_no_params {}",
                "model_failed: the model server did not accept the API key: no key",
            ],
        ),
    ]
}

#[tokio::test]
async fn symfony_fault_cases() {
    check(rows()).await;
}
