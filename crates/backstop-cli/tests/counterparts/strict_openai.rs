//! Whole runs on a server that takes no request but what the types of the `openai` package allow.

use std::time::Duration;

use serde_json::json;

use crate::{
    server::Server,
    shell::{Manifest, Ran, shop},
};

#[test]
fn the_openai_package_accepts_every_request_of_a_run_that_goes_wrong() {
    for stream in [true, false] {
        let server = Server::python("servers", "strict_openai.py", &[], Duration::from_secs(30));
        let shop = shop();
        let ran = run(&server, &shop, stream);
        calls_end_in_their_kinds(&ran);
        requests_are_accepted(&server, stream, &ran);
    }
}

fn run(server: &Server, shop: &Server, stream: bool) -> Ran {
    let (server, shop) = (server.url(), shop.url());
    let manifest = Manifest::new(&format!(
        "version: 1
name: strict
instructions: You look up orders.
model:
  base_url: {server}/v1
  name: strict
  api_key: ${{secret:STRICT_KEY}}
  stream: {stream}
  temperature: 0
  max_tokens: 100
  extra: {{ seed: 7, parallel_tool_calls: true }}
toolsets:
  shop:
    http:
      base_url: {shop}
      endpoints:
        get_order:
          path: /orders/{{order_id}}
          description: Reads one order.
          parameters: {{ order_id: {{ type: string, pattern: \"^A-[0-9]{{4}}$\" }} }}
        list_orders:
          path: /orders/A-1001/refunds
          description: Lists.
"
    ));
    manifest.secret("STRICT_KEY", "sk-5c1d07").ran("run", &["Which orders are there?", "--json"])
}

fn calls_end_in_their_kinds(ran: &Ran) {
    let document = ran.document();
    assert_eq!(ran.code, Some(0), "exit code: {ran}");
    assert_eq!(
        document["outcome"],
        json!({"type": "answered", "text": "There are two orders."}),
        "the run is answered: {ran}"
    );
    assert_eq!(document["turns"], 6, "turns: {ran}");
    let usage = &document["usage"];
    assert_eq!((&usage["input_tokens"], &usage["output_tokens"]), (&json!(60), &json!(30)), "usage: {ran}");
    let calls: Vec<_> = document["calls"].as_array().unwrap().iter().collect();
    let ends: Vec<_> =
        calls.iter().map(|call| (call["id"].as_str().unwrap(), call["kind"].as_str())).collect();
    let expected = [
        ("call_cut", Some("malformed_arguments")),
        ("call_unknown", Some("unknown_tool")),
        ("call_left", None),
        ("call_right", None),
        ("call_missing", Some("not_found")),
        ("call_name", Some("unknown_tool")),
        ("call_empty", None),
    ];
    assert_eq!(ends, expected, "how the calls ended: {ran}");
    // The shop restarts its database for each order that is read the first time.
    assert_eq!((&calls[2]["attempts"], &calls[3]["attempts"]), (&json!(2), &json!(2)), "retries: {ran}");
}

fn requests_are_accepted(server: &Server, stream: bool, ran: &Ran) {
    let seen = server.get("/seen");
    let seen = seen.as_array().unwrap();
    for (index, request) in seen.iter().enumerate() {
        assert!(request["refused"].is_null(), "request {index} is accepted: {:#}\n{ran}", request["refused"]);
        assert_eq!(request["stream"], stream, "request {index} is streamed as declared: {ran}");
        let body = &request["body"];
        assert_eq!((&body["seed"], &body["max_tokens"]), (&json!(7), &json!(100)), "request {index}: {ran}");
    }
    assert_eq!(seen.len(), 6, "one request a turn: {ran}");

    let last = &seen[5]["body"]["messages"];
    let results: Vec<_> = last
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| (message["tool_call_id"].as_str().unwrap(), message["content"].as_str().unwrap()))
        .collect();
    for (id, words) in [
        ("call_cut", "not valid JSON"),
        ("call_unknown", "Did you mean \"get_order\"?"),
        ("call_left", "\"A-1001\""),
        ("call_right", "\"A-1002\""),
        ("call_missing", "There is no order A-9999."),
        ("call_name", "was not found"),
    ] {
        let (_, content) = results.iter().find(|(known, _)| *known == id).unwrap();
        assert!(content.contains(words), "the result of {id} says `{words}`: {content}\n{ran}");
    }
    let head = last.to_string();
    assert!(!head.contains("A-10\""), "arguments that were cut are not sent back as they came: {head}");
}
