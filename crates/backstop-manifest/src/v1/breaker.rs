//! `circuit_breaker`: when a tool that fails again and again is left alone, and for how long.

use std::time::Duration;

use super::name::LONGEST;
use crate::reader::At;

/// When a tool is left alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CircuitBreaker {
    /// Transient failures in a row; the default of the runtime where it is not given.
    pub failures: Option<u32>,
    /// Time in which it is left alone; the default of the runtime where it is not given.
    pub open_for: Option<Duration>,
}

/// Reads `off`, which is `Some(None)`, `on`, or `{failures, open_for}`.
pub(super) fn circuit_breaker(at: &At<'_>) -> Option<Option<CircuitBreaker>> {
    if at.is_scalar() {
        return at.one_of(&[("off", None), ("on", Some(CircuitBreaker::default()))]);
    }
    let fields = at.fields(&["failures", "open_for"])?;
    let failures = fields.get("failures").and_then(|at| at.count(1, 1000));
    Some(Some(CircuitBreaker { failures, open_for: fields.duration("open_for", LONGEST) }))
}
