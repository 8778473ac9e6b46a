//! Ctrl-C: what was going on ends soon, and what is printed of it is whole.

use std::time::{Duration, Instant};

use backstop::{Outcome, manifest::MapEnvironment};
use backstop_test::server::{Reply, Server};
use insta::assert_snapshot;
use serde_json::json;

use crate::{
    fixture::{replay, shop, talker},
    replies::{LAST_CHUNK, answer, beginning},
    shell::{Ended, Folder, Invocation, Running},
};

const BUSY: &str = "
- calls:
    - { tool: get_order, arguments: { order_id: A-1001 } }
    - { tool: refund_order, arguments: { order_id: A-1001, amount: 5, reason: late } }
- text: never said
";

/// Presses Ctrl-C when `server` has a request, and waits for the end.
fn interrupted(invocation: Invocation, server: &Server) -> Ended {
    let running = invocation.start();
    server.next();
    ended(running)
}

/// Presses Ctrl-C, and waits for the end.
fn ended(running: Running) -> Ended {
    let pressed = Instant::now();
    running.interrupt();
    let ended = running.wait();
    assert!(pressed.elapsed() < Duration::from_secs(2), "it took {:?}:\n{ended}", pressed.elapsed());
    ended
}

fn busy(flag: &[&str]) -> (Folder, Ended) {
    // The reading call is answered, the changing one is not.
    let server = Server::answering(|request| match request.line() {
        "GET /orders/A-1001" => Reply::json(200, json!({"status": "sent"})),
        _ => Reply::silence(),
    });
    let folder = shop(BUSY);
    let arguments = [&["run", "backstop.yaml", "Refund it"], flag].concat();
    let mut running = folder.backstop(&arguments).env("SHOP_URL", &server.url).start();
    let mut lines = [server.next(), server.next()].map(|request| request.line().to_owned());
    lines.sort();
    assert_eq!(lines, ["GET /orders/A-1001", "POST /orders/A-1001/refunds"]);
    running.says("✓ get_order");
    (folder, ended(running))
}

#[test]
fn a_run_whose_tool_hangs_is_cancelled() {
    let (_, ended) = busy(&[]);
    assert_snapshot!(ended);
}

#[test]
fn the_document_of_a_cancelled_run_has_a_view_of_every_call() {
    let (_, ended) = busy(&["--json"]);
    assert_eq!(ended.code, Some(130));
    let document = ended.json();
    assert_eq!(document["outcome"], json!({"type": "cancelled"}));
    let shown = serde_json::to_string_pretty(&document["calls"]).unwrap();
    for call in document["calls"].as_array().unwrap() {
        assert!(call["view"].as_str().is_some_and(|view| !view.is_empty()), "{shown}");
    }
    assert_eq!(document["calls"][1]["tool"], "refund_order");
    assert_eq!(
        (&document["calls"][1]["kind"], &document["calls"][1]["applied"]),
        (&json!("cancelled"), &json!("unknown"))
    );
}

#[test]
fn the_journal_of_a_cancelled_run_ends_with_it() {
    let (folder, ended) = busy(&["--events"]);
    assert_eq!(ended.code, Some(130));
    let lines = ended.json_lines();
    assert_eq!(lines.last().unwrap()["event"], "cancelled", "{ended}");
    assert_eq!(replay(&folder, &MapEnvironment::new(), &lines), Outcome::Cancelled);
}

#[test]
fn a_model_that_thinks_is_interrupted() {
    let server = Server::start([beginning(&["I am"]).stall(LAST_CHUNK)]);
    let folder = Folder::new().with("backstop.yaml", talker(&server.url));
    let text = interrupted(folder.backstop(&["run", "backstop.yaml", "Who are you?"]), &server);
    let json = interrupted(folder.backstop(&["run", "backstop.yaml", "Who are you?", "--json"]), &server);
    assert_snapshot!(format!("{text}\n{json}"));
}

#[test]
fn a_call_that_hangs_is_cancelled() {
    let server = Server::start([Reply::silence()]);
    let arguments = ["call", "backstop.yaml", "get_order", r#"{"order_id":"A-1001"}"#];
    let run = |flag: &[&str]| {
        let invocation =
            shop("- text: never asked\n").backstop(&[&arguments, flag].concat()).env("SHOP_URL", &server.url);
        interrupted(invocation, &server)
    };
    assert_snapshot!(format!("{}\n{}", run(&[]), run(&["--json"])));
}

#[test]
fn a_wait_before_a_retry_is_interrupted() {
    let server = Server::start([Reply::json(503, json!({"message": "restarting"}))]);
    let folder = shop(BUSY);
    let manifest = folder.read("backstop.yaml") + "fallback:\n  - retry: { backoff: 1h, max_backoff: 1h }\n";
    let manifest = manifest.replace("turns: 4", "turns: 4, wall_clock: 10h");
    let folder = folder.with("backstop.yaml", manifest);
    let mut running =
        folder.backstop(&["run", "backstop.yaml", "Refund it"]).env("SHOP_URL", &server.url).start();
    running.says("get_order unavailable, status 503: attempt 2");
    running.interrupt();
    assert_eq!(running.wait().code, Some(130));
}

#[test]
fn a_turn_of_a_chat_is_interrupted_and_the_chat_goes_on() {
    let server = Server::answering(|request| match request.json()["messages"].as_array().unwrap().len() {
        1 => Reply::silence(),
        _ => answer(&["Here I am."]),
    });
    let folder = Folder::new().with("backstop.yaml", talker(&server.url));
    let invocation = folder.backstop(&["chat", "backstop.yaml"]).stdin("Who are you?\nAre you there?\n");
    assert_snapshot!(interrupted(invocation, &server));
}
