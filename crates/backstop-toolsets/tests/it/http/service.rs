//! Talking to a service: tokens, keys in cookies, limits of one's own, deadlines of the phases, and the guard.

use std::{
    num::NonZeroU32,
    time::{Duration, Instant},
};

use backstop_core::{Applied, ToolError, ToolErrorKind, ToolOutput, ToolSpec, Toolset};
use backstop_test::server::{Reply, Server, dead_url};
use backstop_toolsets::{
    client::{ClientOptions, Proxy, http_client_with},
    guard::Guard,
    http::{Auth, ClientAuth, Endpoint, HttpConfig, HttpToolset, Method, OAuth2, Parameter, Place, Rate},
};
use futures_util::future::join_all;
use serde_json::json;

use super::client;
use crate::support::{call, context_for, valid, view};

fn toolset(url: &str, change: impl FnOnce(&mut HttpConfig)) -> HttpToolset {
    let spec = ToolSpec::new("t", json!({"type": "object", "properties": {"n": {}}}));
    let mut config = HttpConfig::new("s", url.parse().unwrap(), client());
    config.endpoints =
        vec![Endpoint::new(spec, Method::POST, "/x").parameter(Parameter::new("n", Place::Body))];
    change(&mut config);
    HttpToolset::new(config).unwrap()
}

fn oauth(token_url: &str) -> OAuth2 {
    OAuth2::new(format!("{token_url}/token").parse().unwrap(), "client 1", "s3cret/1".to_owned().into())
}

fn token(token: &str, expires_in: u32) -> Reply {
    Reply::json(
        "200 OK",
        json!({"access_token": token, "token_type": "Bearer", "expires_in": expires_in}).to_string(),
    )
}

fn ok() -> Reply {
    Reply::json("200 OK", "{}")
}

#[tokio::test]
async fn a_token_is_fetched_once_and_kept() {
    let (tokens, service) = (Server::start([token("tok-1", 3600)]), Server::start([ok()]));
    let mut config = oauth(&tokens.url);
    config.scope = "read write".into();
    config.extra = vec![("audience".into(), "https://a/b".into())];
    let toolset = toolset(&service.url, |it| it.auth = Auth::OAuth2(Box::new(config)));
    let calls = join_all((0..8).map(|n| call(&toolset, "t", json!({"n": n})))).await;
    assert!(calls.iter().all(Result::is_ok), "{calls:?}");
    let asked = tokens.only();
    assert_eq!(asked.line(), "POST /token");
    assert_eq!(asked.body, "grant_type=client_credentials&scope=read+write&audience=https%3A%2F%2Fa%2Fb");
    // `client+1:s3cret%2F1`
    assert_eq!(asked.header("authorization"), Some("Basic Y2xpZW50KzE6czNjcmV0JTJGMQ=="));
    let seen = service.seen();
    assert_eq!(seen.len(), 8);
    assert!(seen.iter().all(|seen| seen.headers("authorization") == ["Bearer tok-1"]));
}

#[tokio::test]
async fn a_client_may_say_who_it_is_in_the_body() {
    let (tokens, service) = (Server::start([token("tok-1", 3600)]), Server::start([ok()]));
    let mut config = oauth(&tokens.url);
    config.client_auth = ClientAuth::Body;
    call(&toolset(&service.url, |it| it.auth = Auth::OAuth2(Box::new(config))), "t", json!({}))
        .await
        .unwrap();
    assert_eq!(tokens.only().header("authorization"), None);
    assert_eq!(
        tokens.only().body,
        "grant_type=client_credentials&client_id=client+1&client_secret=s3cret%2F1"
    );
}

#[tokio::test]
async fn a_token_that_is_not_taken_is_replaced_once() {
    let tokens = Server::start([token("tok-1", 3600), token("tok-2", 3600)]);
    let service = Server::start([Reply::json("401 Unauthorized", "{}"), ok()]);
    let tools = toolset(&service.url, |it| it.auth = Auth::OAuth2(Box::new(oauth(&tokens.url))));
    assert_eq!(call(&tools, "t", json!({"n": 1})).await.unwrap(), ToolOutput::Json(json!({})));
    let sent: Vec<_> = service
        .seen()
        .iter()
        .map(|seen| (seen.header("authorization").unwrap().to_owned(), seen.body.clone()))
        .collect();
    assert_eq!(
        sent,
        [("Bearer tok-1".into(), "{\"n\":1}".into()), ("Bearer tok-2".into(), "{\"n\":1}".into())]
    );

    let tokens = Server::start([token("tok-1", 3600), token("tok-2", 3600)]);
    let service = Server::start([Reply::json("401 Unauthorized", "{\"message\": \"tok-2 is bad\"}")]);
    let tools = toolset(&service.url, |it| it.auth = Auth::OAuth2(Box::new(oauth(&tokens.url))));
    let error = call(&tools, "t", json!({})).await.unwrap_err();
    assert_eq!((error.kind(), error.applied()), (ToolErrorKind::Unauthenticated, Applied::No));
    assert_eq!((service.seen().len(), tokens.seen().len()), (2, 2));
    assert!(!format!("{error:?} {error}").contains("tok-2"), "{error:?}");
}

