//! Where arguments, constants, credentials and keys go.

use backstop_core::{ToolErrorKind, ToolSpec, Toolset};
use backstop_test::server::{Reply, Request, Server};
use backstop_toolsets::http::{Auth, Endpoint, HttpConfig, HttpToolset, Method, Parameter, Place};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{client, dead};
use crate::support::call;

fn any() -> ToolSpec {
    ToolSpec::new("t", json!({"type": "object"}))
}

/// One call of an endpoint against a server, and the request that it made.
async fn request(
    endpoint: Endpoint,
    change: impl FnOnce(&mut HttpConfig),
    suffix: &str,
    arguments: Value,
) -> Request {
    let server = Server::start([Reply::json("200 OK", "{}")]);
    let mut config = HttpConfig::new("s", format!("{}{suffix}", server.url).parse().unwrap(), client());
    config.endpoints = vec![endpoint];
    change(&mut config);
    call(&HttpToolset::new(config).unwrap(), "t", arguments).await.unwrap();
    server.only()
}

fn secret(text: &str) -> SecretString {
    SecretString::from(text.to_owned())
}

#[tokio::test]
async fn a_query_repeats_keys_and_leaves_out_nothing_else_than_null() {
    let endpoint = ["plain", "flag", "n", "opt", "empty", "absent", "text"]
        .iter()
        .fold(Endpoint::new(any(), Method::GET, "/q"), |endpoint, name| {
            endpoint.parameter(Parameter::new(*name, Place::Query))
        })
        .parameter(Parameter::new("v", Place::Query).wire_name("api version").constant(2));
    let arguments = json!({
        "plain": ["a", "b&c"], "flag": true, "n": 1.5, "opt": null, "empty": [], "text": "a b+ü", "v": 9, "more": 1
    });
    let seen = request(endpoint, |_| {}, "/base?fixed=1", arguments).await;
    assert_eq!(
        seen.line(),
        "GET /base/q?fixed=1&plain=a&plain=b%26c&flag=true&n=1.5&text=a%20b%2B%C3%BC&api%20version=2"
    );
    assert_eq!(seen.header("content-type"), None);
}

#[tokio::test]
async fn what_is_nested_in_the_query_is_refused_at_its_place() {
    let toolset =
        dead(Endpoint::new(any(), Method::GET, "/").parameter(Parameter::new("filter", Place::Query)));
    for (value, at) in [(json!({"a": {"b": 1}}), "/filter/a"), (json!([1, {"a": 1}]), "/filter/1")] {
        let error = call(&toolset, "t", json!({"filter": value})).await.unwrap_err();
        assert_eq!((error.kind(), error.pointer()), (ToolErrorKind::InvalidArguments, Some(at)));
    }
}

#[tokio::test]
async fn the_body_is_one_json_object() {
    let endpoint = Endpoint::new(any(), Method::PATCH, "")
        .parameter(Parameter::new("name", Place::Body).wire_name("full name"))
        .parameter(Parameter::new("note", Place::Body))
        .parameter(Parameter::new("absent", Place::Body))
        .parameter(Parameter::new("kind", Place::Body).constant("order"));
    let seen = request(endpoint, |_| {}, "/base/", json!({"name": {"a": [1]}, "note": null})).await;
    assert_eq!(seen.line(), "PATCH /base/");
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.body, r#"{"full name":{"a":[1]},"note":null,"kind":"order"}"#);
}

#[tokio::test]
async fn a_post_without_body_parameters_has_no_body() {
    let seen = request(Endpoint::new(any(), Method::POST, "/"), |_| {}, "", json!({})).await;
    assert_eq!((seen.body.as_str(), seen.header("content-length")), ("", Some("0")));
}

#[tokio::test]
async fn headers_take_text_and_never_end_early() {
    let endpoint = Endpoint::new(any(), Method::GET, "/").parameter(Parameter::new("x-tag", Place::Header));
    let seen = request(endpoint.clone(), |_| {}, "", json!({"x-tag": ["a", 7]})).await;
    assert_eq!(seen.header("x-tag"), Some("a,7"));
    let seen = request(endpoint.clone(), |_| {}, "", json!({"x-tag": null})).await;
    assert_eq!(seen.header("x-tag"), None);
    let toolset = dead(endpoint);
    for value in ["a\r\nx-evil: 1", "a\nb", "a\u{0}"] {
        let error = call(&toolset, "t", json!({"x-tag": value})).await.unwrap_err();
        assert_eq!((error.kind(), error.pointer()), (ToolErrorKind::InvalidArguments, Some("/x-tag")));
    }
}

