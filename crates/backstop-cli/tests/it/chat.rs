//! `backstop chat` with its lines piped in.

use backstop_test::server::{Reply, Server};
use insta::assert_snapshot;
use serde_json::json;

use crate::{
    fixture::{shop, talker},
    replies::{LAST_CHUNK, answer, beginning},
    shell::Folder,
};

#[test]
fn a_turn_sees_the_one_before() {
    let script = "
- calls: [{ tool: get_order, arguments: { order_id: A-1001 } }]
- text: It is {{last_result}}.
- text: As I said, {{last_result}}.
";
    let server = Server::start([Reply::json(200, json!("sent"))]);
    let ended = shop(script).backstop(&["chat", "backstop.yaml"]).stdin("Where is A-1001?\nWhat?\n");
    assert_snapshot!(ended.env("SHOP_URL", &server.url).run());
    assert_eq!(server.lines(), ["GET /orders/A-1001"]);
}

#[test]
fn the_whole_conversation_is_sent() {
    let server = Server::start([answer(&["Fine,", " thanks."])]);
    let folder = Folder::new().with("backstop.yaml", talker(&server.url) + "instructions: Be brief.\n");
    let ended = folder.backstop(&["chat", "backstop.yaml"]).stdin("How are you?\nReally?").run();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Fine, thanks.\nFine, thanks.\n"));
    server.next();
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How are you?"},
        {"role": "assistant", "content": "Fine, thanks."},
        {"role": "user", "content": "Really?"},
    ]);
    assert_eq!(server.next().json()["messages"], messages);
}

#[test]
fn an_empty_line_ends_it() {
    let ended =
        shop("- text: Hello.\n").backstop(&["chat", "backstop.yaml"]).stdin("Hi\n\nAre you there?\n").run();
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "Hello.\n", ""));
}

#[test]
fn a_turn_that_fails_does_not_end_it() {
    let script = "
- fail: { kind: rejected, message: The context is too long. }
- text: Hello again.
";
    assert_snapshot!(shop(script).backstop(&["chat", "backstop.yaml"]).stdin("Hi\nHello?\n").run());
}

#[test]
fn a_line_that_is_no_text_is_told() {
    assert_snapshot!(shop("- text: a\n").backstop(&["chat", "backstop.yaml"]).stdin(b"caf\xe9\n").run());
}

#[test]
fn what_came_before_the_server_died_is_part_of_the_conversation() {
    let server = Server::answering(|request| match request.json()["messages"].as_array().unwrap().len() {
        1 => beginning(&["I am", " about to"]).cut(LAST_CHUNK),
        _ => answer(&["say something."]),
    });
    let folder = Folder::new().with("backstop.yaml", talker(&server.url));
    let ended = folder.backstop(&["chat", "backstop.yaml"]).stdin("Who are you?\nGo on.\n").run();
    assert_snapshot!(ended);
}
