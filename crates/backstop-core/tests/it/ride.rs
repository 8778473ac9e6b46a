//! The driver of the properties: numbers decide what the model says, how tools end and when the clock moves.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, OnceLock},
    time::Duration,
};

use backstop_core::{
    Applied, CallId, Definition, Effect, Event, FinishReason, Message, ModelError, ModelErrorKind,
    ModelReply, Outcome, Record, Run, RunId, Step, Timestamp, ToolCall, ToolError, ToolErrorKind, ToolOutput,
    message::check_pairing,
    run::{StartTool, Started},
};
use serde_json::{Value, json};

use crate::events::definition;

/// Events of one run at most: a run that takes more does not end.
const BOUND: usize = 1_500;

pub(crate) const TOOLS: &str = "
    tool read(q: string) read_only
    tool put(k: integer) idempotent
    tool pay(amount: integer) mutating check_with=read
    tool pay_keyed(amount: integer) mutating keyed
    tool alone(n: integer) mutating exclusive
    tool pick(mode: quick|slow) read_only timeout=5s
";

const LIMITS: [&str; 8] = [
    "",
    "limit turns=2",
    "limit tool_calls=3 parallel=2",
    "limit wall_clock=2s",
    "limit failures=2",
    "limit repeats=1 same_results=1",
    "limit parallel=1 retries=1",
    "limit call_retries=5 retries=50 model_retries=0",
];

const STRATEGIES: [&str; 8] = [
    "",
    "when class=transient -> retry 3",
    "when kind=internal -> stop",
    "when kind=not_found -> ask_human \"What is it?\"",
    "when class=answer -> use_value {\"x\":1}",
    "when applied=unknown -> retry 9
     when applied=unknown -> continue \"Check first.\"",
    "when kind=unknown_tool -> stop \"Enough.\"
     when kind=rejected -> ask_human \"May it?\"",
    "when always -> retry 1",
];

/// Every set-up there is, made once.
pub(crate) fn set_up(index: u8) -> Arc<Definition> {
    static ALL: OnceLock<Vec<Arc<Definition>>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let headers = LIMITS.iter().flat_map(|limits| {
            STRATEGIES.iter().map(move |strategies| format!("{TOOLS}\n{limits}\n{strategies}"))
        });
        headers.map(|header| Arc::new(definition(&header))).collect()
    });
    Arc::clone(&all[usize::from(index) % all.len()])
}

/// Numbers that decide what happens. At its end everything goes well, or it starts over and never ends.
#[derive(Clone, Debug)]
pub(crate) struct Tape {
    pub(crate) numbers: Vec<u16>,
    pub(crate) at: usize,
    pub(crate) endless: bool,
}

impl Tape {
    pub(crate) fn ended() -> Self {
        Self { numbers: Vec::new(), at: 0, endless: false }
    }

    /// A number below `n`; 0 is what happens when all goes well.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        let at = self.at;
        self.at += 1;
        let number = match self.numbers.get(at) {
            Some(number) => u64::from(*number),
            None if self.endless && !self.numbers.is_empty() => {
                let number = u64::from(self.numbers[at % self.numbers.len()]);
                (number ^ at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
            }
            None => 0,
        };
        usize::try_from(number).unwrap() % n
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    fn pick<T: Clone>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())].clone()
    }
}

/// A run on its way, with what must never happen kept in view.
pub(crate) struct Ride {
    pub(crate) run: Run,
    pub(crate) journal: Vec<Record>,
    now: Timestamp,
    tape: Tape,
    running: BTreeMap<String, StartTool>,
    /// Calls of mutating tools without a key that may have taken effect: they must not be started.
    spent: HashSet<CallId>,
    ids: usize,
}

impl Ride {
    pub(crate) fn start(definition: Arc<Definition>, tape: Tape) -> Self {
        let now = Timestamp::from_millis(1_000);
        let input = Arc::new(vec![Message::system("Help."), Message::user("Do it.")]);
        let started = Started { run: RunId::new("r1"), seed: 11, input };
        let run = Run::start(definition, now, started.clone()).unwrap();
        let journal = vec![Record::new(0, now, Event::Started(started))];
        let (running, spent) = (BTreeMap::new(), HashSet::new());
        Self { run, journal, now, tape, running, spent, ids: 0 }
    }

