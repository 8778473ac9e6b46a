//! Symfony AI: replies in pieces, and the tokens that are spent.

use std::sync::Arc;

use backstop::{
    Agent,
    deployment::{OpenAiConfig, OpenAiModel},
};
use futures_util::FutureExt;

use super::{
    kit::{Lines, Row, check},
    report::{Heard, Log, conversation, ended},
    server::{Answer, Server, client},
    surface::{Tool, functions},
};

/// A piece of text.
macro_rules! text {
    ($text:literal) => {
        concat!(r#"data: {"choices":[{"index":0,"delta":{"content":""#, $text, "\"}}]}\n\n")
    };
}

const CALL: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"{}\"}}]}}]}\n\n";
const CALLED: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";
const STOP: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

const TEXT: &str = r#"{"choices":[{"index":0,"message":{"content":"done"},"finish_reason":"stop"}],"usage":{"prompt_tokens":200,"completion_tokens":20}}"#;
const TURN: &str = r#"{"choices":[{"index":0,"message":{"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":100,"completion_tokens":10}}"#;
const TEXT_USAGE: &str =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":200,\"completion_tokens\":20}}\n\n";
const TURN_USAGE: &str =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":10}}\n\n";

fn events(events: &[&str]) -> Answer {
    Answer::Whole("200 OK", "text/event-stream", events.concat())
}

fn whole(body: &str) -> Answer {
    Answer::json("200 OK", body)
}

pub(super) fn rows() -> Vec<Row> {
    [pieces(), usage()].into_iter().flatten().collect()
}

fn pieces() -> Vec<Row> {
    vec![
        Row::own(
            "S1",
            "text alone is handed on piece by piece",
            || streamed(vec![events(&[text!("Hel"), text!("lo"), STOP])]).boxed(),
            &["heard text Hel", "heard text lo", "user go", r#"assistant Some("Hello") []"#],
        ),
        Row::own(
            "S2",
            "text before a call is kept with it",
            || {
                let turn = events(&[text!("Let me "), text!("look."), CALL, CALLED]);
                streamed(vec![turn, events(&[text!("done"), STOP])]).boxed()
            },
            &[
                "heard text Let me ",
                "heard text look.",
                "heard call look",
                "heard text done",
                "user go",
                r#"assistant Some("Let me look.") [c1=look{}]"#,
                "tool c1 {}",
                r#"assistant Some("done") []"#,
            ],
        )
        .differs("text and calls of one reply stay one message"),
        Row::own(
            "S3",
            "a call without text leaves no empty message",
            || streamed(vec![events(&[CALL, CALLED]), events(&[text!("done"), STOP])]).boxed(),
            &[
                "heard call look",
                "heard text done",
                "user go",
                "assistant None [c1=look{}]",
                "tool c1 {}",
                r#"assistant Some("done") []"#,
            ],
        ),
        Row::own(
            "S4",
            "the reply after a call is handed on piece by piece to the same listener",
            || {
                let last = events(&[text!("do"), text!("ne"), STOP]);
                streamed(vec![events(&[CALL, CALLED]), last]).boxed()
            },
            &[
                "heard call look",
                "heard text do",
                "heard text ne",
                "user go",
                "assistant None [c1=look{}]",
                "tool c1 {}",
                r#"assistant Some("done") []"#,
            ],
        ),
        Row::own(
            "S5",
            "text after a call is kept",
            || {
                let turn = events(&[CALL, text!("One moment."), CALLED]);
                streamed(vec![turn, events(&[text!("done"), STOP])]).boxed()
            },
            &[
                "heard call look",
                "heard text One moment.",
                "heard text done",
                "user go",
                r#"assistant Some("One moment.") [c1=look{}]"#,
                "tool c1 {}",
                r#"assistant Some("done") []"#,
            ],
        )
        .differs("nothing that a model said is thrown away"),
    ]
}

fn usage() -> Vec<Row> {
    vec![
        Row::own(
            "S6",
            "the tokens of an answer",
            || used(vec![whole(TEXT)], false, 1).boxed(),
            &["answered: done", "200 + 20 tokens"],
        ),
        Row::own(
            "S7",
            "the tokens of two turns are summed",
            || used(vec![whole(TURN), whole(TEXT)], false, 1).boxed(),
            &["answered: done", "300 + 30 tokens"],
        ),
        Row::own(
            "S8",
            "the tokens of two streamed turns are summed",
            || {
                let turn = events(&[CALL, TURN_USAGE, CALLED]);
                used(vec![turn, events(&[text!("done"), TEXT_USAGE, STOP])], true, 1).boxed()
            },
            &["answered: done", "300 + 30 tokens"],
        ),
        Row::own(
            "S9",
            "the tokens of a run are not counted in the next",
            || used(vec![whole(TURN), whole(TEXT), whole(TEXT)], false, 2).boxed(),
            &["answered: done", "300 + 30 tokens", "answered: done", "200 + 20 tokens"],
        ),
    ]
}

/// An agent whose model server answers so.
async fn agent(answers: Vec<Answer>) -> (Server, Agent) {
    let server = Server::in_order(answers).await;
    let config = OpenAiConfig::new(server.url.parse().unwrap(), "m", client());
    let tools = functions(&[Tool::new::<()>("look")], &Log::default());
    let (agent, problems) = Agent::builder(OpenAiModel::new(config).unwrap()).toolset(tools).build().await;
    assert!(problems.is_empty(), "{problems:?}");
    (server, agent)
}

/// What is heard of a run while it is streamed, then its conversation.
async fn streamed(answers: Vec<Answer>) -> Lines {
    let (_server, agent) = agent(answers).await;
    let heard = Arc::new(Heard::default());
    let run = agent.start("go").observer(Arc::clone(&heard) as _).stream(true);
    let report = run.drive().await.unwrap();
    [heard.deltas(), conversation(&report.messages())].concat()
}

/// How runs ended that were made one after the other, and what each of them spent.
async fn used(answers: Vec<Answer>, streamed: bool, runs: usize) -> Lines {
    let (_server, agent) = agent(answers).await;
    let mut lines = Lines::new();
    for _ in 0..runs {
        let run = agent.start("go").observer(Arc::new(Heard::default())).stream(streamed);
        let report = run.drive().await.unwrap();
        let usage = report.usage();
        lines.push(ended(&report));
        lines.push(format!("{} + {} tokens", usage.input_tokens, usage.output_tokens));
    }
    lines
}

#[tokio::test]
async fn symfony_stream_cases() {
    check(rows()).await;
}
