//! Starting and resuming runs.

use std::sync::Arc;

use backstop_core::{
    CallId, CallerHeaders, Definition, Event, Model, Record, Run, RunId, RunStore, Step, run::Started,
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::{
    agent::Agent,
    answerer::{Answer, Answerer},
    clock::Clock,
    driver::{Driver, RunError},
    observer::Observer,
    report::RunReport,
    running::Running,
};

/// What a run gets beside its input; see [`Agent::start`].
#[derive(Default)]
pub(crate) struct Options {
    store: Option<Arc<dyn RunStore>>,
    observer: Option<Arc<dyn Observer>>,
    answerer: Option<Arc<dyn Answerer>>,
    cancel: Option<CancellationToken>,
    caller: CallerHeaders,
    stream: bool,
}

/// A run about to start.
#[must_use = "a run does nothing until it is driven"]
pub struct Start<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) definition: Arc<Definition>,
    pub(crate) model: &'a dyn Model,
    pub(crate) started: Started,
    pub(crate) options: Options,
}

/// A run about to go on from its journal.
#[must_use = "a run does nothing until it is driven"]
pub struct Resume<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) run: RunId,
    pub(crate) answer: Option<(CallId, Answer)>,
    pub(crate) options: Options,
}

macro_rules! options {
    () => {
        /// Lets something watch the run.
        pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
            self.options.observer = Some(observer);
            self
        }

        /// Streams the model's replies to the observer.
        pub fn stream(mut self, stream: bool) -> Self {
            self.options.stream = stream;
            self
        }

        /// Brings the run's questions to a person. Without it a run that asks is put aside.
        pub fn answerer(mut self, answerer: Arc<dyn Answerer>) -> Self {
            self.options.answerer = Some(answerer);
            self
        }

        /// Cancels the run when the token is cancelled: tools that run are stopped, the history stays balanced.
        pub fn cancel(mut self, token: CancellationToken) -> Self {
            self.options.cancel = Some(token);
            self
        }

        /// Gives toolsets what whoever asks for the run sent along: they pass on those headers that are declared.
        /// No journal has them, so a run that is resumed gets them again; their values are taken out of
        /// everything that leaves the run.
        pub fn caller_headers(mut self, headers: CallerHeaders) -> Self {
            self.options.caller = headers;
            self
        }
    };
}

impl Start<'_> {
    options!();

    /// Keeps the journal in this store.
    pub fn store(mut self, store: Arc<dyn RunStore>) -> Self {
        self.options.store = Some(store);
        self
    }

    /// Drives the run to its end, or to where it waits for a person. Dropping the future stops the run where it
    /// is; with a store it can be resumed.
    ///
    /// # Errors
    ///
    /// [`RunError`] when the journal can't be kept, or the conversation is not balanced.
    pub async fn drive(self) -> Result<RunReport, RunError> {
        let clock = Clock::start();
        let record = Record::new(0, clock.now(), Event::Started(self.started.clone()));
        let run = Run::start(self.definition, record.at, self.started)?;
        if let Some(store) = &self.options.store {
            store.append(run.id(), &record).await?;
        }
        if let Some(observer) = &self.options.observer {
            observer.record(&record);
        }
        drive(self.agent, self.model, run, clock, 1, &self.options, Vec::new()).await
    }
}

impl Resume<'_> {
    options!();

    /// Answers the question that the run waits for: [`Answer::Text`], or [`Answer::Approve`] and
    /// [`Answer::Refuse`] for an approval.
    pub fn answer(mut self, call: CallId, answer: Answer) -> Self {
        self.answer = Some((call, answer));
        self
    }

    /// Replays the journal and drives the run on. Calls that were running when the journal ended are
    /// `interrupted`: made again only where that is safe.
    ///
    /// # Errors
    ///
    /// [`RunError`] when the journal can't be read or kept, is empty, or does not fit the agent.
    pub async fn drive(self) -> Result<RunReport, RunError> {
        let store = self.options.store.as_ref();
        let records = match store {
            Some(store) => store.load(&self.run).await?,
            None => Vec::new(),
        };
        let run = Run::replay(self.agent.definition(), &records)?;
        let mut events = Vec::new();
        if !matches!(run.next_step(), Step::Done(_)) {
            events.push(Event::Resumed);
            events.extend(run.interrupted());
            events.extend(self.answer.map(|(call, answer)| answer.event(&call)));
        }
        let agent = self.agent;
        drive(agent, agent.model.as_ref(), run, Clock::start(), records.len() as u64, &self.options, events)
            .await
    }
}

impl Options {
    pub(crate) fn with_store(store: Arc<dyn RunStore>) -> Self {
        Self { store: Some(store), ..Self::default() }
    }
}

async fn drive(
    agent: &Agent,
    model: &dyn Model,
    run: Run,
    clock: Clock,
    seq: u64,
    options: &Options,
    first: Vec<Event>,
) -> Result<RunReport, RunError> {
    let span = tracing::info_span!(
        "invoke_agent",
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = agent.name.as_str(),
        run = run.id().as_str(),
    );
    let reported = run.failures().len();
    let redactor = options.caller.redactor(&agent.redactor);
    let mut driver = Driver {
        run,
        clock,
        model,
        offer: &agent.offer,
        redactor: &redactor,
        caller: &options.caller,
        store: options.store.as_deref(),
        observer: options.observer.as_deref(),
        answerer: options.answerer.as_deref(),
        cancel: options.cancel.as_ref(),
        stream: options.stream,
        seq,
        reported,
        running: Running::default(),
    };
    async {
        for event in first {
            driver.record(event).await?;
        }
        let (run, outcome) = driver.drive().await?;
        Ok(RunReport::new(run, outcome))
    }
    .instrument(span)
    .await
}
