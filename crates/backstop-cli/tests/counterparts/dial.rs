//! Runs on an application of the DIAL SDK, reached as an OpenAI deployment.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    server::Server,
    shell::{Manifest, Ran, shop},
};

/// What every deployment may need: a key in DIAL's own header.
const KEY: &str = "{ Api-Key: \"${secret:DIAL_KEY}\" }";

fn manifest(server: &Server, deployment: &str, headers: &str, toolsets: &str) -> Manifest {
    let url = server.url();
    let manifest = Manifest::new(&format!(
        "version: 1
name: dial
model:
  base_url: {url}/openai/deployments/{deployment}
  name: {deployment}
  headers: {headers}
limits: {{ model_retries: 1 }}
toolsets: {toolsets}
"
    ));
    manifest.secret("DIAL_KEY", "dk-93be44")
}

fn run(server: &Server, deployment: &str) -> Ran {
    manifest(server, deployment, KEY, "{}").ran("run", &["one two three", "--json"])
}

fn times(server: &Server, deployment: &str) -> usize {
    server.get("/seen").as_array().unwrap().iter().filter(|name| *name == deployment).count()
}

/// The error of a run that the model ended.
fn failed(ran: &Ran) -> Value {
    let document = ran.document();
    assert_eq!(ran.code, Some(1), "exit code: {ran}");
    assert_eq!(document["outcome"]["type"], "model_failed", "outcome: {ran}");
    assert!(!ran.stdout.contains("dk-93be44") && !ran.stderr.contains("dk-93be44"), "no key: {ran}");
    document["outcome"]["error"].clone()
}

#[test]
fn a_dial_application_answers_and_fails_in_its_own_words() {
    let server = Server::python("servers", "dial_app.py", &[], Duration::from_secs(30));
    answers_arrive(&server);
    tools_work(&server);
    failures_have_words_and_kinds(&server);
    set_up_mistakes_are_told_apart(&server);
}

fn answers_arrive(server: &Server) {
    let ran = run(server, "echo");
    let document = ran.document();
    assert_eq!(ran.code, Some(0), "echo, exit code: {ran}");
    assert_eq!(
        document["outcome"],
        json!({"type": "answered", "text": "Echo: one two three"}),
        "echo: {ran}"
    );
    assert_eq!(document["usage"]["output_tokens"], 4, "echo, usage of the last chunk: {ran}");

    // A conversation of two turns, streamed to stdout as it comes.
    let chat = manifest(server, "echo", KEY, "{}");
    let ran = chat.started("chat", &[], "first\nsecond\n").ended();
    assert_eq!(ran.code, Some(0), "chat, exit code: {ran}");
    assert_eq!(ran.stdout, "Echo: first\nEcho: second\n", "chat: {ran}");

    // Stages, attachments and state are no part of the text.
    let ran = run(server, "rich");
    assert_eq!(ran.document()["outcome"], json!({"type": "answered", "text": "Done."}), "rich: {ran}");
}

fn tools_work(server: &Server) {
    let shop = shop();
    let url = shop.url();
    let toolsets = format!(
        "
  shop:
    http:
      base_url: {url}
      endpoints:
        get_order: {{ path: \"/orders/{{order_id}}\", parameters: {{ order_id: {{ type: string }} }} }}"
    );
    let manifest = manifest(server, "tools", KEY, &toolsets);
    let ran = manifest.ran("run", &["Look up the order.", "--json"]);
    let document = ran.document();
    assert_eq!(ran.code, Some(0), "tools, exit code: {ran}");
    assert_eq!(document["calls"][0]["arguments"], json!({"order_id": "A-9999"}), "tools, arguments: {ran}");
    assert_eq!(document["calls"][0]["kind"], "not_found", "tools, kind: {ran}");
    let answer = document["outcome"]["text"].as_str().unwrap();
    assert!(answer.contains("There is no order A-9999."), "tools, the model got the failure: {ran}");
    assert!(answer.contains("state {\"round\": 1}"), "tools, the state of the application came back: {ran}");
}

fn failures_have_words_and_kinds(server: &Server) {
    let ran = run(server, "late_error");
    let error = failed(&ran);
    assert_eq!(error["kind"], "unavailable", "late_error, the code in the stream is the status: {ran}");
    assert_eq!(error["status"], 503, "late_error: {ran}");
    assert_eq!(error["words"], "The service is down, try later.", "late_error, the words for people: {ran}");
    assert_eq!(error["partial"], "I begin", "late_error, what was said before: {ran}");
    assert!(error["detail"].as_str().unwrap().contains("pod 7"), "late_error, the operator's words: {ran}");
    assert_eq!(times(server, "late_error"), 2, "late_error is tried again once: {ran}");

    let ran = run(server, "early_error");
    let error = failed(&ran);
    assert_eq!(error["kind"], "rate_limited", "early_error: {ran}");
    assert_eq!(error["words"], "You have used up this minute's tokens.", "early_error: {ran}");
    assert_eq!(error["retry_after_ms"], 1000, "early_error, the wait that is asked for: {ran}");
    assert_eq!(times(server, "early_error"), 2, "early_error is tried again once: {ran}");
    assert!(ran.took >= Duration::from_secs(1), "early_error, the wait is kept: {ran}");

    let ran = run(server, "busy_once");
    assert_eq!(
        ran.document()["outcome"],
        json!({"type": "answered", "text": "Now I can."}),
        "busy_once: {ran}"
    );

    let ran = run(server, "bug");
    let error = failed(&ran);
    assert_eq!((&error["kind"], &error["status"]), (&json!("upstream_failure"), &json!(500)), "bug: {ran}");
    assert_eq!(error["words"], "Error during processing the request", "bug: {ran}");
    assert!(server.log().contains("a detail that nobody outside may read"), "bug, the server's log has it");
    assert!(!ran.stdout.contains("nobody outside"), "bug, and the reply does not: {ran}");
}

fn set_up_mistakes_are_told_apart(server: &Server) {
    let ran = run(server, "no_such");
    let error = failed(&ran);
    assert_eq!(
        (&error["kind"], &error["status"]),
        (&json!("not_found"), &json!(404)),
        "no deployment: {ran}"
    );
    assert_eq!(error["words"], "Not Found", "no deployment: {ran}");

    let ran = manifest(server, "echo", "{}", "{}").ran("run", &["Hello", "--json"]);
    let error = failed(&ran);
    assert_eq!((&error["kind"], &error["status"]), (&json!("rejected"), &json!(400)), "no key: {ran}");
    assert_eq!(error["words"], "Api-Key header is required", "no key: {ran}");

    // What a person reads.
    let ran = manifest(server, "early_error", KEY, "{}").ran("run", &["Hello"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "a failed run has no answer: {ran}");
    let words = "error: the model is called too often: You have used up this minute's tokens. (status 429)";
    assert!(ran.stderr.contains(words), "the words are on stderr: {ran}");
    let ran = manifest(server, "late_error", KEY, "{}").ran("run", &["Hello"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), "I begin\n"), "the part that came is shown: {ran}");
}
