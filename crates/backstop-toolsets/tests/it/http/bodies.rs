//! Bodies of every form, as they are on the wire.

use backstop_core::{ToolErrorKind, ToolSpec};
use backstop_test::server::{Reply, Request, Server};
use backstop_toolsets::http::{BodyForm, Endpoint, HttpConfig, HttpToolset, Method, Parameter, Place, Style};
use serde_json::{Value, json};

use super::{client, dead};
use crate::support::{call, view};

fn endpoint(form: BodyForm, fields: &[&str]) -> Endpoint {
    let spec = ToolSpec::new("t", json!({"type": "object"}));
    let endpoint = Endpoint::new(spec, Method::POST, "/x").body(form);
    fields.iter().fold(endpoint, |endpoint, name| endpoint.parameter(Parameter::new(*name, Place::Body)))
}

async fn request(endpoint: Endpoint, arguments: Value) -> Request {
    let server = Server::start([Reply::json("200 OK", "{}")]);
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
        refused(upload(), file(json!({"text": 7}))).await,
        refused(upload(), file(json!([{"text": "a"}, {"base64": "a"}]))).await,
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
async fn what_has_a_text_and_more_is_data_and_no_file() {
    let mut upload = endpoint(BodyForm::Multipart, &["data", "list"]);
    upload.parameters[1].media_type = Some("application/json, text/csv".into());
    let seen = request(upload, json!({"data": {"text": "a", "author": 1}, "list": [{"text": "b"}]})).await;
    let boundary = seen.header("content-type").unwrap().split_once("boundary=").unwrap().1.to_owned();
    insta::assert_snapshot!(seen.body.replace(&boundary, "BOUNDARY").replace('\r', ""));
}

#[tokio::test]
async fn names_of_parts_are_read_by_servers_and_end_no_header() {
    let names = ["full größe", "a[b]", "a\"; x=\"\r\nX-A: b"];
    let arguments = json!({names[0]: 1, names[1]: true, names[2]: {"text": "t", "name": "é\".csv"}});
    let seen = request(endpoint(BodyForm::Multipart, &names), arguments).await;
    let boundary = seen.header("content-type").unwrap().split_once("boundary=").unwrap().1.to_owned();
    insta::assert_snapshot!(seen.body.replace(&boundary, "BOUNDARY").replace('\r', ""));
}

#[tokio::test]
async fn base64_may_be_in_lines_and_without_its_end() {
    for text in ["aGk=", "aGk", " aG\r\nk=\n"] {
        assert_eq!(request(whole("image/png"), json!({"body": text})).await.body, "hi", "{text:?}");
    }
}

#[tokio::test]
async fn a_range_of_content_types_is_sent_as_one_of_them() {
    for (range, value, sent_as, sent) in [
        ("*/*", json!({"a": 1}), "application/json", "{\"a\":1}"),
        ("application/*", json!("a"), "application/json", "\"a\""),
        ("text/*", json!("a"), "text/plain; charset=utf-8", "a"),
        ("image/*", json!("YQ=="), "application/octet-stream", "a"),
    ] {
        let seen = request(whole(range), json!({"body": value})).await;
        assert_eq!((seen.header("content-type"), seen.body.as_str()), (Some(sent_as), sent), "{range}");
    }
}

#[tokio::test]
async fn a_get_has_a_body_where_one_is_declared() {
    let mut search = endpoint(BodyForm::Json, &["query"]);
    search.method = Method::GET;
    let seen = request(search, json!({"query": {"match": "a"}})).await;
    assert_eq!(seen.line(), "GET /x");
    assert_eq!(
        (seen.header("content-length"), seen.body.as_str()),
        (Some("23"), r#"{"query":{"match":"a"}}"#)
    );
}

#[test]
fn content_types_that_are_none_are_refused_when_they_are_declared() {
    let refused = |endpoint: Endpoint| endpoint.check().unwrap_err().detail().to_owned();
    assert_eq!(refused(whole("no type")), "tool `t`: `no type` can't be a content type");
    let mut upload = endpoint(BodyForm::Multipart, &["file"]);
    upload.parameters[0].media_type = Some("text/csv\r\nX-A: b".into());
    assert!(refused(upload).ends_with("can't be a content type"));
}

#[tokio::test]
async fn an_address_that_is_too_long_is_not_sent() {
    for place in [Place::Path, Place::Query, Place::Header, Place::Cookie] {
        let spec = ToolSpec::new("t", json!({"type": "object"}));
        let path = if place == Place::Path { "/{a}" } else { "/" };
        let toolset = dead(
            Endpoint::new(spec, Method::GET, path)
                .parameter(Parameter::new("a", place))
                .parameter(Parameter::new("b", Place::Query)),
        );
        let error = call(&toolset, "t", json!({"b": "small", "a": "x".repeat(70_000)})).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.pointer()),
            (ToolErrorKind::InvalidArguments, Some("/a")),
            "{place:?}"
        );
        let view = view(&toolset, "t", &error).await;
        assert!(view.contains("it makes 68.4 KiB, and the limit is 60 KiB"), "{view}");
    }
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
