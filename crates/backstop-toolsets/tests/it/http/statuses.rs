//! C13, C14, C15: every status is a typed error, and the model reads what the service wrote for its callers.

use std::time::Duration;

use backstop_core::{Applied, ToolErrorKind};
use serde_json::json;

use super::{
    server::{Reply, Server},
    shop,
};
use crate::support::{call, view};

const PROBLEM: &str = "application/problem+json";
const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";

/// Tool, status line, content type, body.
const TABLE: &[(&str, &str, &str, &str)] = &[
    ("create_order", "302 Found", HTML, "<html>moved</html>"),
    ("create_order", "307 Temporary Redirect", HTML, "<html>moved</html>"),
    ("get_order", "304 Not Modified", "", ""),
    ("create_order", "400 Bad Request", JSON, r#"{"ok":true}"#),
    ("create_order", "400 Bad Request", JSON, r#"{"error":{"message":"qty is too high","code":"E_QTY"}}"#),
    ("get_order", "401 Unauthorized", "", ""),
    ("get_order", "401 Unauthorized", JSON, r#"{"message":"bad key sk-12…"}"#),
    ("get_order", "402 Payment Required", JSON, r#"{"message":"the plan has no orders"}"#),
    ("get_order", "403 Forbidden", JSON, r#"{"message":"order 7 is not yours"}"#),
    ("list_orders", "403 Forbidden", JSON, r#"{"message":"token has no scope"}"#),
    ("get_order", "404 Not Found", HTML, "<!doctype html><title>404</title>"),
    ("get_order", "404 Not Found", PROBLEM, r#"{"title":"Not Found","detail":"there is no order 7"}"#),
    ("list_orders", "404 Not Found", "text/plain", "no route"),
    ("create_order", "405 Method Not Allowed", "", ""),
    ("get_order", "408 Request Timeout", "", ""),
    ("create_order", "409 Conflict", JSON, r#"{"error":"name taken"}"#),
    ("get_order", "410 Gone", "", ""),
    ("create_order", "412 Precondition Failed", "", ""),
    ("create_order", "413 Content Too Large", "", ""),
    ("create_order", "415 Unsupported Media Type", "", ""),
    ("create_order", "418 I'm a teapot", "text/plain", "short and stout"),
    (
        "create_order",
        "422 Unprocessable Content",
        PROBLEM,
        r#"{"title":"invalid","errors":[{"loc":["body","qty"],"msg":"must be >= 1"}]}"#,
    ),
    (
        "create_order",
        "422 Unprocessable Content",
        JSON,
        r#"{"detail":[{"loc":["body","qty"],"msg":"must be >= 1"}]}"#,
    ),
    ("create_order", "423 Locked", "", ""),
    ("create_order", "425 Too Early", "", ""),
    ("create_order", "429 Too Many Requests", JSON, r#"{"message":"slow down"}"#),
    (
        "create_order",
        "500 Internal Server Error",
        JSON,
        r#"{"message":"boom\n   at Shop.Run(Shop.cs:7)","trace":"x"}"#,
    ),
    ("get_order", "500 Internal Server Error", JSON, r#"{"id":"f00"}"#),
    ("create_order", "501 Not Implemented", "", ""),
    ("create_order", "502 Bad Gateway", HTML, "<html><body>nginx</body></html>"),
    ("get_order", "502 Bad Gateway", HTML, "<html><body>nginx</body></html>"),
    ("create_order", "503 Service Unavailable", "text/plain", "down for maintenance"),
    ("get_order", "504 Gateway Timeout", "", ""),
    ("get_order", "599 ", "", ""),
];

#[tokio::test]
async fn status_table() {
    let mut seen = String::new();
    for (tool, status, content_type, body) in TABLE {
        let headers = [
            ("content-type", *content_type),
            ("x-request-id", "req-1"),
            ("location", "https://u:p@other.example.test/login?token=abc"),
        ];
        let headers = if content_type.is_empty() { &headers[1..] } else { &headers[..] };
        let server = Server::start([Reply::new(status, headers, body)]).await;
        let toolset = shop(&server.url);
        let arguments = if *tool == "get_order" { json!({"id": "7"}) } else { json!({}) };
        let error = call(&toolset, tool, arguments).await.unwrap_err();
        server.only();
        assert_eq!(serde_json::to_value(&error).unwrap()["request_id"], "req-1");
        let view = view(&toolset, tool, &error).await;
        assert!(!view.contains("html") && !view.contains("Shop.cs") && !view.contains("token"), "{view}");
        seen.push_str(&format!(
            "{tool}: {status} {body}\n  {} applied={} status={} code={} at={}\n  said: {}\n  > {}\n",
            error.kind(),
            error.applied(),
            error.status().unwrap(),
            error.code().unwrap_or("-"),
            error.pointer().unwrap_or("-"),
            error.words().unwrap_or("-"),
            view.replace('\n', "\n  > "),
        ));
    }
    insta::assert_snapshot!(seen);
}

#[tokio::test]
async fn an_operator_reads_method_host_path_and_body() {
    let reply = Reply::new(
        "401 Unauthorized",
        &[("www-authenticate", "Bearer realm=\"shop\""), ("content-type", "application/json")],
        r#"{"message":"no"}"#,
    );
    let server = Server::start([reply]).await;
    let error =
        call(&shop(&format!("{}/v1/?key=k", server.url)), "get_order", json!({"id": "7"})).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "unauthenticated: GET {}/v1/orders/7: Unauthorized, wants `Bearer realm=\"shop\"`, body \
             `{{\"message\":\"no\"}}` (status 401)",
            server.url
        )
    );
}

#[tokio::test]
async fn retry_after_is_read_in_both_forms() {
    let reply = |wait: &str| {
        let headers = [("retry-after", wait), ("date", "Wed, 21 Oct 2026 07:28:00 GMT")];
        Reply::new("429 Too Many Requests", &headers, "")
    };
    let replies = [
        reply("3"),
        reply("Wed, 21 Oct 2026 07:28:05 GMT"),
        reply("86400"),
        reply("soon"),
        Reply::json("200 OK", "1"),
    ];
    let server = Server::start(replies).await;
    let toolset = shop(&server.url);
    for wait in [Some(3), Some(5), Some(86_400), None] {
        let error = call(&toolset, "list_orders", json!({})).await.unwrap_err();
        assert_eq!(error.kind(), ToolErrorKind::RateLimited);
        assert_eq!(error.retry_after(), wait.map(Duration::from_secs));
        if wait == Some(86_400) {
            let view = view(&toolset, "list_orders", &error).await;
            assert!(view.contains("1440 minutes") || view.contains("86400"), "{view}");
        }
    }
    assert!(call(&toolset, "list_orders", json!({})).await.is_ok());
    assert_eq!(server.seen().len(), 5);
}

#[tokio::test]
async fn one_call_is_one_request_whatever_comes_back() {
    let server = Server::start([
        Reply::new("502 Bad Gateway", &[], ""),
        Reply::json("409 Conflict", r#"{"error":"name taken"}"#),
    ])
    .await;
    let toolset = shop(&server.url);
    let error = call(&toolset, "create_order", json!({"name": "n1"})).await.unwrap_err();
    server.only();
    assert_eq!((error.applied(), error.status()), (Applied::Unknown, Some(502)));
    let view = view(&toolset, "create_order", &error).await;
    assert!(
        view.ends_with("The call may have taken effect: check with list_orders before repeating it."),
        "{view}"
    );
}

#[tokio::test]
async fn a_huge_error_body_is_not_read_to_its_end() {
    let body = format!("{{\"message\":\"{}\"}}", "x".repeat(4 << 20));
    let server = Server::start([Reply::json("400 Bad Request", &body)]).await;
    let error = call(&shop(&server.url), "list_orders", json!({})).await.unwrap_err();
    assert_eq!((error.kind(), error.words()), (ToolErrorKind::Rejected, None));
}

#[tokio::test]
async fn an_error_body_that_breaks_off_does_not_hide_the_status() {
    let server = Server::start([Reply::json("409 Conflict", r#"{"error":"name taken"}"#).cut(5)]).await;
    let error = call(&shop(&server.url), "create_order", json!({})).await.unwrap_err();
    assert_eq!((error.kind(), error.words()), (ToolErrorKind::Conflict, None));
}
