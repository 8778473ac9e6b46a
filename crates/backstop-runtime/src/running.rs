//! The tool calls that are running: tasks that the driver owns.

use std::{any::Any, sync::Arc, time::Duration};

use backstop_core::{
    CallContext, CallId, CallerHeaders, RunId, ToolError, ToolOutput, Toolset, run::StartTool,
};
use tokio::{
    task::{AbortHandle, JoinError, JoinSet},
    time::Instant,
};
use tracing::Instrument;

use crate::telemetry;

/// What a tool or a model may take longer than its time: one that keeps the limit itself knows better what it waited
/// for.
pub(crate) const MARGIN: Duration = Duration::from_millis(20);
/// How long the end of a run waits for tools that were told to stop.
const GRACE: Duration = Duration::from_millis(500);

/// The running attempts of one run. Each is a task of its own, so a panic, a hang or a blocking call of one never
/// touches its siblings or the driver; all end with this value.
#[derive(Default)]
pub(crate) struct Running {
    tasks: JoinSet<Result<ToolOutput, ToolError>>,
    attempts: Vec<Attempt>,
}

struct Attempt {
    call: CallId,
    task: AbortHandle,
    started: Instant,
    timeout: Duration,
    deadline: Instant,
}

/// An attempt that ended.
pub(crate) struct Finished {
    pub(crate) call: CallId,
    pub(crate) result: Result<ToolOutput, ToolError>,
    pub(crate) elapsed: Duration,
}

impl Running {
    /// Starts an attempt.
    pub(crate) fn start(
        &mut self,
        toolset: Option<Arc<dyn Toolset>>,
        run: &RunId,
        caller: &CallerHeaders,
        start: StartTool,
    ) {
        let span = telemetry::tool_span(&start);
        let cx = CallContext::new(run.clone(), start.attempt, start.timeout, start.idempotency_key)
            .caller_headers(caller.clone());
        let call = start.call;
        let id = call.id().clone();
        let work = async move {
            match toolset {
                Some(toolset) => toolset.call(&call, &cx).await,
                None => Err(ToolError::misconfigured("the toolset of this tool is not there")),
            }
        };
        let task = self.tasks.spawn(work.instrument(span));
        let started = Instant::now();
        // A limit beyond the range of the clock is no limit.
        let deadline = started
            .checked_add(start.timeout.saturating_add(MARGIN))
            .unwrap_or(started + Duration::from_secs(86_400 * 365));
        self.attempts.push(Attempt { call: id, task, started, timeout: start.timeout, deadline });
    }

    /// When the first of them runs out of time.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.attempts.iter().map(|attempt| attempt.deadline).min()
    }

    /// The attempts whose time is over at `now`: told to stop, and waited for no longer.
    pub(crate) fn expire(&mut self, now: Instant) -> Vec<Finished> {
        let (expired, going): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.attempts).into_iter().partition(|attempt| attempt.deadline <= now);
        self.attempts = going;
        expired
            .into_iter()
            .map(|attempt| {
                attempt.task.abort();
                Finished {
                    call: attempt.call,
                    result: Err(ToolError::timeout(
                        attempt.timeout,
                        "the tool did not answer within its time limit",
                    )),
                    elapsed: now - attempt.started,
                }
            })
            .collect()
    }

    /// The next attempt that ends by itself; waits for ever when none is running. Safe to drop.
    pub(crate) async fn next(&mut self) -> Finished {
        loop {
            let Some(joined) = self.tasks.join_next_with_id().await else {
                return std::future::pending().await;
            };
            let (id, result) = match joined {
                Ok((id, result)) => (id, result),
                Err(error) => (error.id(), Err(crashed(error))),
            };
            // One that is not known has run out of time before: its late answer is of no use.
            if let Some(index) = self.attempts.iter().position(|attempt| attempt.task.id() == id) {
                let attempt = self.attempts.swap_remove(index);
                return Finished { call: attempt.call, result, elapsed: attempt.started.elapsed() };
            }
        }
    }

    /// Stops what is still running and waits for it, for a bounded time.
    pub(crate) async fn stop(&mut self) {
        if !self.tasks.is_empty() {
            let _ = tokio::time::timeout(GRACE, self.tasks.shutdown()).await;
        }
    }
}

/// A task that panicked: `internal`, with the panic's words for the operator.
fn crashed(error: JoinError) -> ToolError {
    match error.try_into_panic() {
        Ok(panic) => ToolError::internal(format!("the tool panicked: {}", panic_words(panic.as_ref()))),
        Err(_) => ToolError::internal("the tool's task was aborted from outside"),
    }
}

/// The words of a panic.
pub(crate) fn panic_words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&'static str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
