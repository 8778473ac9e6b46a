//! Performs the steps of a run.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use backstop_core::{
    CallerHeaders, DeltaSink, Event, Model, ModelError, ModelErrorKind, ModelRequest, Outcome, ProtocolError,
    Question, Record, Redactor, Run, RunStore, Step, StoreError,
    run::{ModelTurn, StartTool},
};
use futures_util::FutureExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::{
    answerer::Answerer,
    clock::Clock,
    observer::Observer,
    offer::Offer,
    running::{Finished, MARGIN, Running, panic_words},
    sink::ObserverSink,
    telemetry,
};

/// Why a run could not go on: never because of a model or a tool.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The journal could not be kept or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The conversation or the journal does not fit.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}

/// One run and the hands it needs.
pub(crate) struct Driver<'a> {
    pub(crate) run: Run,
    pub(crate) clock: Clock,
    pub(crate) model: &'a dyn Model,
    pub(crate) offer: &'a Offer,
    pub(crate) redactor: &'a Redactor,
    pub(crate) caller: &'a CallerHeaders,
    pub(crate) store: Option<&'a dyn RunStore>,
    pub(crate) observer: Option<&'a dyn Observer>,
    pub(crate) answerer: Option<&'a dyn Answerer>,
    pub(crate) cancel: Option<&'a CancellationToken>,
    pub(crate) stream: bool,
    /// Records there are.
    pub(crate) seq: u64,
    /// Failures that were reported.
    pub(crate) reported: usize,
    pub(crate) running: Running,
}

