//! A source of tools.

use std::time::Duration;

use async_trait::async_trait;

use super::CallerHeaders;
use crate::{call::ValidCall, error::ToolError, id::RunId, output::ToolOutput, spec::ToolSpec};

/// A source of tools with one connection, one credential and one lifetime.
///
/// Implementations are shared by concurrent runs. Futures may be dropped at any await: that is how a call is
/// cancelled or timed out, and it must leave the toolset usable.
#[async_trait]
pub trait Toolset: Send + Sync + 'static {
    /// The name it is declared under: what operators read, and a prefix where two toolsets clash.
    fn name(&self) -> &str;

    /// The tools it offers, in a stable order.
    ///
    /// # Errors
    ///
    /// Any kind of class `transient` or `operator`: the toolset is missing then, not the run.
    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError>;

    /// Executes one attempt of a call. `call.own_name()` is one of the listed names.
    ///
    /// Never retries by itself: whether a failed attempt is repeated is decided in one place, from the kind and
    /// from [`applied`](crate::Applied).
    ///
    /// # Errors
    ///
    /// Any kind; `unknown_tool` for a name that it does not offer.
    async fn call(&self, call: &ValidCall, cx: &CallContext) -> Result<ToolOutput, ToolError>;

    /// A number that becomes another one when the tools on offer are known to have changed: they are
    /// [listed](Self::list) again then, before the next turn. A toolset around another one passes it on.
    fn changes(&self) -> u64 {
        0
    }
}

/// What surrounds one attempt of a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallContext {
    /// The run.
    pub run: RunId,
    /// The attempt, counted from 1.
    pub attempt: u32,
    /// Time this attempt has; its future is dropped when it is over.
    pub timeout: Duration,
    /// The same for all attempts of this call, resumed ones too; unique otherwise. Send it along where the
    /// upstream honours such keys.
    pub idempotency_key: String,
    /// What whoever started the run sent along.
    pub caller_headers: CallerHeaders,
}

impl CallContext {
    /// The surroundings of one attempt.
    pub fn new(run: RunId, attempt: u32, timeout: Duration, idempotency_key: impl Into<String>) -> Self {
        Self {
            run,
            attempt,
            timeout,
            idempotency_key: idempotency_key.into(),
            caller_headers: CallerHeaders::default(),
        }
    }

    /// Adds what whoever started the run sent along.
    #[must_use]
    pub fn caller_headers(mut self, headers: CallerHeaders) -> Self {
        self.caller_headers = headers;
        self
    }
}
