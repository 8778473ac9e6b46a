//! Which kind of failure an answer is.

use std::time::Duration;

use backstop_core::ModelErrorKind;
use backstop_test::server::{Reply, Server, dead_url};

use super::{ask, ask_streamed, choice, model};

const BODIES: [(&str, &str); 14] = [
    ("no body", ""),
    ("openai", r#"{"error":{"message":"m","type":"t","param":null,"code":null}}"#),
    (
        "quota",
        r#"{"error":{"message":"You exceeded your current quota.","type":"insufficient_quota","code":"insufficient_quota"}}"#,
    ),
    ("billing", r#"{"error":{"message":"m","type":"billing_hard_limit_reached","code":null}}"#),
    (
        "context code",
        r#"{"error":{"message":"m","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
    ),
    (
        "context text",
        r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"x"}}"#,
    ),
    (
        "llama.cpp",
        r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
    ),
    ("filter", r#"{"error":{"message":"m","type":null,"code":"content_filter"}}"#),
    ("policy", r#"{"error":{"message":"m","code":"content_policy_violation"}}"#),
    ("dial", r#"{"error":{"message":"m","type":"runtime_error","code":"422","display_message":"d"}}"#),
    ("string", r#"{"error":"m"}"#),
    ("message", r#"{"message":"m"}"#),
    ("detail", r#"{"detail":"Not Found"}"#),
    ("page", "<html><body><h1>502 Bad Gateway</h1> secret-page</body></html>"),
];

const STATUSES: [u16; 18] =
    [204, 302, 400, 401, 402, 403, 404, 405, 408, 413, 418, 422, 429, 500, 502, 503, 504, 529];

#[tokio::test]
async fn status_and_body_decide_the_kind() {
    let cases = STATUSES.iter().flat_map(|status| BODIES.map(|(name, body)| (*status, name, body)));
    let replies = cases.clone().flat_map(|(status, _, body)| {
        let body = if status == 204 { "" } else { body };
        let reply = Reply::json(format!("{status} X"), body);
        [reply.clone(), reply]
    });
    let server = Server::start(replies);
    let (model, place) = (model(&server.url), server.url.trim_start_matches("http://").to_owned());
    let mut table = String::new();
    for (status, name, _) in cases {
        let error = ask(&model).await.unwrap_err();
        let streamed = ask_streamed(&model).await.0.unwrap_err();
        let text = error.to_string().replace(&place, "SERVER");
        assert_eq!(streamed.kind(), error.kind(), "{status} {name}");
        assert!(!text.contains("secret-page"), "{text}");
        let code = error.code().map(|code| format!(" [{code}]")).unwrap_or_default();
        table.push_str(&format!("{status} {name:13}{:17} {text}{code}\n", error.kind().as_str()));
    }
    insta::assert_snapshot!(table);
}

#[tokio::test]
async fn the_wait_that_a_server_asks_for_is_kept() {
    for (name, value, expected) in [
        ("retry-after", "3", Some(Duration::from_secs(3))),
        ("retry-after-ms", "250", Some(Duration::from_millis(250))),
        ("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT", Some(Duration::ZERO)),
        ("retry-after", "soon", None),
    ] {
        let server = Server::start([Reply::new("429 Too Many Requests", &[(name, value)], "")]);
        let error = ask(&model(&server.url)).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.retry_after()),
            (ModelErrorKind::RateLimited, expected),
            "{name}: {value}"
        );
    }
}

#[tokio::test]
async fn an_error_body_is_read_to_its_cap_only() {
    let long = format!(r#"{{"error":{{"message":"{}"}}}}"#, "x".repeat(200_000));
    let plain = "busy ".repeat(40_000);
    for (body, said) in [(long, false), (plain, true)] {
        let server = Server::start([Reply::new("503 Service Unavailable", &[], body)]);
        let error = ask(&model(&server.url)).await.unwrap_err();
        assert_eq!((error.kind(), error.words().is_some()), (ModelErrorKind::Unavailable, said));
        assert!(error.to_string().len() < 3000);
    }
    let server = Server::start([Reply::json("503 X", r#"{"error":{"message":"m"}}"#).cut(5)]);
    assert_eq!(ask(&model(&server.url)).await.unwrap_err().kind(), ModelErrorKind::Unavailable);
}

#[tokio::test]
async fn the_request_id_and_the_developers_words_are_for_the_operator() {
    let body = r#"{"error":{"message":"upstream died","display_message":"try later"}}"#;
    let server = Server::start([Reply::new("500 X", &[("x-request-id", "req_1")], body)]);
    let error = ask(&model(&server.url)).await.unwrap_err();
    assert_eq!(error.to_string(), "the model server failed: try later (status 500)");
    assert!(error.detail().ends_with(" answered 500, request `req_1`: upstream died"), "{}", error.detail());
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    for url in [dead_url(), "http://no-such-host.invalid".into()] {
        let error = ask(&model(&url)).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Unavailable, "{error}");
        assert!(!error.causes().is_empty());
        let place = url.trim_start_matches("http://");
        assert!(error.to_string().contains(place), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls_is_unavailable() {
    let server = Server::greeting("HTTP/1.1 400 Bad Request\r\n\r\n");
    let error = ask(&model(&server.url.replace("http:", "https:"))).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Unavailable, "{error:?}");
}

#[tokio::test]
async fn a_connection_that_breaks_is_an_upstream_failure() {
    for reply in [Reply::hang_up(), choice("{\"content\":\"a\"}", "\"stop\"").cut(5)] {
        let server = Server::start([reply]);
        let error = ask(&model(&server.url)).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::UpstreamFailure, "{error:?}");
        assert!(!error.causes().is_empty());
    }
}
