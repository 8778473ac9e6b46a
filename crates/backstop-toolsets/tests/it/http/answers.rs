//! C16: success without a body, and a body that lies about its type.

use backstop_core::{Applied, Part, ToolError, ToolErrorKind, ToolOutput, ToolSpec};
use backstop_test::server::{Reply, Server};
use backstop_toolsets::http::{Endpoint, HttpConfig, HttpToolset, Method};
use serde_json::json;

use super::{client, shop, shop_config};
use crate::support::{call, view};

async fn answer(status: &str, content_type: &str, body: impl AsRef<[u8]>) -> Result<ToolOutput, ToolError> {
    let headers = [("content-type", content_type)];
    let headers = if content_type.is_empty() { &[][..] } else { &headers[..] };
    let server = Server::start([Reply::new(status, headers, body)]);
    let result = call(&shop(&server.url), "list_orders", json!({})).await;
    server.only();
    result
}

fn text(text: &str) -> Result<ToolOutput, ToolError> {
    Ok(ToolOutput::text(text))
}

#[tokio::test]
async fn nothing_is_said_to_be_nothing() {
    assert_eq!(answer("204 No Content", "application/json", "").await, text("204 No Content"));
    assert_eq!(answer("200 OK", "application/json", "").await, text("200 OK, no content"));
    assert_eq!(answer("202 Accepted", "", "").await, text("202 Accepted, no content"));
}

#[tokio::test]
async fn an_array_is_one_value() {
    let body = r#"[{"id":1,"parts":[]},{"id":2,"parts":[]}]"#;
    let output = answer("200 OK", "application/json", body).await.unwrap();
    assert_eq!(output, ToolOutput::Json(json!([{"id": 1, "parts": []}, {"id": 2, "parts": []}])));
    assert_eq!(output.model_text(), body);
}

#[tokio::test]
async fn a_page_where_json_was_promised_is_invalid_output() {
    let server = Server::start([Reply::json("200 OK", "<html>login\u{7}</html>")]);
    let toolset = shop(&server.url);
    let error = call(&toolset, "create_order", json!({})).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ToolErrorKind::InvalidOutput, Some(200)));
    assert_eq!(error.applied(), Applied::Unknown);
    assert!(error.detail().ends_with(r"got (application/json) `<html>login\u{7}</html>`"), "{error}");
    assert_eq!(
        view(&toolset, "create_order", &error).await,
        "Tool \"create_order\" answered in a form that can't be used. (status 200) (error reference: 1a2b3c4d)\n\
         The call may have taken effect: check with list_orders before repeating it."
    );
}

#[tokio::test]
async fn unusable_bodies_are_quoted_for_operators_only_and_not_in_full() {
    let body = format!("{{\"a\": {}", "b".repeat(5000));
    let error = answer("200 OK", "application/vnd.shop+json", &body).await.unwrap_err();
    assert_eq!((error.kind(), error.words()), (ToolErrorKind::InvalidOutput, None));
    assert!(error.detail().len() < 400, "{error}");
    assert_eq!(error.causes().len(), 1);
}

#[tokio::test]
async fn a_page_for_people_is_no_result() {
    for content_type in ["text/html", "text/plain", ""] {
        let error = answer("200 OK", content_type, "<!DOCTYPE html><html>login</html>").await.unwrap_err();
        assert_eq!((error.kind(), error.words()), (ToolErrorKind::InvalidOutput, None), "{content_type}");
    }
}

