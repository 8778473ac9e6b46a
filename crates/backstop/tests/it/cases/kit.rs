//! What the cases share: a run on one surface against a strict model server, and what came of it.

use std::sync::{Arc, Mutex};

use backstop::{
    Agent, AgentBuilder, Delta, Event, Limits, Message, Observer, Record, RunReport, Strategy, ToolPolicy,
    ToolSpec, ToolsetOptions,
    deployment::{OpenAiConfig, OpenAiModel},
};
use serde_json::{Value, json};

use crate::tables::{
    provider::{DONE, call, strict, turn},
    report::{Log, ended, without_references},
    server::{Answer, Server, client},
    surface::{Surface, Tool},
};

pub(super) type Lines = Vec<String>;

/// A reply with these calls: id, name and arguments text.
pub(super) fn calls(calls: &[(&str, &str, &str)]) -> Answer {
    let function = |name, arguments| json!({"name": name, "arguments": arguments}).to_string();
    let calls: Lines =
        calls.iter().map(|(id, name, arguments)| call(id, &function(*name, *arguments))).collect();
    raw_calls(&calls)
}

/// A reply with these calls, as they stand on the wire.
pub(super) fn raw_calls(calls: &[String]) -> Answer {
    Answer::json("200 OK", turn(&calls.join(","), "\"tool_calls\""))
}

/// The answer that ends a run.
pub(super) fn done() -> Answer {
    Answer::json("200 OK", DONE)
}

/// A streamed reply of these chunks.
pub(super) fn events(chunks: &[&str]) -> Answer {
    let mut body = String::new();
    for chunk in chunks.iter().chain(&["[DONE]"]) {
        body.push_str(&format!("data: {chunk}\n\n"));
    }
    Answer::Whole("200 OK", "text/event-stream", body)
}

/// A chunk of a streamed reply: what is new in it, and why the reply ended, both as they stand on the wire.
pub(super) fn chunk(delta: &str, finish: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#)
}

/// An agent that asks this server.
pub(super) fn builder(server: &Server) -> AgentBuilder {
    let config = OpenAiConfig::new(server.url.parse().unwrap(), "m", client());
    Agent::builder(OpenAiModel::new(config).unwrap())
}

pub(super) async fn built(builder: AgentBuilder) -> Agent {
    let (agent, problems) = builder.build().await;
    assert!(problems.is_empty(), "{problems:?}");
    agent
}

/// Hears the records of a run and the text of its replies.
#[derive(Default)]
pub(super) struct Heard {
    records: Mutex<Vec<Record>>,
    text: Mutex<String>,
}

impl Heard {
    pub(super) fn records(&self) -> Vec<Record> {
        self.records.lock().unwrap().clone()
    }

    pub(super) fn text(&self) -> String {
        self.text.lock().unwrap().clone()
    }
}

impl Observer for Heard {
    fn delta(&self, delta: Delta<'_>) {
        if let Delta::Text(text) | Delta::Reasoning(text) = delta {
            self.text.lock().unwrap().push_str(text);
        }
    }

    fn record(&self, record: &Record) {
        self.records.lock().unwrap().push(record.clone());
    }
}

/// A run to make: tools, and what the model server answers.
pub(super) struct Scene {
    tools: Vec<Tool>,
    answers: Vec<Answer>,
    limits: Limits,
    fallback: Vec<Strategy>,
    adjust: fn(&mut ToolSpec, &mut ToolPolicy),
    streamed: bool,
}

impl Scene {
    pub(super) fn new(tools: Vec<Tool>, answers: Vec<Answer>) -> Self {
        Self {
            tools,
            answers,
            limits: Limits::default(),
            fallback: Vec::new(),
            adjust: |_, _| {},
            streamed: false,
        }
    }

