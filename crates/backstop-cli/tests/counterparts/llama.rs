//! Runs and conversations with a small real model behind llama.cpp's server.
//!
//! What a model says is its own affair: checked are outcomes, kinds, and that calls and their results go both ways.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    server::{Server, counterpart},
    shell::{Manifest, Ran, shop},
};

/// A manifest with these limits, this model setting and these toolsets, in the words of the manifest.
fn manifest(server: &Server, model: &str, rest: &str) -> Manifest {
    let url = server.url();
    Manifest::new(&format!(
        "version: 1
name: llama
model: {{ base_url: {url}, name: qwen2.5-coder-1.5b, temperature: 0, {model} }}
{rest}"
    ))
}

/// An agent that reads orders of the shop.
fn clerk(server: &Server, shop: &Server) -> Manifest {
    let url = shop.url();
    let rest = format!(
        "instructions: You look up orders of a shop. Use get_order.
limits: {{ turns: 2 }}
toolsets:
  shop:
    http:
      base_url: {url}
      endpoints:
        get_order:
          path: /orders/{{order_id}}
          description: Reads one order.
          find_with: list_orders
          parameters: {{ order_id: {{ type: string, description: such as A-1001 }} }}
        list_orders:
          path: /orders/A-1001/refunds
          description: Lists all orders.
"
    );
    manifest(server, "max_tokens: 80", &rest)
}

#[test]
fn a_small_model_is_carried_through_its_failures() {
    let model = counterpart("model.gguf");
    let server = Server::python("model", "llama_server.py", &[&model], Duration::from_secs(120));
    a_call_meets_an_outage(&server);
    a_failure_reaches_the_model(&server);
    a_conversation_has_two_turns(&server);
    an_answer_is_cut(&server);
    a_prompt_is_too_long(&server);
    an_interrupt_ends_the_run(&server);
}

/// Whatever a model of this size does next, the document is whole.
fn calls(ran: &Ran) -> Vec<Value> {
    let document = ran.document();
    let outcome = document["outcome"]["type"].as_str().unwrap();
    let code = match outcome {
        "answered" => 0,
        "limit_reached" => 1,
        other => panic!("the run ends in an answer or at its limit, not in `{other}`: {ran}"),
    };
    assert_eq!(ran.code, Some(code), "the exit code of `{outcome}`: {ran}");
    assert!(document["usage"]["output_tokens"].as_u64().unwrap() > 0, "the tokens are counted: {ran}");
    let calls = document["calls"].as_array().unwrap().clone();
    for call in &calls {
        let (ok, kind, view) = (&call["ok"], &call["kind"], call["view"].as_str().unwrap());
        assert_eq!(ok == true, kind.is_null(), "a call works or has a kind: {ran}");
        assert!(!view.is_empty(), "the model is always told something: {ran}");
    }
    assert!(!calls.is_empty(), "the model calls a tool: {ran}");
    calls
}

fn a_call_meets_an_outage(server: &Server) {
    let shop = shop();
    let ran = clerk(server, &shop).ran("run", &["What is the status of order A-1001?", "--json"]);
    let calls = calls(&ran);
    let first = &calls[0];
    assert_eq!(first["tool"], "get_order", "outage, the right tool: {ran}");
    assert_eq!(first["arguments"], json!({"order_id": "A-1001"}), "outage, the right arguments: {ran}");
    assert_eq!(first["output"]["status"], "delivered", "outage, the result: {ran}");
    // The shop's database restarts when an order is read the first time.
    assert_eq!(first["attempts"], 2, "outage, it is tried again: {ran}");
    assert!(ran.stderr.contains("status 503"), "outage, and shown on stderr: {ran}");
}

fn a_failure_reaches_the_model(server: &Server) {
    let shop = shop();
    let ran = clerk(server, &shop).ran("run", &["What is the status of order A-7777?", "--json"]);
    let calls = calls(&ran);
    let first = &calls[0];
    assert_eq!((&first["tool"], &first["kind"]), (&json!("get_order"), &json!("not_found")), "404: {ran}");
    assert_eq!(first["arguments"], json!({"order_id": "A-7777"}), "404, the arguments: {ran}");
    let view = first["view"].as_str().unwrap();
    assert!(view.contains("There is no order A-7777."), "404, the words of the service: {ran}");
    // It was told to call this one, and has no other reason to.
    assert_eq!(calls[1]["tool"], "list_orders", "404, the model read what it was told: {ran}");
}

fn a_conversation_has_two_turns(server: &Server) {
    let chat = manifest(server, "max_tokens: 30", "");
    let ran = chat.started("chat", &[], "Say hello.\nAnd now say goodbye.\n").ended();
    assert_eq!(ran.code, Some(0), "chat, exit code: {ran}");
    let answers = ran.stdout.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(answers >= 2, "chat, two answers: {ran}");
    assert!(!ran.stderr.contains("error"), "chat, no error: {ran}");
}

fn an_answer_is_cut(server: &Server) {
    for stream in [true, false] {
        let manifest = manifest(server, &format!("max_tokens: 5, stream: {stream}"), "");
        let ran = manifest.ran("run", &["Count from one to fifty in words.", "--json"]);
        let document = ran.document();
        let outcome = &document["outcome"];
        assert_eq!(ran.code, Some(1), "cut, exit code: {ran}");
        assert_eq!(outcome["type"], "model_failed", "cut, outcome: {ran}");
        assert_eq!(outcome["error"]["kind"], "cut_at_token_limit", "cut, kind: {ran}");
        assert!(!outcome["error"]["partial"].as_str().unwrap().is_empty(), "cut, what was said: {ran}");
        assert_eq!(document["usage"]["output_tokens"], 5, "cut, the tokens were spent: {ran}");
    }
}

fn a_prompt_is_too_long(server: &Server) {
    for stream in [true, false] {
        let manifest = manifest(server, &format!("max_tokens: 5, stream: {stream}"), "");
        let ran = manifest.started("run", &["-", "--json"], &"word ".repeat(9000)).ended();
        let document = ran.document();
        let error = &document["outcome"]["error"];
        assert_eq!(ran.code, Some(1), "too long, exit code: {ran}");
        assert_eq!(error["kind"], "context_too_long", "too long, kind: {ran}");
        assert_eq!(error["status"], 400, "too long, status: {ran}");
        let words = error["words"].as_str().unwrap();
        assert!(words.contains("8192 tokens"), "too long, the server's own words: {ran}");
        assert!(ran.stderr.contains(words), "too long, a person reads them: {ran}");
    }
}

fn an_interrupt_ends_the_run(server: &Server) {
    let manifest = manifest(server, "max_tokens: 1000", "");
    let mut running = manifest.started("run", &["Count from one to two hundred in words.", "--json"], "");
    eventually("the model writes", || slot(server)["next_token"][0]["n_decoded"].as_u64() > Some(2));
    running.interrupt();
    let ran = running.ended();
    assert_eq!(ran.code, Some(130), "interrupt, exit code: {ran}");
    assert!(ran.took < Duration::from_secs(2), "interrupt, at once: {ran}");
    assert_eq!(ran.document()["outcome"], json!({"type": "cancelled"}), "interrupt, outcome: {ran}");
    eventually("the server stops writing", || slot(server)["is_processing"] == false);
}

/// What the server works on.
fn slot(server: &Server) -> Value {
    server.get("/slots")[0].clone()
}

fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < until, "within 30 s, {what}");
        thread::sleep(Duration::from_millis(50));
    }
}