#[tokio::test]
async fn each_auth_goes_where_it_belongs() {
    let endpoint = || Endpoint::new(any(), Method::GET, "/");
    let seen = |auth: Auth, suffix: &'static str| {
        request(endpoint(), move |config| config.auth = auth, suffix, json!({}))
    };
    let bearer = seen(Auth::Bearer(secret("tok")), "").await;
    assert_eq!(bearer.header("authorization"), Some("Bearer tok"));
    let basic = Auth::Basic { username: "u".into(), password: secret("p:w") };
    assert_eq!(seen(basic, "").await.header("authorization"), Some("Basic dTpwOnc="));
    let header = Auth::ApiKeyHeader { name: "X-Api-Key".into(), value: secret("k") };
    assert_eq!(seen(header, "").await.header("x-api-key"), Some("k"));
    let query = Auth::ApiKeyQuery { name: "api key".into(), value: secret("k&k") };
    assert_eq!(seen(query, "?a=1").await.target(), "/?a=1&api%20key=k%26k");
}

#[tokio::test]
async fn userinfo_of_the_url_is_basic_auth_unless_another_is_declared() {
    let change = |auth: Auth| {
        move |config: &mut HttpConfig| {
            config.base_url.set_username("u").unwrap();
            config.base_url.set_password(Some("p%40w")).unwrap();
            config.auth = auth;
        }
    };
    let endpoint = || Endpoint::new(any(), Method::GET, "/");
    let seen = request(endpoint(), change(Auth::None), "", json!({})).await;
    assert_eq!(seen.header("authorization"), Some("Basic dTpwQHc="));
    let seen = request(endpoint(), change(Auth::Bearer(secret("tok"))), "", json!({})).await;
    assert_eq!(seen.headers("authorization"), ["Bearer tok"]);
}

#[tokio::test]
async fn an_argument_never_replaces_a_declared_header() {
    let endpoint =
        Endpoint::new(any(), Method::GET, "/").parameter(Parameter::new("authorization", Place::Header));
    let seen = request(
        endpoint,
        |config| {
            config.auth = Auth::Bearer(secret("ours"));
            config.headers = vec![("x-tenant".into(), secret("7"))];
        },
        "",
        json!({"authorization": "theirs"}),
    )
    .await;
    assert_eq!(seen.headers("authorization"), ["Bearer ours"]);
    assert_eq!(seen.header("x-tenant"), Some("7"));
}

#[tokio::test]
async fn the_idempotency_key_is_sent_exactly_where_it_is_promised() {
    let plain = request(Endpoint::new(any(), Method::POST, "/"), |_| {}, "", json!({})).await;
    assert_eq!(plain.header("idempotency-key"), None);
    let endpoint = Endpoint::new(any(), Method::POST, "/").sends_idempotency_key();
    let sent = request(endpoint.clone(), |_| {}, "", json!({})).await;
    assert_eq!(sent.header("idempotency-key"), Some("key_1"));
    let renamed =
        request(endpoint.clone(), |c| c.idempotency_header = Some("X-Once".into()), "", json!({})).await;
    assert_eq!((renamed.header("x-once"), renamed.header("idempotency-key")), (Some("key_1"), None));

    assert!(dead(endpoint).list().await.unwrap()[0].honours_idempotency_key);
    let promised = Endpoint::new(any().honours_idempotency_key(), Method::POST, "/");
    assert!(!dead(promised).list().await.unwrap()[0].honours_idempotency_key);
}

#[test]
fn configurations_that_can_not_work_are_refused_without_their_secrets() {
    let refused = |change: &dyn Fn(&mut HttpConfig)| {
        let mut config = HttpConfig::new("s", "https://api.example.test".parse().unwrap(), client());
        config.endpoints = vec![Endpoint::new(any(), Method::GET, "/")];
        change(&mut config);
        let error = HttpToolset::new(config).unwrap_err();
        assert_eq!(error.kind(), ToolErrorKind::Misconfigured);
        assert!(!format!("{error} {error:?}").contains("SECRET"), "{error:?}");
    };
    refused(&|c| c.base_url = "mailto:a@b".parse().unwrap());
    refused(&|c| c.base_url = "file:///SECRET".parse().unwrap());
    refused(&|c| c.headers = vec![("a b".into(), secret("SECRET"))]);
    refused(&|c| c.headers = vec![("a".into(), secret("SECRET\n"))]);
    refused(&|c| c.auth = Auth::Bearer(secret("SECRET\r\n")));
    refused(&|c| c.idempotency_header = Some("a b".into()));
    refused(&|c| c.endpoints.push(Endpoint::new(any(), Method::POST, "/other")));
    refused(&|c| c.endpoints = vec![Endpoint::new(any(), Method::GET, "/{id}")]);
}