    pub(super) fn limits(mut self, change: fn(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    /// What is declared for all tools, also for those that are not there.
    pub(super) fn fallback(mut self, strategies: Vec<Strategy>) -> Self {
        self.fallback = strategies;
        self
    }

    /// What is changed of each tool.
    pub(super) fn adjust(mut self, adjust: fn(&mut ToolSpec, &mut ToolPolicy)) -> Self {
        self.adjust = adjust;
        self
    }

    pub(super) fn streamed(mut self) -> Self {
        self.streamed = true;
        self
    }

    /// The agent on this surface, with all that its runs need.
    pub(super) async fn stage(self, surface: Surface) -> Stage {
        let (server, log) = (strict(self.answers).await, Log::default());
        let (toolset, service) = surface.toolset(&self.tools, &log).await;
        let builder = builder(&server)
            .limits(self.limits)
            .fallback(self.fallback)
            .toolset_with(toolset, ToolsetOptions::default().adjust(self.adjust));
        Stage { agent: built(builder).await, server, log, service, streamed: self.streamed }
    }

    /// The run from `go` to its end.
    pub(super) async fn on(self, surface: Surface) -> Ran {
        let stage = self.stage(surface).await;
        let heard = Arc::new(Heard::default());
        let start = stage.agent.start("go").observer(Arc::clone(&heard) as _).stream(stage.streamed);
        let report = start.drive().await.unwrap();
        Ran { report, heard, stage }
    }
}

pub(super) struct Stage {
    pub(super) agent: Agent,
    pub(super) server: Server,
    pub(super) log: Log,
    pub(super) service: Option<Server>,
    streamed: bool,
}

/// What came of a run.
pub(super) struct Ran {
    pub(super) report: RunReport,
    pub(super) heard: Arc<Heard>,
    stage: Stage,
}

impl Ran {
    /// The conversation as it was sent in the request of this number, from 0.
    pub(super) fn sent(&self, request: usize) -> Lines {
        sent(&self.stage.server, request, &self.report)
    }

    /// Requests that the model server got.
    pub(super) fn requests(&self) -> usize {
        self.stage.server.bodies().len()
    }

    /// What tool bodies were given.
    pub(super) fn log(&self) -> Lines {
        let log = self.stage.log.lines();
        if let Some(service) = &self.stage.service {
            let requests = log.iter().filter(|line| *line != "ran nothing").count();
            assert_eq!(service.bodies().len(), requests, "each request is one run of a tool");
        }
        log
    }

    pub(super) fn ended(&self) -> String {
        let host = self.stage.server.url.trim_start_matches("http://");
        ended(&self.report).replace(host, "HOST")
    }

    /// The history of the run and one more message, as the model server got them. It refuses what is not balanced.
    pub(super) async fn next_turn(&self) -> Lines {
        let mut messages = self.report.messages();
        messages.push(Message::user("go on"));
        let next = self.stage.agent.run(messages).await.unwrap();
        assert_eq!(next.answer(), Some("done"), "{:?}", next.outcome());
        self.sent(self.requests() - 1)
    }

    /// Calls in the order in which they ended.
    pub(super) fn finished(&self) -> Lines {
        let records = self.heard.records();
        let ended = records.iter().filter_map(|record| match &record.event {
            Event::ToolFinished { call, .. } => Some(call.to_string()),
            _ => None,
        });
        ended.collect()
    }
}

/// The messages of a request as they stand on the wire, line by line, but for the references of failures.
pub(super) fn sent(server: &Server, request: usize, report: &RunReport) -> Lines {
    let request = &server.bodies()[request];
    let mut lines = Lines::new();
    for message in request["messages"].as_array().unwrap() {
        let content = message["content"].as_str().unwrap_or("-");
        let text = match message["role"].as_str().unwrap() {
            "assistant" => {
                let calls = message["tool_calls"].as_array().into_iter().flatten();
                calls.map(call_line).fold(format!("assistant: {content}"), |text, call| text + "\n  " + &call)
            }
            "tool" => format!("tool {}: {content}", message["tool_call_id"].as_str().unwrap()),
            role => format!("{role}: {content}"),
        };
        lines.extend(without_references(report, &text).lines().map(str::to_owned));
    }
    lines
}

fn call_line(call: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let function = &call["function"];
    format!("{} {} {}", text(&call["id"]), text(&function["name"]), text(&function["arguments"]))
}
