//! `backstop run` with a scripted model: how each run ends, and what programs read of it.

use backstop::{Outcome, manifest::MapEnvironment};
use backstop_test::server::{Reply, Server};
use insta::assert_snapshot;
use serde_json::json;

use crate::{
    fixture::{replay, shop},
    shell::Folder,
};

const LOOK_UP: &str = "
- text: I look it up.
  calls: [{ tool: get_order, arguments: { order_id: A-1001 } }]
- text: 'The shop says: {{last_result}}'
";

fn open_shop() -> Server {
    Server::start([Reply::json(200, json!({"id": "A-1001", "status": "sent"}))])
}

/// A shop that does not know its client, and a strategy for that.
fn locked_out() -> (Server, Folder) {
    let folder = shop(LOOK_UP);
    let manifest = folder.read("backstop.yaml")
        + "fallback:\n  - when: { kind: unauthenticated }\n    stop: { message: Call the administrator. }\n";
    (Server::start([Reply::json(401, json!({"error": "bad token"}))]), folder.with("backstop.yaml", manifest))
}

#[test]
fn an_answer_is_all_of_stdout() {
    let server = open_shop();
    let ended = shop(LOOK_UP).backstop(&["run", "backstop.yaml", "Where is A-1001?"]);
    assert_snapshot!(ended.env("SHOP_URL", &server.url).run());
    assert_eq!(server.lines(), ["GET /orders/A-1001"]);
}

#[test]
fn a_stopped_run_says_why() {
    let (server, folder) = locked_out();
    let run = |more: &[&str]| {
        let arguments = [&["run", "backstop.yaml", "Where is A-1001?"], more].concat();
        folder.backstop(&arguments).env("SHOP_URL", &server.url).run()
    };
    assert_snapshot!(format!("{}\n{}", run(&["--verbose"]), run(&["--json"])));
}

#[test]
fn a_limit_is_named() {
    let script = "
- calls: [{ tool: get_order, arguments: { order_id: A-1001 } }]
- calls: [{ tool: get_order, arguments: { order_id: A-1002 } }]
- calls: [{ tool: get_order, arguments: { order_id: A-1003 } }]
- calls: [{ tool: get_order, arguments: { order_id: A-1004 } }]
";
    let (server, folder) = (open_shop(), shop(script));
    let run = |more: &[&str]| {
        let arguments = [&["run", "backstop.yaml", "Where are they?"], more].concat();
        folder.backstop(&arguments).env("SHOP_URL", &server.url).run()
    };
    assert_snapshot!(run(&[]));
    assert_eq!(run(&["--json"]).json()["outcome"], json!({"type": "limit_reached", "which": "turns"}));
}

#[test]
fn a_model_that_fails_is_told_in_its_own_words() {
    let folder = shop("- fail: { kind: rejected, status: 400, message: The context is too long. }\n");
    let text = folder.backstop(&["run", "backstop.yaml", "Hello"]).run();
    let json = folder.backstop(&["run", "backstop.yaml", "Hello", "--json"]).run();
    assert_snapshot!(format!("{text}\n{json}"));
}

#[test]
fn a_script_that_ends_too_early_says_so() {
    let script = "- calls: [{ tool: get_order, arguments: { order_id: A-1001 } }]\n";
    let server = open_shop();
    let ended = shop(script).backstop(&["run", "backstop.yaml", "Hello"]);
    assert_snapshot!(ended.env("SHOP_URL", &server.url).run());
}

#[test]
fn the_document_has_every_call() {
    let script = "
- calls:
    - { tool: get_order, arguments: { order_id: A-1001 } }
    - { tool: get_ordr, arguments: { order_id: A-1001 } }
    - { tool: refund_order, raw: '{\"order_id\": \"A-1001\", \"amount\": ' }
    - { tool: refund_order, arguments: { order_id: A-1001, amount: 0, reason: late } }
- text: I could not refund it.
";
    let server = open_shop();
    let ended = shop(script).backstop(&["run", "backstop.yaml", "Refund A-1001", "--json"]);
    assert_snapshot!(ended.env("SHOP_URL", &server.url).run());
    assert_eq!(server.lines(), ["GET /orders/A-1001"]);
}

