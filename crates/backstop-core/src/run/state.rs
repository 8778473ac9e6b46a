//! The machine.

use std::{collections::HashSet, sync::Arc, time::Duration};

use super::{
    CallReport, Definition, Event, Limit, ModelTurn, OpenCall, Outcome, ProtocolError, Question,
    QuestionKind, RECORD_VERSION, Record, StartTool, Started, Step,
    call_state::{Call, CallState, Settled, Turn, closes_turn},
    failed::Failed,
    repeats::Repeats,
};
use crate::{
    catalog::Catalog,
    error::{OperatorView, ToolError, ToolErrorKind},
    id::{CallId, RunId, Seed, Timestamp},
    message::{Message, ResultContent, Transcript, check_pairing},
    model::{ModelError, ModelErrorKind, Usage},
    output::ToolOutput,
    policy::Backoff,
};

/// One execution of an agent, as a state machine without hands.
///
/// # Example
///
/// ```
/// use backstop_core::{Definition, Event, Message, ModelReply, Outcome, Run, RunId, Step, Timestamp};
/// use backstop_core::run::Started;
/// use std::sync::Arc;
///
/// let at = Timestamp::from_millis(0);
/// let input = Arc::new(vec![Message::user("Hello?")]);
/// let started = Started { run: RunId::new("r1"), seed: 7, input };
/// let mut run = Run::start(Arc::new(Definition::default()), at, started)?;
/// assert!(matches!(run.next_step(), Step::CallModel(_)));
///
/// run.apply(at, Event::ModelReplied { reply: Arc::new(ModelReply::text("Hi!")) })?;
/// assert_eq!(run.next_step(), Step::Done(Outcome::Answered { text: "Hi!".into() }));
/// # Ok::<(), backstop_core::ProtocolError>(())
/// ```
#[derive(Debug)]
pub struct Run {
    pub(super) definition: Arc<Definition>,
    pub(super) id: RunId,
    pub(super) seed: Seed,
    pub(super) now: Timestamp,
    started_at: Timestamp,
    /// Time in which nobody drove it.
    idle: Duration,
    pub(super) transcript: Transcript,
    phase: Phase,
    pub(super) turns: u32,
    pub(super) tool_calls: u32,
    pub(super) failed: Failed,
    pub(super) retries: u32,
    pub(super) usage: Usage,
    pub(super) repeats: Repeats,
    calls: Vec<CallReport>,
    /// Ids that can't be given to another call.
    pub(super) call_ids: HashSet<CallId>,
    pub(super) failures: Vec<OperatorView>,
}

#[derive(Debug)]
pub(super) enum Phase {
    /// The model is asked, from this time on.
    Model {
        attempt: u32,
        not_before: Option<Timestamp>,
    },
    Tools(Turn),
    Done(Outcome),
}

impl Phase {
    const fn waits(&self) -> &'static str {
        match self {
            Self::Model { .. } => "waits for the model",
            Self::Tools(_) => "waits for tools",
            Self::Done(_) => "has ended",
        }
    }
}

impl Run {
    /// Begins a run.
    ///
    /// # Errors
    ///
    /// [`ProtocolError::Unpaired`] when the conversation holds a call without a result or the reverse.
    pub fn start(
        definition: Arc<Definition>,
        at: Timestamp,
        started: Started,
    ) -> Result<Self, ProtocolError> {
        check_pairing(started.input.iter()).map_err(|calls| ProtocolError::Unpaired { calls })?;
        Ok(Self {
            definition,
            id: started.run,
            seed: Seed::new(started.seed),
            now: at,
            started_at: at,
            idle: Duration::ZERO,
            call_ids: started.input.iter().filter_map(answered).cloned().collect(),
            transcript: Transcript::new(started.input),
            phase: Phase::Model { attempt: 1, not_before: None },
            turns: 0,
            tool_calls: 0,
            failed: Failed::default(),
            retries: 0,
            usage: Usage::default(),
            repeats: Repeats::default(),
            calls: Vec::new(),
            failures: Vec::new(),
        })
    }

