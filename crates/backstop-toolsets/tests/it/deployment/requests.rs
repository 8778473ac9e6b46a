//! C39: what is on the wire.

use std::{sync::Arc, time::Duration};

use backstop_core::{
    CallId, Catalog, Definition, Event, Message, Model, ModelReply, ModelRequest, Run, RunId, Step,
    Timestamp, ToolCall, ToolOutput, ToolPolicy, ToolSpec, Transcript,
    catalog::CatalogSource,
    message::{PastCall, ResultContent},
    run::Started,
};
use backstop_test::server::{Reply, Server};
use backstop_toolsets::deployment::OpenAiModel;
use serde_json::{Map, Value, json};

use super::{Heard, choice, config, model};

fn tools() -> Catalog {
    let add = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "array"}}, "required": ["a"]});
    let specs = [
        ToolSpec::new("add", add).description("Adds \"two\" numbers."),
        ToolSpec::new("clock", Value::Null),
        ToolSpec::new("bare", json!({"properties": {"x": true}})),
    ];
    let tools = specs.into_iter().map(|spec| (spec, ToolPolicy::default())).collect();
    let (catalog, problems) = Catalog::build(vec![CatalogSource::new("math", tools)]);
    assert_eq!(problems, []);
    catalog
}

fn past(id: &str, name: &str, arguments: &str) -> PastCall {
    PastCall { id: CallId::new(id), name: name.into(), arguments: arguments.into() }
}

fn assistant(text: Option<&str>, calls: Vec<PastCall>, extra: Value) -> Message {
    Message::Assistant { text: text.map(str::to_owned), calls, extra: extra.as_object().unwrap().clone() }
}

fn tool(id: &str, output: ToolOutput) -> Message {
    Message::Tool { call: CallId::new(id), content: ResultContent::Output(output) }
}

