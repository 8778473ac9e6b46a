//! `backstop explain`: what would happen, and why.

use insta::assert_snapshot;

use crate::shell::{Ended, Folder};

const MANIFEST: &str = "version: 1
name: clerk
model: { provider: scripted, script: script.yaml }
limits: { wall_clock: 2m }
toolsets:
  shop:
    http:
      base_url: https://shop.example.test
      endpoints:
        get_order:
          path: /orders/{order_id}
          find_with: find_orders
          parameters: { order_id: { type: string } }
        find_orders: { path: /orders }
        refund_order:
          method: POST
          path: /orders/{order_id}/refunds
          check_with: find_orders
          parameters: { order_id: { type: string } }
        pay: { method: POST, path: /payments, idempotent_key: true, timeout: 20s }
        stock:
          path: /stock
          fallback:
            - { when: { kind: rate_limited }, retry: { max: 3, backoff: 1s, jitter: false } }
            - { when: { contains: 'quota exceeded' }, stop: { message: 'The quota is used up; try tomorrow.' } }
            - { when: { class: transient }, use_value: { value: { stock: 0 } } }
            - { when: { kind: denied }, ask_human: { question: How many are there? } }
            - { stop: {} }
fallback:
  - { when: { kind: timeout, tool: refund_order }, continue: { instructions: Tell the user to wait. } }
  - { when: { class: transient }, retry: { max: 2, backoff: 4s } }
";

fn folder() -> Folder {
    Folder::new().with("agent.yaml", MANIFEST).with("script.yaml", "- text: Hello.\n")
}

fn explain(arguments: &[&str]) -> Ended {
    let arguments = [&["explain", "agent.yaml"], arguments].concat();
    folder().backstop(&arguments).run()
}

#[test]
fn a_retry_is_followed_until_it_is_spent() {
    assert_snapshot!(explain(&["stock", "--kind", "rate_limited"]));
}

#[test]
fn a_mutating_call_is_not_made_again() {
    assert_snapshot!(explain(&["refund_order", "--status", "502"]));
}

#[test]
fn the_same_call_is_where_it_surely_did_nothing() {
    assert_snapshot!(explain(&["refund_order", "--status", "502", "--applied", "no"]));
}

#[test]
fn words_alone_are_a_refusal() {
    assert_snapshot!(explain(&["stock", "--message", "Quota exceeded for today"]));
}

#[test]
fn the_user_reads_the_usual_sentence_where_there_is_no_other() {
    assert_snapshot!(explain(&["stock", "--status", "401", "--message", "bad key sk-1"]));
}

#[test]
fn a_status_names_the_argument_as_the_toolset_does() {
    assert_snapshot!(explain(&["get_order", "--status", "404", "--message", "no such order"]));
}

#[test]
fn timeouts_take_their_time() {
    // Each attempt takes 20 seconds of the two minutes.
    assert_snapshot!(explain(&["pay", "--kind", "timeout"]));
}

#[test]
fn a_later_attempt_can_be_asked_about() {
    assert_snapshot!(explain(&["stock", "--kind", "rate_limited", "--attempt", "4"]));
}

#[test]
fn a_person_may_be_asked() {
    assert_snapshot!(explain(&["stock", "--kind", "denied"]));
}

#[test]
fn a_cancelled_call_is_not_decided_about() {
    assert_snapshot!(explain(&["stock", "--kind", "cancelled"]));
}

#[test]
fn a_name_that_is_not_on_offer_has_the_strategies_of_the_agent() {
    assert_snapshot!(explain(&["get_ordr", "--kind", "unknown_tool"]));
}

#[test]
fn it_is_data_with_json() {
    assert_snapshot!(explain(&["stock", "--status", "429", "--json"]));
}

#[test]
fn what_is_read_of_a_stop_is_data_too() {
    let document = explain(&["stock", "--kind", "internal", "--json"]).json();
    assert_eq!(document["decision"], "stop");
    assert_eq!(document["model_view"], serde_json::Value::Null);
    let message = document["user_message"].as_str().unwrap();
    assert!(message.ends_with("(error reference: 1a2b3c4d)"), "{message}");
}

#[test]
fn what_can_not_be_asked_is_a_usage_error() {
    let cases: &[&[&str]] = &[
        &["stock"],
        &["stock", "--kind", "time_out"],
        &["stock", "--kind", "timeout", "--status", "500"],
        &["stock", "--status", "200"],
        &["stock", "--kind", "unknown_tool"],
        &["stok", "--kind", "timeout"],
        &["stock", "--kind", "timeout", "--applied", "maybe"],
        &["stock", "--kind", "timeout", "--attempt", "0"],
    ];
    let shown: Vec<String> = cases.iter().map(|case| explain(case).to_string()).collect();
    assert_snapshot!(shown.join("\n"));
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let coloured = |name: &str| {
        let folder = folder();
        let call = folder.backstop(&["explain", "agent.yaml", "stock", "--kind", "rate_limited"]);
        call.env("CLICOLOR_FORCE", "1").env(name, "1").run().stdout.contains('\u{1b}')
    };
    assert!(coloured("X"));
    let plain = explain(&["stock", "--kind", "rate_limited"]);
    assert!(!plain.stdout.contains('\u{1b}'));
}

#[test]
fn another_tool_may_serve_the_call() {
    let manifest = MANIFEST.replace(
        "    http:\n",
        "    fallback: [{ use_tool: { tool: find_orders } }, { when: { kind: timeout }, stop: {} }]\n    http:\n",
    );
    let folder = folder().with("agent.yaml", manifest);
    let shown = ["get_order", "refund_order"]
        .map(|tool| folder.backstop(&["explain", "agent.yaml", tool, "--kind", "timeout"]).run().to_string());
    assert_snapshot!(shown.join("\n"));
}
