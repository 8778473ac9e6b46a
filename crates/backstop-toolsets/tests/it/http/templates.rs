//! Templates of queries, headers and bodies, as they are on the wire.

use backstop_core::{ToolErrorKind, ToolSpec};
use backstop_test::server::{Reply, Request, Server};
use backstop_toolsets::http::{Endpoint, HttpConfig, HttpToolset, Method, Parameter, Place};
use serde_json::{Value, json};

use super::client;
use crate::support::{call, view};

fn composed(change: impl FnOnce(&mut Endpoint)) -> Endpoint {
    let properties = json!({"id": {}, "term": {}, "tags": {}, "note": {}});
    let spec = ToolSpec::new("t", json!({"type": "object", "properties": properties}));
    let mut endpoint = Endpoint::new(spec, Method::POST, "/x");
    change(&mut endpoint);
    endpoint
}

async fn request(endpoint: Endpoint, arguments: Value) -> Request {
    let server = Server::start([Reply::json("200 OK", "{}")]);
    let mut config = HttpConfig::new("s", server.url.parse().unwrap(), client());
    config.endpoints = vec![endpoint];
    call(&HttpToolset::new(config).unwrap(), "t", arguments).await.unwrap();
    server.only()
}

#[tokio::test]
async fn templates_put_arguments_into_queries_headers_and_bodies() {
    let endpoint = composed(|it| {
        it.templates.query = vec![
            ("q".into(), json!("{term} in:title")),
            ("fixed".into(), json!(1)),
            ("tags".into(), json!("{tags}")),
            ("none".into(), json!("{note}")),
        ];
        it.templates.headers = vec![("X-Ref".into(), json!("order-{id}"))];
        it.templates.body = Some(
            json!({"filter": {"id": "{id}", "note": "for {note}", "tags": "{tags}"}, "raw": "{{id}}", "list": [1, "{note}"]}),
        );
    });
    let seen = request(endpoint, json!({"id": 7, "term": "a&b=c\"d", "tags": ["x", "y"]})).await;
    assert_eq!(seen.target(), "/x?q=a%26b%3Dc%22d%20in%3Atitle&fixed=1&tags=x&tags=y");
    assert_eq!(seen.header("x-ref"), Some("order-7"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.body, r#"{"filter":{"id":7,"tags":["x","y"]},"raw":"{id}","list":[1]}"#);
}

#[tokio::test]
async fn nothing_in_an_argument_leaves_its_template() {
    let endpoint = composed(|it| {
        it.templates.query = vec![("q".into(), json!("{term}")), ("admin".into(), json!("no"))];
        it.templates.headers = vec![("X-Ref".into(), json!("order-{id}"))];
        it.templates.body = Some(json!({"a": "x {note}", "b": 1}));
    });
    let arguments =
        json!({"id": "i", "term": {"admin": "yes", "a]&b": [1]}, "note": "\", \"b\": 2, \"c\": \"{id}"});
    let seen = request(endpoint, arguments).await;
    assert_eq!(seen.target(), "/x?q%5Badmin%5D=yes&q%5Ba%5D%26b%5D%5B%5D=1&admin=no");
    assert_eq!(seen.body, r#"{"a":"x \", \"b\": 2, \"c\": \"{id}","b":1}"#);
}

#[tokio::test]
async fn a_body_whose_only_argument_is_absent_is_none() {
    let endpoint = || composed(|it| it.templates.body = Some(json!("{id}")));
    let seen = request(endpoint(), json!({})).await;
    assert_eq!((seen.header("content-type"), seen.body.as_str()), (None, ""));
    let seen = request(endpoint(), json!({"id": [1, null]})).await;
    assert_eq!(seen.body, "[1,null]");
}

#[tokio::test]
async fn what_can_not_be_filled_in_is_the_fault_of_an_argument() {
    let refused = async |change: fn(&mut Endpoint), arguments: Value| {
        let toolset = {
            let mut config = HttpConfig::new("s", "http://127.0.0.1:1".parse().unwrap(), client());
            config.max_request = 1024;
            config.endpoints = vec![composed(change)];
            HttpToolset::new(config).unwrap()
        };
        let error = call(&toolset, "t", arguments).await.unwrap_err();
        assert_eq!(error.kind(), ToolErrorKind::InvalidArguments);
        view(&toolset, "t", &error).await
    };
    let header: fn(&mut Endpoint) = |it| it.templates.headers = vec![("X-Ref".into(), json!("{term}-{id}"))];
    let query: fn(&mut Endpoint) = |it| it.templates.query = vec![("q".into(), json!(["{term}", "{id}"]))];
    let body: fn(&mut Endpoint) =
        |it| it.templates.body = Some(json!({"a": "{term}", "b": ["{id}", "{id}", "{id}", "{id}!"]}));
    let seen = [
        refused(header, json!({"term": "a", "id": "b\r\nX-Admin: yes"})).await,
        refused(query, json!({"term": "a", "id": {"b": 1}})).await,
        refused(body, json!({"term": "a", "id": "x".repeat(300)})).await,
        refused(body, json!({"term": "\u{1}".repeat(180), "id": "x"})).await,
    ];
    insta::assert_snapshot!(seen.join("\n\n"));
}

#[test]
fn templates_that_can_not_be_filled_are_refused_when_they_are_declared() {
    let refused = |change: fn(&mut Endpoint)| composed(change).check().unwrap_err().detail().to_owned();
    let seen = [
        refused(|it| it.templates.body = Some(json!("{gone}"))),
        refused(|it| it.templates.body = Some(json!(["{id"]))),
        refused(|it| it.templates.headers = vec![("Host".into(), json!("{id}"))]),
        refused(|it| it.templates.headers = vec![("X-A".into(), json!("a\nb"))]),
        refused(|it| it.templates.headers = vec![("X-A".into(), json!("a")), ("x-a".into(), json!("b"))]),
        refused(|it| it.templates.query = vec![("q".into(), json!("a")), ("q".into(), json!("b"))]),
        refused(|it| {
            it.templates.query = vec![("q".into(), json!("{id}"))];
            it.parameters.push(Parameter::new("term", Place::Query).wire_name("q"));
        }),
        refused(|it| {
            it.templates.body = Some(json!("{id}"));
            it.parameters.push(Parameter::new("term", Place::Body));
        }),
        refused(|it| it.templates.body = Some((0..40).fold(json!("{id}"), |inner, _| json!([inner])))),
    ];
    insta::assert_snapshot!(seen.join("\n"));
}

#[tokio::test]
async fn an_answer_that_names_a_field_of_a_template_is_about_its_argument() {
    let server = Server::start([Reply::new(
        "422 Unprocessable Entity",
        &[("content-type", "application/json")],
        r#"{"detail":[{"loc":["body","filter","order"],"msg":"no such order"}]}"#,
    )]);
    let mut config = HttpConfig::new("s", server.url.parse().unwrap(), client());
    config.endpoints = vec![composed(|it| it.templates.body = Some(json!({"filter": {"order": "{id}"}})))];
    let toolset = HttpToolset::new(config).unwrap();
    let error = call(&toolset, "t", json!({"id": 7})).await.unwrap_err();
    assert_eq!((error.kind(), error.pointer()), (ToolErrorKind::Rejected, Some("/id")));
    insta::assert_snapshot!(view(&toolset, "t", &error).await);
}
