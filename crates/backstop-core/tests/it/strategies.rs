//! The one decision with strategies.

use std::time::Duration;

use backstop_core::{
    Action, Applied, Backoff, Budget, Decision, Effect, ErrorClass, Failure, Strategy, ToolError,
    ToolErrorKind, When, decide, policy::TextMatch,
};
use proptest::{prelude::*, strategy::Strategy as _};
use regex::Regex;
use serde_json::json;

use crate::decision_table::{PLENTY, failure};

fn on(when: When, action: Action) -> Strategy {
    Strategy { when, action }
}

fn tell(text: &str) -> Action {
    Action::Continue { instructions: Some(text.into()) }
}

fn told(text: &str) -> Decision {
    Decision::Continue { instructions: Some(text.into()) }
}

fn retry(max: u32) -> Action {
    let backoff = Backoff { base: Duration::from_secs(1), max: Duration::from_secs(4), jitter: false };
    Action::Retry { max, backoff }
}

fn decided(error: &ToolError, effect: Effect, strategies: &[Strategy]) -> Decision {
    decide(&failure(error), effect, strategies, &PLENTY)
}

fn timeout() -> ToolError {
    ToolError::timeout(Duration::from_secs(30), "no answer from 10.0.0.7")
}

#[test]
fn the_first_match_decides() {
    let strategies = [
        on(When::kind(ToolErrorKind::Conflict), tell("never")),
        on(When::class(ErrorClass::Transient), tell("first")),
        on(When::kind(ToolErrorKind::Timeout), tell("second")),
        on(When::always(), tell("third")),
    ];
    assert_eq!(decided(&timeout(), Effect::ReadOnly, &strategies), told("first"));
    assert_eq!(decided(&ToolError::rejected(""), Effect::ReadOnly, &strategies), told("third"));
}

#[test]
fn without_a_match_the_usual_decision_is_taken() {
    let strategies = [on(When::kind(ToolErrorKind::Conflict), tell("never"))];
    let usual = Decision::Retry { after: Duration::from_millis(500) };
    assert_eq!(decided(&timeout(), Effect::ReadOnly, &strategies), usual);
}

#[test]
fn a_cancelled_call_aborts_before_any_strategy() {
    let cancelled = ToolError::new(ToolErrorKind::Cancelled, "");
    let strategies = [on(When::always(), tell("never"))];
    assert_eq!(decided(&cancelled, Effect::ReadOnly, &strategies), Decision::Abort);
}

#[test]
fn an_unsafe_retry_falls_through_to_the_next_strategy() {
    let strategies = [on(When::always(), retry(5)), on(When::always(), tell("check first"))];
    assert_eq!(decided(&timeout(), Effect::Mutating, &strategies), told("check first"));
    assert_eq!(decided(&ToolError::rejected(""), Effect::ReadOnly, &strategies), told("check first"));
    let second = Decision::Retry { after: Duration::from_secs(1) };
    assert_eq!(decided(&timeout(), Effect::Idempotent, &strategies), second);
    assert_eq!(decided(&timeout().not_applied(), Effect::Mutating, &strategies), second);
}

#[test]
fn an_unsafe_retry_alone_leaves_the_model_told() {
    let strategies = [on(When::always(), retry(5))];
    let continued = Decision::Continue { instructions: None };
    assert_eq!(decided(&timeout(), Effect::Mutating, &strategies), continued);
}

#[test]
fn a_spent_retry_falls_through_to_the_next_strategy() {
    let strategies = [on(When::always(), retry(2)), on(When::always(), tell("give up"))];
    let error = timeout();
    let at =
        |attempt| decide(&Failure { attempt, ..failure(&error) }, Effect::ReadOnly, &strategies, &PLENTY);
    assert_eq!(at(1), Decision::Retry { after: Duration::from_secs(1) });
    assert_eq!(at(2), Decision::Retry { after: Duration::from_secs(2) });
    assert_eq!(at(3), told("give up"));
    let run_spent = Budget { run_retries: 0, ..PLENTY };
    assert_eq!(decide(&failure(&error), Effect::ReadOnly, &strategies, &run_spent), told("give up"));
}

