//! C38: no key is in any text of a failure.

use backstop_core::ModelError;
use backstop_test::server::{Reply, Server, dead_url};
use backstop_toolsets::deployment::{OpenAiConfig, OpenAiModel};

use super::{ask, ask_streamed, choice, config};

const KEY: &str = "sk-very-secret-1";
const HEADER: &str = "header-secret-2";
const QUERY: &str = "query-secret-3";
const PASSWORD: &str = "password-secret-4";

fn guarded(url: &str) -> OpenAiConfig {
    let mut config = config(url).api_key(KEY).header("X-Gateway", format!("Token {HEADER}"));
    config.base_url.set_query(Some(&format!("key={QUERY}&api-version=2026-01-01")));
    config.base_url.set_username("user").unwrap();
    config.base_url.set_password(Some(PASSWORD)).unwrap();
    config
}

fn assert_clean(error: &ModelError) {
    let texts = format!("{error} {error:?} {}", serde_json::to_string(error).unwrap());
    for secret in [KEY, HEADER, QUERY, PASSWORD] {
        assert!(!texts.contains(secret), "{texts}");
    }
}

#[tokio::test]
async fn no_key_is_in_any_text_of_a_failure() {
    let echo = format!("no: {KEY} {HEADER} {QUERY} {PASSWORD}");
    let body =
        serde_json::json!({"error": {"message": echo, "code": KEY, "display_message": echo}}).to_string();
    let event = format!("data: {body}\n\n");
    let replies = [
        Reply::json("401 Unauthorized", &body),
        Reply::json("200 OK", &body),
        Reply::new("500 Internal Server Error", &[("x-request-id", KEY)], &echo),
        Reply::events([&event]),
        Reply::events(["data: {"]),
        Reply::hang_up(),
        choice("{}", "null").cut(4),
        choice("7", "null"),
    ];
    for reply in replies {
        let server = Server::start([reply]);
        let model = OpenAiModel::new(guarded(&server.url)).unwrap();
        assert_clean(&ask(&model).await.unwrap_err());
        assert_clean(&ask_streamed(&model).await.0.unwrap_err());
        let shown = format!("{model:?}");
        assert!(!shown.contains("secret"), "{shown}");
    }
    for url in [dead_url(), "http://no-such-host.invalid".into()] {
        let error = ask(&OpenAiModel::new(guarded(&url)).unwrap()).await.unwrap_err();
        assert_clean(&error);
        assert!(!error.to_string().contains('?'), "{error}");
    }
}

#[tokio::test]
async fn keys_are_sent_where_they_belong_and_nowhere_else() {
    let server = Server::start([choice("{\"content\":\"a\"}", "\"stop\"")]);
    ask(&OpenAiModel::new(guarded(&server.url)).unwrap()).await.unwrap();
    let seen = &server.seen()[0];
    let line = format!("POST /v1/chat/completions?key={QUERY}&api-version=2026-01-01 HTTP/1.1");
    assert_eq!(seen.head.lines().next(), Some(line.as_str()));
    assert_eq!(seen.headers("authorization"), [format!("Bearer {KEY}")]);
    assert_eq!(seen.headers("x-gateway"), [format!("Token {HEADER}")]);
    assert!(!seen.head.contains(PASSWORD) && !seen.body.contains("secret"));
}

#[tokio::test]
async fn without_a_key_the_credentials_of_the_address_are_sent() {
    let server = Server::start([choice("{\"content\":\"a\"}", "\"stop\"")]);
    let mut config = config(&server.url);
    config.base_url.set_username("us%20er").unwrap();
    config.base_url.set_password(Some("p:w")).unwrap();
    ask(&OpenAiModel::new(config).unwrap()).await.unwrap();
    assert_eq!(server.seen()[0].headers("authorization"), ["Basic dXMgZXI6cDp3"]);
}

#[test]
fn a_config_that_can_not_work_is_refused_without_its_secrets() {
    let refused = [
        config("ftp://host"),
        config("http://host").api_key("sk-bad\nkey"),
        config("http://host").header("bad name", "v"),
        config("http://host").header("X-Good", "bad\nsecret"),
    ]
    .map(|config| OpenAiModel::new(config).unwrap_err().to_string());
    assert_eq!(
        refused,
        [
            "the model is not set up correctly: `base_url` is not an http or https address with a host",
            "the model is not set up correctly: `api_key` can't be sent in a header",
            "the model is not set up correctly: `bad name` is no name of a header",
            "the model is not set up correctly: the value of header `X-Good` can't be sent",
        ]
    );
}
