//! Small rules of values that a table or a scenario does not show.

use std::{sync::Arc, time::Duration};

use backstop_core::{
    Definition, Event, ModelError, ModelErrorKind, Reference, Run, RunId, Step, Timestamp, run::Started,
};

#[test]
fn a_reference_is_eight_hex_digits_and_nothing_else() {
    assert_eq!("1a2b3c4d".parse(), Ok(Reference::new(0x1a2b_3c4d)));
    for text in ["", "1a2b3c4", "1a2b3c4d5", "+a2b3c4d", "-a2b3c4d", "1a2b3c4x", " a2b3c4d", "1a2b3cü"] {
        assert!(text.parse::<Reference>().is_err(), "{text:?}");
    }
}

#[test]
fn a_clock_that_is_set_back_does_not_set_a_run_back() {
    let started = Started { run: RunId::new("r1"), seed: 1, input: Arc::default() };
    let at = Timestamp::from_millis(60_000);
    let mut run = Run::start(Arc::new(Definition::default()), at, started).unwrap();
    let error = ModelError::new(ModelErrorKind::RateLimited, "").with_retry_after(Duration::from_secs(5));
    run.apply(Timestamp::from_millis(0), Event::ModelFailed { error }).unwrap();
    assert_eq!(run.next_step(), Step::Await { until: Timestamp::from_millis(65_000) });
}