#[test]
fn a_strategy_may_retry_more_often_than_the_usual_budget_or_not_at_all() {
    let error = timeout();
    let fourth = Failure { attempt: 4, ..failure(&error) };
    let more = [on(When::always(), retry(5))];
    assert_eq!(
        decide(&fourth, Effect::ReadOnly, &more, &PLENTY),
        Decision::Retry { after: Duration::from_secs(4) }
    );
    // "No retry" is said with a `continue`; a retry of none falls through to the usual decision.
    let none = [on(When::always(), retry(0)), on(When::always(), Action::Continue { instructions: None })];
    let continued = Decision::Continue { instructions: None };
    assert_eq!(decided(&error, Effect::ReadOnly, &none), continued);
}

#[test]
fn each_action_becomes_its_decision() {
    let cases = [
        (tell("x"), told("x")),
        (Action::Continue { instructions: None }, Decision::Continue { instructions: None }),
        (Action::Stop { message: Some("bye".into()) }, Decision::Stop { message: Some("bye".into()) }),
        (Action::Stop { message: None }, Decision::Stop { message: None }),
        (
            Action::UseValue { value: json!({"stock": 0}), note: Some("assumed".into()) },
            Decision::Substitute { value: json!({"stock": 0}), note: Some("assumed".into()) },
        ),
        (Action::AskHuman { question: "How many?".into() }, Decision::Ask { question: "How many?".into() }),
        (retry(1), Decision::Retry { after: Duration::from_secs(1) }),
    ];
    for (action, decision) in cases {
        assert_eq!(decided(&timeout(), Effect::ReadOnly, &[on(When::always(), action)]), decision);
    }
}

fn when(change: impl FnOnce(&mut When)) -> When {
    let mut when = When::always();
    change(&mut when);
    when
}

fn contains(text: &str, case_sensitive: bool) -> TextMatch {
    TextMatch::Contains { text: text.into(), case_sensitive }
}

fn equals(text: &str, case_sensitive: bool) -> TextMatch {
    TextMatch::Equals { text: text.into(), case_sensitive }
}

fn matches(pattern: &str) -> TextMatch {
    TextMatch::Matches(Regex::new(pattern).unwrap())
}

#[test]
fn each_part_of_when_matches_what_it_names_and_nothing_else() {
    let error = ToolError::upstream_failure("POST /pay failed").say("Quota exceeded").with_status(502);
    let cases = [
        (when(|_| ()), true),
        (when(|w| w.kinds = vec![ToolErrorKind::Timeout, ToolErrorKind::UpstreamFailure]), true),
        (when(|w| w.kinds = vec![ToolErrorKind::Timeout]), false),
        (when(|w| w.classes = vec![ErrorClass::Transient]), true),
        (when(|w| w.classes = vec![ErrorClass::Answer, ErrorClass::Operator]), false),
        (when(|w| w.statuses = vec![500, 502]), true),
        (when(|w| w.statuses = vec![503]), false),
        (when(|w| w.applied = vec![Applied::Unknown]), true),
        (when(|w| w.applied = vec![Applied::No, Applied::Yes]), false),
        (when(|w| w.tools = vec!["pay".into()]), true),
        (when(|w| w.tools = vec!["bank.pay".into()]), true),
        (when(|w| w.tools = vec!["bank".into()]), false),
        (when(|w| w.text = vec![contains("quota", false)]), true),
        (when(|w| w.text = vec![contains("quota", true)]), false),
        (when(|w| w.text = vec![equals("quota exceeded", false)]), true),
        (when(|w| w.text = vec![equals(" Quota exceeded ", true)]), true),
        (when(|w| w.text = vec![equals("Quota", true)]), false),
        (when(|w| w.text = vec![matches("^Quota .*ed$")]), true),
        (when(|w| w.text = vec![matches(r"^POST /\w+ failed$")]), true),
        (when(|w| w.text = vec![matches(r"\(status 502\)$")]), true),
        (when(|w| w.text = vec![matches("^quota")]), false),
        // Everything given must match.
        (when(|w| w.text = vec![contains("quota", false), contains("POST", true)]), true),
        (when(|w| w.text = vec![contains("quota", false), contains("GET", true)]), false),
        (
            when(|w| {
                w.classes = vec![ErrorClass::Transient];
                w.statuses = vec![400];
            }),
            false,
        ),
    ];
    for (when, expected) in cases {
        assert_eq!(when.is_match(&failure(&error)), expected, "{when:?}");
    }
}

