//! `backstop login` and `backstop logout`, with a server that wants to know who asks.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use backstop_test::oauth::{Guarded, Manner};
use insta::assert_snapshot;
use serde_json::Value;

use crate::shell::{Ended, Folder, Invocation, Running};

const HEAD: &str = "version: 1\nname: clerk\nmodel: { provider: scripted, script: script.yaml }\n";

fn folder(guarded: &Guarded) -> Folder {
    let toolset = format!("toolsets:\n  tickets:\n    mcp: {{ url: {}, auth: login }}\n", guarded.url());
    Folder::new().with("script.yaml", "- text: hi").with("backstop.yaml", format!("{HEAD}{toolset}"))
}

fn command(folder: &Folder, arguments: &[&str]) -> Invocation {
    folder.backstop(arguments).env("BACKSTOP_TOKENS", folder.path("tokens").to_str().unwrap())
}

/// Asks for an address on loopback, as a browser does: the head, and the page.
fn get(url: &str) -> (String, String) {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() > 0 {
        text.extend(byte);
    }
    let head = String::from_utf8(text).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut page = vec![0; length.unwrap_or("0").parse().unwrap()];
    stream.read_exact(&mut page).unwrap();
    (head, String::from_utf8(page).unwrap())
}

/// The address that is to be opened.
fn invited(running: &mut Running) -> String {
    running.says("  http://").trim().to_owned()
}

/// Where the authorization server sends the browser.
fn sent_back(url: &str) -> String {
    let (head, _) = get(url);
    head.lines().find_map(|line| line.strip_prefix("location: ")).unwrap().to_owned()
}

/// A login as far as its end.
fn log_in(folder: &Folder, more: &[&str]) -> (Ended, String) {
    let mut running = command(folder, &[&["login", "backstop.yaml", "--no-browser"], more].concat()).start();
    let back = sent_back(&invited(&mut running));
    let (_, page) = get(&back);
    (running.wait(), page)
}

#[test]
fn a_person_logs_in_once_and_all_commands_know() {
    let guarded = Guarded::start(Manner::default());
    let folder = folder(&guarded);
    let call =
        |folder: &Folder| command(folder, &["call", "backstop.yaml", "echo", r#"{"text":"hello"}"#]).run();
    let hide = |text: String| text.replace(&guarded.server.url, "URL");
    let before = call(&folder);
    assert_eq!(before.code, Some(1));
    assert_snapshot!("before", hide(before.to_string()));

    let (ended, page) = log_in(&folder, &[]);
    assert_eq!(ended.stdout, "logged in to tickets, for read; the token is renewed by itself\n");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(page.contains("You are logged in."), "{page}");
    let after = call(&folder);
    assert_eq!((after.code, after.stdout.as_str()), (Some(0), "hello\n"), "{}", after.stderr);

    let logout = || command(&folder, &["logout", "backstop.yaml", "tickets"]).run();
    assert_eq!(logout().stdout, "logged out of tickets: its tokens are forgotten\n");
    assert_eq!(logout().stdout, "nobody was logged in to tickets\n");
    assert_eq!(call(&folder).to_string(), before.to_string());
}

#[test]
fn a_program_reads_what_a_login_brought() {
    let guarded = Guarded::start(Manner { renewable: false, ..Manner::default() });
    let folder = folder(&guarded);
    let (ended, _) = log_in(&folder, &["tickets", "--json", "--scope", "read", "--scope", "write"]);
    let mut told: Value = serde_json::from_str(&ended.stdout).unwrap();
    let holds = told["expires_in"].take().as_u64().unwrap();
    assert!((3500..=3600).contains(&holds), "{holds}");
    let file = told["file"].take();
    assert!(file.as_str().unwrap().starts_with(folder.path("tokens").to_str().unwrap()), "{file}");
    assert!(!ended.stdout.contains("access-1"));
    assert_eq!(
        told.to_string(),
        r#"{"toolset":"tickets","client_id":"registered","scopes":["read","write"],"expires_in":null,"renewable":false,"file":null}"#
    );
}

#[test]
fn who_comes_back_without_the_answer_ends_nothing() {
    let guarded = Guarded::start(Manner::default());
    let folder = folder(&guarded);
    let mut running = command(&folder, &["login", "backstop.yaml", "--no-browser"]).start();
    let back = sent_back(&invited(&mut running));
    let base = back.split("/callback").next().unwrap();
    for stray in [
        "/",
        "/favicon.ico",
        "/callback",
        "/callback?code=code-1&state=guessed",
        "/callback?error=access_denied",
    ] {
        let (head, page) = get(&format!("{base}{stray}"));
        assert!(head.starts_with("HTTP/1.1 404 "), "{stray}: {head}");
        assert!(!page.contains("guessed"), "{page}");
    }
    get(&back);
    assert_eq!(running.wait().code, Some(0));
}

#[test]
fn the_address_is_pasted_where_the_browser_is_elsewhere() {
    let guarded = Guarded::start(Manner::default());
    let folder = folder(&guarded);
    let (read, mut write) = std::io::pipe().unwrap();
    let mut running = command(&folder, &["login", "backstop.yaml", "--no-browser"]).stdin_from(read).start();
    let back = sent_back(&invited(&mut running));
    writeln!(write, "\nhttp://127.0.0.1/callback?code=x\n{back}").unwrap();
    let ended = running.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let warned = "warning: this is not the address of this login: paste the whole of it";
    assert!(ended.stderr.contains(warned), "{}", ended.stderr);
}

#[test]
fn a_login_that_does_not_succeed_says_why() {
    let refuses = Guarded::start(Manner { refuses: true, ..Manner::default() });
    let refused = folder(&refuses);
    let (ended, page) = log_in(&refused, &[]);
    assert!(page.contains("the terminal says why"), "{page}");
    let mut shown = vec![ended.stderr.lines().last().unwrap().to_owned()];
    assert_eq!(ended.code, Some(1));
    assert!(!refused.path("tokens").exists());

    let slow = Guarded::start(Manner::default());
    let ended = command(&folder(&slow), &["login", "backstop.yaml", "--no-browser", "--timeout", "1"]).run();
    shown.push(ended.stderr.lines().last().unwrap().to_owned());
    assert_eq!(ended.code, Some(1));

    let closed = Guarded::start(Manner { registers: false, ..Manner::default() });
    shown.push(command(&folder(&closed), &["login", "backstop.yaml"]).run().to_string());

    let none = Folder::new().with("script.yaml", "- text: hi").with("backstop.yaml", HEAD);
    shown.push(command(&none, &["login", "backstop.yaml"]).run().to_string());
    let two = format!(
        "{HEAD}toolsets:\n  a: {{ mcp: {{ url: 'http://127.0.0.1:9/a', auth: login }} }}\n  b: {{ mcp: {{ url: \
         'http://127.0.0.1:9/b', auth: login }} }}\n"
    );
    let two = Folder::new().with("script.yaml", "- text: hi").with("backstop.yaml", two);
    shown.push(command(&two, &["login", "backstop.yaml"]).run().to_string());
    shown.push(command(&two, &["logout", "backstop.yaml", "c"]).run().to_string());
    assert_snapshot!(shown.join("\n---\n"));
}
