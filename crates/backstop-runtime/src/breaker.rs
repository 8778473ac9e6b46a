//! A toolset that leaves a tool alone which fails again and again.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use backstop_core::{CallContext, ErrorClass, ToolError, ToolOutput, ToolSpec, Toolset, ValidCall, text};
use tokio::time::Instant;

/// The code of an error that a breaker gives in place of a call.
pub const CIRCUIT_OPEN: &str = "circuit_open";

/// When a [`Breaker`] opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerLimits {
    /// Transient failures of one tool in a row.
    pub failures: u32,
    /// Time in which the tool is left alone; then one call may try it.
    pub open_for: Duration,
}

impl Default for BreakerLimits {
    fn default() -> Self {
        Self { failures: 10, open_for: Duration::from_secs(30) }
    }
}

/// A circuit breaker around a toolset, tool by tool and over all runs that share it.
///
/// After so many transient failures in a row, calls of the tool are answered at once with `unavailable`, surely
/// not applied and with the code [`CIRCUIT_OPEN`], and the model is told that the tool is not tried at the moment.
/// When the time is over one call goes through; its result closes the breaker or opens it again. A call that is
/// dropped, as at a deadline, counts as a failure.
pub struct Breaker {
    inner: Arc<dyn Toolset>,
    limits: BreakerLimits,
    tools: Mutex<HashMap<String, State>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    failures: u32,
    /// Since when it is open, until a call succeeds.
    open_until: Option<Instant>,
    probing: bool,
}

impl Breaker {
    /// Puts a breaker around a toolset.
    pub fn new(inner: Arc<dyn Toolset>, limits: BreakerLimits) -> Self {
        Self { inner, limits, tools: Mutex::default() }
    }

    fn change<T>(&self, tool: &str, change: impl FnOnce(&mut State) -> T) -> T {
        let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        change(tools.entry(tool.to_owned()).or_default())
    }

    /// Lets a call through, or says for how long the tool is left alone.
    fn admit(&self, tool: &str) -> Result<(), Duration> {
        let now = Instant::now();
        self.change(tool, |state| match state.open_until {
            None => Ok(()),
            Some(until) if until > now => Err(until - now),
            Some(_) if state.probing => Err(Duration::ZERO),
            Some(_) => {
                state.probing = true;
                Ok(())
            }
        })
    }

    fn succeeded(&self, tool: &str) {
        self.change(tool, |state| *state = State::default());
    }

    fn failed(&self, tool: &str) {
        let opened = self.change(tool, |state| {
            state.failures = state.failures.saturating_add(1);
            let opens = state.probing
                || (state.open_until.is_none() && state.failures >= self.limits.failures.max(1));
            state.probing = false;
            if opens {
                state.open_until = Some(Instant::now() + self.limits.open_for);
            }
            opens.then_some(state.failures)
        });
        if let Some(failures) = opened {
            let open_for_ms = u64::try_from(self.limits.open_for.as_millis()).unwrap_or(u64::MAX);
            tracing::warn!(target: "backstop::breaker", toolset = self.inner.name(), tool, failures, open_for_ms, "circuit opened");
        }
    }
}

/// Counts a call that is dropped before it ends.
struct Watched<'a> {
    breaker: &'a Breaker,
    tool: &'a str,
    ended: bool,
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.breaker.failed(self.tool);
        }
    }
}

#[async_trait]
impl Toolset for Breaker {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        self.inner.list().await
    }

    fn changes(&self) -> u64 {
        self.inner.changes()
    }

    async fn call(&self, call: &ValidCall, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let tool = call.own_name();
        if let Err(left) = self.admit(tool) {
            let failures = self.limits.failures;
            let detail = format!("the circuit is open for another {}", text::duration(left));
            return Err(ToolError::unavailable(detail).not_applied().with_code(CIRCUIT_OPEN).say(format!(
                "Tool \"{}\" is not tried at the moment: it failed {failures} times in a row.",
                call.tool()
            )));
        }
        let mut watched = Watched { breaker: self, tool, ended: false };
        let result = self.inner.call(call, cx).await;
        watched.ended = true;
        match &result {
            Err(error) if error.class() == ErrorClass::Transient => self.failed(tool),
            // The tool answered, be it with no.
            Ok(_) | Err(_) => self.succeeded(tool),
        }
        result
    }
}
