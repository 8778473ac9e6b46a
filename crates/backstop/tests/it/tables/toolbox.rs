//! Symfony AI: what becomes of a call between the model and the tool.

use std::sync::Arc;

use async_trait::async_trait;
use backstop::{
    Action, Agent, Answer, Approve, CallContext, Effect, Strategy, ToolError, ToolErrorKind, ToolOutput,
    ToolPolicy, ToolSpec, Toolset, ValidCall, When,
    function::{FnTool, FnToolset},
    http::{Endpoint, HttpConfig, HttpToolset, Method},
};
use backstop_test::{Reply, TestModel, TestToolset};
use futures_util::FutureExt;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    faults::{TELLS_A_SERVICE, faulty, no_params, outspoken, required_params},
    kit::{Lines, Row, check, lines},
    report::{Log, left_out, on_offer, told},
    server::{Answer as HttpAnswer, client},
    shapes::OnDate,
    surface::{Case, Surface, Tool, endpoints, functions},
};

fn greets(arguments: &Value) -> String {
    format!("{} says \"{}\".", arguments["text"].as_str().unwrap(), arguments["number"])
}

fn weekday(arguments: &Value) -> String {
    format!("Weekday: {}", OnDate::deserialize(arguments).unwrap().date.weekday())
}

fn needs_approval(policy: &mut ToolPolicy) {
    policy.approve = Approve::Always;
}

pub(super) fn rows() -> Vec<Row> {
    [toolbox(), declared(), built()].into_iter().flatten().collect()
}

