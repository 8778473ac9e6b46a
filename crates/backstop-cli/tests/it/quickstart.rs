//! `backstop quickstart`: the page that newcomers read.

use std::net::TcpListener;

use backstop_test::server::Server;
use insta::assert_snapshot;

use crate::{replies::answer, shell::Folder};

#[test]
fn it_needs_nothing_and_shows_how_failures_end() {
    let ended = Folder::new().backstop(&["quickstart"]).run();
    // Two calls that are made at once: the one that answers sooner is first.
    assert_snapshot!(ended);
}

#[test]
fn it_takes_the_model_that_is_set() {
    let server = Server::start([answer(&["I have no idea."])]);
    let ended = Folder::new()
        .backstop(&["quickstart", "Where is A-1002?"])
        .env("OPENAI_BASE_URL", &format!("{}/v1", server.url))
        .env("OPENAI_MODEL", "mine");
    assert_snapshot!(ended.run());
    let body = server.next().json();
    assert_eq!(body["model"], "mine");
    assert_eq!(body["messages"][1]["content"], "Where is A-1002?");
}

#[test]
fn an_address_in_use_is_told() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert_snapshot!(Folder::new().backstop(&["quickstart", "--serve", &address]).run());
}

#[test]
fn an_address_that_is_none_is_a_usage_error() {
    assert_snapshot!(Folder::new().backstop(&["quickstart", "--serve", "8788"]).run());
}

#[test]
fn a_model_address_that_is_none_is_explained() {
    assert_snapshot!(Folder::new().backstop(&["quickstart"]).env("OPENAI_BASE_URL", "localhost:11434").run());
}
