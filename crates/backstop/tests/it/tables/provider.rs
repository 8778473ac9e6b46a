//! Real failures of agents and tools, C01 to C40, as far as they are about what goes to and comes from a model server
//! that checks each request as the strictest ones do.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use backstop::{
    Agent, Message, ToolSpec,
    deployment::{OpenAiConfig, OpenAiModel},
    message::ResultContent,
};
use backstop_test::TestToolset;
use futures_util::FutureExt;
use serde_json::{Value, json};

use super::{
    kit::{Lines, Row, check},
    report::{conversation, ended},
    server::{Answer, Server, client},
};

pub(crate) const DONE: &str =
    r#"{"choices":[{"index":0,"message":{"content":"done"},"finish_reason":"stop"}]}"#;

/// A reply whose calls stand there as they are sent, and why it ended.
pub(crate) fn turn(calls: &str, finish: &str) -> String {
    format!(
        r#"{{"choices":[{{"index":0,"message":{{"content":null,"tool_calls":[{calls}]}},"finish_reason":{finish}}}]}}"#
    )
}

pub(crate) fn call(id: &str, function: &str) -> String {
    format!(r#"{{"id":"{id}","type":"function","function":{function}}}"#)
}

/// What a strict server has against a request.
fn refused(request: &Value) -> Option<String> {
    let fit = |name: &str| {
        (1..=64).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    let mut names = HashSet::new();
    for tool in request["tools"].as_array().into_iter().flatten() {
        let name = tool["function"]["name"].as_str().unwrap_or_default();
        if !fit(name) || !names.insert(name) {
            return Some(format!("tool name {name:?}"));
        }
    }
    let mut open: Vec<String> = Vec::new();
    let mut ids = HashSet::new();
    for message in request["messages"].as_array().into_iter().flatten() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            if open.first().is_none_or(|next| next != id) {
                return Some(format!("a result for {id:?} where {open:?} are open"));
            }
            open.remove(0);
            continue;
        }
        if !open.is_empty() {
            return Some(format!("no results for {open:?}"));
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let (id, function) = (call["id"].as_str().unwrap_or_default(), &call["function"]);
            let name = function["name"].as_str().unwrap_or_default();
            let arguments = function["arguments"].as_str().unwrap_or_default();
            let is_object = serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object());
            if id.is_empty() || !ids.insert(id.to_owned()) || !fit(name) || !is_object {
                return Some(format!("the call {call}"));
            }
            open.push(id.to_owned());
        }
    }
    (!open.is_empty()).then(|| format!("no results for {open:?} at the end"))
}

/// A strict server that gives these answers in turn.
pub(crate) async fn strict(answers: Vec<Answer>) -> Server {
    let rest = Mutex::new(answers.into_iter());
    Server::start(move |_, request| match refused(request) {
        Some(why) => Answer::json("400 Bad Request", json!({"error": {"message": why}}).to_string()),
        None => rest.lock().unwrap().next().unwrap_or(Answer::Cut),
    })
    .await
}

fn tools() -> TestToolset {
    let echo = |call: backstop::ValidCall, _| async move { Ok(Value::Object(call.into_arguments()).into()) };
    TestToolset::new("kit")
        .tool(ToolSpec::new("list_windows", json!({"type": "object"})), echo)
        .tool(
            ToolSpec::new("search_docs", json!({"type": "object", "properties": {"q": {"type": "string"}}})),
            echo,
        )
        .tool(
            ToolSpec::new(
                "open",
                json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
            ),
            echo,
        )
}

async fn agent(server: &Server, tools: TestToolset, streamed: bool) -> Agent {
    let mut config = OpenAiConfig::new(server.url.parse().unwrap(), "m", client());
    config.stream = streamed;
    let (agent, problems) =
        Agent::builder_with(Arc::new(OpenAiModel::new(config).unwrap())).toolset(tools).build().await;
    assert!(problems.is_empty(), "{problems:?}");
    agent
}