/// The toolbox itself.
fn toolbox() -> Vec<Row> {
    vec![
        Row::on_surfaces(
            "B1",
            "a tool that is not there starts nothing",
            || Case::new(vec![no_params("tool_no_params")], &[("foo_bar_baz", "{}")]).with_journal(),
            &[
                "foo_bar_baz unknown_tool",
                r#"Tool "foo_bar_baz" was not found, please use one of these: tool_no_params."#,
                "Call one of these tools instead, or answer without a tool.",
                "ran nothing",
                "journal: started, model_replied, model_replied",
            ],
        )
        .differs("the model is always told, there is no mode in which it is not"),
        Row::on_surfaces(
            "B3",
            "a tool throws",
            || Case::one(faulty("tool_exception").mutating(), "{}").with_journal(),
            &[
                "tool_exception internal",
                r#"An error occurred while executing tool "tool_exception". (error reference: REF)"#,
                "The call may have taken effect: verify before repeating it, or tell the user.",
                "ran tool_exception {}",
                "journal: started, model_replied, tool_started, tool_finished, model_replied",
            ],
        )
        .differs("the text of an error of no known type is for operators alone")
        .except(
            Surface::Http,
            TELLS_A_SERVICE,
            &[
                "tool_exception upstream_failure",
                "POST /tool_exception answered 500 Internal Server Error",
                "The call may have taken effect: verify before repeating it, or tell the user.",
                "ran tool_exception {}",
                "journal: started, model_replied, tool_started, tool_finished, model_replied",
            ],
        ),
        Row::on_surfaces(
            "B4",
            "a tool throws an error that says something",
            || Case::one(outspoken("tool_custom"), "{}").with_journal(),
            &[
                "tool_custom rejected",
                "custom (status 422)",
                "Change the call accordingly, or tell the user: the same call fails again.",
                "ran tool_custom {}",
                "journal: started, model_replied, tool_started, tool_finished, model_replied",
            ],
        ).except(
Surface::Http,
"who answered is said in front of the words",
&[
                "tool_custom rejected",
                "POST /tool_custom answered 422 Unprocessable Entity: custom",
                "Change the call accordingly, or tell the user: the same call fails again.",
                "ran tool_custom {}",
                "journal: started, model_replied, tool_started, tool_finished, model_replied",
            ],
),
        Row::on_surfaces(
            "B5",
            "a call succeeds",
            || Case::one(no_params("tool_no_params"), "{}").with_journal(),
            &[
                "tool_no_params ok",
                "{}",
                "ran tool_no_params {}",
                "journal: started, model_replied, tool_started, tool_finished, model_replied",
            ],
        ),
        Row::on_surfaces(
            "B6",
            "a tool gets its arguments",
            || {
                let tool = required_params().does(|a| Ok(greets(a).into()), |a| HttpAnswer::text(greets(a)));
                Case::one(tool, r#"{"text":"Hello","number":3}"#)
            },
            &[
                "tool_required_params ok",
                r#"Hello says "3"."#,
                r#"ran tool_required_params {"text":"Hello","number":3}"#,
            ],
        ),
        Row::on_surfaces(
            "B7",
            "a tool gets a date",
            || {
                let tool = Tool::new::<OnDate>("tool_date");
                let tool = tool.does(|a| Ok(weekday(a).into()), |a| HttpAnswer::text(weekday(a)));
                Case::one(tool, r#"{"date":"2025-06-29"}"#)
            },
            &["tool_date ok", "Weekday: Sunday", r#"ran tool_date {"date":"2025-06-29"}"#],
        ),
        Row::on_surfaces(
            "B10",
            "two tools of one type are two tools",
            || {
                let calc = no_params("calc").does(|_| Ok("4".into()), |_| HttpAnswer::text("4"));
                let convert = no_params("convert").does(|_| Ok("9 km".into()), |_| HttpAnswer::text("9 km"));
                Case::new(vec![calc, convert], &[("convert", "{}"), ("calc", "{}")])
            },
            &["convert ok", "9 km", "calc ok", "4", "ran calc {}", "ran convert {}"],
        ),
        Row::on_surfaces(
            "B12",
            "a tool gives a source",
            || {
                const RESULT: &str =
                    r#"{"text":"Mild.","sources":[{"name":"Almanac","reference":"https://a.example","content":"May"}]}"#;
                let code = |_: &Value| Ok(ToolOutput::Json(serde_json::from_str(RESULT)?));
                Case::one(no_params("almanac").does(code, |_| HttpAnswer::json("200 OK", RESULT)), "{}")
            },
            &[
                "almanac ok",
                r#"{"text":"Mild.","sources":[{"name":"Almanac","reference":"https://a.example","content":"May"}]}"#,
                "ran almanac {}",
            ],
        )
        .differs("sources are a part of the value, which the host reads whole in the report"),
        Row::own(
            "B13",
            "a tool is on offer that its toolset does not have",
            || ghost().boxed(),
            &[
                "ghost unknown_tool",
                r#"Tool "ghost" was not found."#,
                "Call another tool instead, or answer without a tool.",
                "ran nothing",
            ],
        ),
        Row::on_surfaces(
            "B14",
            "arguments that do not fit start nothing",
            || Case::one(required_params(), r#"{"text":"Hello"}"#).with_journal(),
            &[
                "tool_required_params invalid_arguments",
                r#"Parameter "number" is mandatory for tool "tool_required_params"."#,
                r#"Call tool_required_params again with "number" added."#,
                "ran nothing",
                "journal: started, model_replied, model_replied",
            ],
        ),
    ]
}

/// What somebody declared or said about a call.
fn declared() -> Vec<Row> {
    vec![
        Row::on_surfaces(
            "B8",
            "a call is denied, with a reason",
            || {
                let case = Case::one(no_params("tool_no_params"), "{}").policy(needs_approval);
                case.answered(Answer::Refuse { reason: Some("Not on Fridays.".into()) }).with_journal()
            },
            &[
                "tool_no_params denied",
                r#"A person did not allow the call of tool "tool_no_params": Not on Fridays."#,
                "Do not repeat the call: go on without it, or tell the user.",
                "ran nothing",
                "journal: started, model_replied, resumed, refused, model_replied",
            ],
        )
        .differs("the model is told that it is a refusal, not given the reason as a result"),
        Row::on_surfaces(
            "B9",
            "a value takes the place of the result",
            || {
                let case = Case::one(no_params("tool_no_params"), "{}").policy(|policy| {
                    needs_approval(policy);
                    let action = Action::UseValue { value: json!({"foo": "bar"}), note: None };
                    policy.strategies = vec![Strategy { when: When::kind(ToolErrorKind::Denied), action }];
                });
                case.answered(Answer::Refuse { reason: None })
            },
            &[
                "tool_no_params ok after denied",
                r#"Tool "tool_no_params" failed; this value is served in its place:"#,
                r#"{"foo":"bar"}"#,
                "ran nothing",
            ],
        )
        .differs("the model is told that the value is not the tool's"),
        Row::on_surfaces(
            "B15",
            "a call is denied without a reason",
            || {
                let case = Case::one(no_params("tool_no_params"), "{}").policy(needs_approval);
                case.answered(Answer::Refuse { reason: None })
            },
            &[
                "tool_no_params denied",
                r#"A person did not allow the call of tool "tool_no_params"."#,
                "Do not repeat the call: go on without it, or tell the user.",
                "ran nothing",
            ],
        ),
    ]
}

/// What is found wrong before anything runs.
fn built() -> Vec<Row> {
    vec![
        Row::own(
            "B2",
            "a function can't be a tool",
            || {
                async {
                    let tool =
                        FnTool::new("foo", |_: Vec<i64>, _: CallContext| async { Ok::<_, ToolError>(()) });
                    left_out(Agent::builder(TestModel::new([])).toolset(FnToolset::from(tool))).await
                }
                .boxed()
            },
            &[
                "toolset `foo` is left out: it did not list its tools",
                "  misconfigured: toolset `foo`: tool `foo` can't be offered: its arguments are not an object",
                "tools: ",
            ],
        ),
        Row::own(
            "B2",
            "an endpoint can't be a tool",
            || {
                async {
                    let mut config = HttpConfig::new("table", "http://127.0.0.1".parse().unwrap(), client());
                    let spec = ToolSpec::new("foo", json!({"type": "object"}));
                    config.endpoints = vec![Endpoint::new(spec, Method::GET, "/orders/{id}")];
                    lines([HttpToolset::new(config).unwrap_err()])
                }
                .boxed()
            },
            &["misconfigured: tool `foo`: nothing is declared for `{id}` of path `/orders/{id}`"],
        ),
        Row::own(
            "B11",
            "two toolsets have a tool of the same name",
            || overridden().boxed(),
            &[
                "tools: lookup, second_lookup",
                "lookup ok",
                "first",
                "second_lookup ok",
                "second",
                "ran nothing",
            ],
        )
        .differs("the tool that is declared first keeps the name, and the other one is not lost"),
        Row::own(
            "B16",
            "two functions of a toolset have one name",
            || {
                async {
                    let tools = [no_params("twice"), no_params("twice")];
                    left_out(Agent::builder(TestModel::new([])).toolset(functions(&tools, &Log::default())))
                        .await
                }
                .boxed()
            },
            &[
                "toolset `table` is left out: it did not list its tools",
                "  misconfigured: toolset `table` has more than one tool `twice`",
                "tools: ",
            ],
        ),
        Row::own(
            "B16",
            "two tools of a toolset that does not check have one name",
            || {
                async {
                    let schema = || json!({"type": "object"});
                    let tools = TestToolset::new("table")
                        .tool(ToolSpec::new("twice", schema()), |_, _| async { Ok("first".into()) })
                        .tool(ToolSpec::new("twice", schema()), |_, _| async { Ok("second".into()) });
                    left_out(Agent::builder(TestModel::new([])).toolset(tools)).await
                }
                .boxed()
            },
            &[
                "tool `twice` of toolset `table` is left out: the toolset has two tools of this name",
                "tools: twice",
            ],
        ),
        Row::own(
            "B16",
            "two endpoints of a toolset have one name",
            || {
                async {
                    let tools = [no_params("twice"), no_params("twice")];
                    lines([endpoints(&tools, "http://127.0.0.1").unwrap_err()])
                }
                .boxed()
            },
            &["misconfigured: toolset `table` has more than one tool `twice`"],
        ),
    ]
}

/// Offers a tool that it does not have.
struct Ghost;

#[async_trait]
impl Toolset for Ghost {
    fn name(&self) -> &str {
        "ghosts"
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(vec![ToolSpec::new("ghost", Value::Null).effect(Effect::ReadOnly)])
    }

    async fn call(&self, call: &ValidCall, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        TestToolset::new("empty").call(call, cx).await
    }
}

async fn ghost() -> Lines {
    let model = TestModel::new([Reply::calls(&[("ghost", "{}")]), Reply::text("done")]);
    let (agent, problems) = Agent::builder(model.clone()).toolset(Ghost).build().await;
    assert!(problems.is_empty(), "{problems:?}");
    told(&agent.run("go").await.unwrap(), &model, &Log::default())
}

async fn overridden() -> Lines {
    let toolset = |name: &'static str| {
        let spec = ToolSpec::new("lookup", Value::Null).effect(Effect::ReadOnly);
        Arc::new(TestToolset::new(name).tool(spec, move |_, _| async move { Ok(name.into()) }))
    };
    let calls = [("lookup", "{}"), ("second_lookup", "{}")];
    let model = TestModel::new([Reply::calls(&calls), Reply::text("done")]);
    let (agent, problems) = Agent::builder(model.clone())
        .toolset_with(toolset("first"), Default::default())
        .toolset_with(toolset("second"), Default::default())
        .build()
        .await;
    assert!(problems.is_empty(), "{problems:?}");
    let report = agent.run("go").await.unwrap();
    [vec![on_offer(&agent)], told(&report, &model, &Log::default())].concat()
}

#[tokio::test]
async fn symfony_toolbox_cases() {
    check(rows()).await;
}