impl Driver<'_> {
    /// Performs steps until the run has ended or waits for a person.
    pub(crate) async fn drive(mut self) -> Result<(Run, Outcome), RunError> {
        let ended = self.steps().await;
        self.running.stop().await;
        ended.map(|outcome| (self.run, outcome))
    }

    async fn steps(&mut self) -> Result<Outcome, RunError> {
        loop {
            match self.run.next_step() {
                Step::CallModel(turn) => {
                    self.look_for_changes(&turn).await;
                    let event = self.call_model(turn).await;
                    self.record(event).await?;
                }
                Step::StartTools(calls) => self.start(calls).await?,
                Step::Await { until } => self.wait(self.clock.instant(until)).await?,
                Step::Ask(question) => match self.ask(&question).await {
                    Some(event) => {
                        // A person takes their time: it is not the run's.
                        if !matches!(event, Event::Cancelled) {
                            self.record(Event::Resumed).await?;
                        }
                        self.record(event).await?;
                    }
                    None => return Ok(Outcome::NeedsAnswer { question }),
                },
                Step::Done(outcome) => return Ok(outcome),
            }
        }
    }

    /// Offers the tools that there are by now.
    async fn look_for_changes(&mut self, turn: &ModelTurn) {
        if self.offer.has_changed() {
            tokio::select! {
                biased;
                () = cancelled(self.cancel) => {}
                () = self.offer.refresh() => {}
                () = tokio::time::sleep_until(self.clock.instant(turn.until)) => {}
            }
        }
        let offered = Arc::clone(&self.offer.definition().catalog);
        if !Arc::ptr_eq(&offered, &self.run.definition().catalog) {
            self.run.offer(offered);
        }
    }

    async fn ask(&self, question: &Question) -> Option<Event> {
        let answerer = self.answerer?;
        tokio::select! {
            biased;
            () = cancelled(self.cancel) => Some(Event::Cancelled),
            answer = answerer.ask(question) => answer.map(|answer| answer.event(&question.call)),
        }
    }

    /// Writes an event down, then lets the run take it.
    pub(crate) async fn record(&mut self, event: Event) -> Result<(), RunError> {
        let at = self.clock.now();
        if self.store.is_some() || self.observer.is_some() {
            let record = Record::new(self.seq, at, event.clone());
            if let Some(store) = self.store {
                store.append(self.run.id(), &record).await?;
            }
            if let Some(observer) = self.observer {
                observer.record(&record);
            }
        }
        self.seq += 1;
        self.run.apply(at, event)?;
        for failure in self.run.failures().iter().skip(self.reported) {
            telemetry::failure(failure);
            if let Some(observer) = self.observer {
                observer.failure(failure);
            }
        }
        self.reported = self.run.failures().len();
        Ok(())
    }

    async fn call_model(&self, turn: ModelTurn) -> Event {
        let run_ends = self.clock.instant(turn.until);
        let now = Instant::now();
        let turn_ends = now.checked_add(turn.timeout).map_or(run_ends, |ends| ends.min(run_ends));
        let timeout = turn_ends.saturating_duration_since(now);
        let given_up = turn_ends.checked_add(MARGIN).map_or(run_ends, |ends| ends.min(run_ends));
        let request = ModelRequest::new(self.run.transcript(), &self.run.definition().catalog, timeout);
        let sink =
            self.observer.filter(|_| self.stream).map(|observer| ObserverSink::new(observer, self.redactor));
        let reply = self.model.respond(request, sink.as_ref().map(|sink| sink as &dyn DeltaSink));
        let span = tracing::info_span!(
            "chat",
            gen_ai.operation.name = "chat",
            gen_ai.request.model = self.model.name(),
            turn = turn.turn,
            attempt = turn.attempt,
        );
        let reply = AssertUnwindSafe(reply).catch_unwind().instrument(span);
        let reply = tokio::select! {
            biased;
            () = cancelled(self.cancel) => return Event::Cancelled,
            reply = tokio::time::timeout_at(given_up, reply) => reply,
        };
        if let Some(sink) = &sink {
            sink.finish();
        }
        match reply {
            Ok(Ok(Ok(reply))) => Event::ModelReplied { reply: Arc::new(self.redactor.model_reply(reply)) },
            Ok(Ok(Err(error))) => {
                let error = self.redactor.model_error(error);
                tracing::event!(
                target: "backstop::model",
                tracing::Level::WARN,
                            "error.type" = error.kind().as_str(),
                            status = error.status(),
                            detail = error.detail(),
                            causes = error.causes().join(": "),
                            attempt = turn.attempt,
                            "{error}"
                        );
                Event::ModelFailed { error }
            }
            Ok(Err(panic)) => {
                let detail = format!("the model client panicked: {}", panic_words(panic.as_ref()));
                Event::ModelFailed { error: ModelError::new(ModelErrorKind::Misconfigured, detail) }
            }
            Err(_) if turn_ends == run_ends => Event::TimerFired,
            Err(_) => {
                let detail = format!("no reply within {}", backstop_core::text::duration(turn.timeout));
                Event::ModelFailed { error: ModelError::new(ModelErrorKind::Timeout, detail) }
            }
        }
    }

    async fn start(&mut self, calls: Vec<StartTool>) -> Result<(), RunError> {
        for start in calls {
            if self.cancel.is_some_and(CancellationToken::is_cancelled) {
                return self.record(Event::Cancelled).await;
            }
            self.record(start.started()).await?;
            let toolset = self.offer.toolset(start.call.toolset());
            self.running.start(toolset, self.run.id(), self.caller, start);
        }
        Ok(())
    }

    /// Waits for a running call, its deadline, or the time of the run's own timer.
    async fn wait(&mut self, until: Instant) -> Result<(), RunError> {
        let wake = self.running.next_deadline().map_or(until, |deadline| deadline.min(until));
        tokio::select! {
            biased;
            () = cancelled(self.cancel) => self.record(Event::Cancelled).await,
            finished = self.running.next() => self.finished(finished).await,
            () = tokio::time::sleep_until(wake) => {
                for finished in self.running.expire(Instant::now()) {
                    self.finished(finished).await?;
                    if let Step::Done(_) = self.run.next_step() {
                        return Ok(());
                    }
                }
                if Instant::now() >= until { self.record(Event::TimerFired).await } else { Ok(()) }
            }
        }
    }

    async fn finished(&mut self, finished: Finished) -> Result<(), RunError> {
        let Finished { call, result, elapsed } = finished;
        let result = self.redactor.result(result);
        let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        self.record(Event::ToolFinished { call, result, elapsed_ms }).await
    }
}

async fn cancelled(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

/// The longest wait for a toolset to list its tools.
pub(crate) const LIST_TIMEOUT: Duration = Duration::from_secs(10);