#[tokio::test]
async fn a_token_that_is_over_is_not_used() {
    let (tokens, service) = (Server::start([token("tok-1", 0), token("tok-2", 3600)]), Server::start([ok()]));
    let tools = toolset(&service.url, |it| it.auth = Auth::OAuth2(Box::new(oauth(&tokens.url))));
    for _ in 0..3 {
        call(&tools, "t", json!({})).await.unwrap();
    }
    let used: Vec<_> =
        service.seen().iter().map(|seen| seen.header("authorization").unwrap().to_owned()).collect();
    assert_eq!(used, ["Bearer tok-1", "Bearer tok-2", "Bearer tok-2"]);
}

#[tokio::test]
async fn without_a_token_nothing_is_asked_of_the_service() {
    let service = Server::start([ok()]);
    let mut seen = String::new();
    for (what, reply) in [
        (
            "refused",
            Reply::json(
                "401 Unauthorized",
                r#"{"error":"invalid_client","error_description":"s3cret/1 is wrong"}"#,
            ),
        ),
        ("broken", Reply::json("503 Service Unavailable", "")),
        ("no token", Reply::json("200 OK", r#"{"token":"tok-9"}"#)),
        ("no JSON", Reply::new("200 OK", &[("content-type", "text/html")], "<html>tok-9</html>")),
    ] {
        let tokens = Server::start([reply]);
        let tools = toolset(&service.url, |it| it.auth = Auth::OAuth2(Box::new(oauth(&tokens.url))));
        let error = call(&tools, "t", json!({})).await.unwrap_err();
        let detail = error.detail().replace(&tokens.url, "http://TOKENS");
        seen += &format!("{what}: {} applied {}\n  {detail}\n", error.kind(), error.applied());
        assert!(
            !format!("{error:?}").contains("s3cret") && !format!("{error:?}").contains("tok-9"),
            "{error:?}"
        );
    }
    let dead = dead_url();
    let tools = toolset(&service.url, |it| it.auth = Auth::OAuth2(Box::new(oauth(&dead))));
    let error = call(&tools, "t", json!({})).await.unwrap_err();
    seen += &format!(
        "dead: {} applied {}\n  {}\n",
        error.kind(),
        error.applied(),
        error.detail().replace(&dead, "http://DEAD")
    );
    seen += &view(&tools, "t", &error).await;
    assert_eq!(service.seen().len(), 0);
    insta::assert_snapshot!(seen);
}

#[tokio::test]
async fn a_key_in_a_cookie_stands_beside_the_cookies_of_a_call() {
    let service = Server::start([ok()]);
    let tools = toolset(&service.url, |it| {
        it.auth = Auth::ApiKeyCookie { name: "session".into(), value: "sesame-1".to_owned().into() };
        it.endpoints[0].parameters.push(Parameter::new("theme", Place::Cookie));
    });
    call(&tools, "t", json!({})).await.unwrap();
    call(&tools, "t", json!({"theme": "dark"})).await.unwrap();
    let cookies: Vec<_> = service.seen().iter().map(|seen| seen.headers("cookie").join(" | ")).collect();
    assert_eq!(cookies, ["session=sesame-1", "session=sesame-1; theme=dark"]);
}

async fn attempt(tools: &HttpToolset, timeout: Duration) -> Result<ToolOutput, ToolError> {
    tools.call(&valid(tools, "t", json!({})).await, &context_for(timeout)).await
}

#[tokio::test]
async fn requests_beyond_the_own_limit_wait_and_are_not_made_when_there_is_no_time() {
    let service = Server::start([Reply::silence()]);
    let tools = toolset(&service.url, |it| it.concurrency = NonZeroU32::new(1));
    let (first, second) = tokio::join!(attempt(&tools, Duration::from_secs(1)), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        attempt(&tools, Duration::from_millis(200)).await
    });
    let second = second.unwrap_err();
    assert_eq!(first.unwrap_err().kind(), ToolErrorKind::Timeout);
    assert_eq!((second.kind(), second.applied()), (ToolErrorKind::Unavailable, Applied::No));
    assert_eq!(second.detail(), "no request could be made for 200 milliseconds: the toolset's own limit");
    assert_eq!(service.seen().len(), 1);
}

#[tokio::test]
async fn a_rate_spreads_requests() {
    let service = Server::start([ok()]);
    let rate = Rate { requests: NonZeroU32::new(2).unwrap(), per: Duration::from_millis(400) };
    let tools = toolset(&service.url, |it| it.rate = Some(rate));
    let started = Instant::now();
    join_all((0..4).map(|n| call(&tools, "t", json!({"n": n})))).await.into_iter().for_each(|done| {
        done.unwrap();
    });
    // Two at once, then one every 200 ms.
    assert!(started.elapsed() >= Duration::from_millis(390), "{:?}", started.elapsed());
}

#[tokio::test]
async fn an_answer_that_does_not_begin_in_its_time_is_a_timeout_of_that_phase() {
    let service = Server::start([Reply::silence()]);
    let tools = toolset(&service.url, |it| it.first_byte = Some(Duration::from_millis(100)));
    let started = Instant::now();
    let error = attempt(&tools, Duration::from_secs(20)).await.unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(2));
    assert_eq!((error.kind(), error.applied()), (ToolErrorKind::Timeout, Applied::Unknown));
    let detail = error.detail().replace(&service.url, "http://SERVICE");
    assert_eq!(detail, "POST http://SERVICE/x: no answer began in time");
}

