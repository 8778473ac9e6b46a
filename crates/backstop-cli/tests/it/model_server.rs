//! `backstop run` with a model on a server: what it is sent, and what a person reads when it breaks.

use backstop_test::server::{Reply, Server, dead_url};
use insta::assert_snapshot;
use serde_json::json;

use crate::{
    fixture::{SHOP, shop, talker},
    replies::{LAST_CHUNK, answer, beginning, calls},
    shell::{Ended, Folder},
};

const ASK: [&str; 3] = ["run", "backstop.yaml", "Who are you?"];

fn ask(server: &Server) -> Ended {
    Folder::new().with("backstop.yaml", talker(&server.url)).backstop(&ASK).run()
}

#[test]
fn the_answer_is_what_the_server_streams() {
    let server = Server::start([answer(&["I am", " a", " test.\n", "Ünï 😀"])]);
    let folder = Folder::new().with("backstop.yaml", talker(&server.url));
    let ended = folder.backstop(&ASK).env("OPENAI_API_KEY", "sk-test-12345").run();
    assert_eq!(
        (ended.code, ended.stdout.as_str(), ended.stderr.as_str()),
        (Some(0), "I am a test.\nÜnï 😀\n", "")
    );
    let request = server.next();
    assert_eq!(request.line(), "POST /v1/chat/completions");
    assert_eq!(request.header("authorization"), Some("Bearer sk-test-12345"));
    let body = json!({
        "model": "test-model",
        "messages": [{"role": "user", "content": "Who are you?"}],
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    assert_eq!(request.json(), body);
}

#[test]
fn the_profile_says_how_tools_are_sent() {
    let server = Server::start([answer(&["Hello"])]);
    let manifest = |profile: &str| {
        format!(
            "version: 1
name: a
model: {{ name: m, base_url: '{}/v1'{profile} }}
toolsets:
  shop:
    http:
      base_url: https://shop.example.test
      endpoints:
        find: {{ path: /orders, parameters: {{ id: {{ type: string, required: true, pattern: '^[A-Z]+$' }} }} }}
",
            server.url
        )
    };
    let sent = |profile: &str| {
        let folder = Folder::new().with("backstop.yaml", manifest(profile));
        let ended = folder.backstop(&ASK).run();
        assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "Hello\n", ""));
        server.next().json()["tools"][0]["function"]["parameters"]["properties"].clone()
    };
    assert_eq!(sent(""), json!({"id": {"type": "string", "pattern": "^[A-Z]+$"}}));
    assert_eq!(sent(", profile: portable"), json!({"id": {"type": "string"}}));
}

#[test]
fn usage_is_counted() {
    let server = Server::start([answer(&["Hello"])]);
    let folder = Folder::new().with("backstop.yaml", talker(&server.url));
    assert_snapshot!(folder.backstop(&["run", "backstop.yaml", "Hi", "--json"]).run());
}

#[test]
fn flags_take_the_place_of_the_manifests_model() {
    let server = Server::start([answer(&["Hello"])]);
    let base_url = format!("{}/other/", server.url);
    let flags = ["--model", "other-model", "--base-url", &base_url];
    let folder = Folder::new().with("backstop.yaml", talker("http://127.0.0.1:9"));
    let ended = folder.backstop(&[&ASK[..], &flags].concat()).run();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Hello\n"));
    let request = server.next();
    assert_eq!(
        (request.line(), &request.json()["model"]),
        ("POST /other/chat/completions", &json!("other-model"))
    );
    assert_eq!(request.header("authorization"), None);
}

#[test]
fn flags_take_the_place_of_a_script() {
    let server = Server::start([answer(&["Hello"])]);
    let folder = shop("- text: From the script.\n");
    let flags = ["--model", "m", "--base-url", &server.url];
    let ended = folder.backstop(&[&ASK[..], &flags].concat()).env("OPENAI_API_KEY", "sk-test-12345").run();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Hello\n"));
    assert_eq!(server.next().header("authorization"), Some("Bearer sk-test-12345"));
}

#[test]
fn flags_that_do_not_fit_are_usage_errors() {
    let folder = shop("- text: From the script.\n");
    let half = folder.backstop(&[&ASK[..], &["--model", "m"]].concat()).run();
    let wrong =
        folder.backstop(&[&ASK[..], &["--model", "m", "--base-url", "localhost:11434"]].concat()).run();
    assert_snapshot!(format!("{half}\n{wrong}"));
}

#[test]
fn a_tool_is_called_and_its_result_sent_back() {
    let server = Server::answering(|request| match request.line() {
        "GET /orders/A-1001" => Reply::json(200, json!({"status": "sent"})),
        _ if request.json()["messages"].as_array().unwrap().len() == 1 => {
            calls("get_order", &json!({"order_id": "A-1001"}))
        }
        _ => answer(&["It is sent."]),
    });
    let model = "model: { provider: scripted, script: script.yaml }";
    let manifest = SHOP.replace(model, &format!("model: {{ base_url: '{}/v1', name: m }}", server.url));
    let folder = Folder::new().with("backstop.yaml", manifest);
    assert_snapshot!(
        folder.backstop(&["run", "backstop.yaml", "Where is it?"]).env("SHOP_URL", &server.url).run()
    );
    let requests: Vec<_> = (0..3).map(|_| server.next()).collect();
    let result = json!({"role": "tool", "tool_call_id": "call_a", "content": "{\"status\":\"sent\"}"});
    assert_eq!(requests[2].json()["messages"][2], result);
}

#[test]
fn the_words_of_a_server_that_refuses_are_shown() {
    let body = json!({"error": {"message": "Incorrect API key provided.", "type": "invalid_request_error"}});
    assert_snapshot!(ask(&Server::start([Reply::json(401, body)])));
}

#[test]
fn a_model_that_is_not_there_is_named() {
    let body = json!({"error": {"message": "model \"test-model\" not found, try pulling it first"}});
    assert_snapshot!(ask(&Server::start([Reply::json(404, body)])));
}

#[test]
fn what_came_before_the_server_died_is_shown() {
    let server = Server::start([beginning(&["I am", " about to"]).cut(LAST_CHUNK)]);
    assert_snapshot!(ask(&server));
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let folder = Folder::new().with("backstop.yaml", talker(&dead_url()));
    assert_snapshot!(folder.backstop(&ASK).run());
}

#[test]
fn rubbish_is_told_to_be_rubbish() {
    let ended = [
        Reply::new(200, &[("content-type", "text/html")], "<html><h1>It works!</h1></html>"),
        Reply::new(200, &[("content-type", "application/json")], "{\"choices\": ["),
        Reply::new(200, &[("content-type", "text/event-stream")], "data: {\"choices\": [\n\n"),
        Reply::new(200, &[("content-type", "text/event-stream")], ""),
        Reply::bytes("not http at all\r\n\r\n"),
        Reply::hang_up(),
    ];
    let ended = ended.map(|reply| ask(&Server::start([reply])).to_string());
    assert_snapshot!(ended.join("\n"));
}

#[test]
fn a_server_that_is_busy_is_asked_again() {
    let loading = Reply::json(503, json!({"error": {"message": "loading the model"}}));
    let server = Server::start([loading, answer(&["Hello"])]);
    let manifest = talker(&server.url).replace("model_retries: 0", "model_retries: 1");
    assert_snapshot!(Folder::new().with("backstop.yaml", manifest).backstop(&ASK).run());
}
