//! The four generations of `fallback_configuration`, and what a model reads under each.

use std::time::Duration;

use backstop_core::{Budget, Decision, Effect, Failure, Reference, ToolError, decide, error::ViewFacts};
use serde_json::{Value, json};

use super::{problems, rest, tool, usable};

fn text(strategies: &Value) -> String {
    rest(json!([tool("get", json!({"fallback_configuration": {"strategies": strategies}}))]))
}

fn quota() -> ToolError {
    ToolError::rejected("quota exceeded").say("quota exceeded")
}

fn timeout() -> ToolError {
    ToolError::timeout(Duration::from_secs(300), "no answer")
}

/// What becomes of a failure, and what the model reads where it goes on.
fn reads(strategies: &Value, error: &ToolError) -> String {
    let manifest = usable(&text(strategies));
    let declared = manifest.strategies_for("s", "get");
    let failure = Failure { error, tool: "s_get", own_name: "get", attempt: 1, keyed: false };
    let budget = Budget { call_retries: 0, run_retries: 0, time: Duration::from_secs(600), jitter: 0 };
    match decide(&failure, Effect::ReadOnly, &declared, &budget) {
        Decision::Continue { instructions } => {
            let facts = ViewFacts::new("s_get", Effect::ReadOnly, Reference::new(0));
            facts.view(error, instructions.as_deref()).as_str().to_owned()
        }
        other => format!("{other:?}"),
    }
}

/// One after the other: a matching error, another error, a timeout, a call that the model got wrong.
fn all(strategies: Value) -> String {
    let other = ToolError::rejected("no such order").say("no such order");
    let wrong = ToolError::new(backstop_core::ToolErrorKind::MalformedArguments, "not JSON");
    let read = [quota(), other, timeout(), wrong]
        .map(|error| format!("--- {}\n{}\n", error.kind().as_str(), reads(&strategies, &error)));
    format!("{strategies}\n{}=== \n{}\n", read.concat(), problems(&text(&strategies)))
}

#[test]
fn the_first_generation() {
    insta::assert_snapshot!(all(json!([
        {"type": "retry", "trigger_on": {"type": "contains", "value": "QUOTA"}, "instructions": "Ask for less."},
        {"type": "continue", "instructions": "Try another tool."},
    ])));
    insta::assert_snapshot!(
        "the_first_generation_stops",
        all(json!([
            {"type": "stop", "trigger_on": {"type": "equals", "value": "quota exceeded", "case_sensitive": true}},
            {"type": "ignore"},
        ]))
    );
}

#[test]
fn the_second_generation() {
    insta::assert_snapshot!(all(json!([
        {"type": "continue", "trigger_on": {"type": "contains", "value": "quota"}, "forward_tool_error_message": true},
        {"type": "continue", "forward_tool_error_message": false},
    ])));
}

#[test]
fn the_third_generation() {
    insta::assert_snapshot!(all(json!([
        {"type": "retry", "trigger_on": {"type": "contains", "value": "quota"}},
        {"type": "stop"},
        {"type": "continue", "trigger_on": {"type": "contains", "value": "timed out"}, "instructions": "Ask for a shorter time."},
        {"type": "continue", "trigger_on": {"type": "contains", "value": "order"}, "instructions": "Never read."},
    ])));
}

#[test]
fn the_fourth_generation() {
    insta::assert_snapshot!(all(json!([
        {"type": "continue", "trigger_on": {"type": "contains", "value": "timed out"}, "instructions": "Split the request."},
        {"type": "hard_stop", "trigger_on": {"type": "contains", "value": "quota"}},
        {"type": "continue", "instructions": "Say what is missing."},
    ])));
}

#[test]
fn without_a_catch_all_the_model_is_told() {
    insta::assert_snapshot!(all(
        json!([{"type": "hard_stop", "trigger_on": {"type": "contains", "value": "quota"}}])
    ));
}

#[test]
fn an_empty_list_is_a_list() {
    insta::assert_snapshot!(all(json!([])));
}

#[test]
fn odd_triggers_keep_their_meaning() {
    insta::assert_snapshot!(all(json!([
        {"type": "hard_stop", "trigger_on": {"type": "equals", "value": ""}},
        {"type": "hard_stop", "trigger_on": {"type": "contains", "value": "  "}},
        {"type": "hard_stop", "trigger_on": {"type": "equals", "value": "Tool call 'get' timed out after 300.0 seconds."}},
        {"type": "continue", "trigger_on": {"type": "contains", "value": ""}, "instructions": "Always."},
        {"type": "hard_stop"},
    ])));
}

#[test]
fn an_answer_is_matched_by_what_it_says() {
    insta::assert_snapshot!(problems(&text(&json!([
        {"type": "hard_stop", "trigger_on": {"type": "equals", "value": "{\"error\": \"quota exceeded\"}"}},
        {"type": "hard_stop", "trigger_on": {"type": "contains", "value": "{\"error\": \"closed\"}"}},
        {"type": "continue"},
    ]))));
}
