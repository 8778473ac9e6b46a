//! Runs driven at random: whatever happens, the conversation is balanced, the run ends, and nothing that may have
//! changed the world is done twice.
//!
//! About ten thousand cases are tried in all; `PROPTEST_CASES` says how many each property tries instead.

use std::sync::Arc;

use backstop_core::{
    CallId, Event, Message, ModelReply, Run, RunId, Step, Timestamp, ToolCall, ToolError, ToolErrorKind,
    ToolOutput, run::Started,
};
use proptest::prelude::*;
use serde_json::Value;

use crate::{
    events::definition,
    ride::{Ride, TOOLS, Tape, set_up},
};

fn assert_same(one: &Run, other: &Run) {
    assert!(one.transcript().messages().eq(other.transcript().messages()));
    assert_eq!(one.next_step(), other.next_step());
    assert_eq!(one.calls(), other.calls());
    assert_eq!(one.failures(), other.failures());
    assert_eq!((one.turns(), one.usage()), (other.turns(), other.usage()));
}

/// What a provider demands of every message that is sent.
fn assert_fit_for_providers(run: &Run) {
    for message in run.transcript().messages() {
        match message {
            Message::Assistant { calls, .. } => {
                for call in calls {
                    let fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                    assert!(!call.name.is_empty() && call.name.len() <= 64 && call.name.chars().all(fit));
                    assert!(!call.id.as_str().trim().is_empty());
                    let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
                    assert!(arguments.is_object(), "{arguments}");
                }
            }
            Message::Tool { content, .. } => assert!(!content.model_text().trim().is_empty()),
            Message::System { .. } | Message::User { .. } => {}
        }
    }
}

fn any_tape(length: usize) -> impl Strategy<Value = Tape> {
    (proptest::collection::vec(any::<u16>(), 0..length), proptest::bool::weighted(0.2))
        .prop_map(|(numbers, endless)| Tape { numbers, at: 0, endless })
}

fn cases(usual: u32) -> ProptestConfig {
    ProptestConfig {
        cases: usual,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(6_000))]

    #[test]
    fn every_run_ends_balanced_and_replays_to_the_same(set in any::<u8>(), tape in any_tape(160)) {
        let ride = Ride::start(set_up(set), tape).ride();
        assert_fit_for_providers(&ride.run);
        let retries = ride.run.failures().iter().filter(|failure| failure.decision == "retry").count();
        prop_assert!(retries <= ride.run.definition().limits.retries as usize);
        let replayed = Run::replay(set_up(set), &ride.journal).unwrap();
        assert_same(&ride.run, &replayed);
    }
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn a_crash_at_any_record_is_survived_without_doing_anything_twice(set in any::<u8>(), tape in any_tape(160)) {
        let tape = Tape { endless: false, ..tape };
        let journal = Ride::start(set_up(set), tape).ride().journal;
        for n in 1..=journal.len() {
            let resumed = Ride::resume(set_up(set), &journal[..n], Tape::ended()).ride();
            assert_fit_for_providers(&resumed.run);
            let replayed = Run::replay(set_up(set), &resumed.journal).unwrap();
            assert_same(&resumed.run, &replayed);
        }
    }
}

/// A turn of these calls, finished in this order, each with its own result.
fn finished_in(order: &[usize], calls: &[ToolCall], results: &[Result<ToolOutput, ToolError>]) -> Run {
    let definition =
        Arc::new(definition(&format!("{TOOLS}\nlimit call_retries=0 parallel=100 failures=100")));
    let now = Timestamp::from_millis(5);
    let started = Started { run: RunId::new("r1"), seed: 3, input: Arc::default() };
    let mut run = Run::start(definition, now, started).unwrap();
    let reply = Arc::new(ModelReply::calls(calls.to_vec()));
    run.apply(now, Event::ModelReplied { reply }).unwrap();
    let Step::StartTools(starts) = run.next_step() else { panic!("nothing to start") };
    let started: Vec<CallId> = starts.iter().map(|start| start.call.id().clone()).collect();
    for call in &started {
        run.apply(
            now,
            Event::ToolStarted { call: call.clone(), attempt: 1, tool: String::new(), mended: None },
        )
        .unwrap();
    }
    for index in order {
        let Some(call) = started.get(*index).cloned() else { continue };
        let result = results[*index].clone();
        run.apply(now, Event::ToolFinished { call, result, elapsed_ms: 0 }).unwrap();
    }
    run
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn the_order_in_which_parallel_calls_finish_does_not_change_the_conversation(
        mut tape in any_tape(60),
        order in Just((0..6).collect::<Vec<usize>>()).prop_shuffle(),
    ) {
        let mut source = Ride::start(set_up(0), Tape { endless: true, ..tape.clone() });
        let calls: Vec<ToolCall> = std::iter::once(ToolCall::new("first", "read", r#"{"q":"x"}"#))
            .chain((0..5).map(|_| source.tool_call()).filter(|call| call.name != "alone"))
            .collect();
        let mut result = || match tape.below(2) {
            0 => Ok(source.output()),
            // A call that says it was cancelled ends the run there and then.
            _ => Err(source.tool_error()).map_err(|error| match error.kind() {
                ToolErrorKind::Cancelled => ToolError::internal("a panic"),
                _ => error,
            }),
        };
        let results: Vec<_> = (0..6).map(|_| result()).collect();
        let in_order = finished_in(&[0, 1, 2, 3, 4, 5], &calls, &results);
        let shuffled = finished_in(&order, &calls, &results);
        prop_assert!(in_order.transcript().messages().eq(shuffled.transcript().messages()));
        prop_assert_eq!(in_order.calls(), shuffled.calls());
        prop_assert_eq!(in_order.next_step(), shuffled.next_step());
    }
}