/// The conversation and the end of a run against these answers.
async fn run(answers: Vec<Answer>) -> Lines {
    let server = strict(answers).await;
    let report = agent(&server, tools(), false).await.run("go").await.unwrap();
    let mut lines = conversation(&report.messages());
    lines.push(ended(&report));
    lines
}

/// What is sent as the calls of the last turn, as it stands in the second request.
async fn replayed(calls: &str) -> Lines {
    let server =
        strict(vec![Answer::json("200 OK", turn(calls, "\"tool_calls\"")), Answer::json("200 OK", DONE)])
            .await;
    let report = agent(&server, tools(), false).await.run("go").await.unwrap();
    let bodies = server.bodies();
    let calls = bodies[1]["messages"][1]["tool_calls"].as_array().unwrap().clone();
    let mut lines: Lines = calls
        .iter()
        .map(|call| {
            format!("{} {}", call["function"]["name"].as_str().unwrap(), call["function"]["arguments"])
        })
        .collect();
    lines.push(ended(&report));
    lines
}

async fn ended_for(finish: &'static str, message: &'static str) -> Lines {
    let reply = format!(r#"{{"choices":[{{"index":0,"message":{message},"finish_reason":{finish}}}]}}"#);
    run(vec![Answer::json("200 OK", reply), Answer::json("200 OK", DONE)]).await
}

const COMPLETE: &str =
    r#"{"tool_calls":[{"id":"c1","type":"function","function":{"name":"list_windows","arguments":"{}"}}]}"#;

pub(super) fn rows() -> Vec<Row> {
    [shapes(), history(), ends()].into_iter().flatten().collect()
}

fn shapes() -> Vec<Row> {
    vec![
        Row::own(
            "C02",
            "names that no provider takes are mapped, and lead back to the tool",
            || {
                async {
                    let names = ["search.web", "search/web", "search_web", "Scan file", "größe", "検索"];
                    let echo = |call: backstop::ValidCall, _| async move { Ok(call.own_name().into()) };
                    let spec = |name: &str| ToolSpec::new(name, json!({"type": "object"}));
                    let tools =
                        names.iter().fold(TestToolset::new("t"), |tools, name| tools.tool(spec(name), echo));
                    let long = format!("{}_a", "performance_insight_".repeat(4));
                    let other = format!("{}_b", "performance_insight_".repeat(4));
                    let tools = tools.tool(spec(&long), echo).tool(spec(&other), echo);
                    let offered = [
                        "search_web_90812ca4",
                        "search_web_9326b0b2",
                        "search_web",
                        "Scan_file",
                        "gr__e",
                        "__",
                        "performance_insight_performance_insight_performance_ins_a7555bcd",
                        "performance_insight_performance_insight_performance_ins_de103d4c",
                    ];
                    let calls: Vec<String> = offered
                        .iter()
                        .map(|name| call(name, &format!(r#"{{"name":"{name}","arguments":"{{}}"}}"#)))
                        .collect();
                    let turn = turn(&calls.join(","), "\"tool_calls\"");
                    let server =
                        strict(vec![Answer::json("200 OK", turn), Answer::json("200 OK", DONE)]).await;
                    let report = agent(&server, tools, false).await.run("go").await.unwrap();
                    let calls = report.calls();
                    let called = calls.iter().map(|call| format!("{} is {}", call.tool, call.view));
                    called.collect::<Lines>()
                }
                .boxed()
            },
            &[
                "search_web_90812ca4 is search.web",
                "search_web_9326b0b2 is search/web",
                "search_web is search_web",
                "Scan_file is Scan file",
                "gr__e is größe",
                "__ is 検索",
                "performance_insight_performance_insight_performance_ins_a7555bcd is performance_insight_performance_insight_performance_insight_performance_insight__a",
                "performance_insight_performance_insight_performance_ins_de103d4c is performance_insight_performance_insight_performance_insight_performance_insight__b",
            ],
        ),
        Row::own(
            "C03",
            "four shapes of no arguments run as the empty object, and are replayed as one",
            || {
                async {
                    let calls = [
                        call("k1", r#"{"name":"list_windows","arguments":""}"#),
                        call("k2", r#"{"name":"list_windows"}"#),
                        call("k3", r#"{"name":"list_windows","arguments":null}"#),
                        call("k4", r#"{"name":"list_windows","arguments":{}}"#),
                        call("k5", r#"{"name":"open","arguments":{"path":"a"}}"#),
                    ];
                    replayed(&calls.join(",")).await
                }
                .boxed()
            },
            &[
                r#"list_windows "{}""#,
                r#"list_windows "{}""#,
                r#"list_windows "{}""#,
                r#"list_windows "{}""#,
                r#"open "{\"path\":\"a\"}""#,
                "answered: done",
            ],
        ),
        Row::own(
            "C03",
            "a call of a stream that gives no more fragments runs too",
            || {
                async {
                    let first = "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"k1\",\"function\":{\"name\":\"list_windows\",\"arguments\":\"\"}}]}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";
                    let answers = vec![Answer::Whole("200 OK", "text/event-stream", first.into()), Answer::json("200 OK", DONE)];
                    let server = strict(answers).await;
                    let report = agent(&server, tools(), true).await.run("go").await.unwrap();
                    conversation(&report.messages())
                }
                .boxed()
            },
            &["user go", "assistant None [k1=list_windows{}]", "tool k1 {}", r#"assistant Some("done") []"#],
        ),
    ]
}

fn history() -> Vec<Row> {
    vec![
        Row::own(
            "C07",
            "an invented name with a space is replayed as one that is taken",
            || {
                async {
                    let calls = [
                        call("u1", r#"{"name":"get_US_A PresidentService","arguments":"{}"}"#),
                        call("u2", r#"{"name":"search_docs","arguments":"{\"q\":\"x\"}"}"#),
                        call("u3", r#"{"name":"","arguments":"{}"}"#),
                        call("u4", r#"{"name":null,"arguments":"{}"}"#),
                    ];
                    replayed(&calls.join(",")).await
                }
                .boxed()
            },
            &[
                r#"get_US_A_PresidentService "{}""#,
                r#"search_docs "{\"q\":\"x\"}""#,
                r#"unnamed "{}""#,
                r#"unnamed "{}""#,
                "answered: done",
            ],
        ),
        Row::own(
            "C39",
            "cut arguments are replayed as an object that shows them, good ones byte for byte",
            || {
                async {
                    let calls = [
                        call("m1", r#"{"name":"search_docs","arguments":"{\"q\": \"a\", "}"#),
                        call("m2", r#"{"name":"search_docs","arguments":"{ \"z\" : 1,\"q\":\"b\" }"}"#),
                        call("m3", r#"{"name":"search_docs","arguments":"{\"q\":\"a\",\"q\":\"b\"}"}"#),
                        call("m4", r#"{"name":"search_docs","arguments":"{\"q\":\"\\ud83d\"}"}"#),
                    ];
                    replayed(&calls.join(",")).await
                }
                .boxed()
            },
            &[
                r#"search_docs "{\"_invalid_arguments\":\"{\\\"q\\\": \\\"a\\\", \"}""#,
                r#"search_docs "{ \"z\" : 1,\"q\":\"b\" }""#,
                r#"search_docs "{\"_invalid_arguments\":\"{\\\"q\\\":\\\"a\\\",\\\"q\\\":\\\"b\\\"}\"}""#,
                r#"search_docs "{\"_invalid_arguments\":\"{\\\"q\\\":\\\"\\\\ud83d\\\"}\"}""#,
                "answered: done",
            ],
        ),
        Row::own(
            "C39",
            "a history with orphans is refused with their ids, and never sent",
            || {
                async {
                    let server = strict(Vec::new()).await;
                    let agent = agent(&server, tools(), false).await;
                    let orphan = Message::Tool {
                        call: backstop::CallId::new("o1"),
                        content: ResultContent::Output("x".into()),
                    };
                    let refused = agent.run(vec![Message::user("go"), orphan]).await.unwrap_err();
                    assert_eq!(server.bodies(), Vec::<Value>::new());
                    vec![refused.to_string()]
                }
                .boxed()
            },
            &["the conversation is not balanced: result `o1` without a call"],
        ),
        Row::own(
            "C40",
            "a second call of the same id has its own, in call and result alike",
            || {
                async {
                    let calls = [
                        call("a", r#"{"name":"search_docs","arguments":"{\"q\":\"1\"}"}"#),
                        call("a", r#"{"name":"search_docs","arguments":"{\"q\":\"2\"}"}"#),
                    ];
                    run(vec![
                        Answer::json("200 OK", turn(&calls.join(","), "\"tool_calls\"")),
                        Answer::json("200 OK", DONE),
                    ])
                    .await
                }
                .boxed()
            },
            &[
                "user go",
                r#"assistant None [a=search_docs{"q":"1"} call_1_1=search_docs{"q":"2"}]"#,
                r#"tool a {"q":"1"}"#,
                r#"tool call_1_1 {"q":"2"}"#,
                r#"assistant Some("done") []"#,
                "answered: done",
            ],
        ),
    ]
}

fn ends() -> Vec<Row> {
    const RUNS: &[&str] = &[
        "user go",
        "assistant None [c1=list_windows{}]",
        "tool c1 {}",
        r#"assistant Some("done") []"#,
        "answered: done",
    ];
    vec![
        Row::own(
            "C26",
            "a complete call runs though the reason is `stop`",
            || ended_for("\"stop\"", COMPLETE).boxed(),
            RUNS,
        ),
        Row::own(
            "C26",
            "a complete call runs with `tool_calls`",
            || ended_for("\"tool_calls\"", COMPLETE).boxed(),
            RUNS,
        ),
        Row::own(
            "C26",
            "a complete call runs with `function_call`",
            || ended_for("\"function_call\"", COMPLETE).boxed(),
            RUNS,
        ),
        Row::own(
            "C26",
            "a complete call runs without a reason",
            || ended_for("null", COMPLETE).boxed(),
            RUNS,
        ),
        Row::own(
            "C26",
            "a complete call runs with an empty reason",
            || ended_for("\"\"", COMPLETE).boxed(),
            RUNS,
        ),
        Row::own(
            "C26",
            "a reply cut at the token limit runs nothing",
            || ended_for("\"length\"", COMPLETE).boxed(),
            &[
                "user go",
                "assistant None [c1=list_windows{}]",
                "tool c1 The call of tool \"list_windows\" was not made: the reply was cut off at the token limit.\nSend the call again, complete and shorter.",
                r#"assistant Some("done") []"#,
                "answered: done",
            ],
        ),
        Row::own(
            "C26",
            "no calls but text is an answer",
            || ended_for("\"tool_calls\"", r#"{"content":"done","tool_calls":[]}"#).boxed(),
            &["user go", r#"assistant Some("done") []"#, "answered: done"],
        ),
        Row::own(
            "C26",
            "neither calls nor text is tried once more, then an error of its own",
            || {
                async {
                    let empty = || Answer::json("200 OK", r#"{"choices":[{"index":0,"message":{"tool_calls":[]},"finish_reason":"tool_calls"}]}"#);
                    run(vec![empty(), empty(), Answer::json("200 OK", DONE)]).await
                }
                .boxed()
            },
            &["user go", "model_failed: the model's reply is empty: the reply has no text and no calls"],
        ),
    ]
}

#[tokio::test]
async fn real_failures_at_a_strict_server_come_out_right() {
    check(rows()).await;
}
