//! What the model reads of each failure: the fixed words.

use std::{fmt::Write as _, time::Duration};

use backstop_core::{
    Applied, Effect, ToolError, ToolErrorKind,
    error::{VIEW_CAP, ViewFacts},
};
use serde_json::json;

use crate::kit::{REFERENCE, catalog, mutating, object, reading, told, told_by};

fn view(tool: &str, effect: Effect, error: &ToolError) -> String {
    ViewFacts::new(tool, effect, REFERENCE).view(error, None).to_string()
}

/// The ways in which an adapter fills in an error.
fn variants(kind: ToolErrorKind) -> [(&'static str, ToolError); 7] {
    let bare = ToolError::new(kind, "what only the operator may read");
    [
        ("bare", bare.clone()),
        ("words", bare.clone().say("no stock left")),
        ("words, pointer", bare.clone().say("no such order: 17").at("/order/id")),
        ("pointer", bare.clone().at("/order/id")),
        ("words, status", bare.clone().say("no stock left").with_status(500)),
        (
            "words, status, answered",
            bare.clone().say("no stock left").with_status(500).answered("GET /orders answered 500"),
        ),
        ("retry_after", bare.with_retry_after(Duration::from_secs(30))),
    ]
}

#[test]
fn every_kind_reads_as_a_failure_and_ends_in_an_order() {
    let mut out = String::new();
    for kind in ToolErrorKind::ALL {
        writeln!(out, "## {kind} ({})\n", kind.class()).unwrap();
        for (name, error) in variants(kind) {
            let reading = view("ship", Effect::ReadOnly, &error);
            let mutating = view("ship", Effect::Mutating, &error);
            let mut put = |effect: &str, text: &str| {
                writeln!(out, "{name} ({effect})\n    {}", text.replace('\n', "\n    ")).unwrap();
            };
            if reading == mutating {
                put("any effect", &reading);
            } else {
                put("read_only", &reading);
                put("mutating", &mutating);
            }
        }
        out.push('\n');
    }
    assert!(!out.contains("operator may read"));
    insta::assert_snapshot!(out);
}

#[test]
fn no_view_is_empty_or_above_its_cap_whatever_the_error_holds() {
    let huge = "ü€ x\n".repeat(20_000);
    let pointer = format!("/{}", "a~1b/0/".repeat(15_000));
    let texts = [None, Some("short"), Some(huge.as_str())];
    let pointers = [None, Some("/a/0"), Some(pointer.as_str())];
    let tools = ["t", huge.as_str()];
    let mut seen = 0;
    for kind in ToolErrorKind::ALL {
        for words in texts {
            for pointer in pointers {
                for (applied, status) in [(Applied::No, None), (Applied::Unknown, Some(503))] {
                    let mut error = ToolError::new(kind, "detail").with_applied(applied);
                    error = words.iter().fold(error, |error, words| error.say(words));
                    error = pointer.iter().fold(error, |error, pointer| error.at(*pointer));
                    error = status.iter().fold(error, |error, status| error.with_status(*status));
                    for (effect, instructions) in Effect::ALL.into_iter().zip([None, Some(" "), Some(&*huge)])
                    {
                        for tool in tools {
                            let view = ViewFacts::new(tool, effect, REFERENCE)
                                .check_with(tool)
                                .find_with(tool)
                                .view(&error, instructions);
                            assert!(!view.as_str().trim().is_empty(), "{kind} {effect:?}");
                            assert!(view.as_str().len() <= VIEW_CAP, "{kind} {}", view.as_str().len());
                            seen += 1;
                        }
                    }
                }
            }
        }
    }
    assert_eq!(seen, 19 * 3 * 3 * 2 * 3 * 2);
}

#[test]
fn hundreds_of_long_violations_are_capped_and_the_rest_is_counted() {
    let properties: serde_json::Map<_, _> =
        (0..300).map(|n| (format!("p{n}_{}", "x".repeat(300)), json!({"type": "integer"}))).collect();
    let wrong: serde_json::Map<_, _> =
        properties.keys().map(|name| (name.clone(), json!("y".repeat(400)))).collect();
    let spec = reading("fill", object(json!(properties), &[]));
    let view = told(spec, &serde_json::to_string(&wrong).unwrap());
    assert!(view.len() <= VIEW_CAP, "{}", view.len());
    assert!(view.starts_with("Invalid value for parameter \"p0_xxx"), "{view}");
    let (what, _) = view.rsplit_once('\n').unwrap();
    let last = what.lines().last().unwrap();
    assert!(last.starts_with("And ") && last.ends_with(" more problems."), "{last}");
}

#[test]
fn long_instructions_leave_room_for_what_is_wrong() {
    let error = ToolError::rejected("").say("w".repeat(5_000));
    let view = ViewFacts::new("t", Effect::ReadOnly, REFERENCE).view(&error, Some(&"i".repeat(100_000)));
    assert_eq!(view.as_str().len(), VIEW_CAP);
    assert!(view.as_str().starts_with(&"w".repeat(VIEW_CAP / 2 - 5)));
    assert!(view.as_str().contains("…\n\niiii"));
}

// One test per row of the table of fixed words.

#[test]
fn a_missing_argument_is_named_and_asked_for() {
    let spec = reading("add", object(json!({"number": {"type": "integer"}}), &["number"]));
    assert_eq!(
        told(spec, "{}"),
        "Parameter \"number\" is mandatory for tool \"add\".\n\
         Call add again with \"number\" added."
    );
}

fn run(effect: Effect) -> backstop_core::ToolSpec {
    reading("run", object(json!({"mode": {"enum": ["quick", "slow"]}}), &["mode"])).effect(effect)
}

#[test]
fn a_value_that_does_not_fit_is_mended_where_one_is_near() {
    assert_eq!(
        told(run(Effect::ReadOnly), r#"{"mode":"quik"}"#),
        "Invalid value for parameter \"mode\" of tool \"run\": must be one of \"quick\", \"slow\"; got \"quik\". \
         Did you mean \"quick\"?\n\
         Call it again with: run {\"mode\":\"quick\"}"
    );
    assert_eq!(
        told(run(Effect::ReadOnly), r#"{"mode":"zebra"}"#),
        "Invalid value for parameter \"mode\" of tool \"run\": must be one of \"quick\", \"slow\"; got \"zebra\"\n\
         Call run again with \"mode\" corrected."
    );
}

#[test]
fn a_mutating_tool_never_gets_a_guessed_value_spelled_out() {
    assert_eq!(
        told(run(Effect::Mutating), r#"{"mode":"quik"}"#),
        "Invalid value for parameter \"mode\" of tool \"run\": must be one of \"quick\", \"slow\"; got \"quik\". \
         Did you mean \"quick\"?\n\
         Call run again with \"mode\" corrected."
    );
}

#[test]
fn a_forbidden_argument_is_renamed_where_one_is_near_and_removed_where_none_is() {
    let schema = json!({
        "type": "object", "additionalProperties": false,
        "properties": {"origin": {"type": "string"}, "max_price": {"type": "integer"}},
    });
    assert_eq!(
        told(reading("search", schema.clone()), r#"{"max_prise":3}"#),
        "Parameter \"max_prise\" does not exist for tool \"search\", please use one of these: origin, max_price. \
         Did you mean \"max_price\"?\n\
         Call it again with: search {\"max_price\":3}"
    );
    assert_eq!(
        told(reading("search", schema), r#"{"origin":"Rom","colour":"red"}"#),
        "Parameter \"colour\" does not exist for tool \"search\", please use one of these: origin, max_price.\n\
         Call search again with \"colour\" removed."
    );
}

#[test]
fn several_problems_are_told_in_schema_order_with_one_step_for_all() {
    let properties = json!({"from": {"type": "string"}, "to": {"type": "string"}, "day": {"format": "date"}});
    let spec = reading("book", object(properties, &["from", "to"]));
    assert_eq!(
        told(spec, r#"{"day":"soon","to":[]}"#),
        "Parameter \"from\" is mandatory for tool \"book\".\n\
         Invalid value for parameter \"to\" of tool \"book\": must be a string; got [] (an array)\n\
         Invalid value for parameter \"day\" of tool \"book\": must be a date such as \"2026-01-31\"; got \"soon\"\n\
         Call book again with \"to\" and \"day\" corrected and \"from\" added."
    );
}

#[test]
fn arguments_that_are_not_json_are_echoed_with_the_place() {
    let spec = || reading("add", object(json!({"a": {"type": "integer"}}), &["a"]));
    assert_eq!(
        told(spec(), r#"{"a": x}"#),
        "The arguments of tool \"add\" are not valid JSON: expected value at column 7; got {\"a\": x}\n\
         Send all arguments again as one JSON object."
    );
    assert_eq!(
        told(spec(), r#"{"a": 1,}"#),
        "The arguments of tool \"add\" are not valid JSON: trailing comma at column 9; got {\"a\": 1,}\n\
         Send all arguments again as one JSON object. Call it again with: add {\"a\":1}"
    );
    assert_eq!(
        told(spec(), "[1]"),
        "The arguments of tool \"add\" are not a JSON object: got [1] (an array)\n\
         Send all arguments again as one JSON object."
    );
}

#[test]
fn an_unknown_tool_is_told_with_the_names_there_are_and_mended_where_the_arguments_fit() {
    let schema = || object(json!({"q": {"type": "string"}}), &["q"]);
    let tools = vec![reading("search_docs", schema()), reading("read_page", object(json!({}), &[]))];
    let catalog = catalog(tools);
    assert_eq!(
        told_by(&catalog, "search_doc", r#"{"q":"x"}"#),
        "Tool \"search_doc\" was not found, please use one of these: search_docs, read_page. \
         Did you mean \"search_docs\"?\n\
         Call it again with: search_docs {\"q\":\"x\"}"
    );
    assert_eq!(
        told_by(&catalog, "get_US_A PresidentService", "{}"),
        "Tool \"get_US_A PresidentService\" was not found, please use one of these: search_docs, read_page.\n\
         Call one of these tools instead, or answer without a tool."
    );
}

#[test]
fn an_argument_that_names_nothing_leads_to_the_tool_that_finds_a_right_one() {
    let at = |error: ToolError, words: &str| error.say(words).at("/path");
    let facts = ViewFacts::new("files_edit", Effect::Mutating, REFERENCE).find_with("files_find");
    let told = |error| facts.view(&error, None).to_string();
    let step = "Call files_find to find a valid one, then call files_edit again.";
    assert_eq!(
        told(at(ToolError::not_found(""), "file not found: notes/x.txt")),
        format!(
            "Invalid value for parameter \"path\" of tool \"files_edit\": file not found: notes/x.txt\n{step}"
        )
    );
    assert_eq!(
        told(at(ToolError::access_denied(""), "access denied: notes/x.txt")),
        format!(
            "Invalid value for parameter \"path\" of tool \"files_edit\": access denied: notes/x.txt\n{step}"
        )
    );
    assert_eq!(
        told(at(ToolError::conflict(""), "file already exists: notes/x.txt")),
        format!(
            "Invalid value for parameter \"path\" of tool \"files_edit\": file already exists: notes/x.txt\n{step}"
        )
    );
    assert_eq!(
        view("files_edit", Effect::Mutating, &at(ToolError::not_found(""), "file not found: notes/x.txt")),
        "Invalid value for parameter \"path\" of tool \"files_edit\": file not found: notes/x.txt\n\
         Do not guess another \"path\": use one that you were given, or tell the user."
    );
}

#[test]
fn a_failed_service_is_quoted_with_its_status() {
    let error = ToolError::upstream_failure("POST /transfers").say("Ledger is locked").with_status(500);
    let mutating = ViewFacts::new("transfer", Effect::Mutating, REFERENCE);
    assert_eq!(
        mutating.check_with("list_transfers").view(&error, None).as_str(),
        "Ledger is locked (status 500)\n\
         The call may have taken effect: check with list_transfers before repeating it."
    );
    assert_eq!(
        mutating.view(&error, None).as_str(),
        "Ledger is locked (status 500)\n\
         The call may have taken effect: verify before repeating it, or tell the user."
    );
    assert_eq!(
        mutating.view(&error.clone().with_applied(Applied::Yes), None).as_str(),
        "Ledger is locked (status 500)\n\
         The call has taken effect, at least in part: verify before repeating it, or tell the user."
    );
    assert_eq!(
        view("balance", Effect::ReadOnly, &error),
        "Ledger is locked (status 500)\n\
         There is no result: use another tool or tell the user, and do not make one up."
    );
}

#[test]
fn the_time_that_a_service_gave_is_passed_on() {
    let error = ToolError::rate_limited("").say("Slow down.").with_status(429);
    let told = |wait| view("balance", Effect::ReadOnly, &error.clone().with_retry_after(wait));
    assert_eq!(
        told(Duration::from_secs(30)),
        "Slow down. (status 429)\n\
         There is no result, and none before 30 seconds have passed: use another tool or tell the user, and do \
         not make one up."
    );
    assert!(told(Duration::from_millis(300)).contains("none before 1 second has passed:"));
}

#[test]
fn a_timeout_says_timed_out() {
    let error = ToolError::timeout(Duration::from_secs(30), "no answer from 10.0.0.7");
    assert_eq!(
        view("x", Effect::ReadOnly, &error),
        "Tool call \"x\" timed out after 30 seconds.\n\
         There is no result: use another tool or tell the user, and do not make one up."
    );
    assert_eq!(
        view("x", Effect::Mutating, &error),
        "Tool call \"x\" timed out after 30 seconds.\n\
         The call may have taken effect: verify before repeating it, or tell the user."
    );
}

#[test]
fn an_untyped_error_reads_as_one_fixed_sentence_and_nothing_more() {
    let error = ToolError::from_any("password is hunter2").say("password is hunter2");
    assert_eq!(
        view("explode", Effect::ReadOnly, &error),
        "An error occurred while executing tool \"explode\". (error reference: 1a2b3c4d)"
    );
    assert_eq!(
        view("explode", Effect::Mutating, &error.not_applied()),
        "An error occurred while executing tool \"explode\". (error reference: 1a2b3c4d)"
    );
}

#[test]
fn instructions_take_the_place_of_the_next_step_after_a_blank_line() {
    let error = ToolError::timeout(Duration::from_secs(30), "");
    let facts = ViewFacts::new("x", Effect::Mutating, REFERENCE);
    assert_eq!(
        facts.view(&error, Some("  Tell the user to come back tomorrow.\n")).as_str(),
        "Tool call \"x\" timed out after 30 seconds.\n\nTell the user to come back tomorrow."
    );
    assert_eq!(facts.view(&error, Some(" \n ")), facts.view(&error, None));
}

#[test]
fn words_of_a_service_lose_their_control_characters_and_blank_words_do_not_count() {
    let error = ToolError::rejected("").say("\u{1b}[31mno\u{0} stock\u{7}\r\n");
    assert_eq!(error.words(), Some("[31mno stock"));
    assert_eq!(ToolError::rejected("").say(" \r\n\u{0}").words(), None);
}

#[test]
fn the_declared_tools_of_a_mutating_tool_are_told_by_the_names_the_model_knows() {
    let schema = || object(json!({}), &[]);
    let tools =
        vec![mutating("pay", schema()).check_with("list payments"), reading("list payments", schema())];
    let catalog = catalog(tools);
    assert_eq!(catalog.get("pay").unwrap().spec.check_with.as_deref(), Some("list_payments"));
}

#[test]
fn who_answered_stands_in_front_of_the_words_and_a_refused_value_is_not_looked_for() {
    let facts = ViewFacts::new("order", Effect::ReadOnly, REFERENCE).find_with("list_orders");
    let answered = |error: ToolError| error.answered("GET /orders/{id} answered 422 Unprocessable Entity");
    let error = answered(ToolError::rejected("").with_status(422)).say("must be at least 1").at("/quantity");
    assert_eq!(
        facts.view(&error, None).as_str(),
        "Invalid value for parameter \"quantity\" of tool \"order\": GET /orders/{id} answered 422 Unprocessable \
         Entity: must be at least 1\n\
         Call order again with another \"quantity\", or tell the user."
    );
    let error = answered(ToolError::upstream_failure("").with_status(422));
    assert_eq!(
        facts.view(&error, None).as_str(),
        "GET /orders/{id} answered 422 Unprocessable Entity\n\
         There is no result: use another tool or tell the user, and do not make one up."
    );
}