#[test]
fn the_journal_replays_to_the_same_outcome() {
    let (server, folder) = locked_out();
    let run = |flag: &str| {
        let arguments = ["run", "backstop.yaml", "Where is A-1001?", flag];
        folder.backstop(&arguments).env("SHOP_URL", &server.url).run()
    };
    let ended = run("--events");
    assert_snapshot!(ended);
    let outcome = replay(&folder, &MapEnvironment::new(), &ended.json_lines());
    let Outcome::Stopped { message, reference } = outcome else { panic!("{outcome:?}") };
    assert_eq!(message, "Call the administrator.");
    // References follow from the journal, so what the person was told is found there again.
    assert!(ended.stderr.contains(&format!("(error reference: {reference})")), "{reference}:\n{ended:?}");
}

#[test]
fn the_prompt_may_come_from_stdin() {
    let folder = shop("- text: Hello.\n");
    for arguments in [&["run", "backstop.yaml", "--events"][..], &["run", "backstop.yaml", "-", "--events"]] {
        let ended = folder.backstop(arguments).stdin("What is\nthis?\n").run();
        let started = &ended.json_lines()[0];
        assert_eq!(started["input"], json!([{"role": "user", "text": "What is\nthis?"}]));
    }
}

#[test]
fn an_empty_prompt_is_a_usage_error() {
    let folder = shop("- text: Hello.\n");
    let given = folder.backstop(&["run", "backstop.yaml", " "]).run();
    let piped = folder.backstop(&["run", "backstop.yaml"]).run();
    assert_snapshot!(format!("{given}\n{piped}"));
}

#[test]
fn a_prompt_that_is_no_text_is_a_usage_error() {
    let folder = shop("- text: Hello.\n");
    assert_snapshot!(folder.backstop(&["run", "backstop.yaml"]).stdin(b"caf\xe9").run());
    let ended = folder.backstop(&["run", "backstop.yaml"]).stdin(vec![b'a'; 5 << 20]).run();
    assert_snapshot!("a_prompt_that_is_too_long", ended);
}

#[test]
fn there_is_one_form_of_output() {
    assert_snapshot!(
        shop("- text: a\n").backstop(&["run", "backstop.yaml", "Hello", "--json", "--events"]).run()
    );
}

#[test]
fn a_broken_manifest_runs_nothing() {
    let folder = shop("- text: a\n").with("backstop.yaml", "version: 1\nname: a\n");
    let text = folder.backstop(&["run", "backstop.yaml", "Hello"]).run();
    assert_eq!(folder.backstop(&["run", "backstop.yaml", "Hello", "--json"]).run().stdout, "");
    assert_snapshot!(text);
}

#[test]
fn a_question_to_a_person_ends_the_run() {
    let folder = shop(LOOK_UP);
    let manifest = folder.read("backstop.yaml")
        + "fallback:\n  - ask_human: { question: 'May the order be taken as lost?' }\n";
    let server = Server::start([Reply::json(404, json!({"message": "no such order"}))]);
    let folder = folder.with("backstop.yaml", manifest);
    let text = folder.backstop(&["run", "backstop.yaml", "Hello"]).env("SHOP_URL", &server.url).run();
    let json =
        folder.backstop(&["run", "backstop.yaml", "Hello", "--json"]).env("SHOP_URL", &server.url).run();
    assert_snapshot!(format!("{text}\n{json}"));
}

#[test]
fn control_characters_of_a_service_are_no_part_of_the_progress() {
    let server = Server::start([Reply::new(
        500,
        &[("content-type", "text/plain")],
        "\x1b[2Jboom\x07\r\n\x1b]0;owned\x07",
    )]);
    let script = "
- calls: [{ tool: \"get_\\e[31morder\", arguments: { order_id: \"\\e[31mA-1001\" } }]
- calls: [{ tool: list_refunds, arguments: { order_id: A-1001 } }]
- text: Done.
";
    let ended = shop(script).backstop(&["run", "backstop.yaml", "Hello", "--verbose"]);
    let ended = ended.env("SHOP_URL", &server.url).run();
    assert!(!ended.stderr.contains(['\x1b', '\x07', '\r']), "{:?}", ended.stderr);
    assert_snapshot!(ended);
}
