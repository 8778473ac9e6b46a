//! Keys and tokens are in nothing that is printed, whoever echoes them.

use backstop_test::server::{Reply, Server};
use serde_json::json;

use crate::{
    replies::{answer, calls},
    shell::{Ended, Folder},
};

const KEY: &str = "sk-live/Zq8+model=key";
const TOKEN: &str = "tok-live/Yw7+shop=token";
/// The same values as they look in a URL, in JSON and in base64.
const FORMS: [&str; 8] = [
    KEY,
    TOKEN,
    "sk-live%2FZq8%2Bmodel%3Dkey",
    "tok-live%2FYw7%2Bshop%3Dtoken",
    "sk-live%2fZq8%2bmodel%3dkey",
    "tok-live%2fYw7%2bshop%3dtoken",
    "c2stbGl2ZS9acTgrbW9kZWw9a2V5",
    "dG9rLWxpdmUvWXc3K3Nob3A9dG9rZW4=",
];

/// A server that is model and shop, and says the caller's key wherever it says anything.
fn echoing() -> Server {
    Server::answering(|request| {
        let authorization = request.header("authorization").unwrap_or_default().to_owned();
        let key = authorization.trim_start_matches("Bearer ").to_owned();
        let said = format!("{key} {}", FORMS.join(" "));
        match request.line().split_once('?').map_or(request.line(), |(line, _)| line) {
            "GET /orders/A-1001" => Reply::json(200, json!({"token": said, said.clone(): [said]})),
            "GET /orders/A-1002" => Reply::json(400, json!({"message": format!("bad token {said}")})),
            "GET /orders/A-1003" => Reply::json(500, json!({"debug": {"headers": said}})),
            "GET /orders/A-1004" => Reply::hang_up(),
            line if line.starts_with("POST /v1/") => {
                match request.json()["messages"].as_array().unwrap().len() {
                    1 => calls("get_order", &json!({"order_id": "A-1001"})),
                    3 => calls("get_order", &json!({"order_id": "A-1002"})),
                    5 => calls("get_order", &json!({"order_id": "A-1003"})),
                    7 => calls("get_order", &json!({"order_id": "A-1004"})),
                    _ => answer(&["Your keys are ", &said, "."]),
                }
            }
            line if line.starts_with("POST /refusing/") => {
                Reply::json(401, json!({"error": {"message": format!("Incorrect API key provided: {said}")}}))
            }
            line => panic!("{line}"),
        }
    })
}

fn manifest(server: &Server, path: &str) -> String {
    let url = &server.url;
    format!(
        "version: 1
name: talker
model: {{ base_url: {url}/{path}, api_key: '${{secret:OPENAI_API_KEY}}', name: m }}
limits: {{ turns: 9, model_retries: 0 }}
toolsets:
  shop:
    fallback: [retry: {{ max: 1, backoff: 1ms }}]
    http:
      base_url: {url}
      auth: {{ bearer: '${{secret:SHOP_TOKEN}}' }}
      endpoints:
        get_order:
          path: /orders/{{order_id}}
          parameters:
            order_id: {{ type: string, pattern: '^A-[0-9]{{4}}$' }}
            key: {{ in: query, const: '${{secret:SHOP_TOKEN}}' }}
"
    )
}

#[track_caller]
fn check(ended: &Ended) {
    for (name, printed) in [("stdout", &ended.stdout), ("stderr", &ended.stderr)] {
        // Escaping in JSON, once or twice, hides nothing.
        let printed = printed.replace("\\/", "/").replace("\\\\/", "/");
        for form in FORMS {
            assert!(!printed.contains(form), "`{form}` is in {name}:\n{ended}");
        }
    }
}

#[track_caller]
fn run(path: &str, arguments: &[&str], stdin: &str, code: i32) -> Ended {
    let server = echoing();
    let folder = Folder::new().with("backstop.yaml", manifest(&server, path));
    let invocation =
        folder.backstop(arguments).env("OPENAI_API_KEY", KEY).env("SHOP_TOKEN", TOKEN).stdin(stdin);
    let ended = invocation.env("BACKSTOP_LOG", "debug").env("BACKSTOP_LOG_FORMAT", "json").run();
    assert_eq!(ended.code, Some(code), "{ended}");
    let sent = server.next();
    assert!(sent.head.lines().any(|line| line.ends_with(KEY) || line.ends_with(TOKEN)), "{sent:?}");
    assert!(ended.stderr.contains("\"level\":"), "there is a log:\n{ended}");
    check(&ended);
    ended
}