    /// Another process takes the run up after record number `n`.
    pub(crate) fn resume(definition: Arc<Definition>, journal: &[Record], tape: Tape) -> Self {
        let run = Run::replay(definition, journal).unwrap();
        let mut ride = Self {
            now: journal.last().unwrap().at,
            journal: journal.to_vec(),
            run,
            tape,
            running: BTreeMap::new(),
            spent: HashSet::new(),
            ids: 1_000,
        };
        // What is spent is read from the journal, since the process that knew it is dead. An id is unique in a run.
        let unsafe_calls = unsafe_calls(&ride.run, journal);
        for record in journal {
            match &record.event {
                Event::ToolStarted { call, .. } if unsafe_calls.contains(call) => {
                    ride.spent.insert(call.clone());
                }
                Event::ToolFinished { call, result: Err(error), .. } if error.applied() == Applied::No => {
                    ride.spent.remove(call);
                }
                _ => {}
            }
        }
        for event in ride.run.interrupted() {
            ride.apply(event);
        }
        assert_eq!(ride.run.interrupted(), [], "nothing runs any more");
        ride
    }

    fn apply(&mut self, event: Event) {
        self.run.apply(self.now, event.clone()).unwrap();
        let record = Record::new(self.journal.len() as u64, self.now, event);
        let line = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record, "{line}");
        self.journal.push(record);
        assert!(self.journal.len() < BOUND, "the run does not end");
        assert_eq!(check_pairing(self.run.transcript().messages()), Ok(()));
        assert_eq!(self.run.next_step(), self.run.next_step());
    }

    fn advance(&mut self, until: Timestamp) {
        self.now = self.now.max(until);
    }

    /// To the end.
    pub(crate) fn ride(mut self) -> Self {
        while let Some(event) = self.next() {
            self.apply(event);
        }
        self
    }

    /// What happens next; nothing when the run has ended.
    fn next(&mut self) -> Option<Event> {
        let step = self.run.next_step();
        if !matches!(step, Step::Done(_)) && self.tape.one_in(150) {
            return Some(Event::Cancelled);
        }
        Some(match step {
            Step::Done(outcome) => {
                assert!(!matches!(outcome, Outcome::NeedsAnswer { .. }));
                return None;
            }
            Step::CallModel(turn) => match self.tape.below(24) {
                22 => Event::ModelFailed { error: self.model_error() },
                23 if self.tape.one_in(4) => {
                    self.advance(turn.until);
                    Event::TimerFired
                }
                kind => Event::ModelReplied { reply: Arc::new(self.reply(kind)) },
            },
            Step::StartTools(starts) => {
                self.check_starts(&starts);
                match self.running.is_empty() || !self.tape.one_in(4) {
                    true => self.tool_starts(&self.run.definition().clone(), starts),
                    false => self.tool_finishes(),
                }
            }
            Step::Await { until } if self.running.is_empty() || self.tape.one_in(20) => {
                self.advance(until);
                Event::TimerFired
            }
            Step::Await { .. } => self.tool_finishes(),
            Step::Ask(question) => {
                assert!(self.running.is_empty());
                match self.tape.one_in(4) {
                    true => {
                        self.now = self.now.after(Duration::from_secs(601));
                        Event::TimerFired
                    }
                    false => Event::Answered { call: question.call, answer: "42".into() },
                }
            }
        })
    }

    /// Parallel calls stay within the limit, and exclusive ones run alone.
    fn check_starts(&self, starts: &[StartTool]) {
        let definition = self.run.definition();
        let alone = |start: &StartTool| !definition.catalog.entries()[start.call.entry()].spec.parallel_safe;
        assert!(!starts.is_empty());
        assert!(self.running.len() + starts.len() <= definition.limits.parallel as usize);
        if starts.iter().chain(self.running.values()).any(alone) {
            assert_eq!(self.running.len() + starts.len(), 1, "an exclusive call beside another one");
        }
    }

    fn tool_starts(&mut self, definition: &Definition, starts: Vec<StartTool>) -> Event {
        let start = self.tape.pick(&starts);
        let spec = &definition.catalog.entries()[start.call.entry()].spec;
        let call = start.call.id().clone();
        if spec.effect == Effect::Mutating && !spec.honours_idempotency_key {
            assert!(
                self.spent.insert(call.clone()),
                "call `{call}` is made again, though it may have taken effect"
            );
        }
        let attempt = start.attempt;
        self.running.insert(call.to_string(), start);
        Event::ToolStarted { call, attempt, tool: String::new(), mended: None }
    }

    fn tool_finishes(&mut self) -> Event {
        let running: Vec<String> = self.running.keys().cloned().collect();
        let call = self.tape.pick(&running);
        self.running.remove(&call);
        let call = CallId::new(call);
        let elapsed_ms = self.tape.below(3_000) as u64;
        self.now = self.now.after(Duration::from_millis(elapsed_ms));
        let result = match self.tape.below(2) {
            0 => Ok(self.output()),
            _ => Err(self.tool_error()),
        };
        if result.as_ref().is_err_and(|error| error.applied() == Applied::No) {
            self.spent.remove(&call);
        }
        Event::ToolFinished { call, result, elapsed_ms }
    }

    pub(crate) fn output(&mut self) -> ToolOutput {
        let fraction = self.tape.below(65_536) as f64;
        self.tape.pick(&[
            ToolOutput::text("done"),
            ToolOutput::Json(json!({"b": [1, null, {"a": "ü\n\u{0}"}], "a": fraction / 7.0e5})),
            ToolOutput::Json(json!(fraction * 1.1e-7)),
            ToolOutput::Json(Value::Null),
            ToolOutput::text(""),
            ToolOutput::text("x".repeat(70_000)),
        ])
    }

    pub(crate) fn tool_error(&mut self) -> ToolError {
        let kind = match self.tape.one_in(12) {
            true => self.tape.pick(&ToolErrorKind::ALL),
            // What may pass is where the most can happen.
            false => self.tape.pick(&ToolErrorKind::ALL[3..13]),
        };
        let mut error = ToolError::new(kind, "detail");
        if self.tape.one_in(2) {
            error = error.with_applied(self.tape.pick(&Applied::ALL));
        }
        if self.tape.one_in(3) {
            error = error.say("in the service's words").with_status(500).at("/q/0");
        }
        if self.tape.one_in(3) {
            error = error.with_retry_after(Duration::from_millis(self.tape.below(3_000) as u64));
        }
        if self.tape.one_in(3) {
            error = error.with_source(std::io::Error::other("refused")).with_code("E17").with_request_id("q");
        }
        error
    }

    fn model_error(&mut self) -> ModelError {
        let kind = match self.tape.one_in(4) {
            true => self.tape.pick(&ModelErrorKind::ALL),
            false => ModelErrorKind::RateLimited,
        };
        let wait = Duration::from_millis(self.tape.below(3_000) as u64);
        ModelError::new(kind, "detail").with_retry_after(wait).with_partial("so far").say("words")
    }

    fn reply(&mut self, kind: usize) -> ModelReply {
        let mut reply = ModelReply::default();
        if kind == 21 {
            return reply;
        }
        reply.finish = match kind {
            19 => FinishReason::Length,
            20 if self.tape.one_in(3) => FinishReason::ContentFilter,
            _ => FinishReason::Stop,
        };
        reply.usage.output_tokens = 7;
        if kind == 0 || self.tape.one_in(4) {
            reply.text = Some("Well.".into());
        }
        if kind > 0 {
            let count = 1 + self.tape.below(4);
            reply.calls = (0..count).map(|_| self.tool_call()).collect();
            reply.extra.insert("reasoning".into(), json!({"step": 1.5}));
        }
        reply
    }

    pub(crate) fn tool_call(&mut self) -> ToolCall {
        self.ids += 1;
        let own = format!("c{}", self.ids);
        let id = self.tape.pick(&[own.as_str(), own.as_str(), own.as_str(), "", "same", "call_1_1"]);
        let offered = [
            ("read", r#"{"q":"x"}"#),
            ("read", r#"{"q":"y"}"#),
            ("put", r#"{"k":1}"#),
            ("pay", r#"{"amount":3}"#),
            ("pay", r#"{"amount":4}"#),
            ("pay_keyed", r#"{"amount":3}"#),
            ("alone", r#"{"n":1}"#),
            ("pick", r#"{"mode":"quick"}"#),
        ];
        let invented = [("reed", r#"{"q":"x"}"#), ("rea d\n", "{}"), ("", "")];
        let (name, right) =
            if self.tape.one_in(10) { self.tape.pick(&invented) } else { self.tape.pick(&offered) };
        let wrong = [
            r#"{"q":1,"k":"x","amount":"3","n":null,"mode":"quik"}"#,
            "{",
            "",
            "null",
            "[1]",
            r#"{"q":"a","q":"b"}"#,
            r#"{"k":1e400}"#,
            r#"{"q":"\ud83d"}"#,
            "```json\n{\"q\":'x'}```",
        ];
        let arguments = if self.tape.one_in(10) { self.tape.pick(&wrong) } else { right };
        ToolCall::new(id, name, arguments)
    }
}

/// The calls in a journal that must not be made again once they may have taken effect.
fn unsafe_calls(run: &Run, journal: &[Record]) -> HashSet<CallId> {
    // Replay each prefix up to a start: only there the run says which tool a call is of.
    let mut calls = HashSet::new();
    for (n, record) in journal.iter().enumerate() {
        let Event::ToolStarted { call, .. } = &record.event else { continue };
        let before = Run::replay(Arc::clone(run.definition()), &journal[..n]).unwrap();
        let Step::StartTools(starts) = before.next_step() else { continue };
        let start = starts.iter().find(|start| start.call.id() == call).expect("only these were started");
        let spec = &run.definition().catalog.entries()[start.call.entry()].spec;
        if spec.effect == Effect::Mutating && !spec.honours_idempotency_key {
            calls.insert(call.clone());
        }
    }
    calls
}
