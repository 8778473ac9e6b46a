//! C13, C14, C15: what an operator reads of a status, and what is read of its headers and its body.

use std::time::Duration;

use backstop_core::{Applied, ToolErrorKind};
use backstop_test::server::{Reply, Server};
use serde_json::json;

use super::shop;
use crate::support::{call, view};

#[tokio::test]
async fn an_operator_reads_method_host_path_and_body() {
    let reply = Reply::new(
        "401 Unauthorized",
        &[("www-authenticate", "Bearer realm=\"shop\""), ("content-type", "application/json")],
        r#"{"message":"no"}"#,
    );
    let server = Server::start([reply]);
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
    let server = Server::start(replies);
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
    ]);
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
    let server = Server::start([Reply::json("400 Bad Request", &body)]);
    let error = call(&shop(&server.url), "list_orders", json!({})).await.unwrap_err();
    assert_eq!((error.kind(), error.words()), (ToolErrorKind::Rejected, None));
}

#[tokio::test]
async fn an_error_body_that_breaks_off_does_not_hide_the_status() {
    let server = Server::start([Reply::json("409 Conflict", r#"{"error":"name taken"}"#).cut(5)]);
    let error = call(&shop(&server.url), "create_order", json!({})).await.unwrap_err();
    assert_eq!((error.kind(), error.words()), (ToolErrorKind::Conflict, None));
}