#[test]
fn an_answer_has_none() {
    let ended = run("v1", &["run", "backstop.yaml", "Hello", "--verbose"], "", 0);
    assert!(ended.stdout.starts_with("Your keys are [secret]"), "{ended}");
}

#[test]
fn the_document_has_none() {
    let document = run("v1", &["run", "backstop.yaml", "Hello", "--json"], "", 0).json();
    assert_eq!(document["calls"].as_array().unwrap().len(), 4, "{document:#}");
}

#[test]
fn the_journal_has_none() {
    run("v1", &["run", "backstop.yaml", "Hello", "--events"], "", 0);
}

#[test]
fn a_refusal_has_none() {
    for flag in ["--verbose", "--json", "--events"] {
        run("refusing", &["run", "backstop.yaml", "Hello", flag], "", 1);
    }
}

#[test]
fn a_call_has_none() {
    for (order, code) in [("A-1001", 0), ("A-1002", 1), ("A-1003", 1), ("A-1004", 1)] {
        let arguments = format!(r#"{{"order_id":"{order}"}}"#);
        run("v1", &["call", "backstop.yaml", "get_order", &arguments], "", code);
        run("v1", &["call", "backstop.yaml", "get_order", &arguments, "--json"], "", code);
    }
}

#[test]
fn a_chat_has_none() {
    run("v1", &["chat", "backstop.yaml", "--verbose"], "Hello\n", 0);
}

#[test]
fn a_key_for_a_manifest_without_one_is_kept_too() {
    let server = Server::answering(|request| {
        let said = request.header("authorization").unwrap_or_default();
        Reply::json(401, json!({"error": {"message": format!("Incorrect API key provided: {said}")}}))
    });
    let folder = crate::fixture::shop("- text: never said\n");
    let base_url = format!("{}/v1", server.url);
    let arguments = ["run", "backstop.yaml", "Hello", "--model", "m", "--base-url", &base_url];
    let ended = folder.backstop(&arguments).env("OPENAI_API_KEY", KEY).env("BACKSTOP_LOG", "debug").run();
    assert!(server.next().header("authorization").unwrap().ends_with(KEY));
    assert_eq!(ended.code, Some(1), "{ended}");
    check(&ended);
}

#[test]
fn a_password_in_the_address_is_kept_too() {
    let server = Server::answering(|request| {
        let said = request.header("authorization").unwrap_or_default();
        Reply::json(401, json!({"error": {"message": format!("bad password hunter2-hunter2 {said}")}}))
    });
    let folder = crate::fixture::shop("- text: never said\n");
    let base_url = server.url.replace("http://", "http://me:hunter2-hunter2@");
    let arguments = ["run", "backstop.yaml", "Hello", "--model", "m", "--base-url", &base_url];
    for flag in ["--verbose", "--json", "--events"] {
        let arguments = [&arguments[..], &[flag]].concat();
        let ended = folder.backstop(&arguments).env("BACKSTOP_LOG", "debug").run();
        assert_eq!(ended.code, Some(1), "{ended}");
        for printed in [&ended.stdout, &ended.stderr] {
            assert!(!printed.contains("hunter2") && !printed.contains("bWU6aHVudGVyMi1odW50ZXIy"), "{ended}");
        }
        assert!(server.next().header("authorization").unwrap().starts_with("Basic "));
    }
}

#[test]
fn check_and_tools_show_none() {
    let folder = Folder::new().with(
        "backstop.yaml",
        "version: 1\nname: '${secret:OPENAI_API_KEY}'\nmodel: { name: m, api_key: '${secret:OPENAI_API_KEY}', temperature: '${secret:OPENAI_API_KEY}' }\n",
    );
    for arguments in
        [&["check", "backstop.yaml"][..], &["check", "backstop.yaml", "--json"], &["tools", "backstop.yaml"]]
    {
        let ended = folder.backstop(arguments).env("OPENAI_API_KEY", KEY).run();
        assert_eq!(ended.code, Some(2), "{ended}");
        check(&ended);
    }
}
