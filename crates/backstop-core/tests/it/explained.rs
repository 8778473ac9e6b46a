//! Explanations: the same decision, and a reason for every step to it.

use std::time::Duration;

use backstop_core::{
    Action, Applied, Backoff, Budget, Decision, Effect, ErrorClass, Failure, Strategy, ToolError,
    ToolErrorKind, When, decide, explain,
    policy::{NoRetry, TextMatch, Verdict, WhenTest},
};
use serde_json::{Map, json};

use crate::decision_table::{PLENTY, failure};

fn retry(when: When, max: u32) -> Strategy {
    let backoff = Backoff { base: Duration::from_secs(1), max: Duration::from_secs(4), jitter: true };
    Strategy { when, action: Action::Retry { max, backoff } }
}

fn stop(when: When) -> Strategy {
    Strategy { when, action: Action::Stop { message: None } }
}

fn contains(text: &str) -> When {
    let mut when = When::always();
    when.text = vec![TextMatch::Contains { text: text.into(), case_sensitive: false }];
    when
}

fn every_list() -> Vec<Vec<Strategy>> {
    let tell = Action::Continue { instructions: Some("x".into()) };
    let value = Action::UseValue { value: json!(1), note: None };
    let ask = Action::AskHuman { question: "?".into() };
    let other = Action::UseTool { tool: "other".into(), arguments: Map::new() };
    let on = |when, action| Strategy { when, action };
    vec![
        vec![],
        vec![retry(When::always(), 0)],
        vec![retry(When::class(ErrorClass::Transient), 2), stop(When::kind(ToolErrorKind::Timeout))],
        vec![
            retry(When::kind(ToolErrorKind::Timeout), 1),
            retry(When::always(), 5),
            on(When::always(), tell),
        ],
        vec![on(contains("not there"), value.clone()), on(When::class(ErrorClass::Answer), ask)],
        vec![on(When::always(), other), on(When::always(), value)],
    ]
}

#[test]
fn an_explanation_has_the_decision_and_every_step_to_it() {
    let budgets = [
        PLENTY,
        Budget { run_retries: 0, ..PLENTY },
        Budget { time: Duration::from_millis(600), jitter: 999, ..PLENTY },
        Budget { call_retries: 0, ..PLENTY },
    ];
    let mut seen = 0;
    for kind in ToolErrorKind::ALL {
        for applied in Applied::ALL {
            let error = ToolError::new(kind, "").with_applied(applied);
            for (effect, keyed) in
                Effect::ALL.into_iter().flat_map(|effect| [(effect, false), (effect, true)])
            {
                for attempt in [1, 2, 6] {
                    for budget in &budgets {
                        for list in every_list() {
                            check(&Failure { attempt, keyed, ..failure(&error) }, effect, &list, budget);
                            seen += 1;
                        }
                    }
                }
            }
        }
    }
    assert_eq!(seen, 19 * 3 * 6 * 3 * 4 * 6);
}

fn check(failure: &Failure<'_>, effect: Effect, list: &[Strategy], budget: &Budget) {
    let explained = explain(failure, effect, list, budget);
    assert_eq!(explained.decision, decide(failure, effect, list, budget));
    for (strategy, verdict) in list.iter().zip(&explained.strategies) {
        let unmatched = matches!(verdict, Verdict::NotMatched(_));
        assert_eq!(unmatched, !strategy.when.is_match(failure), "{strategy:?}");
    }
    if failure.error.kind() == ToolErrorKind::Cancelled {
        assert_eq!((explained.strategies, explained.usual), (vec![], None));
        return;
    }
    match explained.decided_by() {
        // The one that decides is the last that is looked at, and the usual rule is not asked.
        Some(place) => {
            assert_eq!((place + 1, explained.usual), (explained.strategies.len(), None));
        }
        None => {
            assert_eq!(explained.strategies.len(), list.len());
            let retried = matches!(explained.decision, Decision::Retry { .. });
            assert_eq!(explained.usual == Some(Verdict::Decides), retried);
        }
    }
}

#[test]
fn the_first_test_that_fails_is_named() {
    let error = ToolError::upstream_failure("").with_status(500);
    let test = |when: When| when.failed_test(&failure(&error));
    let with = |change: fn(&mut When)| {
        let mut when = When::always();
        change(&mut when);
        when
    };
    assert_eq!(test(When::always()), None);
    assert_eq!(test(When::kind(ToolErrorKind::Timeout)), Some(WhenTest::Kind));
    assert_eq!(test(When::class(ErrorClass::Answer)), Some(WhenTest::Class));
    assert_eq!(test(with(|when| when.statuses = vec![502])), Some(WhenTest::Status));
    assert_eq!(test(with(|when| when.applied = vec![Applied::No])), Some(WhenTest::Applied));
    assert_eq!(test(with(|when| when.tools = vec!["other".into()])), Some(WhenTest::Tool));
    assert_eq!(test(contains("quota")), Some(WhenTest::Text(0)));
}

#[test]
fn every_reason_against_a_retry_is_told() {
    let why = |error: &ToolError, effect, attempt, budget: &Budget, list: &[Strategy]| match explain(
        &Failure { attempt, ..failure(error) },
        effect,
        list,
        budget,
    )
    .usual
    {
        Some(Verdict::NotRetried(why)) => why,
        other => panic!("{other:?}"),
    };
    let (gone, down) = (ToolError::not_found(""), ToolError::unavailable(""));
    let cases = [
        (
            why(&gone, Effect::ReadOnly, 1, &PLENTY, &[]),
            NoRetry::DoesNotPass(ErrorClass::Answer),
            "failures of the class `answer` do not pass by themselves",
        ),
        (
            why(&down, Effect::Mutating, 1, &PLENTY, &[]),
            NoRetry::MayHaveApplied,
            "the attempt may have taken effect, the tool is mutating, and there is no key",
        ),
        (why(&down, Effect::ReadOnly, 3, &PLENTY, &[]), NoRetry::Spent { max: 2 }, "the 2 retries are spent"),
        (
            why(&down, Effect::ReadOnly, 1, &PLENTY, &[retry(When::always(), 0)]),
            NoRetry::DeclaredAreAll,
            "a strategy said how often to retry",
        ),
        (
            why(&down, Effect::ReadOnly, 1, &Budget { run_retries: 0, ..PLENTY }, &[]),
            NoRetry::RunSpent,
            "the retries of the run are spent",
        ),
        (
            why(&down, Effect::ReadOnly, 1, &Budget { time: Duration::from_millis(500), ..PLENTY }, &[]),
            NoRetry::NoTime { after: Duration::from_millis(500) },
            "the run ends before a wait of 500 milliseconds",
        ),
    ];
    for (found, expected, words) in cases {
        assert_eq!((found, found.to_string().as_str()), (expected, words));
    }
}