fn conversation() -> Vec<Message> {
    vec![
        Message::system("Be \"brief\".\n"),
        Message::user("Was ist 1+2? 🙂\u{2028}"),
        assistant(
            None,
            vec![
                past("c1", "add", r#"{ "b":[1.0, 9007199254740993],  "a":1 }"#),
                past("c2", "add", r#"{"_invalid_arguments":"{\"q\": \"a\", "}"#),
            ],
            json!({"reasoning_content": "hm", "role": "user", "content": "x", "tool_calls": [], "tool_call_extra": [{"signature": "s"}, {}]}),
        ),
        tool("c1", ToolOutput::Json(json!({"sum": 3}))),
        tool("c2", ToolOutput::text("")),
        assistant(Some(""), vec![past("c3", "clock", "{}")], json!({})),
        tool("c3", ToolOutput::text("noon\u{0}\u{fffd}")),
        assistant(Some("Three."), Vec::new(), json!({"custom_content": {"state": {"n": 1}}})),
        assistant(None, Vec::new(), json!({})),
        Message::user("Thanks"),
    ]
}

fn good() -> Reply {
    choice("{\"content\":\"ok\"}", "\"stop\"")
}

async fn send(model: &dyn Model, messages: Vec<Message>, tools: &Catalog, listen: bool) -> ModelReply {
    let (transcript, heard) = (Transcript::new(Arc::new(messages)), Heard::default());
    let sink: Option<&dyn backstop_core::DeltaSink> = if listen { Some(&heard) } else { None };
    model.respond(ModelRequest::new(&transcript, tools, Duration::from_secs(20)), sink).await.unwrap()
}

#[tokio::test]
async fn a_whole_conversation_with_tools() {
    let server = Server::start([good()]);
    let config =
        config(&server.url).temperature(0.25).max_tokens(100).extra("seed", 7).extra("tool_choice", "auto");
    send(&OpenAiModel::new(config).unwrap(), conversation(), &tools(), true).await;
    let body = &server.seen()[0].body;
    let value: Value = serde_json::from_str(body).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&value).unwrap());
    // Nothing is written twice, and nothing but what is there.
    assert_eq!(value.to_string(), *body);
    assert!(body.contains(r#""arguments":"{ \"b\":[1.0, 9007199254740993],  \"a\":1 }""#), "byte for byte");
}

#[tokio::test]
async fn the_smallest_request() {
    let server = Server::start([good()]);
    send(&model(&server.url), vec![Message::user("Hello")], &Catalog::default(), false).await;
    let seen = &server.seen()[0];
    assert_eq!(seen.body, r#"{"model":"test-model","messages":[{"role":"user","content":"Hello"}]}"#);
    assert_eq!(seen.headers("content-type"), ["application/json"]);
    assert_eq!(seen.headers("authorization"), [""; 0]);
}

#[tokio::test]
async fn an_address_takes_its_path_and_query_along() {
    for (base, target) in [
        ("/v1", "/v1/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("", "/chat/completions"),
        ("/deployments/gpt%204?api-version=1#part", "/deployments/gpt%204/chat/completions?api-version=1"),
    ] {
        let server = Server::start([good()]);
        let mut config = config(&server.url);
        config.base_url = format!("{}{base}", server.url).parse().unwrap();
        send(&OpenAiModel::new(config).unwrap(), vec![Message::user("a")], &Catalog::default(), false).await;
        assert!(server.seen()[0].head.starts_with(&format!("POST {target} HTTP/1.1\r\n")), "{base}");
    }
}

#[tokio::test]
async fn a_later_turn_repeats_the_bytes_of_the_turns_before() {
    let call = r#"{"content":null,"custom":"x","tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\":  1}"}}]}"#;
    let server = Server::start([choice(call, "\"tool_calls\""), good()]);
    let model = model(&server.url);
    let started = Started { run: RunId::new("r"), seed: 1, input: Arc::new(vec![Message::user("u")]) };
    let now = Timestamp::from_millis(0);
    let mut run = Run::start(Arc::new(Definition::new(tools())), now, started).unwrap();
    loop {
        match run.next_step() {
            Step::CallModel(turn) => {
                let definition = Arc::clone(run.definition());
                let request = ModelRequest::new(run.transcript(), &definition.catalog, turn.timeout);
                let reply = Arc::new(model.respond(request, None).await.unwrap());
                run.apply(now, Event::ModelReplied { reply }).unwrap();
            }
            Step::StartTools(calls) => {
                for start in calls {
                    let call = start.call.id().clone();
                    run.apply(now, start.started()).unwrap();
                    let result = Ok(ToolOutput::from(1));
                    run.apply(now, Event::ToolFinished { call, result, elapsed_ms: 0 }).unwrap();
                }
            }
            Step::Done(_) => break,
            other => panic!("{other:?}"),
        }
    }
    let seen = server.seen();
    let (tools, first) = {
        let (first, tools) = seen[0].body.split_once(r#"],"tools":"#).unwrap();
        (tools, first)
    };
    assert_eq!(
        seen[1].body,
        format!(
            r#"{first},{{"role":"assistant","content":null,"tool_calls":[{{"id":"c1","type":"function","function":{{"name":"add","arguments":"{{\"a\":  1}}"}}}}],"custom":"x"}},{{"role":"tool","tool_call_id":"c1","content":"1"}}],"tools":{tools}"#
        )
    );
}

#[tokio::test]
async fn what_came_with_a_reply_goes_back_with_it() {
    let message = json!({
        "role": "assistant", "content": "a", "reasoning_content": "r",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "clock", "arguments": "{}"}, "signature": "s"}],
    });
    let server = Server::start([choice(&message.to_string(), "\"tool_calls\"")]);
    let model = model(&server.url);
    let reply = send(&model, vec![Message::user("u")], &Catalog::default(), false).await;
    assert_eq!(reply.calls, [ToolCall::new("c1", "clock", "{}")]);
    let calls = vec![past("c1", "clock", "{}")];
    let back = assistant(reply.text.as_deref(), calls, Value::Object(reply.extra));
    send(&model, vec![back, tool("c1", ToolOutput::text("noon"))], &Catalog::default(), false).await;
    let sent: Map<String, Value> = serde_json::from_str(&server.seen()[1].body).unwrap();
    assert_eq!(sent["messages"][0], message);
}