    /// Rebuilds a run from its journal. What was going on when the journal ended is told by
    /// [`interrupted`](Self::interrupted).
    ///
    /// # Errors
    ///
    /// [`ProtocolError::Journal`] when the records are not a journal of this definition.
    pub fn replay<'a>(
        definition: Arc<Definition>,
        records: impl IntoIterator<Item = &'a Record>,
    ) -> Result<Self, ProtocolError> {
        let fail = |reason: String| ProtocolError::Journal { reason };
        let mut run: Option<Self> = None;
        for (expected, record) in (0u64..).zip(records) {
            if record.v > RECORD_VERSION {
                return Err(fail(format!(
                    "record {expected} has version {}, newer than this program",
                    record.v
                )));
            }
            if record.seq != expected {
                return Err(fail(format!("record {expected} is missing: found {}", record.seq)));
            }
            run = Some(match (run, record.event.clone()) {
                (None, Event::Started(started)) => Self::start(Arc::clone(&definition), record.at, started)?,
                (None, other) => return Err(fail(format!("it begins with `{}`", other.as_str()))),
                (Some(mut run), event) => {
                    run.apply(record.at, event)
                        .map_err(|error| fail(format!("record {expected}: {error}")))?;
                    run
                }
            });
        }
        run.ok_or_else(|| fail("it is empty".into()))
    }

    /// Offers other tools from the next turn on; what is declared for the run as a whole stays. Gives whether it
    /// does: never in the middle of a turn, whose calls belong to the tools that they were made of.
    ///
    /// A journal does not hold the tools that a run had: [`replay`](Self::replay) is given them.
    pub fn offer(&mut self, catalog: Arc<Catalog>) -> bool {
        if !matches!(self.phase, Phase::Model { .. }) {
            return false;
        }
        let Definition { limits, fallback, .. } = &*self.definition;
        let (limits, fallback) = (limits.clone(), fallback.clone());
        self.definition = Arc::new(Definition { limits, fallback, catalog });
        true
    }

    /// Events that close what was going on when the process died: each call that was started and has no result
    /// is `interrupted`, and nobody knows whether it took effect. Apply them before going on.
    pub fn interrupted(&self) -> Vec<Event> {
        let Phase::Tools(turn) = &self.phase else { return Vec::new() };
        let running = turn.calls.iter().filter(|call| matches!(call.state, CallState::Running));
        running
            .map(|call| Event::ToolFinished {
                call: call.id.clone(),
                result: Err(ToolError::new(
                    ToolErrorKind::Interrupted,
                    "the process ended while the call was running",
                )),
                elapsed_ms: 0,
            })
            .collect()
    }

    /// What to do next. Pure: the same until an event is applied.
    pub fn next_step(&self) -> Step {
        match &self.phase {
            Phase::Done(outcome) => Step::Done(outcome.clone()),
            Phase::Model { not_before: Some(until), .. } if *until > self.now => {
                Step::Await { until: (*until).min(self.deadline()) }
            }
            Phase::Model { attempt, .. } => Step::CallModel(ModelTurn {
                turn: self.turns + 1,
                attempt: *attempt,
                timeout: self.definition.limits.model_timeout,
                until: self.deadline(),
            }),
            Phase::Tools(turn) => self.next_of_turn(turn),
        }
    }

    fn next_of_turn(&self, turn: &Turn) -> Step {
        let entries = self.definition.catalog.entries();
        let exclusive = |call: &Call| {
            call.executed().is_some_and(|v| entries.get(v.entry()).is_some_and(|e| !e.spec.parallel_safe))
        };
        let mut running = 0;
        let mut runs_alone = false;
        let mut due: Option<Timestamp> = None;
        let mut question = None;
        for call in &turn.calls {
            match &call.state {
                CallState::Running => {
                    running += 1;
                    runs_alone |= exclusive(call);
                }
                CallState::Waiting(until) => due = Some(due.map_or(*until, |due| due.min(*until))),
                CallState::Asking(text) if question.is_none() => {
                    question = Some((call, QuestionKind::Answer, text.clone()));
                }
                CallState::Unapproved if question.is_none() => {
                    let text = format!("Allow the call of {}?", call.tool());
                    question = Some((call, QuestionKind::Approval, text));
                }
                CallState::Unapproved | CallState::Asking(_) | CallState::Ready | CallState::Settled(_) => {}
            }
        }
        let room = (self.definition.limits.parallel.max(1) as usize).saturating_sub(running);
        let mut start = Vec::new();
        for call in turn.calls.iter().filter(|call| matches!(call.state, CallState::Ready)) {
            let Some(valid) = call.executed() else { continue };
            let alone = exclusive(call);
            if start.len() >= room || runs_alone || (alone && (running > 0 || !start.is_empty())) {
                break;
            }
            runs_alone = alone;
            start.push(StartTool {
                call: Arc::clone(valid),
                attempt: call.attempts + 1,
                timeout: self.tool_timeout(valid.entry()),
                idempotency_key: format!("{}-{}", self.id, call.id),
            });
        }
        if !start.is_empty() {
            return Step::StartTools(start);
        }
        match question {
            Some((call, kind, text)) if running == 0 && due.is_none() => Step::Ask(Question {
                kind,
                call: call.id.clone(),
                tool: call.tool().to_owned(),
                arguments: call.shown_arguments(),
                text,
            }),
            _ => Step::Await { until: due.map_or(self.deadline(), |due| due.min(self.deadline())) },
        }
    }

    /// Takes what happened: the only way a run changes.
    ///
    /// # Errors
    ///
    /// [`ProtocolError`] when the event does not fit; the run is unchanged then.
    pub fn apply(&mut self, at: Timestamp, event: Event) -> Result<(), ProtocolError> {
        let name = event.as_str();
        let unexpected = |phase: &Phase| ProtocolError::Unexpected { event: name, waits: phase.waits() };
        self.check(&event)?;
        if matches!(event, Event::Resumed) {
            self.idle += at.since(self.now);
        }
        self.now = self.now.max(at);
        let phase = std::mem::replace(&mut self.phase, Phase::Done(Outcome::Cancelled));
        self.phase = match (phase, event) {
            (Phase::Model { attempt, .. }, Event::ModelReplied { reply }) => self.replied(attempt, &reply),
            (Phase::Model { attempt, .. }, Event::ModelFailed { error }) => self.model_failed(attempt, error),
            (Phase::Model { attempt, not_before }, Event::TimerFired) if self.now < self.deadline() => {
                Phase::Model { attempt, not_before: not_before.filter(|until| *until > self.now) }
            }
            (Phase::Model { .. }, Event::TimerFired) => {
                Phase::Done(Outcome::LimitReached { which: Limit::WallClock })
            }
            (phase @ (Phase::Model { .. } | Phase::Tools(_)), Event::Resumed) => phase,
            (Phase::Model { .. }, Event::Cancelled) => Phase::Done(Outcome::Cancelled),
            (Phase::Tools(mut turn), Event::ToolStarted { call, .. }) => {
                if let Some(call) = turn.position(&call).and_then(|index| turn.calls.get_mut(index)) {
                    call.attempts += 1;
                    call.state = CallState::Running;
                }
                Phase::Tools(turn)
            }
            (Phase::Tools(mut turn), Event::ToolFinished { call, result, elapsed_ms }) => {
                if let Some(index) = turn.position(&call) {
                    self.finished(&mut turn, index, result, elapsed_ms);
                }
                self.after(turn)
            }
            (Phase::Tools(mut turn), Event::TimerFired) => {
                if self.now >= self.deadline() {
                    turn.ends(Outcome::LimitReached { which: Limit::WallClock });
                    self.close_turn(&mut turn, "the run's time is over");
                }
                for call in &mut turn.calls {
                    if matches!(call.state, CallState::Waiting(until) if until <= self.now) {
                        call.state = CallState::Ready;
                    }
                }
                self.after(turn)
            }
            (Phase::Tools(mut turn), Event::Answered { call, answer }) => {
                if let Some(call) = turn.position(&call).and_then(|index| turn.calls.get_mut(index)) {
                    let note = "A person answered in place of the tool:".to_owned();
                    let content = ResultContent::Substitute { output: ToolOutput::Text(answer), note };
                    call.state = CallState::Settled(Settled { content, failure: None });
                }
                self.after(turn)
            }
            (Phase::Tools(mut turn), Event::Approved { call }) => {
                if let Some(call) = turn.position(&call).and_then(|index| turn.calls.get_mut(index)) {
                    call.state = CallState::Ready;
                }
                Phase::Tools(turn)
            }
            (Phase::Tools(mut turn), Event::Refused { call, reason }) => {
                if let Some(index) = turn.position(&call) {
                    self.call_refused_by_person(&mut turn, index, reason);
                }
                self.after(turn)
            }
            (Phase::Tools(mut turn), Event::Cancelled) => {
                turn.ends(Outcome::Cancelled);
                self.close_turn(&mut turn, "the run was cancelled");
                self.after(turn)
            }
            // Kept out by `check`.
            (phase, _) => {
                self.phase = phase;
                return Err(unexpected(&self.phase));
            }
        };
        Ok(())
    }

    /// Whether an event fits, before anything changes.
    fn check(&self, event: &Event) -> Result<(), ProtocolError> {
        let name = event.as_str();
        let unexpected = Err(ProtocolError::Unexpected { event: name, waits: self.phase.waits() });
        let unknown = |call: &CallId| Err(ProtocolError::UnknownCall { event: name, call: call.clone() });
        match (&self.phase, event) {
            (Phase::Done(_), _) | (_, Event::Started(_)) => unexpected,
            (Phase::Model { .. }, Event::ModelReplied { .. } | Event::ModelFailed { .. }) => Ok(()),
            (
                Phase::Model { .. } | Phase::Tools(_),
                Event::TimerFired | Event::Resumed | Event::Cancelled,
            ) => Ok(()),
            (Phase::Model { .. }, _) => unexpected,
            (Phase::Tools(_), Event::ModelReplied { .. } | Event::ModelFailed { .. }) => unexpected,
            (Phase::Tools(turn), Event::ToolStarted { call, attempt, .. }) => {
                let state = turn.position(call).and_then(|index| turn.calls.get(index));
                match state {
                    Some(known)
                        if matches!(known.state, CallState::Ready) && known.attempts + 1 == *attempt =>
                    {
                        Ok(())
                    }
                    _ => unknown(call),
                }
            }
            (Phase::Tools(turn), Event::ToolFinished { call, .. }) => {
                let state = turn.position(call).and_then(|index| turn.calls.get(index));
                if state.is_some_and(|call| matches!(call.state, CallState::Running)) {
                    Ok(())
                } else {
                    unknown(call)
                }
            }
            (Phase::Tools(turn), Event::Approved { call }) => {
                let state = turn.position(call).and_then(|index| turn.calls.get(index));
                if state.is_some_and(|call| matches!(call.state, CallState::Unapproved)) {
                    Ok(())
                } else {
                    unknown(call)
                }
            }
            (Phase::Tools(turn), Event::Refused { call, .. }) => {
                let state = turn.position(call).and_then(|index| turn.calls.get(index));
                let asks = |call: &Call| matches!(call.state, CallState::Unapproved | CallState::Asking(_));
                if state.is_some_and(asks) { Ok(()) } else { unknown(call) }
            }
            (Phase::Tools(turn), Event::Answered { call, .. }) => {
                let state = turn.position(call).and_then(|index| turn.calls.get(index));
                if state.is_some_and(|call| matches!(call.state, CallState::Asking(_))) {
                    Ok(())
                } else {
                    unknown(call)
                }
            }
        }
    }

    /// What a turn leads to: the next one, the end, or more of itself.
    pub(super) fn after(&mut self, mut turn: Turn) -> Phase {
        if turn.end.as_ref().is_some_and(closes_turn) {
            self.close_turn(&mut turn, "the run has ended");
        }
        if !turn.is_settled() {
            return Phase::Tools(turn);
        }
        let end = turn.end.take();
        for call in &turn.calls {
            self.failed.settled(call.gave_nothing());
        }
        let messages = turn.into_messages(&mut self.calls);
        self.transcript.extend(messages);
        match end.or_else(|| self.spent().map(|which| Outcome::LimitReached { which })) {
            Some(outcome) => Phase::Done(outcome),
            None => Phase::Model { attempt: 1, not_before: None },
        }
    }

    pub(super) fn model_failed(&mut self, attempt: u32, error: ModelError) -> Phase {
        let limits = &self.definition.limits;
        // An empty reply comes again as a rule: one more try is all it gets.
        let retries = if error.kind() == ModelErrorKind::EmptyReply {
            limits.model_retries.min(1)
        } else {
            limits.model_retries
        };
        let jitter = self.seed.at([self.turns.into(), u64::MAX, attempt.into(), 0]).permille();
        let own = Backoff::default().wait(attempt, jitter);
        let after = error.retry_after().map_or(own, |asked| asked.max(own));
        let fits = after < self.deadline().since(self.now);
        if error.kind().may_pass() && attempt <= retries && fits {
            Phase::Model { attempt: attempt + 1, not_before: Some(self.now.after(after)) }
        } else {
            Phase::Done(Outcome::ModelFailed { error })
        }
    }

    pub(super) fn deadline(&self) -> Timestamp {
        self.started_at
            .after(self.definition.limits.wall_clock.max(Duration::from_millis(1)))
            .after(self.idle)
    }

    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The conversation: always balanced, since a turn enters it when each of its calls has a result.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Model replies so far.
    pub fn turns(&self) -> u32 {
        self.turns
    }

    /// Tokens spent so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// What came of the calls of all settled turns, in order.
    pub fn calls(&self) -> &[CallReport] {
        &self.calls
    }

    /// The calls of a turn that is not settled, in order: of a run that was put aside, the ones that wait for a
    /// person and those beside them.
    pub fn open_calls(&self) -> Vec<OpenCall<'_>> {
        match &self.phase {
            Phase::Tools(turn) => turn.open_calls().collect(),
            Phase::Model { .. } | Phase::Done(_) => Vec::new(),
        }
    }

    /// The operator's view of every failed attempt so far, in order.
    pub fn failures(&self) -> &[OperatorView] {
        &self.failures
    }

    /// What it is made from.
    pub fn definition(&self) -> &Arc<Definition> {
        &self.definition
    }
}

/// The call that a message is the result of.
const fn answered(message: &Message) -> Option<&CallId> {
    match message {
        Message::Tool { call, .. } => Some(call),
        Message::System { .. } | Message::User { .. } | Message::Assistant { .. } => None,
    }
}
