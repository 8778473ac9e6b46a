//! What a person at a terminal sees and can answer. Each text is the whole screen.

use std::time::Duration;

use backstop_test::server::{Reply, Server};
use insta::assert_snapshot;
use serde_json::json;

use crate::{
    fixture::{SHOP, shop, talker},
    pty::Terminal,
    replies::answer,
    shell::Folder,
};

const REFUND: &str = "
- calls: [{ tool: refund_order, arguments: { order_id: A-1001, amount: 5, reason: late } }]
- text: 'It said: {{last_result}}'
- text: 'And again: {{last_result}}'
";
const LOOK_UP: &str = "
- calls: [{ tool: get_order, arguments: { order_id: A-1001 } }]
- text: 'It said: {{last_result}}'
";

fn open_shop() -> Server {
    Server::start([Reply::json("201 Created", json!({"refunded": 5}))])
}

/// A shop whose changing calls a person must allow.
fn asking() -> Folder {
    shop(REFUND).with("backstop.yaml", format!("{SHOP}approve: mutating\n"))
}

/// A shop that asks a person about each order it does not know.
fn asking_about_orders() -> (Server, Folder) {
    let manifest = format!("{SHOP}fallback:\n  - ask_human: {{ question: 'May it be taken as lost?' }}\n");
    let server = Server::start([Reply::json("404 Not Found", json!({"message": "no such order"}))]);
    (server, shop(LOOK_UP).with("backstop.yaml", manifest))
}

fn run(folder: &Folder, server: &Server) -> Terminal {
    Terminal::start(folder, &["run", "backstop.yaml", "Hello"], &[("SHOP_URL", &server.url)])
}

fn chat(folder: &Folder, server: &Server) -> Terminal {
    Terminal::start(folder, &["chat", "backstop.yaml"], &[("SHOP_URL", &server.url)])
}

#[test]
fn a_call_is_made_once_a_person_allows_it() {
    let server = open_shop();
    let mut terminal = run(&asking(), &server);
    terminal.shows("\n> ");
    assert_eq!(server.lines(), [""; 0]);
    terminal.types("y\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0));
    assert_snapshot!(screen);
    assert_eq!(server.lines(), ["POST /orders/A-1001/refunds"]);
}

#[test]
fn a_call_that_a_person_refuses_is_not_made() {
    let server = open_shop();
    let mut terminal = run(&asking(), &server);
    terminal.shows("\n> ");
    terminal.types("n\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0));
    assert_snapshot!(screen);
    assert_eq!(server.lines(), [""; 0]);
}

#[test]
fn anything_else_refuses_it_and_is_told_to_the_model() {
    let server = open_shop();
    let mut terminal = run(&asking(), &server);
    terminal.shows("\n> ");
    terminal.types("only if it is über 5 €\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0));
    assert_snapshot!(screen);
    assert_eq!(server.lines(), [""; 0]);
}

#[test]
fn ctrl_c_at_the_question_cancels_the_run() {
    let server = open_shop();
    let mut terminal = run(&asking(), &server);
    terminal.shows("\n> ");
    terminal.interrupts();
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(130));
    assert_snapshot!(screen);
    assert_eq!(server.lines(), [""; 0]);
}

#[test]
fn ctrl_d_at_the_question_leaves_it_open() {
    let server = open_shop();
    let mut terminal = run(&asking(), &server);
    terminal.shows("\n> ");
    terminal.types("\x04");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(1));
    assert_snapshot!(screen);
    assert_eq!(server.lines(), [""; 0]);
}

#[test]
fn an_answer_of_a_person_takes_the_place_of_the_result() {
    let (server, folder) = asking_about_orders();
    let mut terminal = run(&folder, &server);
    terminal.shows("\n> ");
    terminal.types("It is lost.\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0));
    assert_snapshot!(screen);
}

#[test]
fn a_chat_goes_on_until_an_empty_line() {
    let server = Server::start([answer(&["Fine,", " thanks.\n"]), answer(&["Re", "ally."])]);
    let folder = Folder::new().with("backstop.yaml", talker(&server.url));
    let mut terminal = chat(&folder, &server);
    terminal.shows("> ");
    terminal.types("How are you?\n");
    terminal.shows("thanks.\n> ");
    terminal.types("Really?\n");
    terminal.shows("Really.\n> ");
    terminal.types("\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0));
    assert_snapshot!(screen);
}

#[test]
fn ctrl_c_ends_a_chat_that_waits_for_a_line() {
    let server = open_shop();
    let mut terminal = chat(&shop("- text: never said\n"), &server);
    terminal.shows("> ");
    terminal.interrupts();
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(130));
    assert_snapshot!(screen);
}

#[test]
fn the_line_after_a_cancelled_question_is_the_next_of_the_chat() {
    let server = open_shop();
    let mut terminal = chat(&asking(), &server);
    terminal.shows("> ");
    terminal.types("Refund it\n");
    terminal.shows("to the model\n> ");
    terminal.interrupts();
    terminal.shows("the run ends (error reference: ");
    terminal.shows(")\n> ");
    terminal.types("Is it done?\n");
    terminal.shows("do not make one up.\n> ");
    terminal.types("\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0));
    assert_snapshot!(screen);
}

#[test]
fn what_is_waited_for_is_shown_and_leaves_no_trace() {
    // Slow enough for the spinner to turn before, in between and after.
    let said =
        answer(&["I am", " about", " to\nsay", " some", "thing", "."]).drip(40, Duration::from_millis(30));
    let server = Server::start([said]);
    let folder = Folder::new().with("backstop.yaml", talker(&server.url));
    let mut terminal = run(&folder, &server);
    terminal.shows("waiting for the model");
    let (code, screen) = terminal.end();
    assert_eq!((code, screen.as_str()), (Some(0), "I am about to\nsay something."));
}

/// An agent whose tool is that of a server which asks a person first.
fn asked_by_a_server() -> Folder {
    let folder = Folder::new()
        .with("script.yaml", "- calls: [{ tool: act, arguments: {} }]\n- text: 'It said: {{last_result}}'\n");
    let (program, args, env) =
        backstop_test::mcp::program(backstop_test::mcp::Behaviour::AsksPerson, &folder.path("log"));
    let command: Vec<String> = std::iter::once(program.display().to_string()).chain(args).collect();
    let env: serde_json::Map<_, _> = env.into_iter().map(|(name, value)| (name, json!(value))).collect();
    let manifest = json!({
        "version": 1,
        "name": "clerk",
        "model": {"provider": "scripted", "script": "script.yaml"},
        "toolsets": {"shop": {"mcp": {"command": command, "env": env}}},
    });
    folder.with("backstop.yaml", manifest.to_string())
}

#[test]
fn a_person_answers_a_server_in_the_middle_of_a_call() {
    let mut terminal = Terminal::start(&asked_by_a_server(), &["run", "backstop.yaml", "Hello"], &[]);
    terminal.shows("S, L; nothing refuses)\n> ");
    terminal.types("XL\n");
    terminal.shows("that is none of it: one of S, L\n> ");
    terminal.types("L\n");
    terminal.shows("y or n; nothing for false)\n> ");
    terminal.types("\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0));
    assert_snapshot!(screen);
}

#[test]
fn a_person_refuses_to_answer_a_server() {
    let mut terminal = Terminal::start(&asked_by_a_server(), &["run", "backstop.yaml", "Hello"], &[]);
    terminal.shows("nothing refuses)\n> ");
    terminal.types("\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0));
    assert!(screen.contains(r#"It said: {"action":"decline"}"#), "{screen}");
}