#[tokio::test]
async fn a_name_that_leads_into_the_own_network_is_not_dialled() {
    let mut options = ClientOptions::default();
    options.guard = Some(Guard::default());
    let guarded = http_client_with(&options).unwrap();
    let tools = toolset("http://localhost:9", |it| it.client = guarded);
    let error = call(&tools, "t", json!({})).await.unwrap_err();
    assert_eq!((error.kind(), error.applied()), (ToolErrorKind::Misconfigured, Applied::No));
    assert_eq!(
        error.detail(),
        "POST http://localhost:9/x: `localhost` is not a public address, and is not among those that are allowed"
    );
}

#[tokio::test]
async fn a_guard_lets_requests_through_to_the_proxy_that_is_declared() {
    let proxy = Server::start([ok()]);
    let mut options = ClientOptions::default();
    options.guard = Some(Guard::default());
    options.proxy = Proxy::Url(proxy.url.replace("127.0.0.1", "localhost").into());
    let through = http_client_with(&options).unwrap();
    let tools = toolset("http://service.example", |it| it.client = through);
    assert_eq!(call(&tools, "t", json!({})).await, Ok(ToolOutput::Json(json!({}))));
    assert_eq!(proxy.only().line(), "POST http://service.example/x");
}

#[tokio::test]
async fn a_token_may_say_how_long_it_holds_in_a_text() {
    let reply = |token: &str, holds: &str| {
        Reply::json("200 OK", json!({"access_token": token, "expires_in": holds}).to_string())
    };
    let tokens = Server::start([reply("tok-1", "0"), reply("tok-2", " 3600 "), reply("tok-3", "?")]);
    let service = Server::start([ok()]);
    let tools = toolset(&service.url, |it| it.auth = Auth::OAuth2(Box::new(oauth(&tokens.url))));
    for _ in 0..3 {
        call(&tools, "t", json!({})).await.unwrap();
    }
    assert_eq!(tokens.seen().len(), 2);
}

#[tokio::test]
async fn all_that_a_call_waits_for_is_within_its_time() {
    // For a token, which another call waits for, too: nothing was asked of the service.
    let tokens = Server::start([Reply::silence()]);
    let service = Server::start([ok()]);
    let tools = toolset(&service.url, |it| it.auth = Auth::OAuth2(Box::new(oauth(&tokens.url))));
    let started = Instant::now();
    let (first, second) = tokio::join!(
        attempt(&tools, Duration::from_millis(600)),
        attempt(&tools, Duration::from_millis(300))
    );
    assert!(started.elapsed() < Duration::from_millis(900), "{:?}", started.elapsed());
    let told = [first.unwrap_err(), second.unwrap_err()].map(|error| {
        let detail = error.detail().replace(&tokens.url, "http://TOKENS");
        format!("{} applied {}: {detail}", error.kind(), error.applied())
    });
    assert_eq!(
        told,
        [
            "timeout applied no: POST http://TOKENS/token: no answer in time",
            "unavailable applied no: POST http://TOKENS/token: another call waits for a token, too",
        ]
    );
    assert_eq!((tokens.seen().len(), service.seen().len()), (1, 0));

    // For its turn, and then for the answer.
    let service = Server::start([ok(), Reply::silence()]);
    let rate = Rate { requests: NonZeroU32::new(1).unwrap(), per: Duration::from_millis(500) };
    let tools = toolset(&service.url, |it| it.rate = Some(rate));
    attempt(&tools, Duration::from_secs(20)).await.unwrap();
    let started = Instant::now();
    let error = attempt(&tools, Duration::from_secs(1)).await.unwrap_err();
    assert!(started.elapsed() < Duration::from_millis(1300), "{:?}", started.elapsed());
    assert_eq!((error.kind(), error.applied()), (ToolErrorKind::Timeout, Applied::Unknown));
}
