//! `backstop call`: one tool call, without a model.

use backstop_test::server::{Reply, Server, dead_url};
use insta::assert_snapshot;
use serde_json::json;

use crate::{
    fixture::shop,
    shell::{Ended, Folder},
};

const ORDER: &str = r#"{"order_id":"A-1001"}"#;
const REFUND: &str = r#"{"order_id":"A-1001","amount":5,"reason":"late"}"#;

fn folder() -> Folder {
    shop("- text: never asked\n")
}

fn call(server: &Server, more: &[&str]) -> Ended {
    let arguments = [&["call", "backstop.yaml"], more].concat();
    folder().backstop(&arguments).env("SHOP_URL", &server.url).run()
}

/// As a person and as a program reads it.
fn both(server: &Server, more: &[&str]) -> String {
    format!("{}\n{}", call(server, more), call(server, &[more, &["--json"]].concat()))
}

#[test]
fn a_json_result_is_printed_as_json() {
    let server = Server::start([Reply::json(200, json!({"id": "A-1001", "total": 59.9}))]);
    assert_snapshot!(both(&server, &["get_order", ORDER]));
}

#[test]
fn a_text_result_is_printed_as_it_is() {
    let server = Server::start([Reply::new(200, &[("content-type", "text/plain")], "sent on \"Monday\"\n")]);
    assert_snapshot!(both(&server, &["get_order", ORDER]));
}

#[test]
fn an_empty_result_is_a_result() {
    let server = Server::start([Reply::new(204, &[("content-type", "text/plain")], "")]);
    assert_snapshot!(both(&server, &["get_order", ORDER]));
}

#[test]
fn a_failure_is_printed_as_a_model_reads_it() {
    let server = Server::start([Reply::json(404, json!({"message": "There is no order A-1001."}))]);
    assert_snapshot!(both(&server, &["get_order", ORDER]));
}

#[test]
fn arguments_that_do_not_fit_are_all_named() {
    let server = Server::start([Reply::hang_up()]);
    let arguments = r#"{"order_id":"1001","amount":0,"reson":"late"}"#;
    assert_snapshot!(both(&server, &["refund_order", arguments]));
    assert_eq!(server.lines(), [""; 0]);
}

#[test]
fn arguments_that_are_no_json_are_explained() {
    let server = Server::start([Reply::hang_up()]);
    assert_snapshot!(both(&server, &["get_order", "{order_id: A-1001}"]));
}

#[test]
fn a_missing_argument_object_is_an_empty_one() {
    assert_snapshot!(call(&Server::start([Reply::hang_up()]), &["get_order"]));
}

#[test]
fn an_unknown_tool_is_answered_with_those_there_are() {
    let server = Server::start([Reply::hang_up()]);
    assert_snapshot!(both(&server, &["get_ordr", ORDER]));
}

#[test]
fn arguments_may_come_from_stdin() {
    let server = Server::start([Reply::json(200, json!(["late"]))]);
    let ended = folder().backstop(&["call", "backstop.yaml", "refund_order", "-"]);
    let ended = ended.env("SHOP_URL", &server.url).stdin(format!("{REFUND}\n")).run();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "[\n  \"late\"\n]\n"));
    let request = server.next();
    assert_eq!(request.line(), "POST /orders/A-1001/refunds");
    assert_eq!(request.json(), json!({"amount": 5, "reason": "late"}));
}

#[test]
fn a_reading_call_whose_reply_is_lost_is_made_again() {
    let server = Server::start([Reply::hang_up()]);
    assert_snapshot!(call(&server, &["get_order", ORDER, "--json"]));
    assert_eq!(server.lines(), ["GET /orders/A-1001"; 3]);
}

#[test]
fn a_changing_call_whose_reply_is_lost_is_made_once_and_to_be_verified() {
    let server = Server::start([Reply::hang_up()]);
    assert_snapshot!(call(&server, &["refund_order", REFUND]));
    assert_eq!(server.lines(), ["POST /orders/A-1001/refunds"]);
    let json = call(&server, &["refund_order", REFUND, "--json"]);
    assert_snapshot!("a_changing_call_whose_reply_is_lost", json);
    assert_eq!(server.lines(), ["POST /orders/A-1001/refunds"]);
}

#[test]
fn a_call_that_hangs_is_bounded_by_its_timeout() {
    let server = Server::start([Reply::silence()]);
    let folder = folder();
    let folder = {
        let manifest = folder.read("backstop.yaml").replace("timeout: 10s", "timeout: 150ms");
        folder.with("backstop.yaml", manifest)
    };
    let run = |more: &[&str]| {
        let arguments = [&["call", "backstop.yaml", "refund_order", REFUND], more].concat();
        folder.backstop(&arguments).env("SHOP_URL", &server.url).run()
    };
    assert_snapshot!(run(&[]));
    // Whether the client or the run looks at its clock first only shows in the operator's view.
    let error = &run(&["--json"]).json()["error"];
    assert_eq!((&error["kind"], &error["applied"]), (&json!("timeout"), &json!("unknown")));
    assert_eq!(server.lines(), ["POST /orders/A-1001/refunds"; 2]);
}

#[test]
fn a_service_that_is_not_there_never_got_the_call() {
    let ended = folder().backstop(&["call", "backstop.yaml", "refund_order", REFUND, "--json"]);
    let ended = ended.env("SHOP_URL", &dead_url()).run();
    assert_eq!(ended.json()["error"]["applied"], "no");
    assert_snapshot!(ended);
}

#[test]
fn what_a_gateway_says_is_for_the_operator_only() {
    let page = "<html><h1>502 Bad Gateway</h1><p>nginx at 10.3.0.7</p></html>";
    let server = Server::start([Reply::new(502, &[("content-type", "text/html")], page)]);
    let document = call(&server, &["refund_order", REFUND, "--json"]).json();
    assert!(!document["error"]["model_view"].as_str().unwrap().contains("nginx"), "{document:#}");
    assert!(document["error"]["operator_view"].to_string().contains("nginx"), "{document:#}");
}

/// The same of a call that fails with this answer, where this strategy is declared.
fn both_with(strategy: &str, answer: Reply) -> String {
    let folder = folder();
    let manifest = folder.read("backstop.yaml") + &format!("fallback:\n  - {strategy}\n");
    let folder = folder.with("backstop.yaml", manifest);
    let server = Server::start([answer]);
    let run = |more: &[&str]| {
        let arguments = [&["call", "backstop.yaml", "get_order", ORDER], more].concat();
        folder.backstop(&arguments).env("SHOP_URL", &server.url).run()
    };
    format!("{}\n{}", run(&[]), run(&["--json"]))
}

fn not_found() -> Reply {
    Reply::json(404, json!({"message": "no such order"}))
}

#[test]
fn a_substitute_is_told_apart_from_a_result() {
    let strategy = "use_value: { value: { status: unknown }, note: The shop is closed. }";
    assert_snapshot!(both_with(strategy, not_found()));
}

#[test]
fn a_stop_is_told() {
    let answer = Reply::json(401, json!({"message": "bad token"}));
    assert_snapshot!(both_with("stop: { message: Call the administrator. }", answer));
}

#[test]
fn a_call_that_waits_for_a_person_says_what_is_asked() {
    assert_snapshot!(both_with("ask_human: { question: 'Is it lost?' }", not_found()));
}
