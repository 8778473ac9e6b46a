//! `backstop call` on httpbin, a REST service that behaves and misbehaves on demand.

use std::{process::Command, time::Duration};

use serde_json::{Value, json};

use crate::{
    server::{Server, counterpart},
    shell::{Manifest, Ran},
};

fn server() -> Server {
    let mut command = Command::new(counterpart("servers/bin/gunicorn"));
    command.args(["--bind", "127.0.0.1:0", "--threads", "4", "--no-control-socket", "httpbin:app"]);
    Server::start(command, "Listening at: ", Duration::from_secs(30))
}

/// A manifest with these endpoints, in the words of the manifest.
fn manifest(server: &Server, auth: &str, endpoints: &str) -> Manifest {
    let url = server.url();
    let manifest = Manifest::new(&format!(
        "version: 1
name: httpbin
model: {{ name: none, base_url: http://127.0.0.1:9 }}
limits: {{ call_retries: 0 }}
toolsets:
  bin:
    http:
      base_url: {url}
      auth: {auth}
      headers: {{ X-Tenant: t-1 }}
      endpoints:
{endpoints}"
    ));
    manifest.secret("BIN_TOKEN", "bt-81f0c2").secret("BIN_PASSWORD", "pw-77aa01")
}

/// What a call that fails is expected to be.
struct Failure {
    tool: &'static str,
    arguments: &'static str,
    kind: &'static str,
    status: Option<u16>,
    applied: &'static str,
    retryable: bool,
    /// Part of what the model reads.
    view: &'static str,
}

fn check_failure(ran: &Ran, expected: &Failure) {
    let document = ran.document();
    let error = &document["error"];
    assert_eq!(ran.code, Some(1), "exit code: {ran}");
    assert_eq!((&document["ok"], &document["output"]), (&json!(false), &Value::Null), "a failure: {ran}");
    assert_eq!(error["kind"], expected.kind, "kind: {ran}");
    assert_eq!(error["operator_view"]["status"], json!(expected.status), "status: {ran}");
    assert_eq!(error["applied"], expected.applied, "applied: {ran}");
    assert_eq!(error["retryable"], expected.retryable, "retryable: {ran}");
    let view = error["model_view"].as_str().unwrap();
    assert!(view.contains(expected.view), "the model reads `{}`: {ran}", expected.view);
    assert!(!view.contains('<'), "no markup in what the model reads: {ran}");
    assert!(!view.contains("http://"), "no address in what the model reads: {ran}");
    assert!(ran.stderr.is_empty(), "nothing on stderr: {ran}");
}

fn check_output(ran: &Ran) -> Value {
    let document = ran.document();
    assert_eq!(ran.code, Some(0), "exit code: {ran}");
    assert_eq!((&document["ok"], &document["error"]), (&json!(true), &Value::Null), "a success: {ran}");
    document["output"].clone()
}

#[test]
fn httpbin_answers_are_read_as_what_they_are() {
    let server = server();
    requests_arrive_exactly(&server);
    statuses_have_their_kinds(&server);
    retries_are_made(&server);
    deadlines_hold(&server);
    bodies_are_judged(&server);
    credentials_are_sent_and_refused(&server);
}

fn requests_arrive_exactly(server: &Server) {
    let manifest = manifest(
        server,
        "none",
        r#"
        create:
          method: POST
          path: /anything/files/{name}
          parameters:
            name: { type: string }
            tag: { type: array, items: { type: string }, in: query }
            if_match: { type: string, in: header, wire_name: If-Match }
            version: { const: "2026-07", in: query, wire_name: api-version }
            amount: { type: number }
            notes: { type: array, items: { type: string } }
            nested: { schema: { type: object } }
        remove:
          method: DELETE
          path: /anything
          parameters:
            id: { type: integer }
        search:
          path: /anything
          parameters:
            q: { type: string }
"#,
    );
    let arguments = json!({
        "name": "a b/ü?#%.txt",
        "tag": ["x&y", "z=1"],
        "if_match": "\"v1\"",
        "amount": 19.9,
        "notes": ["one\ntwo", "ünï 🦀", ""],
        "nested": {"deep": [null, true, 12345678901234567_u64]},
    });
    let ran = manifest.call("create", &arguments.to_string());
    let got = check_output(&ran);
    assert_eq!(got["method"], "POST", "method: {ran}");
    // As httpbin shows a decoded path again.
    let path = "/anything/files/a%20b/ü%3F%23%.txt?";
    assert!(got["url"].as_str().unwrap().contains(path), "path: {ran}");
    assert_eq!(got["args"], json!({"tag": ["x&y", "z=1"], "api-version": "2026-07"}), "query: {ran}");
    let expected = json!({"amount": 19.9, "notes": arguments["notes"], "nested": arguments["nested"]});
    assert_eq!(got["json"], expected, "body: {ran}");
    let headers = &got["headers"];
    assert_eq!(headers["If-Match"], "\"v1\"", "header of a parameter: {ran}");
    assert_eq!(headers["X-Tenant"], "t-1", "header of the toolset: {ran}");
    assert_eq!(headers["Content-Type"], "application/json", "type of the body: {ran}");

    let ran = manifest.call("remove", r#"{"id": 7}"#);
    let got = check_output(&ran);
    assert_eq!((&got["method"], &got["args"]), (&json!("DELETE"), &json!({"id": "7"})), "DELETE: {ran}");
    assert_eq!(got["data"], "", "no body: {ran}");

    let ran = manifest.call("search", r#"{"q": "1 + 1 = 2 & é"}"#);
    let got = check_output(&ran);
    assert_eq!((&got["method"], &got["args"]["q"]), (&json!("GET"), &json!("1 + 1 = 2 & é")), "GET: {ran}");
}

fn statuses_have_their_kinds(server: &Server) {
    let manifest = manifest(
        server,
        "none",
        r#"
        get: { path: "/status/{code}", parameters: { code: { type: integer } } }
        post: { method: POST, path: "/status/{code}", parameters: { code: { type: integer } } }
        delete: { method: DELETE, path: "/status/{code}", parameters: { code: { type: integer } } }
        forbidden: { path: /status/403 }
        get_only: { path: /post }
        tagged:
          path: /etag/v1
          parameters: { if_match: { type: string, in: header, wire_name: If-Match } }
        fresh:
          path: /cache
          parameters: { if_none_match: { type: string, in: header, wire_name: If-None-Match } }
"#,
    );
    let failure = |tool, arguments, kind, status: u16, applied, retryable, view| Failure {
        tool,
        arguments,
        kind,
        status: Some(status),
        applied,
        retryable,
        view,
    };
    let verify = "may have taken effect";
    let none = "There is no result";
    let cases = [
        failure("get", r#"{"code": 404}"#, "not_found", 404, "no", false, r#"parameter "code""#),
        failure("get", r#"{"code": 401}"#, "unauthenticated", 401, "no", false, "error reference: "),
        failure("get", r#"{"code": 403}"#, "access_denied", 403, "no", false, "answered 403 Forbidden"),
        failure("forbidden", "{}", "unauthenticated", 403, "no", false, "error reference: "),
        failure("get", r#"{"code": 409}"#, "conflict", 409, "no", false, "answered 409 Conflict"),
        failure(
            "tagged",
            r#"{"if_match": "v0"}"#,
            "conflict",
            412,
            "no",
            false,
            "answered 412 Precondition Failed",
        ),
        failure("get", r#"{"code": 418}"#, "rejected", 418, "no", false, "teapot"),
        failure("fresh", r#"{"if_none_match": "v1"}"#, "rejected", 304, "no", false, "changed"),
        failure("get_only", "{}", "misconfigured", 405, "no", false, "not set up correctly"),
        failure("get", r#"{"code": 429}"#, "rate_limited", 429, "no", true, "answered 429 Too Many Requests"),
        failure("post", r#"{"code": 429}"#, "rate_limited", 429, "no", true, none),
        failure("get", r#"{"code": 500}"#, "upstream_failure", 500, "unknown", true, none),
        failure("post", r#"{"code": 500}"#, "upstream_failure", 500, "unknown", false, verify),
        failure("get", r#"{"code": 502}"#, "unavailable", 502, "unknown", true, none),
        failure("post", r#"{"code": 502}"#, "unavailable", 502, "unknown", false, verify),
        failure("get", r#"{"code": 503}"#, "unavailable", 503, "unknown", true, none),
        failure("post", r#"{"code": 503}"#, "unavailable", 503, "unknown", false, verify),
        failure("delete", r#"{"code": 503}"#, "unavailable", 503, "unknown", true, ""),
    ];
    for case in &cases {
        check_failure(&manifest.call(case.tool, case.arguments), case);
    }
    let ran = manifest.call("tagged", r#"{"if_match": "v1"}"#);
    assert_eq!(check_output(&ran)["headers"]["If-Match"], "v1", "a precondition that holds: {ran}");
    let ran = manifest.call("get", r#"{"code": 204}"#);
    assert_eq!(check_output(&ran), "204 No Content", "a success without a body says so: {ran}");

    // Without `--json` a person reads what the model would.
    let ran = manifest.ran("call", &["get", r#"{"code": 503}"#]);
    assert_eq!(ran.code, Some(1), "exit code: {ran}");
    assert!(
        ran.stdout.contains(" answered 503 Service Unavailable\n") && ran.stdout.contains(none),
        "the view: {ran}"
    );
}

fn retries_are_made(server: &Server) {
    let manifest = manifest(
        server,
        "none",
        r#"
        get:
          path: /status/503
          fallback:
            - when: { kind: unavailable }
              retry: { max: 2, backoff: 10ms }
        post: { method: POST, path: /status/429 }
"#,
    );
    let ran = manifest.call("get", "{}");
    assert_eq!(ran.document()["attempts"], 3, "attempts of a declared retry: {ran}");
    let ran = manifest.call("post", "{}");
    assert_eq!(ran.document()["attempts"], 1, "attempts without retries: {ran}");
}

fn deadlines_hold(server: &Server) {
    let manifest = manifest(
        server,
        "none",
        r#"
        slow: { path: /delay/3, timeout: 1s }
        slow_post: { method: POST, path: /delay/3, timeout: 1s }
        slow_body:
          path: /drip
          timeout: 1s
          parameters: { duration: { const: 3 }, numbytes: { const: 3 } }
        drip:
          path: /drip
          parameters: { duration: { const: 1 }, numbytes: { const: 20 } }
"#,
    );
    let timeout = |tool, retryable, view| Failure {
        tool,
        arguments: "{}",
        kind: "timeout",
        status: None,
        applied: "unknown",
        retryable,
        view,
    };
    for case in [
        timeout("slow", true, "timed out after 1 second"),
        timeout("slow_post", false, "may have taken effect"),
        // It began to answer.
        Failure { status: Some(200), ..timeout("slow_body", true, "timed out after 1 second") },
    ] {
        let ran = manifest.call(case.tool, case.arguments);
        check_failure(&ran, &case);
        let took = ran.took.as_millis();
        assert!((1000..2800).contains(&took), "{} ends at its deadline, not before: {ran}", case.tool);
    }
    let ran = manifest.call("drip", "{}");
    let blob = json!([{
        "type": "blob",
        "media_type": "application/octet-stream",
        "data": "KioqKioqKioqKioqKioqKioqKio=",
    }]);
    assert_eq!(check_output(&ran), blob, "a slow body arrives whole: {ran}");
    let ran = manifest.ran("call", &["drip"]);
    assert_eq!(
        ran.stdout.trim_end(),
        "[application/octet-stream, 20 bytes, not shown]",
        "and its bytes are not printed: {ran}"
    );
}

fn bodies_are_judged(server: &Server) {
    let manifest = manifest(
        server,
        "none",
        r#"
        gzip: { path: /gzip }
        deflate: { path: /deflate }
        brotli: { path: /brotli }
        html: { path: /html }
        unicode_html: { path: /encoding/utf8 }
        bytes: { path: /bytes/100 }
        image: { path: /image/png }
        xml: { path: /xml }
        text: { path: /robots.txt }
        lines: { path: /stream/5 }
        redirect: { path: /redirect/1 }
        absolute: { path: /absolute-redirect/1 }
        away:
          path: /redirect-to
          parameters: { url: { const: "http://user:pw-77aa01@198.51.100.7/in?token=secret" } }
        headers:
          path: /response-headers
          parameters: { retry_after: { type: string, wire_name: Retry-After } }
"#,
    );
    let ran = manifest.call("gzip", "{}");
    assert_eq!(check_output(&ran)["gzipped"], true, "gzip is unpacked: {ran}");
    let ran = manifest.call("lines", "{}");
    assert!(!ran.document()["ok"].as_bool().unwrap(), "five documents are not one: {ran}");

    let unusable = |tool| Failure {
        tool,
        arguments: "{}",
        kind: "invalid_output",
        status: Some(200),
        applied: "unknown",
        retryable: false,
        view: "error reference: ",
    };
    // Deflate and brotli were not asked for: httpbin sends them all the same.
    for tool in ["html", "unicode_html", "deflate", "brotli", "lines"] {
        check_failure(&manifest.call(tool, "{}"), &unusable(tool));
    }
    let ran = manifest.ran("call", &["html"]);
    assert_eq!(ran.code, Some(1), "exit code: {ran}");
    for leaked in ["<h1>", "<html", "Melville"] {
        assert!(!ran.stdout.contains(leaked) && !ran.stderr.contains(leaked), "no page is shown: {ran}");
    }

    for (tool, expected) in [
        ("bytes", "[application/octet-stream, 100 bytes, not shown]"),
        ("image", "[image/png, 7.9 KiB, not shown]"),
    ] {
        let ran = manifest.ran("call", &[tool]);
        assert_eq!(ran.stdout.trim_end(), expected, "binary content is named: {ran}");
    }
    let ran = manifest.call("xml", "{}");
    assert!(check_output(&ran).as_str().unwrap().starts_with("<?xml"), "XML is text: {ran}");
    let ran = manifest.ran("call", &["text"]);
    assert_eq!(ran.stdout.trim_end(), "User-agent: *\nDisallow: /deny", "text is printed as it came: {ran}");
    let ran = manifest.call("headers", r#"{"retry_after": "7"}"#);
    assert_eq!(check_output(&ran)["Retry-After"], "7", "a success that asks to wait is a success: {ran}");

    for (tool, host) in [("redirect", "127.0.0.1"), ("absolute", "127.0.0.1"), ("away", "198.51.100.7")] {
        let ran = manifest.call(tool, "{}");
        let view = "is not set up correctly";
        check_failure(
            &ran,
            &Failure { kind: "misconfigured", status: Some(302), applied: "no", view, ..unusable(tool) },
        );
        let operator = ran.document()["error"]["operator_view"].to_string();
        assert!(
            operator.contains(&format!("redirects to {host}, which is not followed")),
            "the host is named: {ran}"
        );
        assert!(
            !operator.contains("token") && !operator.contains("pw-"),
            "and no more of the address: {ran}"
        );
    }
}

fn credentials_are_sent_and_refused(server: &Server) {
    let endpoints = "
        basic: { path: /basic-auth/u/pw-77aa01 }
        bearer: { path: /bearer }
        digest: { path: /digest-auth/auth/u/p }
        echo: { path: /anything }
        refused: { method: POST, path: /status/401 }
";
    let right = "{ basic: { username: u, password: \"${secret:BIN_PASSWORD}\" } }";
    let basic = manifest(server, right, endpoints);
    let ran = basic.call("basic", "{}");
    assert_eq!(check_output(&ran), json!({"authenticated": true, "user": "u"}), "{ran}");
    let ran = basic.call("bearer", "{}");
    assert_eq!(ran.document()["error"]["kind"], "unauthenticated", "the wrong scheme: {ran}");

    let bearer = manifest(server, "{ bearer: \"${secret:BIN_TOKEN}\" }", endpoints);
    let ran = bearer.call("bearer", "{}");
    let output = check_output(&ran);
    assert_eq!(output["authenticated"], true, "the token arrives: {ran}");
    assert!(!ran.stdout.contains("bt-81f0c2"), "httpbin repeats the token, and it is not shown: {ran}");
    let ran = bearer.call("echo", "{}");
    assert!(check_output(&ran)["headers"]["Authorization"].is_string(), "the header is sent: {ran}");
    assert!(!ran.stdout.contains("bt-81f0c2"), "and not shown: {ran}");

    let wrong = manifest(server, "{ basic: { username: u, password: \"${secret:BIN_TOKEN}\" } }", endpoints);
    let query = manifest(server, "{ api_key: { query: key, value: \"${secret:BIN_TOKEN}\" } }", endpoints);
    for (manifest, tool) in
        [(&wrong, "basic"), (&wrong, "bearer"), (&wrong, "digest"), (&query, "basic"), (&query, "refused")]
    {
        let ran = manifest.call(tool, "{}");
        let expected = Failure {
            tool,
            arguments: "{}",
            kind: "unauthenticated",
            status: Some(401),
            applied: "no",
            retryable: false,
            view: "did not accept the credentials",
        };
        check_failure(&ran, &expected);
        assert!(!ran.stdout.contains("bt-81f0c2"), "no credential is shown: {ran}");
    }
    let ran = query.call("echo", "{}");
    assert!(check_output(&ran)["args"]["key"].is_string(), "a key in the query arrives: {ran}");
    assert!(!ran.stdout.contains("bt-81f0c2"), "and is not shown, in the address httpbin repeats: {ran}");
}
