//! langchain-rust: its executor and its tools.

use std::time::Duration;

use backstop::{
    Agent, Message, ToolError,
    deployment::{OpenAiConfig, OpenAiModel},
    function::FnToolset,
};
use backstop_test::{Reply, TestModel};
use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    kit::{Lines, Row, check, lines},
    report::{Log, conversation, ended},
    server::{Answer, Server, client},
    surface::{Body, Case, Failure, Surface, Tool, functions},
};

/// The one field that a tool of that system has where it declares none.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    input: String,
}

/// An argument that is itself a map.
#[derive(Serialize, Deserialize, JsonSchema)]
struct ActionInput {
    action_input: serde_json::Map<String, Value>,
}

fn calculator() -> Tool {
    Tool::new::<Input>("calculator").does(|_| Ok("42".into()), |_| Answer::text("42"))
}

/// Fails with the words of its service.
fn failing(name: &'static str) -> Tool {
    Tool::new::<()>(name).does(
        |_| {
            let cause = std::io::Error::other("row 7 of table orders");
            let error = ToolError::rejected("refused").with_status(422).say("Out of stock.");
            Err(Failure::from(error.with_source(cause)))
        },
        |_| Answer::json("422 Unprocessable Entity", r#"{"message":"Out of stock."}"#),
    )
}

pub(super) fn rows() -> Vec<Row> {
    [loops(), failures(), arguments(), replies(), conversations()].into_iter().flatten().collect()
}

fn loops() -> Vec<Row> {
    vec![
        Row::own(
            "X1",
            "the model answers at once",
            || {
                async {
                    let model = TestModel::new([Reply::text("42")]);
                    vec![ended(&agent(&model, functions(&[calculator()], &Log::default())).await.run("go").await.unwrap())]
                }
                .boxed()
            },
            &["answered: 42"],
        ),
        Row::on_surfaces(
            "X2",
            "the model calls a tool, then answers",
            || Case::one(calculator(), r#"{"input":"6*7"}"#),
            &["calculator ok", "42", r#"ran calculator {"input":"6*7"}"#],
        ),
        Row::on_surfaces(
            "X3",
            "the model calls a tool that is not there",
            || Case::new(vec![calculator()], &[("nonexistent", r#"{"input":"6*7"}"#)]),
            &[
                "nonexistent unknown_tool",
                r#"Tool "nonexistent" was not found, please use one of these: calculator."#,
                "Call one of these tools instead, or answer without a tool.",
                "ran nothing",
            ],
        )
        .differs("the run goes on, where that of the table ends"),
        Row::on_surfaces(
            "X3",
            "the model calls a tool whose name it almost knows",
            || Case::new(vec![calculator()], &[("calculater", r#"{"input":"6*7"}"#)]),
            &[
                "calculater unknown_tool",
                r#"Tool "calculater" was not found, please use one of these: calculator. Did you mean "calculator"?"#,
                r#"Call it again with: calculator {"input":"6*7"}"#,
                "ran nothing",
            ],
        )
        .differs("the run goes on, where that of the table ends"),
        Row::on_surfaces(
            "X4",
            "the model never stops",
            || {
                let call = Reply::calls(&[("calculator", r#"{"input":"6*7"}"#)]);
                Case::new(vec![calculator()], &[]).script(vec![call; 5]).limits(|limits| limits.turns = 2)
            },
            &[
                "calculator ok",
                "42",
                "calculator ok",
                "42",
                r#"ran calculator {"input":"6*7"}"#,
                r#"ran calculator {"input":"6*7"}"#,
                "limit_reached: turns after 2 turns",
            ],
        )
        .differs("a limit is an outcome of its own, not an answer with a sentence in it"),
        Row::on_surfaces(
            "X5",
            "the calls of one turn are more than the run may make",
            || {
                let call = ("calculator", r#"{"input":"6*7"}"#);
                Case::new(vec![calculator()], &[call, call, call]).limits(|limits| limits.tool_calls = 2)
            },
            &[
                "calculator ok",
                "42",
                "calculator ok",
                "42",
                "calculator limit_reached",
                r#"The call of tool "calculator" was not made: the run's limit of tool calls is reached."#,
                "Answer with what you have.",
                r#"ran calculator {"input":"6*7"}"#,
                r#"ran calculator {"input":"6*7"}"#,
                "limit_reached: tool_calls after 1 turns",
            ],
        )
        .differs("the limit holds within a turn too"),
    ]
}

fn failures() -> Vec<Row> {
    vec![
        Row::on_surfaces(
            "X6",
            "a tool fails with words for the model and a cause for operators",
            || Case::one(failing("order"), "{}"),
            &[
                "order rejected",
                "Out of stock. (status 422)",
                "Change the call accordingly, or tell the user: the same call fails again.",
                "ran order {}",
            ],
        ).except(
Surface::Http,
"who answered is said in front of the words",
&[
                "order rejected",
                "POST /order answered 422 Unprocessable Entity: Out of stock.",
                "Change the call accordingly, or tell the user: the same call fails again.",
                "ran order {}",
            ],
)
        .differs("only words that are meant for the caller reach the model"),
        Row::own(
            "X6",
            "the host reads the whole cause",
            || {
                async {
                    let model = TestModel::new([Reply::calls(&[("order", "{}")]), Reply::text("done")]);
                    let tools = functions(&[failing("order")], &Log::default());
                    let report = agent(&model, tools).await.run("go").await.unwrap();
                    let failure = &report.failures()[0];
                    vec![
                        format!("{} of {}: {}", failure.kind, failure.tool, failure.message),
                        format!("status {:?}, said {:?}", failure.status, failure.said),
                        format!("causes {:?}", failure.causes),
                    ]
                }
                .boxed()
            },
            &[
                "rejected of order: refused",
                r#"status Some(422), said Some("Out of stock.")"#,
                r#"causes ["row 7 of table orders"]"#,
            ],
        ),
        Row::on_surfaces(
            "X7",
            "the text of a failure holds a secret",
            || {
                const TEXT: &str = "no answer from https://api.example/search?key=hunter2-hunter2";
                let tool = Tool::new::<()>("search").does(
                    |_| Err(Failure::from(ToolError::rejected(TEXT).with_status(400).say(TEXT))),
                    |_| Answer::Whole("400 Bad Request", "text/plain", TEXT.into()),
                );
                Case::one(tool, "{}").secrets(&["hunter2-hunter2"])
            },
            &[
                "search rejected",
                "no answer from https://api.example/search?key=[secret] (status 400)",
                "Change the call accordingly, or tell the user: the same call fails again.",
                "ran search {}",
            ],
        ).except(
Surface::Http,
"who answered is said in front of the words",
&[
                "search rejected",
                "POST /search answered 400 Bad Request: no answer from https://api.example/search?key=[secret]",
                "Change the call accordingly, or tell the user: the same call fails again.",
                "ran search {}",
            ],
),
        Row::on_surfaces(
            "X17",
            "one of three calls fails",
            || {
                let tools = vec![Tool::new::<()>("one"), failing("two"), Tool::new::<()>("three")];
                Case::new(tools, &[("one", "{}"), ("two", "{}"), ("three", "{}")])
            },
            &[
                "one ok",
                "{}",
                "two rejected",
                "Out of stock. (status 422)",
                "Change the call accordingly, or tell the user: the same call fails again.",
                "three ok",
                "{}",
                "ran one {}",
                "ran three {}",
                "ran two {}",
            ],
        ).except(
Surface::Http,
"who answered is said in front of the words",
&[
                "one ok",
                "{}",
                "two rejected",
                "POST /two answered 422 Unprocessable Entity: Out of stock.",
                "Change the call accordingly, or tell the user: the same call fails again.",
                "three ok",
                "{}",
                "ran one {}",
                "ran three {}",
                "ran two {}",
            ],
),
        Row::on_surfaces(
            "X19",
            "a tool panics",
            || {
                let tool = Tool::new::<()>("boom").mutating();
                Case::one(tool.does(|_| panic!("boom at 10.1.2.3"), |_| Answer::Cut), "{}")
            },
            &[
                "boom internal",
                r#"An error occurred while executing tool "boom". (error reference: REF)"#,
                "The call may have taken effect: verify before repeating it, or tell the user.",
                "ran boom {}",
            ],
        )
        .except(
            Surface::Http,
            "of a service that dies nothing is known but the broken connection",
            &[
                "boom unavailable",
                r#"Tool "boom" is unavailable."#,
                "The call may have taken effect: verify before repeating it, or tell the user.",
                "ran boom {}",
            ],
        ),
        Row::on_surfaces(
            "X20",
            "a tool never ends",
            || {
                let tool = Tool::new::<()>("slow").mutating().body(Body::Hangs);
                Case::one(tool, "{}").limits(|limits| limits.tool_timeout = Duration::from_millis(500))
            },
            &[
                "slow timeout",
                r#"Tool call "slow" timed out after 500 milliseconds."#,
                "The call may have taken effect: verify before repeating it, or tell the user.",
                "ran slow {}",
            ],
        ),
    ]
}

fn arguments() -> Vec<Row> {
    vec![
        Row::on_surfaces(
            "X8",
            "an argument has a name of another tool",
            || Case::one(calculator(), r#"{"query":"rust"}"#),
            &[
                "calculator invalid_arguments",
                r#"Parameter "input" is mandatory for tool "calculator"."#,
                r#"Parameter "query" does not exist for tool "calculator", please use one of these: input."#,
                r#"Call calculator again with "input" added and "query" removed."#,
                "ran nothing",
            ],
        )
        .differs("the tool is never given the JSON text as its input"),
        Row::on_surfaces(
            "X9",
            "the arguments are not JSON",
            || Case::one(calculator(), "{bad"),
            &[
                "calculator malformed_arguments",
                r#"The arguments of tool "calculator" are not valid JSON: key must be a string at column 2; got {bad"#,
                "Send all arguments again as one JSON object.",
                "ran nothing",
            ],
        )
        .differs("the tool is never given a text that is not JSON"),
        Row::on_surfaces(
            "X10",
            "an argument is a map",
            || Case::one(Tool::new::<ActionInput>("act"), r#"{"action_input":{"city":"Turin","days":2}}"#),
            &[
                "act ok",
                r#"{"action_input":{"city":"Turin","days":2}}"#,
                r#"ran act {"action_input":{"city":"Turin","days":2}}"#,
            ],
        ),
    ]
}

fn replies() -> Vec<Row> {
    vec![
        Row::own(
            "X11",
            "an answer that looks like an empty list of calls is an answer",
            || answered(r#"{"content":"[]"}"#).boxed(),
            &["answered: []"],
        ),
        Row::own(
            "X12",
            "an answer with an empty list of calls is an answer",
            || answered(r#"{"content":"42","tool_calls":[]}"#).boxed(),
            &["answered: 42"],
        ),
        Row::own(
            "X13",
            "a reply has text and a call",
            || {
                async {
                    let reply = r#"{"content":"Let me see.","tool_calls":[{"id":"c1","type":"function","function":{"name":"calculator","arguments":"{\"input\":\"6*7\"}"}}]}"#;
                    let (_server, agent) = served(&[reply, r#"{"content":"done"}"#]).await;
                    conversation(&agent.run("go").await.unwrap().messages())
                }
                .boxed()
            },
            &[
                "user go",
                r#"assistant Some("Let me see.") [c1=calculator{"input":"6*7"}]"#,
                "tool c1 42",
                r#"assistant Some("done") []"#,
            ],
        ),
    ]
}

fn conversations() -> Vec<Row> {
    vec![
        Row::own(
            "X14",
            "a conversation with calls goes on in another run",
            || {
                async {
                    let call = Reply::calls(&[("calculator", r#"{"input":"6*7"}"#)]);
                    let model = TestModel::new([call.clone(), Reply::text("42"), call, Reply::text("still 42")]);
                    let agent = agent(&model, functions(&[calculator()], &Log::default())).await;
                    let mut messages = agent.run("What is 6*7?").await.unwrap().messages();
                    messages.push(Message::user("And now?"));
                    conversation(&agent.run(messages).await.unwrap().messages())
                }
                .boxed()
            },
            &[
                "user What is 6*7?",
                r#"assistant None [c1=calculator{"input":"6*7"}]"#,
                "tool c1 42",
                r#"assistant Some("42") []"#,
                "user And now?",
                r#"assistant None [call_1_0=calculator{"input":"6*7"}]"#,
                "tool call_1_0 42",
                r#"assistant Some("still 42") []"#,
            ],
        ),
        Row::own(
            "X15",
            "a conversation without anything in it",
            || {
                async {
                    let model = TestModel::new([Reply::text("Hello.")]);
                    let agent = agent(&model, functions(&[calculator()], &Log::default())).await;
                    conversation(&agent.run(Vec::new()).await.unwrap().messages())
                }
                .boxed()
            },
            &[r#"assistant Some("Hello.") []"#],
        )
        .differs("an empty conversation is asked as it is; a server that refuses it is a typed outcome"),
        Row::own(
            "X16",
            "a conversation was cut between a call and its result",
            || {
                async {
                    let call = Reply::calls(&[("calculator", r#"{"input":"6*7"}"#)]);
                    let model = TestModel::new([call, Reply::text("42")]);
                    let agent = agent(&model, functions(&[calculator()], &Log::default())).await;
                    let whole = agent.run("What is 6*7?").await.unwrap().messages();
                    let error = agent.run(whole[2..].to_vec()).await.unwrap_err();
                    let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |e| e.source());
                    lines(causes)
                }
                .boxed()
            },
            &["the conversation is not balanced: result `c1` without a call"],
        )
        .differs("no memory cuts a conversation here, and one that somebody cut is refused before a model reads it"),
        Row::own(
            "X18",
            "two tools have one name",
            || {
                async {
                    let tools = functions(&[calculator(), calculator()], &Log::default());
                    let (_, problems) = Agent::builder(TestModel::new([])).toolset(tools).build().await;
                    lines(problems.iter().flat_map(|problem| {
                        std::iter::successors(Some(problem as &dyn std::error::Error), |e| e.source())
                    }))
                }
                .boxed()
            },
            &[
                "toolset `table` is left out: it did not list its tools",
                "misconfigured: toolset `table` has more than one tool `calculator`",
            ],
        ),
    ]
}

async fn agent(model: &TestModel, tools: FnToolset) -> Agent {
    let (agent, problems) = Agent::builder(model.clone()).toolset(tools).build().await;
    assert!(problems.is_empty(), "{problems:?}");
    agent
}

/// An agent whose model server replies with these messages.
async fn served(messages: &[&str]) -> (Server, Agent) {
    let answer = |message: &&str| {
        let body = format!(r#"{{"choices":[{{"index":0,"message":{message},"finish_reason":"stop"}}]}}"#);
        Answer::json("200 OK", body)
    };
    let server = Server::in_order(messages.iter().map(answer).collect()).await;
    let config = OpenAiConfig::new(server.url.parse().unwrap(), "m", client());
    let tools = functions(&[calculator()], &Log::default());
    let (agent, problems) = Agent::builder(OpenAiModel::new(config).unwrap()).toolset(tools).build().await;
    assert!(problems.is_empty(), "{problems:?}");
    (server, agent)
}

async fn answered(message: &str) -> Lines {
    let (_server, agent) = served(&[message]).await;
    vec![ended(&agent.run("go").await.unwrap())]
}

#[tokio::test]
async fn langchain_rust_executor_cases() {
    check(rows()).await;
}
