//! C36: a value that the model chose never leaves its place in the path.

use backstop_core::{Effect, ToolErrorKind, ToolSpec};
use backstop_test::server::{Reply, Server};
use backstop_toolsets::http::{Endpoint, HttpConfig, HttpToolset, Method, Parameter, Place};
use serde_json::{Value, json};

use super::client;
use crate::support::{call, view};

fn files(base_url: &str) -> HttpToolset {
    let spec =
        ToolSpec::new("meta", json!({"type": "object", "properties": {"name": {}}})).effect(Effect::ReadOnly);
    let mut config = HttpConfig::new("files", base_url.parse().unwrap(), client());
    config.endpoints = vec![
        Endpoint::new(spec, Method::GET, "/files/{file name}/meta")
            .parameter(Parameter::new("name", Place::Path).wire_name("file name")),
    ];
    HttpToolset::new(config).unwrap()
}

#[tokio::test]
async fn values_are_encoded_into_their_segment() {
    for (value, segment) in [
        (json!("a/b"), "a%2Fb"),
        (json!("%2e%2e"), "%252e%252e"),
        (json!("..%2f.."), "..%252f.."),
        (json!("a?x=1"), "a%3Fx%3D1"),
        (json!("a#f"), "a%23f"),
        (json!("a b"), "a%20b"),
        (json!("ü"), "%C3%BC"),
        (json!(7), "7"),
        (json!(7.0), "7"),
        (json!(true), "true"),
        (json!(["a", "b"]), "a,b"),
        (json!(["a,b", "c"]), "a%2Cb,c"),
        (json!("{other}"), "%7Bother%7D"),
        (json!("http://evil.example"), "http%3A%2F%2Fevil.example"),
        (json!("@evil.example"), "%40evil.example"),
        (json!("a;b&c+d"), "a%3Bb%26c%2Bd"),
        (json!("..."), "..."),
        (json!("a..b"), "a..b"),
        (json!(".hidden"), ".hidden"),
    ] {
        for prefix in ["/v1", "/v1/", "", "/"] {
            let server = Server::start([Reply::json("200 OK", "{}")]);
            call(&files(&format!("{}{prefix}", server.url)), "meta", json!({"name": value})).await.unwrap();
            let target = format!("{}/files/{segment}/meta", prefix.trim_end_matches('/'));
            assert_eq!(server.only().target(), target, "{value}");
        }
    }
}

#[tokio::test]
async fn values_that_would_climb_or_vanish_are_refused_before_anything_is_sent() {
    let server = Server::start([Reply::json("200 OK", "{}")]);
    let toolset = files(&format!("{}/v1", server.url));
    let mut seen = String::new();
    for value in [
        json!("../../admin"),
        json!(".."),
        json!("."),
        json!("a/../b"),
        json!("..\\..\\admin"),
        json!(" .. "),
        json!(["..", "a"]),
        json!(""),
        json!(" "),
        json!([]),
        json!(["a", ""]),
        Value::Null,
        json!("a\r\nb"),
        json!("a\u{0}b"),
        json!({"a": ".."}),
        json!({"..": "a"}),
        json!({"a": {"b": 1}}),
        json!([["a"]]),
    ] {
        let error = call(&toolset, "meta", json!({"name": value})).await.unwrap_err();
        assert_eq!(error.kind(), ToolErrorKind::InvalidArguments, "{value}");
        let view = view(&toolset, "meta", &error).await;
        seen.push_str(&format!(
            "{value}\n  at {}\n  {}\n",
            error.pointer().unwrap(),
            view.replace('\n', "\n  ")
        ));
    }
    let error = call(&toolset, "meta", json!({})).await.unwrap_err();
    assert_eq!(error.pointer(), Some("/name"));
    assert_eq!(server.seen().len(), 0);
    insta::assert_snapshot!(seen);
}

#[tokio::test]
async fn neighbouring_placeholders_can_not_make_a_dot_segment() {
    let server = Server::start([Reply::json("200 OK", "{}")]);
    let spec = ToolSpec::new("t", json!({"type": "object", "properties": {"a": {}, "b": {}}}));
    let mut config = HttpConfig::new("s", server.url.parse().unwrap(), client());
    config.endpoints = vec![
        Endpoint::new(spec, Method::GET, "/x/.{a}{b}/y")
            .parameter(Parameter::new("a", Place::Path))
            .parameter(Parameter::new("b", Place::Path)),
    ];
    let toolset = HttpToolset::new(config).unwrap();
    assert!(call(&toolset, "t", json!({"a": ".", "b": "x"})).await.is_err());
    assert_eq!(server.seen().len(), 0);
    call(&toolset, "t", json!({"a": "%2e", "b": "x"})).await.unwrap();
    assert_eq!(server.only().target(), "/x/.%252ex/y");
}
