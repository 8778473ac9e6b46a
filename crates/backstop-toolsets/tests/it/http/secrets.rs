//! C38: whatever goes wrong, no credential is in what anybody reads about it.

use std::time::Duration;

use backstop_core::{OperatorView, Redactor, Reference, RunId, ToolError, ToolErrorKind, Toolset};
use backstop_test::server::{Reply, Server, dead_url};
use backstop_toolsets::http::{Auth, HttpConfig, HttpToolset};
use secrecy::SecretString;
use serde_json::json;

use super::shop_config;
use crate::support::{context_for, valid, view};

const SECRETS: [&str; 5] = ["SECRET_q1/x", "SECRET_h1", "SECRET_b1", "SECRET_u1", "SECRET_k1"];

fn secret(text: &str) -> SecretString {
    SecretString::from(text.to_owned())
}

/// All places for a credential at once, and each kind of auth in turn.
fn configs(base_url: &str) -> Vec<HttpConfig> {
    let auths = [
        Auth::None,
        Auth::Bearer(secret("SECRET_b1")),
        Auth::Basic { username: "user".into(), password: secret("SECRET_b1") },
        Auth::ApiKeyHeader { name: "x-key".into(), value: secret("SECRET_k1") },
        Auth::ApiKeyQuery { name: "key".into(), value: secret("SECRET_q1/x") },
    ];
    auths
        .into_iter()
        .map(|auth| {
            let mut config = shop_config(base_url);
            config.base_url.set_username("u").unwrap();
            config.base_url.set_password(Some("SECRET_u1")).unwrap();
            config.base_url.set_query(Some("key=SECRET_q1%2Fx"));
            config.headers = vec![("x-api-key".into(), secret("SECRET_h1"))];
            config.auth = auth;
            config
        })
        .collect()
}

fn assert_clean(text: &str) {
    let base64_pairs = ["dTpTRUNSRVRfdTE", "dXNlcjpTRUNSRVRfYjE"];
    for form in ["SECRET_", "SECRET%5F"].into_iter().chain(base64_pairs) {
        assert!(!text.contains(form), "{form} is in {text}");
    }
}

async fn assert_error_is_clean(toolset: &HttpToolset, error: &ToolError) {
    let operator =
        OperatorView::new(error, Reference::new(0), RunId::new("r"), backstop_core::CallId::new("c"));
    for text in [
        error.to_string(),
        format!("{error:?}"),
        format!("{error:#?}"),
        error.causes().join("\n"),
        error.words().unwrap_or_default().to_owned(),
        serde_json::to_string(error).unwrap(),
        serde_json::to_string(&operator).unwrap(),
        view(toolset, "create_order", error).await,
    ] {
        assert_clean(&text);
    }
}

async fn fail(config: HttpConfig) -> (HttpToolset, ToolError) {
    assert_clean(&format!("{config:?}"));
    let toolset = HttpToolset::new(config).unwrap();
    assert_clean(&format!("{toolset:?}"));
    let call = valid(&toolset, "create_order", json!({})).await;
    let error = toolset.call(&call, &context_for(Duration::from_millis(500))).await.unwrap_err();
    (toolset, error)
}

#[tokio::test]
async fn failures_of_the_transport_name_host_and_path_and_no_secret() {
    let silent = Server::start([Reply::silence()]);
    let broken = Server::start([Reply::hang_up()]);
    let cut = Server::start([Reply::json("200 OK", "{}").cut(1)]);
    let no_tls = Server::start([Reply::json("200 OK", "{}")]);
    for url in [
        dead_url(),
        "http://no-such-host.invalid".into(),
        silent.url.clone(),
        broken.url.clone(),
        cut.url.clone(),
        no_tls.url.replace("http:", "https:"),
    ] {
        for config in configs(&format!("{url}/v1")) {
            let (toolset, error) = fail(config).await;
            assert_error_is_clean(&toolset, &error).await;
            assert!(error.detail().contains(&format!("POST {url}/v1/orders:")), "{error}");
        }
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_only_its_host_is_named() {
    let other = Server::start([Reply::json("200 OK", "{}")]);
    let target = format!("{}/?key=SECRET_q1%2Fx", other.url.replace("127.0.0.1", "localhost"));
    for status in [
        "301 Moved Permanently",
        "302 Found",
        "303 See Other",
        "307 Temporary Redirect",
        "308 Permanent Redirect",
    ] {
        let server = Server::start([Reply::new(status, &[("location", &target)], "")]);
        for config in configs(&server.url) {
            let (toolset, error) = fail(config).await;
            assert_eq!(error.kind(), ToolErrorKind::Misconfigured);
            assert!(error.detail().ends_with("the service redirects to localhost, which is not followed"));
            assert_eq!(error.words(), None);
            assert_error_is_clean(&toolset, &error).await;
        }
    }
    assert_eq!(other.seen().len(), 0);
}

#[tokio::test]
async fn a_body_that_echoes_the_request_is_redacted_by_value() {
    let pair = "dTpTRUNSRVRfdTE=";
    let echo = json!({"message": format!(
        "no route; authorization: Basic {pair}; x-api-key: SECRET_h1; bearer SECRET_b1; /?key=SECRET_q1%2Fx, SECRET_q1/x, SECRET_k1"
    ), "code": "SECRET_k1"});
    let headers = [("content-type", "application/json"), ("x-request-id", "SECRET_h1")];
    let server = Server::start([Reply::new("404 Not Found", &headers, echo.to_string())]);
    let redactor = Redactor::new(SECRETS);
    for config in configs(&server.url) {
        let (toolset, error) = fail(config).await;
        let Err(error) = redactor.result(Err(error)) else { panic!("still an error") };
        assert_error_is_clean(&toolset, &error).await;
        assert!(error.words().unwrap().starts_with("no route"), "{error:?}");
    }
}
