//! Readers that go away, and devices that are full.

use std::{fs::OpenOptions, io::pipe};

use backstop_test::server::{Reply, Server};
use serde_json::json;

use crate::{fixture::shop, shell::Folder};

const SCRIPT: &str = "
- calls: [{ tool: get_order, arguments: { order_id: A-1001 } }]
- text: '{{last_result}}'
";

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let server = Server::start([Reply::json(200, json!({"status": "sent"}))]);
    let folder = shop(SCRIPT);
    let commands: [&[&str]; 8] = [
        &["--help"],
        &["check", "backstop.yaml"],
        &["check", "backstop.yaml", "--json"],
        &["tools", "backstop.yaml"],
        &["call", "backstop.yaml", "get_order", r#"{"order_id":"A-1001"}"#],
        &["run", "backstop.yaml", "Hello"],
        &["run", "backstop.yaml", "Hello", "--json"],
        &["run", "backstop.yaml", "Hello", "--events"],
    ];
    for command in commands {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let ended = folder.backstop(command).env("SHOP_URL", &server.url).stdout(writer).run();
        assert_eq!(ended.code, Some(0), "{ended}");
        assert!(!ended.stderr.contains("error"), "{ended}");
    }
}

#[test]
fn nobody_needs_to_read_stderr() {
    let server = Server::start([Reply::json(200, json!({"status": "sent"}))]);
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let ended = shop(SCRIPT).backstop(&["run", "backstop.yaml", "Hello"]).env("SHOP_URL", &server.url);
    let ended = ended.env("BACKSTOP_LOG", "debug").stderr(writer).run();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "{\"status\":\"sent\"}\n"));
}

#[test]
fn an_answer_that_can_not_be_written_is_a_failure() {
    let server = Server::start([Reply::json(200, json!({"status": "sent"}))]);
    let folder = shop(SCRIPT);
    for flag in [&[][..], &["--json"], &["--events"]] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let arguments = [&["run", "backstop.yaml", "Hello"], flag].concat();
        let ended = folder.backstop(&arguments).env("SHOP_URL", &server.url).stdout(full).run();
        assert_eq!(ended.code, Some(1), "{ended}");
        let said = "error: stdout can't be written: No space left on device (os error 28)\n";
        assert!(ended.stderr.ends_with(said), "{ended}");
    }
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ended = Folder::new().backstop(&["init"]).stdout(full).run();
    assert_eq!(ended.code, Some(1), "{ended}");
}
