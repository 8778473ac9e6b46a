//! C15: what is known about the world when no whole answer came.

use std::time::Duration;

use backstop_core::{Applied, ToolError, ToolErrorKind, Toolset};
use backstop_test::server::{Reply, Server, dead_url};
use serde_json::json;

use super::shop;
use crate::support::{call, context_for, valid, view};

fn facts(error: &ToolError) -> (ToolErrorKind, Applied, Option<u16>) {
    (error.kind(), error.applied(), error.status())
}

#[tokio::test]
async fn without_a_connection_nothing_was_applied() {
    for url in [dead_url(), "http://no-such-host.invalid".into()] {
        let error = call(&shop(&url), "create_order", json!({})).await.unwrap_err();
        assert_eq!(facts(&error), (ToolErrorKind::Unavailable, Applied::No, None), "{error:?}");
        assert!(!error.causes().is_empty());
    }
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_request_leaves_it_open() {
    let server = Server::start([Reply::hang_up()]);
    let toolset = shop(&server.url);
    let error = call(&toolset, "create_order", json!({"name": "n1"})).await.unwrap_err();
    assert_eq!(facts(&error), (ToolErrorKind::Unavailable, Applied::Unknown, None), "{error:?}");
    assert_eq!(server.only().body, r#"{"name":"n1"}"#);
    assert_eq!(
        view(&toolset, "create_order", &error).await,
        "Tool \"create_order\" is unavailable.\n\
         The call may have taken effect: check with list_orders before repeating it."
    );
}

#[tokio::test]
async fn an_answer_that_is_not_http_leaves_it_open() {
    let server = Server::start([Reply::bytes(b"SSH-2.0-OpenSSH_9.9\r\n")]);
    let error = call(&shop(&server.url), "create_order", json!({})).await.unwrap_err();
    assert_eq!(facts(&error), (ToolErrorKind::Unavailable, Applied::Unknown, None));
}

#[tokio::test]
async fn a_good_answer_that_breaks_off_is_an_upstream_failure() {
    let server = Server::start([Reply::json("200 OK", r#"{"id":7}"#).cut(3)]);
    let error = call(&shop(&server.url), "create_order", json!({})).await.unwrap_err();
    assert_eq!(facts(&error), (ToolErrorKind::UpstreamFailure, Applied::Unknown, Some(200)));
    server.only();
}

#[tokio::test]
async fn silence_is_a_timeout_of_the_attempt() {
    let server = Server::start([Reply::silence()]);
    let toolset = shop(&server.url);
    let valid = valid(&toolset, "create_order", json!({})).await;
    let error = toolset.call(&valid, &context_for(Duration::from_millis(200))).await.unwrap_err();
    assert_eq!(facts(&error), (ToolErrorKind::Timeout, Applied::Unknown, None));
    let view = view(&toolset, "create_order", &error).await;
    assert!(view.starts_with("Tool call \"create_order\" timed out after 200 milliseconds.\n"), "{view}");
}

#[tokio::test]
async fn a_dropped_call_leaves_the_toolset_usable() {
    let server = Server::start([Reply::silence(), Reply::json("200 OK", "1")]);
    let toolset = shop(&server.url);
    let first = call(&toolset, "list_orders", json!({}));
    assert!(tokio::time::timeout(Duration::from_millis(100), first).await.is_err());
    assert!(call(&toolset, "list_orders", json!({})).await.is_ok());
}
