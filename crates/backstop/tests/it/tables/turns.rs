//! Symfony AI: the loop of model replies and tool calls.

use std::sync::Arc;

use backstop::{
    Agent, AgentBuilder, Effect, Limits, Message, ModelReply, ToolCall, ToolOutput, ToolSpec,
    deployment::{OpenAiConfig, OpenAiModel},
};
use backstop_test::{Reply, TestModel, TestToolset};
use futures_util::FutureExt;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{
    kit::{Lines, Row, check},
    report::{Heard, Log, conversation, ended, told},
    server::{Answer, Server, client},
    surface::{Case, Tool, functions},
};

const CALL: &str = r#"{"choices":[{"index":0,"message":{"content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"NAME","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
const DONE: &str = r#"{"choices":[{"index":0,"message":{"content":"done"},"finish_reason":"stop"}]}"#;

pub(super) fn rows() -> Vec<Row> {
    [offers(), messages(), sources(), caps()].into_iter().flatten().collect()
}

/// Which tools a model is offered.
fn offers() -> Vec<Row> {
    vec![
        Row::own(
            "L1",
            "an agent without tools offers none",
            || offered(&[], None).boxed(),
            &["offers null", "ran nothing", "answered: done"],
        ),
        Row::own(
            "L2",
            "all tools are offered, in their order",
            || offered(&["c", "a", "b"], None).boxed(),
            &[r#"offers ["c","a","b"]"#, "ran nothing", "answered: done"],
        ),
        Row::own(
            "L3",
            "some tools are offered, in the order of the toolset",
            || offered(&["c", "b"], None).boxed(),
            &[r#"offers ["c","b"]"#, "ran nothing", "answered: done"],
        )
        .differs("which tools are on offer is said when an agent is built, not call by call"),
        Row::own(
            "L3b",
            "a tool that is not on offer stays so and can't be called",
            || offered(&["c", "b"], Some("a")).boxed(),
            &[
                r#"offers ["c","b"]"#,
                r#"offers ["c","b"]"#,
                r#"Tool "a" was not found, please use one of these: c, b."#,
                "Call one of these tools instead, or answer without a tool.",
                "ran nothing",
                "answered: done",
            ],
        ),
    ]
}

/// What is kept of a conversation.
fn messages() -> Vec<Row> {
    vec![
        Row::own(
            "L4",
            "the messages of a turn are kept",
            || {
                async {
                    let report = agent(&one_call()).await.run("go").await.unwrap();
                    conversation(&report.messages())
                }
                .boxed()
            },
            &["user go", "assistant None [c1=look{}]", "tool c1 {}", "assistant Some(\"done\") []"],
        ),
        Row::own(
            "L5",
            "the caller's own messages stay as they were",
            || {
                async {
                    let own = vec![Message::user("go")];
                    agent(&one_call()).await.run(own.clone()).await.unwrap();
                    conversation(&own)
                }
                .boxed()
            },
            &["user go"],
        ),
        Row::own(
            "L6",
            "a reply of several parts with one call",
            || parts(&["look"]).boxed(),
            &[
                "user go",
                "assistant Some(\"Text.\") [c1=look{}]",
                "tool c1 {}",
                "assistant Some(\"done\") []",
            ],
        ),
        Row::own(
            "L7",
            "a reply of several parts with several calls",
            || parts(&["look", "find"]).boxed(),
            &[
                "user go",
                "assistant Some(\"Text.\") [c1=look{} c2=find{}]",
                "tool c1 {}",
                "tool c2 {}",
                "assistant Some(\"done\") []",
            ],
        ),
        Row::own(
            "L8",
            "a reply without calls is the answer",
            || parts(&[]).boxed(),
            &["user go", "assistant Some(\"Text.\") []"],
        ),
        Row::own(
            "L18",
            "results keep the order of the calls, whichever ends first",
            || waiting_for_each_other().boxed(),
            &["first ok", "1", "second ok", "2", "ran nothing"],
        ),
        Row::own(
            "L18",
            "no call leads to no result",
            || {
                async {
                    let model = TestModel::new([Reply::text("done")]);
                    let report = agent(&model).await.run("go").await.unwrap();
                    told(&report, &model, &Log::default())
                }
                .boxed()
            },
            &["ran nothing"],
        ),
    ]
}

const SOURCES: &str = "sources are a part of a tool's value, which the host reads call by call in the report";

/// What the host gets of the sources that tools found.
fn sources() -> Vec<Row> {
    vec![
        Row::own(
            "L9",
            "a tool gives a source",
            || sources_of(&["a"], false).boxed(),
            &[r#"{"found":"a","sources":["https://a.example"]}"#],
        )
        .differs(SOURCES),
        Row::own("L10", "no tool gives a source", || sources_of(&[], false).boxed(), &[]).differs(SOURCES),
        Row::own(
            "L11",
            "tools of several turns give sources",
            || sources_of(&["a", "b"], false).boxed(),
            &[
                r#"{"found":"a","sources":["https://a.example"]}"#,
                r#"{"found":"b","sources":["https://b.example"]}"#,
            ],
        )
        .differs(SOURCES),
        Row::own(
            "L12",
            "a tool gives a source in a run that is streamed",
            || sources_of(&["a"], true).boxed(),
            &[r#"{"found":"a","sources":["https://a.example"]}"#],
        )
        .differs(SOURCES),
        Row::own(
            "L17",
            "a run after one that reached a limit has its own sources alone",
            || {
                async {
                    let script = [search("a"), search("b"), search("c"), Reply::text("done")];
                    let agent = searching(&TestModel::new(script), 2).await;
                    let first = agent.run("go").await.unwrap();
                    let second = agent.run("go").await.unwrap();
                    [vec![ended(&first)], outputs(&first), vec![ended(&second)], outputs(&second)].concat()
                }
                .boxed()
            },
            &[
                "limit_reached: turns after 2 turns",
                r#"{"found":"a","sources":["https://a.example"]}"#,
                r#"{"found":"b","sources":["https://b.example"]}"#,
                "answered: done",
                r#"{"found":"c","sources":["https://c.example"]}"#,
            ],
        )
        .differs(SOURCES),
    ]
}

/// How many turns a run has.
fn caps() -> Vec<Row> {
    vec![
        Row::on_surfaces(
            "L13",
            "a model that never stops is stopped, and the host is told which limit",
            || endless().limits(|limits| limits.turns = 3),
            &[
                "look ok",
                "{}",
                "look ok",
                "{}",
                "look ok",
                "{}",
                "ran look {}",
                "ran look {}",
                "ran look {}",
                "limit_reached: turns after 3 turns",
            ],
        ),
        Row::own(
            "L13",
            "a model that never stops is stopped while it is streamed",
            || {
                async {
                    let agent = capped(&TestModel::new(vec![look(); 9]), 3).await;
                    let run = agent.start("go").observer(Arc::new(Heard::default())).stream(true);
                    vec![ended(&run.drive().await.unwrap())]
                }
                .boxed()
            },
            &["limit_reached: turns after 3 turns"],
        ),
        Row::own(
            "L14",
            "two runs at the same time have three turns each",
            || {
                async {
                    let agent = capped(&TestModel::new(vec![look(); 9]), 3).await;
                    let (one, other) = tokio::join!(agent.run("one"), agent.run("other"));
                    vec![ended(&one.unwrap()), ended(&other.unwrap())]
                }
                .boxed()
            },
            &["limit_reached: turns after 3 turns", "limit_reached: turns after 3 turns"],
        ),
        Row::own(
            "L15",
            "a limit above the need changes nothing",
            || {
                async {
                    let agent = capped(&one_call(), 3).await;
                    vec![ended(&agent.run("go").await.unwrap())]
                }
                .boxed()
            },
            &["answered: done"],
        ),
        Row::own(
            "L16",
            "each run has a budget of its own",
            || {
                async {
                    let script = [look(), Reply::text("one"), look(), Reply::text("two")];
                    let agent = capped(&TestModel::new(script), 2).await;
                    let one = agent.run("go").await.unwrap();
                    let two = agent.run("go").await.unwrap();
                    vec![ended(&one), ended(&two)]
                }
                .boxed()
            },
            &["answered: one", "answered: two"],
        ),
    ]
}

fn look() -> Reply {
    Reply::calls(&[("look", "{}")])
}

fn one_call() -> TestModel {
    TestModel::new([look(), Reply::text("done")])
}

fn endless() -> Case {
    Case::new(vec![Tool::new::<()>("look")], &[]).script(vec![look(); 9])
}

fn builder(model: &TestModel) -> AgentBuilder {
    let tools = [Tool::new::<()>("look"), Tool::new::<()>("find")];
    Agent::builder(model.clone()).toolset(functions(&tools, &Log::default()))
}

async fn agent(model: &TestModel) -> Agent {
    built(builder(model)).await
}

/// An agent whose runs have so many turns.
async fn capped(model: &TestModel, turns: u32) -> Agent {
    let mut limits = Limits::default();
    limits.turns = turns;
    built(builder(model).limits(limits)).await
}

async fn built(builder: AgentBuilder) -> Agent {
    let (agent, problems) = builder.build().await;
    assert!(problems.is_empty(), "{problems:?}");
    agent
}

/// The conversation of a reply that has text and these calls.
async fn parts(calls: &[&str]) -> Lines {
    let calls = calls.iter().zip(1..).map(|(name, n)| ToolCall::new(format!("c{n}"), *name, "{}")).collect();
    let reply = ModelReply { text: Some("Text.".into()), ..ModelReply::calls(calls) };
    let model = TestModel::new([Reply::With(reply), Reply::text("done")]);
    conversation(&agent(&model).await.run("go").await.unwrap().messages())
}

/// What a model server is offered in each request by an agent of these tools, whose model calls `calls` first.
async fn offered(tools: &[&'static str], calls: Option<&str>) -> Lines {
    let answer = |body: String| Answer::json("200 OK", body);
    let call = calls.map(|name| answer(CALL.replace("NAME", name)));
    let server = Server::in_order(call.into_iter().chain([answer(DONE.to_owned())]).collect()).await;
    let config = OpenAiConfig::new(server.url.parse().unwrap(), "m", client());
    let log = Log::default();
    let tools: Vec<Tool> = tools.iter().map(|name| Tool::new::<()>(name)).collect();
    let model = OpenAiModel::new(config).unwrap();
    let agent = built(Agent::builder(model).toolset(functions(&tools, &log))).await;
    let report = agent.run("go").await.unwrap();
    let names = |body: &Value| {
        let tools = body["tools"].as_array()?;
        Some(tools.iter().map(|tool| tool["function"]["name"].clone()).collect::<Value>())
    };
    let mut lines: Lines =
        server.bodies().iter().map(|body| format!("offers {}", names(body).unwrap_or(Value::Null))).collect();
    lines.extend(
        report.calls().iter().flat_map(|call| call.view.lines().map(str::to_owned).collect::<Lines>()),
    );
    lines.extend(log.lines());
    lines.push(ended(&report));
    lines
}

/// `first` ends only after `second` has ended.
async fn waiting_for_each_other() -> Lines {
    let ended = Arc::new(Notify::new());
    let waits = Arc::clone(&ended);
    let spec = |name: &str| ToolSpec::new(name, Value::Null).effect(Effect::ReadOnly);
    let tools = TestToolset::new("table")
        .tool(spec("first"), move |_, _| {
            let waits = Arc::clone(&waits);
            async move {
                waits.notified().await;
                Ok(1.into())
            }
        })
        .tool(spec("second"), move |_, _| {
            ended.notify_one();
            async move { Ok(2.into()) }
        });
    let model = TestModel::new([Reply::calls(&[("first", "{}"), ("second", "{}")]), Reply::text("done")]);
    let agent = built(Agent::builder(model.clone()).toolset(tools)).await;
    told(&agent.run("go").await.unwrap(), &model, &Log::default())
}

fn search(word: &str) -> Reply {
    Reply::calls(&[("search", &json!({"word": word}).to_string())])
}

/// An agent whose tool gives a source with what it finds.
async fn searching(model: &TestModel, turns: u32) -> Agent {
    let schema = json!({"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]});
    let spec = ToolSpec::new("search", schema).effect(Effect::ReadOnly);
    let tools = TestToolset::new("table").tool(spec, |call, _| async move {
        let word = call.arguments()["word"].as_str().unwrap();
        let source = format!("https://{word}.example");
        Ok(ToolOutput::Json(json!({"found": word, "sources": [source]})))
    });
    let mut limits = Limits::default();
    limits.turns = turns;
    built(Agent::builder(model.clone()).toolset(tools).limits(limits)).await
}

/// What the host reads of the calls of a run that searches for these words.
async fn sources_of(words: &[&str], streamed: bool) -> Lines {
    let script = words.iter().map(|word| search(word)).chain([Reply::text("done")]);
    let agent = searching(&TestModel::new(script), 9).await;
    let run = agent.start("go").observer(Arc::new(Heard::default())).stream(streamed);
    outputs(&run.drive().await.unwrap())
}

fn outputs(report: &backstop::RunReport) -> Lines {
    report
        .calls()
        .iter()
        .map(|call| call.output.as_ref().map_or(Value::Null, ToolOutput::to_value).to_string())
        .collect()
}

#[tokio::test]
async fn symfony_turn_cases() {
    check(rows()).await;
}
