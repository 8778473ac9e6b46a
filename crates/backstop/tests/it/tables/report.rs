//! What came of a run, as lines.

use std::sync::{Arc, Mutex};

use backstop::{Agent, AgentBuilder, Delta, Message, Observer, Outcome, Record, RunReport};
use backstop_test::TestModel;
use serde_json::Value;

use super::kit::Lines;

/// What tool bodies were given.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Lines>>);

impl Log {
    pub(crate) fn note(&self, tool: &str, arguments: &Value) {
        self.0.lock().unwrap().push(format!("ran {tool} {arguments}"));
    }

    /// Sorted: calls of one turn run at the same time.
    pub(crate) fn lines(&self) -> Lines {
        let mut lines = self.0.lock().unwrap().clone();
        lines.sort();
        if lines.is_empty() { vec!["ran nothing".into()] } else { lines }
    }
}

/// Hears the names of a run's events and the pieces of its replies.
#[derive(Default)]
pub(super) struct Heard {
    events: Mutex<Vec<&'static str>>,
    deltas: Mutex<Lines>,
}

impl Heard {
    pub(super) fn journal(&self) -> String {
        format!("journal: {}", self.events.lock().unwrap().join(", "))
    }

    pub(super) fn deltas(&self) -> Lines {
        self.deltas.lock().unwrap().clone()
    }
}

impl Observer for Heard {
    fn delta(&self, delta: Delta<'_>) {
        self.deltas.lock().unwrap().push(match delta {
            Delta::Text(text) => format!("heard text {text}"),
            Delta::CallStarted { name } => format!("heard call {name}"),
            other => format!("heard {other:?}"),
        });
    }

    fn record(&self, record: &Record) {
        self.events.lock().unwrap().push(record.event.as_str());
    }
}

/// Each call: the tool, its kind of failure or `ok`, and the whole text that the model was told; then what tool
/// bodies were given; then the outcome, unless the model answered `done`.
pub(super) fn told(report: &RunReport, model: &TestModel, log: &Log) -> Lines {
    // A run that ends after a turn does not tell the model about it any more.
    let told = model.last_results();
    let mut lines = Lines::new();
    for (index, call) in report.calls().iter().enumerate() {
        let mut head = call.tool.clone();
        if call.ok {
            head.push_str(" ok");
        }
        if let Some(kind) = call.kind {
            head.push_str(if call.ok { " after " } else { " " });
            head.push_str(kind.as_str());
        }
        lines.push(head);
        let text = told.get(index).unwrap_or(&call.view);
        assert_eq!(*text, call.view, "what the model was told is what the report says");
        lines.extend(without_references(report, text).lines().map(str::to_owned));
    }
    lines.extend(log.lines());
    lines.extend(Some(ended(report)).filter(|line| line != "answered: done"));
    lines
}

/// How a run ended.
pub(crate) fn ended(report: &RunReport) -> String {
    let outcome = report.outcome();
    let said = match outcome {
        Outcome::Answered { text } => text.clone(),
        Outcome::Stopped { message, .. } => message.clone(),
        Outcome::LimitReached { which } => format!("{} after {} turns", which.as_str(), report.turns()),
        Outcome::ModelFailed { error } => error.to_string(),
        Outcome::Cancelled => String::new(),
        Outcome::NeedsAnswer { question } => question.text.clone(),
    };
    without_references(report, &format!("{}: {said}", outcome.as_str()))
}

/// The conversation, one message a line.
pub(crate) fn conversation(messages: &[Message]) -> Lines {
    let line = |message: &Message| match message {
        Message::System { text } => format!("system {text}"),
        Message::User { text } => format!("user {text}"),
        Message::Assistant { text, calls, .. } => {
            let calls: Vec<String> =
                calls.iter().map(|call| format!("{}={}{}", call.id, call.name, call.arguments)).collect();
            format!("assistant {text:?} [{}]", calls.join(" "))
        }
        Message::Tool { call, content } => format!("tool {call} {}", content.model_text()),
    };
    messages.iter().map(line).collect()
}

/// What is left out of an agent, with the reasons, and what is left.
pub(super) async fn left_out(builder: AgentBuilder) -> Lines {
    let (agent, problems) = builder.build().await;
    let mut found = Lines::new();
    for problem in &problems {
        found.push(problem.to_string());
        let source = std::error::Error::source(problem);
        found.extend(source.map(|source| format!("  {source}")));
    }
    found.push(on_offer(&agent));
    found
}

/// The tools that an agent offers.
pub(super) fn on_offer(agent: &Agent) -> String {
    let catalog = agent.catalog();
    let names: Vec<&str> = catalog.entries().iter().map(|entry| entry.name.as_str()).collect();
    format!("tools: {}", names.join(", "))
}

pub(crate) fn without_references(report: &RunReport, text: &str) -> String {
    let references = report.failures().iter().map(|failure| failure.reference.to_string());
    references.fold(text.to_owned(), |text, reference| text.replace(&reference, "REF"))
}
