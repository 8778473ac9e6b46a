//! Bodies of every form, as they are on the wire.

use backstop_core::{ToolErrorKind, ToolSpec};
use backstop_toolsets::http::{BodyForm, Endpoint, HttpConfig, HttpToolset, Method, Parameter, Place, Style};
use serde_json::{Value, json};

use super::{
    client, dead,
    server::{Reply, Seen, Server},
};
use crate::support::{call, view};

fn endpoint(form: BodyForm, fields: &[&str]) -> Endpoint {
    let spec = ToolSpec::new("t", json!({"type": "object"}));
    let endpoint = Endpoint::new(spec, Method::POST, "/x").body(form);
    fields.iter().fold(endpoint, |endpoint, name| endpoint.parameter(Parameter::new(*name, Place::Body)))
}

async fn request(endpoint: Endpoint, arguments: Value) -> Seen {
    let server = Server::start([Reply::json("200 OK", "{}")]).await;
    let mut config = HttpConfig::new("s", server.url.parse().unwrap(), client());
    config.endpoints = vec![endpoint];
    call(&HttpToolset::new(config).unwrap(), "t", arguments).await.unwrap();
    server.only()
}

#[tokio::test]
async fn a_form_has_each_field_in_its_style() {
    let mut form = endpoint(BodyForm::UrlEncoded, &["a", "list", "object", "none"]);
    form.parameters[1] = Parameter::new("list", Place::Body).style(Style::Form, false);
    form.parameters[2] = Parameter::new("object", Place::Body).style(Style::DeepObject, true);
    let seen =
        request(form, json!({"a": "x &=ü", "list": [1, 2], "object": {"k": true}, "none": null})).await;
    assert_eq!(seen.header("content-type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(seen.body, "a=x%20%26%3D%C3%BC&list=1,2&object%5Bk%5D=true");
}

fn whole(media_type: &str) -> Endpoint {
    endpoint(BodyForm::Whole { media_type: media_type.into() }, &["body"])
}

#[tokio::test]
async fn a_whole_body_is_what_its_media_type_says() {
    for (media_type, value, sent) in [
        ("application/json", json!([1, {"a": null}]), "[1,{\"a\":null}]"),
        ("application/json", json!(null), "null"),
        ("application/merge-patch+json", json!({"a": null}), "{\"a\":null}"),
        ("text/plain; charset=utf-8", json!("hällo\n"), "hällo\n"),
        ("application/xml", json!("<a/>"), "<a/>"),
        ("application/octet-stream", json!("aGkA"), "hi\0"),
    ] {
        let seen = request(whole(media_type), json!({"body": value})).await;
        assert_eq!(seen.header("content-type"), Some(media_type));
        assert_eq!(seen.body, sent, "{media_type}");
    }
    let seen = request(whole("text/plain"), json!({})).await;
    assert_eq!((seen.header("content-type"), seen.header("content-length")), (None, Some("0")));
}

#[tokio::test]
async fn what_is_no_such_body_is_refused_at_its_place() {
    let refused = async |endpoint: Endpoint, arguments: Value| {
        let toolset = dead(endpoint);
        let error = call(&toolset, "t", arguments).await.unwrap_err();
        assert_eq!(error.kind(), ToolErrorKind::InvalidArguments);
        view(&toolset, "t", &error).await
    };
    let file = |value: Value| json!({"file": value});
    let upload = || endpoint(BodyForm::Multipart, &["file"]);
    let seen = [
        refused(whole("text/plain"), json!({"body": 7})).await,
        refused(whole("image/png"), json!({"body": "not base64!"})).await,
        refused(upload(), file(json!({"base64": "%"}))).await,
        refused(upload(), file(json!({"text": "a", "base64": "YQ=="}))).await,
        refused(upload(), file(json!({"text": "a", "name": "x\r\ny"}))).await,
        refused(upload(), file(json!({"text": "a", "media_type": "no type"}))).await,
    ];
    insta::assert_snapshot!(seen.join("\n\n"));
}

#[tokio::test]
async fn a_multipart_body_has_its_files() {
    let mut upload = endpoint(BodyForm::Multipart, &["file", "files", "note", "meta", "tags", "none"]);
    upload.parameters[2].media_type = Some("text/markdown".into());
    let arguments = json!({
        "file": {"name": "a \"b\".csv", "text": "1,2", "media_type": "text/csv"},
        "files": [{"base64": "aGk="}, {"name": "c.bin", "base64": "AAE="}],
        "note": "# Hi",
        "meta": {"k": [1]},
        "tags": ["x", "y"],
        "none": null,
    });
    let seen = request(upload, arguments).await;
    let content_type = seen.header("content-type").unwrap();
    let boundary = content_type.strip_prefix("multipart/form-data; boundary=").unwrap();
    insta::assert_snapshot!(seen.body.replace(boundary, "BOUNDARY").replace('\r', "").replace('\0', "\\0"));
}

#[tokio::test]
async fn a_request_over_its_limit_is_not_made() {
    for (form, name) in [(BodyForm::Json, "a"), (BodyForm::Multipart, "a")] {
        let mut config = HttpConfig::new("s", "http://127.0.0.1:1".parse().unwrap(), client());
        config.max_request = 1024;
        config.endpoints = vec![endpoint(form, &["b", name])];
        let toolset = HttpToolset::new(config).unwrap();
        let error = call(&toolset, "t", json!({"b": "small", "a": "x".repeat(2000)})).await.unwrap_err();
        assert_eq!((error.kind(), error.pointer()), (ToolErrorKind::InvalidArguments, Some("/a")));
        let view = view(&toolset, "t", &error).await;
        assert!(view.contains("more than the limit of 1 KiB"), "{view}");
    }
}

#[tokio::test]
async fn declared_answers_are_asked_for_and_errors_that_say_what_is_wrong() {
    let mut reads = endpoint(BodyForm::Json, &[]);
    reads.answers = vec!["text/csv".into(), "application/json".into(), "*/*".into()];
    let seen = request(reads, json!({})).await;
    assert_eq!(
        seen.header("accept"),
        Some("application/json, text/csv, application/problem+json, */*;q=0.5")
    );
    let seen = request(endpoint(BodyForm::Json, &[]), json!({})).await;
    assert_eq!(
        seen.header("accept"),
        Some("application/json, application/problem+json, text/*;q=0.8, */*;q=0.5")
    );
}

fn composed(change: impl FnOnce(&mut Endpoint)) -> Endpoint {
    let properties = json!({"id": {}, "term": {}, "tags": {}, "note": {}});
    let mut endpoint = Endpoint::new(
        ToolSpec::new("t", json!({"type": "object", "properties": properties})),
        Method::POST,
        "/x",
    );
    change(&mut endpoint);
    endpoint
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
        it.templates.headers = vec![("X-Ref".into(), json!("order-{id}"))];
        it.templates.body = Some(json!({"a": "x {term}", "b": 1}));
    });
    let seen = request(endpoint.clone(), json!({"id": "i", "term": "\", \"b\": 2, \"c\": \"{id}"})).await;
    assert_eq!(seen.body, r#"{"a":"x \", \"b\": 2, \"c\": \"{id}","b":1}"#);
    let error = call(&dead(endpoint), "t", json!({"id": "a\r\nX-Admin: yes"})).await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::InvalidArguments);
}

#[test]
fn templates_that_can_not_be_filled_are_refused_when_they_are_declared() {
    let refused = |change: fn(&mut Endpoint)| composed(change).check().unwrap_err().detail().to_owned();
    assert_eq!(
        refused(|it| it.templates.body = Some(json!("{gone}"))),
        "tool `t`: a template names `{gone}`, which is no argument"
    );
    assert_eq!(
        refused(|it| it.templates.body = Some(json!(["{id"]))),
        "tool `t`: the braces of `{id` don't pair"
    );
    assert_eq!(
        refused(|it| it.templates.headers = vec![("Host".into(), json!("{id}"))]),
        "tool `t`: header `Host` can't be set by a template"
    );
    assert_eq!(
        refused(|it| {
            it.templates.body = Some(json!("{id}"));
            it.parameters.push(Parameter::new("term", Place::Body));
        }),
        "tool `t`: its body is a template, so no parameter goes there"
    );
}
