//! The one decision without strategies, as a table that reads as the specification.

use std::{fmt::Write as _, time::Duration};

use backstop_core::{Applied, Budget, Decision, Effect, Failure, ToolError, ToolErrorKind, decide};

/// A budget that allows a retry.
pub(crate) const PLENTY: Budget =
    Budget { call_retries: 2, run_retries: 20, time: Duration::from_secs(600), jitter: 0 };

/// The first attempt of tool `pay`, failed with `error`.
pub(crate) fn failure(error: &ToolError) -> Failure<'_> {
    Failure { error, tool: "pay", own_name: "bank.pay", attempt: 1, keyed: false }
}

fn in_short(decision: &Decision) -> String {
    match decision {
        Decision::Retry { after } => format!("retry {}", after.as_millis()),
        Decision::Continue { instructions: None } => "continue".into(),
        Decision::Abort => "abort".into(),
        other => panic!("not without a strategy: {other:?}"),
    }
}

#[test]
fn without_strategies() {
    let mut out = String::from(
        "Retries are `retry` and the wait in milliseconds. Columns: a call whose retries are left; the same with an\n\
         idempotency key that the upstream honours; keyed, but the retries of the call are spent; keyed, but those of\n\
         the run are spent; keyed, but the wait does not fit into the time that is left.\n\n",
    );
    let columns = ["left", "left, keyed", "call spent", "run spent", "no time"];
    write!(out, "{:<20} {:<8} {:<11}", "kind", "applied", "effect").unwrap();
    columns.iter().for_each(|column| write!(out, " {column:<12}").unwrap());
    out = out.trim_end().to_owned() + "\n";
    for kind in ToolErrorKind::ALL {
        for applied in Applied::ALL {
            for effect in Effect::ALL {
                let error = ToolError::new(kind, "").with_applied(applied);
                let first = failure(&error);
                let keyed = Failure { keyed: true, ..first };
                let decisions = [
                    decide(&first, effect, &[], &PLENTY),
                    decide(&keyed, effect, &[], &PLENTY),
                    decide(&Failure { attempt: 3, ..keyed }, effect, &[], &PLENTY),
                    decide(&keyed, effect, &[], &Budget { run_retries: 0, ..PLENTY }),
                    decide(&keyed, effect, &[], &Budget { time: Duration::from_millis(500), ..PLENTY }),
                ];
                let mut line =
                    format!("{:<20} {:<8} {:<11}", kind.as_str(), applied.as_str(), effect.as_str());
                decisions.iter().for_each(|decision| write!(line, " {:<12}", in_short(decision)).unwrap());
                writeln!(out, "{}", line.trim_end()).unwrap();
            }
        }
        out.push('\n');
    }
    insta::assert_snapshot!(out);
}

#[test]
fn the_second_retry_waits_longer_and_the_third_is_not_made() {
    let error = ToolError::unavailable("");
    let at = |attempt| decide(&Failure { attempt, ..failure(&error) }, Effect::ReadOnly, &[], &PLENTY);
    assert_eq!(at(1), Decision::Retry { after: Duration::from_millis(500) });
    assert_eq!(at(2), Decision::Retry { after: Duration::from_millis(1000) });
    assert_eq!(at(3), Decision::Continue { instructions: None });
}

#[test]
fn retry_after_is_honoured_and_capped_by_the_time_that_is_left() {
    let asked = |secs| ToolError::rate_limited("").with_retry_after(Duration::from_secs(secs));
    let decided = |error: &ToolError| decide(&failure(error), Effect::ReadOnly, &[], &PLENTY);
    assert_eq!(decided(&asked(30)), Decision::Retry { after: Duration::from_secs(30) });
    // Never sooner than the backoff.
    assert_eq!(decided(&asked(0)), Decision::Retry { after: Duration::from_millis(500) });
    assert_eq!(decided(&asked(599)), Decision::Retry { after: Duration::from_secs(599) });
    assert_eq!(decided(&asked(600)), Decision::Continue { instructions: None });
    assert_eq!(decided(&asked(u64::MAX)), Decision::Continue { instructions: None });
}

#[test]
fn jitter_takes_off_up_to_half_of_the_wait() {
    let error = ToolError::unavailable("");
    let wait = |jitter| {
        let budget = Budget { jitter, ..PLENTY };
        match decide(&failure(&error), Effect::ReadOnly, &[], &budget) {
            Decision::Retry { after } => after.as_micros(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!([wait(0), wait(500), wait(999), wait(u16::MAX)], [500_000, 375_000, 250_250, 250_250]);
}
