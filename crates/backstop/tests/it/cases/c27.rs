//! C27: the same call again and again is stopped by its own limit, and what changes is not the same call.

use std::sync::atomic::{AtomicU32, Ordering};

use backstop::{Limit, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kit::{Lines, Ran, Scene, calls, done};
use crate::tables::{
    server::Answer,
    surface::{Surface, Tool},
};

#[derive(Serialize, Deserialize, JsonSchema)]
struct List {
    filter: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

fn list() -> Tool {
    Tool::new::<List>("list_items")
        .does(|_| Ok(Value::Array(Vec::new()).into()), |_| Answer::json("200 OK", "[]"))
}

/// One call a turn, each with an id of its own.
fn turns(tool: &str, arguments: &[&str]) -> Vec<Answer> {
    arguments.iter().enumerate().map(|(at, text)| calls(&[(&format!("i{at}"), tool, text)])).collect()
}

/// The results of a run, one a line.
fn results(ran: &Ran) -> Lines {
    ran.report
        .calls()
        .into_iter()
        .map(|call| format!("{} {}", call.id, call.view.replace('\n', " ")))
        .collect()
}

const REFUSED: &str = "The call of tool \"list_items\" was not made: the same call with the same arguments gave the \
                       same result 2 times. Use other arguments or another tool, or answer with what you have.";

#[tokio::test]
async fn two_calls_that_alternate_are_each_counted() {
    const A: &str = r#"{"filter":"a"}"#;
    const B: &str = r#"{"filter":"b"}"#;
    for surface in Surface::ALL {
        let scene = Scene::new(vec![list()], turns("list_items", &[A, B, A, B, A, B, A, B]));
        let ran = scene.limits(|limits| limits.same_results = 2).on(surface).await;
        let refused = |id: &str| format!("{id} {REFUSED}");
        assert_eq!(
            results(&ran),
            [
                "i0 []".into(),
                "i1 []".into(),
                "i2 []".into(),
                "i3 []".into(),
                refused("i4"),
                refused("i5"),
                refused("i6")
            ],
            "{surface:?}"
        );
        assert_eq!(ran.report.outcome(), &Outcome::LimitReached { which: Limit::Repeats }, "{surface:?}");
        assert_eq!(ran.log().len(), 4, "{surface:?}");
    }
}

static ASKED: AtomicU32 = AtomicU32::new(0);

fn progress() -> String {
    format!("{} %", ASKED.fetch_add(1, Ordering::SeqCst))
}

#[tokio::test]
async fn a_poller_whose_result_changes_is_left_alone() {
    for surface in Surface::ALL {
        ASKED.store(0, Ordering::SeqCst);
        let tool =
            Tool::new::<()>("get_job_status").does(|_| Ok(progress().into()), |_| Answer::text(progress()));
        let mut answers = turns("get_job_status", &["{}"; 6]);
        answers.push(done());
        let ran = Scene::new(vec![tool], answers).limits(|limits| limits.same_results = 2).on(surface).await;
        assert_eq!(
            results(&ran),
            ["i0 0 %", "i1 1 %", "i2 2 %", "i3 3 %", "i4 4 %", "i5 5 %"],
            "{surface:?}"
        );
        assert_eq!(ran.ended(), "answered: done", "{surface:?}");
    }
}

/// A label may be all that matters to a tool: such calls are not the same, and the turn limit bounds them.
#[tokio::test]
async fn calls_that_differ_in_a_label_run_to_the_turn_limit_which_keeps_what_there_is() {
    let labelled: Lines = (0..5).map(|at| format!(r#"{{"filter":"x","label":"try {at}"}}"#)).collect();
    let labelled: Vec<&str> = labelled.iter().map(String::as_str).collect();
    for surface in Surface::ALL {
        let mut answers = turns("list_items", &labelled[..3]);
        answers.push(done());
        let limited = Scene::new(vec![list()], answers).limits(|limits| {
            limits.same_results = 2;
            limits.turns = 3;
        });
        let ran = limited.on(surface).await;
        assert_eq!(results(&ran), ["i0 []", "i1 []", "i2 []"], "{surface:?}");
        assert_eq!(ran.report.outcome(), &Outcome::LimitReached { which: Limit::Turns }, "{surface:?}");
        assert_eq!(
            ran.next_turn().await,
            [
                "user: go",
                "assistant: -",
                r#"  i0 list_items {"filter":"x","label":"try 0"}"#,
                "tool i0: []",
                "assistant: -",
                r#"  i1 list_items {"filter":"x","label":"try 1"}"#,
                "tool i1: []",
                "assistant: -",
                r#"  i2 list_items {"filter":"x","label":"try 2"}"#,
                "tool i2: []",
                "user: go on",
            ],
            "{surface:?}"
        );
    }
}