#[tokio::test]
async fn texts_stay_texts() {
    assert_eq!(answer("200 OK", "text/plain", r#"{"a":1}"#).await, text(r#"{"a":1}"#));
    assert_eq!(answer("200 OK", "text/csv; charset=iso-8859-1", b"caf\xe9").await, text("café"));
    assert_eq!(answer("200 OK", "application/xml", "<a/>").await, text("<a/>"));
}

#[tokio::test]
async fn an_error_member_under_a_good_status_is_not_an_error() {
    assert_eq!(
        answer("200 OK", "application/json", r#"{"error":"x"}"#).await,
        Ok(ToolOutput::Json(json!({"error": "x"})))
    );
}

#[tokio::test]
async fn without_a_content_type_the_body_says_what_it_is() {
    assert_eq!(answer("200 OK", "", r#"{"a":1}"#).await, Ok(ToolOutput::Json(json!({"a": 1}))));
    assert_eq!(answer("200 OK", "", "hello").await, text("hello"));
}

#[tokio::test]
async fn binary_content_is_named_and_not_shown() {
    for (content_type, body, shown) in [
        ("application/octet-stream", &b"\x00\xff\x10"[..], "[application/octet-stream, 3 bytes, not shown]"),
        ("image/png", &[0; 2048], "[image/png, 2 KiB, not shown]"),
        ("text/plain", b"\x00\xff", "[text/plain, 2 bytes, not shown]"),
        ("", b"\x00\xff", "[application/octet-stream, 2 bytes, not shown]"),
    ] {
        let output = answer("200 OK", content_type, body).await.unwrap();
        assert_eq!(output.model_text(), shown);
        let kind = if content_type.is_empty() { "application/octet-stream" } else { content_type };
        assert_eq!(output, ToolOutput::Parts(vec![Part::blob(kind, body, None)]));
    }
}

#[tokio::test]
async fn a_file_keeps_its_name() {
    let headers = [
        ("content-type", "application/pdf"),
        ("content-disposition", "attachment; filename=\"../March report.pdf\""),
    ];
    let server = Server::start([Reply::new("200 OK", &headers, b"%PDF\x00")]);
    let output = call(&shop(&server.url), "list_orders", json!({})).await.unwrap();
    assert_eq!(output.model_text(), "[March report.pdf: application/pdf, 5 bytes, not shown]");
}

#[tokio::test]
async fn too_large_is_said_with_the_limit_whether_announced_or_not() {
    let chunked = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n800\r\n";
    let chunked = format!("{chunked}{}\r\n0\r\n\r\n", "x".repeat(0x800));
    let announced = Reply::new("200 OK", &[("content-type", "text/plain")], "x".repeat(1025));
    for reply in [announced, Reply::bytes(chunked.into_bytes())] {
        let server = Server::start([reply]);
        let mut config = shop_config(&server.url);
        config.max_body = 1024;
        let toolset = HttpToolset::new(config).unwrap();
        let error = call(&toolset, "list_orders", json!({})).await.unwrap_err();
        assert_eq!((error.kind(), error.status()), (ToolErrorKind::InvalidOutput, Some(200)));
        assert_eq!(error.words(), Some("the answer is larger than the limit of 1 KiB"));
    }
}

#[tokio::test]
async fn a_body_as_large_as_the_limit_is_fine() {
    let body = "x".repeat(1024);
    let server = Server::start([Reply::new("200 OK", &[("content-type", "text/plain")], &body)]);
    let mut config = shop_config(&server.url);
    config.max_body = 1024;
    let output = call(&HttpToolset::new(config).unwrap(), "list_orders", json!({})).await;
    assert_eq!(output, Ok(ToolOutput::Text(body)));
}

#[tokio::test]
async fn a_declared_result_is_json_whatever_the_content_type_says() {
    let server = Server::start([
        Reply::new("200 OK", &[("content-type", "text/plain")], r#"{"a":1}"#),
        Reply::new("200 OK", &[("content-type", "text/plain")], "hello"),
    ]);
    let mut spec = ToolSpec::new("t", json!({"type": "object"}));
    spec.output_schema = Some(json!({"type": "object"}));
    let mut config = HttpConfig::new("s", server.url.parse().unwrap(), client());
    config.endpoints = vec![Endpoint::new(spec, Method::GET, "/")];
    let toolset = HttpToolset::new(config).unwrap();
    assert_eq!(call(&toolset, "t", json!({})).await, Ok(ToolOutput::Json(json!({"a": 1}))));
    assert_eq!(call(&toolset, "t", json!({})).await.unwrap_err().kind(), ToolErrorKind::InvalidOutput);
}
