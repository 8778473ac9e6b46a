//! A run driven by the lines of a scenario file, and what came of it as text.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use backstop_core::{
    Definition, Event, FinishReason, Message, ModelError, ModelReply, Outcome, Record, Run, RunId, Step,
    Timestamp, ToolOutput,
    message::check_pairing,
    run::{CallReport, Started},
};

use crate::events::{duration, named, quoted, tool_call, tool_error};

/// A run and its journal. Time stands still but for what the lines say.
pub(crate) struct World {
    definition: Arc<Definition>,
    run: Option<Run>,
    journal: Vec<Record>,
    now: Duration,
}

impl World {
    pub(crate) fn new(definition: Definition) -> Self {
        Self { definition: Arc::new(definition), run: None, journal: Vec::new(), now: Duration::ZERO }
    }

    /// The world of another program, taken up from its journal.
    pub(crate) fn replayed(definition: Definition, journal: Vec<Record>) -> Self {
        let mut world = Self::new(definition);
        world.run = Some(Run::replay(Arc::clone(&world.definition), &journal).unwrap());
        world.journal = journal;
        world
    }

    pub(crate) fn run(&self) -> &Run {
        self.run.as_ref().expect("the first event is `started`")
    }

    pub(crate) fn journal(&self) -> &[Record] {
        &self.journal
    }

    /// One line of a scenario happens; gives what the run wants next.
    pub(crate) fn happens(&mut self, line: &str) -> String {
        let line = match line.strip_prefix("after ").and_then(|rest| rest.split_once(' ')) {
            Some((wait, rest)) => {
                self.now += duration(wait);
                rest
            }
            None => line,
        };
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut rejected = None;
        match verb {
            "started" => self.start(rest),
            "crash" => self.crash(),
            "start" if rest == "all" => {
                for (call, _) in self.startable() {
                    self.tool_starts(&call);
                }
            }
            "start" => self.tool_starts(rest),
            "timer" => {
                self.now = self.now.max(match self.run().next_step() {
                    Step::Await { until } => until.since(Timestamp::default()),
                    Step::CallModel(turn) => turn.until.since(Timestamp::default()),
                    Step::Ask(_) => self.definition.limits.wall_clock,
                    step @ (Step::StartTools(_) | Step::Done(_)) => panic!("no timer runs: {step:?}"),
                });
                self.apply(Event::TimerFired).unwrap();
            }
            // So many seconds pass in which nobody drives the run.
            "resume" => {
                self.now += std::time::Duration::from_secs(rest.parse().unwrap());
                self.apply(Event::Resumed).unwrap();
            }
            _ => rejected = self.apply(event(verb, rest)).err(),
        }
        check_pairing(self.run().transcript().messages()).unwrap();
        match rejected {
            Some(error) => format!("does not fit: {error}\n"),
            None => self.next_step(),
        }
    }

    fn at(&self) -> Timestamp {
        Timestamp::default().after(self.now)
    }

    fn apply(&mut self, event: Event) -> Result<(), backstop_core::ProtocolError> {
        let at = self.at();
        self.run.as_mut().expect("the first event is `started`").apply(at, event.clone())?;
        self.journal.push(Record::new(self.journal.len() as u64, at, event));
        Ok(())
    }

    fn start(&mut self, text: &str) {
        let input = Arc::new(vec![Message::user(quoted(text).0)]);
        let started = Started { run: RunId::new("r1"), seed: 1, input };
        self.run = Some(Run::start(Arc::clone(&self.definition), self.at(), started.clone()).unwrap());
        self.journal.push(Record::new(0, self.at(), Event::Started(started)));
    }

    /// The process dies and another one takes the run up from its journal.
    fn crash(&mut self) {
        self.journal = reread(&self.journal);
        self.run = Some(Run::replay(Arc::clone(&self.definition), &self.journal).unwrap());
        for event in self.run().interrupted() {
            self.apply(event).unwrap();
        }
    }

    fn startable(&self) -> Vec<(String, u32)> {
        match self.run().next_step() {
            Step::StartTools(calls) => {
                calls.iter().map(|start| (start.call.id().to_string(), start.attempt)).collect()
            }
            step => panic!("nothing to start: {step:?}"),
        }
    }

    fn tool_starts(&mut self, call: &str) {
        let startable = self.startable();
        let (call, attempt) = startable.iter().find(|(id, _)| id == call).expect("the call may start");
        let call = backstop_core::CallId::new(call);
        self.apply(Event::ToolStarted { call, attempt: *attempt, tool: String::new(), mended: None })
            .unwrap();
    }

    pub(crate) fn next_step(&self) -> String {
        match self.run().next_step() {
            Step::CallModel(turn) if turn.attempt == 1 => format!("call the model, turn {}\n", turn.turn),
            Step::CallModel(turn) => {
                format!("call the model, turn {}, attempt {}\n", turn.turn, turn.attempt)
            }
            Step::StartTools(calls) => calls.iter().fold(String::new(), |mut out, start| {
                let arguments = serde_json::to_string(start.call.arguments()).unwrap();
                write!(out, "start {} {} {arguments}", start.call.id(), start.call.tool()).unwrap();
                out + &if start.attempt == 1 { "\n".into() } else { format!(", attempt {}\n", start.attempt) }
            }),
            Step::Await { until } => format!("wait, at most until {}\n", clock(until)),
            Step::Ask(question) => {
                let (call, tool) = (&question.call, &question.tool);
                format!("ask about {call} {tool} {}: {}\n", question.arguments, question.text)
            }
            Step::Done(outcome) => format!("done: {}\n", in_words(&outcome)),
        }
    }

