//! `limits`: what a run may spend.

use std::time::Duration;

use backstop_core::{Limits, text};

use super::name::LONGEST;
use crate::{
    diagnostic::{Diagnostic, code},
    reader::At,
};

const KEYS: &[&str] = &[
    "turns",
    "tool_calls",
    "wall_clock",
    "tool_timeout",
    "model_timeout",
    "parallel",
    "repeats",
    "same_results",
    "failures",
    "failures_in_row",
    "failures_of",
    "retries",
    "call_retries",
    "model_retries",
];
const CLASSES: &[&str] = &["model", "answer", "transient", "operator", "policy"];
/// The longest run.
const LONGEST_RUN: Duration = Duration::from_secs(7 * 24 * 3600);

/// Reads the limits; what is not given keeps its default.
pub(super) fn limits(at: &At<'_>) -> Limits {
    let mut limits = Limits::default();
    let Some(fields) = at.fields(KEYS) else { return limits };
    let set = |slot: &mut u32, key: &str, least: u32, most: u32| {
        if let Some(value) = fields.get(key).and_then(|at| at.count(least, most)) {
            *slot = value;
        }
    };
    set(&mut limits.turns, "turns", 1, 10_000);
    set(&mut limits.tool_calls, "tool_calls", 1, 100_000);
    set(&mut limits.parallel, "parallel", 1, 256);
    set(&mut limits.repeats, "repeats", 1, 1000);
    set(&mut limits.same_results, "same_results", 1, 10_000);
    set(&mut limits.failures, "failures", 1, 100_000);
    set(&mut limits.failures_in_row, "failures_in_row", 1, 100_000);
    if let Some(of) = fields.get("failures_of").and_then(|at| at.fields(CLASSES)) {
        let count = |class: &str| of.get(class).and_then(|at| at.count(1, 100_000));
        limits.failures_of.model = count("model");
        limits.failures_of.answer = count("answer");
        limits.failures_of.transient = count("transient");
        limits.failures_of.operator = count("operator");
        limits.failures_of.policy = count("policy");
    }
    // No retries at all is a limit like any other.
    set(&mut limits.retries, "retries", 0, 10_000);
    set(&mut limits.call_retries, "call_retries", 0, 20);
    set(&mut limits.model_retries, "model_retries", 0, 20);
    let time = |slot: &mut Duration, key: &str, most: Duration| {
        if let Some(value) = fields.duration(key, most) {
            *slot = value;
        }
    };
    time(&mut limits.wall_clock, "wall_clock", LONGEST_RUN);
    time(&mut limits.tool_timeout, "tool_timeout", LONGEST);
    time(&mut limits.model_timeout, "model_timeout", LONGEST);
    for (key, value) in [("tool_timeout", limits.tool_timeout), ("model_timeout", limits.model_timeout)] {
        if let Some(at) = fields.get(key)
            && value > limits.wall_clock
        {
            at.report(too_long(value, limits.wall_clock));
        }
    }
    limits
}

/// The problem of a timeout that the end of the run comes before.
pub(super) fn too_long(timeout: Duration, wall_clock: Duration) -> Diagnostic {
    let (timeout, run) = (text::duration(timeout), text::duration(wall_clock));
    let message = format!("the timeout of {timeout} is longer than the whole run, which has {run}");
    Diagnostic::warning(code::TIMEOUT_TOO_LONG, message)
        .hint("raise `limits.wall_clock` or lower the timeout")
}