#[test]
fn a_status_is_not_matched_where_there_is_none() {
    let only_500 = when(|w| w.statuses = vec![500]);
    assert!(!only_500.is_match(&failure(&ToolError::upstream_failure(""))));
}

#[test]
fn timeouts_match_the_words_that_matchers_rely_on() {
    let error = timeout();
    for text in [
        contains("timed out", true),
        contains("timed out after 30 seconds", true),
        equals("Tool call \"pay\" timed out after 30 seconds.", true),
        matches("timed out"),
    ] {
        assert!(when(|w| w.text = vec![text.clone()]).is_match(&failure(&error)), "{text:?}");
    }
}

#[test]
fn the_causes_of_a_failure_are_looked_at_too() {
    let error = ToolError::unavailable("").with_source(std::io::Error::other("certificate has expired"));
    assert!(when(|w| w.text = vec![contains("certificate", true)]).is_match(&failure(&error)));
}

fn any_error() -> impl proptest::strategy::Strategy<Value = ToolError> {
    let kinds = proptest::sample::select(ToolErrorKind::ALL.to_vec());
    let applied = proptest::sample::select(Applied::ALL.to_vec());
    (kinds, applied, proptest::option::of(400u16..600), proptest::option::of(0u64..2_000), "[ -~]{0,12}")
        .prop_map(|(kind, applied, status, wait, words)| {
            let error = ToolError::new(kind, &words).with_applied(applied).say(&words);
            let error = status.into_iter().fold(error, ToolError::with_status);
            wait.map(Duration::from_secs).into_iter().fold(error, ToolError::with_retry_after)
        })
}

fn any_action() -> impl proptest::strategy::Strategy<Value = Action> {
    prop_oneof![
        (0u32..5).prop_map(retry),
        "[a-z]{0,5}".prop_map(|text: String| tell(&text)),
        Just(Action::Stop { message: None }),
        Just(Action::UseValue { value: json!(1), note: None }),
        Just(Action::AskHuman { question: "?".into() }),
    ]
}

fn any_strategy() -> impl proptest::strategy::Strategy<Value = Strategy> {
    let kinds = proptest::collection::vec(proptest::sample::select(ToolErrorKind::ALL.to_vec()), 0..4);
    (kinds, proptest::bool::ANY, any_action()).prop_map(|(kinds, transient, action)| {
        let classes = if transient { vec![ErrorClass::Transient] } else { Vec::new() };
        on(
            when(|w| {
                w.kinds = kinds;
                w.classes = classes;
            }),
            action,
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_decision_is_total_deterministic_and_never_repeats_what_may_have_happened(
        error in any_error(),
        strategies in proptest::collection::vec(any_strategy(), 0..5),
        effect in proptest::sample::select(Effect::ALL.to_vec()),
        attempt in 0u32..6,
        keyed in proptest::bool::ANY,
        (call_retries, run_retries, time, jitter) in (0u32..4, 0u32..4, 0u64..1_000, 0u16..2_000),
    ) {
        let budget = Budget { call_retries, run_retries, time: Duration::from_secs(time), jitter };
        let failure = Failure { attempt, keyed, ..failure(&error) };
        let decision = decide(&failure, effect, &strategies, &budget);
        prop_assert_eq!(&decision, &decide(&failure, effect, &strategies, &budget));
        prop_assert_eq!(decision == Decision::Abort, error.kind() == ToolErrorKind::Cancelled);
        if let Decision::Retry { after } = decision {
            prop_assert_eq!(error.class(), ErrorClass::Transient);
            prop_assert!(effect != Effect::Mutating || error.applied() == Applied::No || keyed);
            prop_assert!(run_retries > 0);
            prop_assert!(after < budget.time);
            prop_assert!(error.retry_after().is_none_or(|asked| after >= asked));
        }
    }
}