    /// What is left at the end: the conversation as the model would read it, and the reports.
    pub(crate) fn ending(&self) -> String {
        let run = self.run();
        let mut out = String::from("transcript\n");
        for message in run.transcript().messages() {
            out += &indented(&in_lines(message));
        }
        if !run.calls().is_empty() {
            out += "calls\n";
            run.calls().iter().for_each(|report| out += &indented(&report_line(report)));
        }
        if !run.failures().is_empty() {
            out += "failures\n";
            for failure in run.failures() {
                let wait = failure.wait_ms.map_or(String::new(), |wait| format!(" after {wait} ms"));
                let limit =
                    failure.limit.map_or(String::new(), |limit| format!(", limit {}", limit.as_str()));
                out += &indented(&format!(
                    "{} {} attempt {}: {} ({}), applied {} -> {}{wait}{limit}",
                    failure.call,
                    if failure.tool.is_empty() { "\"\"" } else { &failure.tool },
                    failure.attempt,
                    failure.kind,
                    failure.class,
                    failure.applied,
                    failure.decision
                ));
            }
        }
        out
    }
}

/// The records, written and read back as a store would.
pub(crate) fn reread(journal: &[Record]) -> Vec<Record> {
    let lines: Vec<String> = journal.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
    let read: Vec<Record> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read, journal);
    read
}

fn event(verb: &str, rest: &str) -> Event {
    match verb {
        "model" => model_event(rest),
        "finish" => {
            let (call, result) =
                rest.split_once(' ').expect("finish CALL ok VALUE or finish CALL fails KIND");
            let result = match result.split_once(' ') {
                Some(("ok", value)) => Ok(ToolOutput::Json(serde_json::from_str(value).unwrap())),
                Some(("fails", error)) => Err(tool_error(error)),
                _ => panic!("neither `ok` nor `fails`: {rest}"),
            };
            Event::ToolFinished { call: backstop_core::CallId::new(call), result, elapsed_ms: 0 }
        }
        "answer" => {
            let (call, answer) = rest.split_once(' ').expect("answer CALL \"text\"");
            Event::Answered { call: backstop_core::CallId::new(call), answer: quoted(answer).0 }
        }
        "approve" => Event::Approved { call: backstop_core::CallId::new(rest) },
        "refuse" => {
            let (call, reason) = rest.split_once(' ').expect("refuse CALL \"text\"");
            Event::Refused { call: backstop_core::CallId::new(call), reason: Some(quoted(reason).0) }
        }
        "cancel" => Event::Cancelled,
        _ => panic!("no such event: {verb} {rest}"),
    }
}

/// `says "text"`, `says nothing`, `fails KIND`, `calls CALL and CALL`; a reply that was cut or filtered says so
/// first.
fn model_event(text: &str) -> Event {
    let mut reply = ModelReply::default();
    let text = match text.split_once(' ') {
        Some(("cut", rest)) => {
            reply.finish = FinishReason::Length;
            rest
        }
        Some(("filtered", rest)) => {
            reply.finish = FinishReason::ContentFilter;
            rest
        }
        _ => text,
    };
    match text.split_once(' ') {
        Some(("fails", kind)) => {
            return Event::ModelFailed { error: ModelError::new(named(kind), "as the scenario says") };
        }
        Some(("says", "nothing")) => {}
        Some(("says", words)) => reply.text = Some(quoted(words).0),
        Some(("calls", calls)) => reply.calls = calls.split("\nand ").map(tool_call).collect(),
        _ => panic!("neither `says` nor `calls` nor `fails`: {text}"),
    }
    Event::ModelReplied { reply: Arc::new(reply) }
}

fn clock(at: Timestamp) -> String {
    format!("{:.3}s", at.since(Timestamp::default()).as_secs_f64())
}

fn in_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Answered { text } => format!("answered: {text}"),
        Outcome::Stopped { message, reference } => format!("stopped for {reference}: {message}"),
        Outcome::LimitReached { which } => format!("limit reached: {}", which.as_str()),
        Outcome::ModelFailed { error } => match error.partial() {
            Some(partial) => format!("model failed: {}, after it said: {partial}", error.kind().as_str()),
            None => format!("model failed: {}", error.kind().as_str()),
        },
        Outcome::Cancelled => "cancelled".into(),
        Outcome::NeedsAnswer { question } => format!("needs an answer: {}", question.text),
    }
}

fn in_lines(message: &Message) -> String {
    match message {
        Message::System { text } => format!("system: {text}"),
        Message::User { text } => format!("user: {text}"),
        Message::Assistant { text, calls, .. } => {
            let mut out = format!("assistant: {}", text.as_deref().unwrap_or_default());
            for call in calls {
                write!(out, "\n-> {} {} {}", call.id, call.name, call.arguments).unwrap();
            }
            out
        }
        Message::Tool { call, content } => format!("{call}: {}", content.model_text()),
    }
}

fn report_line(report: &CallReport) -> String {
    let failed = match (report.kind, report.applied, report.reference) {
        (Some(kind), Some(applied), Some(reference)) => format!("{kind}, applied {applied}, {reference}"),
        _ => "ok".into(),
    };
    let times = if report.attempts == 1 { "attempt" } else { "attempts" };
    let tool = if report.tool.is_empty() { "\"\"" } else { &report.tool };
    format!("{} {tool}: {failed}, {} {times}", report.id, report.attempts)
}

/// As a list item: four spaces, and more for the lines after the first.
fn indented(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    format!("    {}\n", lines.join("\n        ")).replace("\n        \n", "\n\n")
}
