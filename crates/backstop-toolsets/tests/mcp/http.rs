//! Servers that are addresses, and all that can become of a request to one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use backstop_core::{Applied, CallerHeaders, ToolErrorKind, Toolset};
use backstop_test::{
    mcp::{Behaviour, answer},
    server::{Reply, Request, Server, dead_url},
};
use backstop_toolsets::{
    client::http_client,
    http::{Auth, OAuth2},
    mcp::{HttpServer, McpConfig, McpToolset, Server as McpServer},
};
use serde_json::{Value, json};

use crate::kit::{act, call, context, echo, shown, valid};

const JSON: (&str, &str) = ("content-type", "application/json");

fn config(url: &str) -> McpConfig {
    let url = format!("{url}/mcp").parse().unwrap();
    let mut config = McpConfig::new("fake", McpServer::Http(HttpServer::new(url, http_client().unwrap())));
    config.start_timeout = Duration::from_secs(5);
    config.list_timeout = Duration::from_secs(5);
    config.max_message = 64 * 1024;
    config
}

fn toolset(server: &Server) -> McpToolset {
    McpToolset::new(config(&server.url)).unwrap()
}

/// What a good server with sessions replies.
fn good(request: &Request) -> Reply {
    good_in("s1", request)
}

fn good_in(session: &str, request: &Request) -> Reply {
    if !request.line().starts_with("POST ") {
        return Reply::json("405 Method Not Allowed", "{}");
    }
    let message = request.json();
    match answer(&message, Behaviour::Good) {
        None => Reply::new("202 Accepted", &[], ""),
        Some(answer) if message["method"] == "initialize" => {
            Reply::new("200 OK", &[JSON, ("mcp-session-id", session)], answer.to_string())
        }
        Some(answer) => Reply::json("200 OK", answer),
    }
}

fn is_call(request: &Request, tool: &str) -> bool {
    let message = request.json();
    message["method"] == "tools/call" && message["params"]["name"] == tool
}

/// A server that is good but for calls of `act`.
fn acting(reply: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Server {
    Server::answering(move |request| if is_call(request, "act") { reply(request) } else { good(request) })
}

fn acts(server: &Server) -> usize {
    server.seen().iter().filter(|request| is_call(request, "act")).count()
}

fn acted(request: &Request) -> Value {
    answer(&request.json(), Behaviour::Good).unwrap()
}

/// Each way to answer a call, and the next call after it.
#[tokio::test]
async fn every_answer_has_one_reading_and_the_next_call_works() {
    let event = |text: &Value| format!("event: message\ndata: {text}\n\n");
    type Say = Box<dyn Fn(&Request) -> Reply + Send + Sync>;
    let cases: Vec<(&str, Say)> = vec![
        ("json", Box::new(|r| Reply::json("200 OK", acted(r)))),
        ("events", Box::new(move |r| Reply::events([event(&acted(r))]))),
        (
            "events after an empty one",
            Box::new(move |r| Reply::events(["id: 1\ndata:\n\n".to_owned(), event(&acted(r))])),
        ),
        (
            "events with a notification",
            Box::new(move |r| {
                let log = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}});
                Reply::events([event(&log), event(&acted(r))])
            }),
        ),
        ("events without the answer", Box::new(|_| Reply::events([": nothing\n\n"]))),
        ("events cut off", Box::new(move |r| Reply::events([event(&acted(r))]).cut(40))),
        ("an event too large", Box::new(move |_| Reply::events([event(&json!("x".repeat(70_000)))]))),
        ("json too large", Box::new(|_| Reply::json("200 OK", json!("x".repeat(70_000))))),
        ("json cut off", Box::new(|r| Reply::json("200 OK", acted(r)).cut(10))),
        ("json of another form", Box::new(|_| Reply::json("200 OK", "{\"ok\": true}"))),
        (
            "a page",
            Box::new(|_| {
                Reply::new("200 OK", &[("content-type", "text/html")], "<html><title>Sign in</title></html>")
            }),
        ),
        ("accepted", Box::new(|_| Reply::new("202 Accepted", &[], ""))),
        (
            "400 with an error",
            Box::new(|r| {
                let error = json!({"jsonrpc": "2.0", "id": r.json()["id"], "error": {"code": -32602, "message": "n is missing"}});
                Reply::json("400 Bad Request", error)
            }),
        ),
        ("400", Box::new(|_| Reply::new("400 Bad Request", &[], "bad"))),
        (
            "401",
            Box::new(|_| Reply::new("401 Unauthorized", &[("www-authenticate", "Bearer realm=\"mcp\"")], "")),
        ),
        ("403", Box::new(|_| Reply::json("403 Forbidden", "{}"))),
        ("406", Box::new(|_| Reply::json("406 Not Acceptable", "{}"))),
        ("413", Box::new(|_| Reply::json("413 Content Too Large", "{}"))),
        ("429", Box::new(|_| Reply::new("429 Too Many Requests", &[("retry-after", "7")], "slow down"))),
        (
            "500",
            Box::new(|_| {
                Reply::new("500 Internal Server Error", &[("content-type", "text/html")], "<h1>Oops</h1>")
            }),
        ),
        (
            "500 with an error",
            Box::new(|_| {
                let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32603, "message": "The index is rebuilt"}});
                Reply::json("500 Internal Server Error", error)
            }),
        ),
        ("502", Box::new(|_| Reply::new("502 Bad Gateway", &[], ""))),
        ("503", Box::new(|_| Reply::new("503 Service Unavailable", &[("retry-after", "2")], ""))),
        ("504", Box::new(|_| Reply::new("504 Gateway Timeout", &[], ""))),
        (
            "a redirect",
            Box::new(|_| Reply::new("307 Temporary Redirect", &[("location", "http://10.0.0.1/mcp")], "")),
        ),
        ("a hang-up", Box::new(|_| Reply::hang_up())),
        ("a reset", Box::new(|_| Reply::reset())),
    ];
    let mut table = String::new();
    for (name, reply) in cases {
        let server = acting(reply);
        let toolset = toolset(&server);
        toolset.list().await.unwrap();
        let first = call(&toolset, "act", json!({}), Duration::from_secs(3)).await;
        let first = shown(&first).replace(&server.url, "http://server");
        table += &format!("## {name}\n{first}\n  next: {}\n\n", shown(&echo(&toolset).await));
        assert_eq!(acts(&server), 1, "{name}");
    }
    insta::assert_snapshot!(table);
}

#[tokio::test]
async fn an_address_that_is_no_server_is_told_as_what_it_is() {
    let mut table = String::new();
    let old = |request: &Request| match request.line().starts_with("GET ") {
        true => Reply::events(["event: endpoint\ndata: /messages?session=1\n\n"]).stall(5),
        false => Reply::new("404 Not Found", &[], "Not Found"),
    };
    let cases: Vec<(&str, Server)> = vec![
        (
            "nothing there",
            Server::start([Reply::new(
                "404 Not Found",
                &[("content-type", "text/html")],
                "<h1>Not Found</h1>",
            )]),
        ),
        ("the old transport", Server::answering(old)),
        (
            "a page",
            Server::start([Reply::new("200 OK", &[("content-type", "text/html")], "<html>Hello</html>")]),
        ),
        (
            "wants a token",
            Server::start([Reply::new("401 Unauthorized", &[("www-authenticate", "Bearer")], "")]),
        ),
        ("too busy", Server::start([Reply::new("429 Too Many Requests", &[("retry-after", "30")], "")])),
        ("broken", Server::start([Reply::new("500 Internal Server Error", &[], "")])),
        ("hangs up", Server::start([Reply::hang_up()])),
    ];
    for (name, server) in cases {
        let error = toolset(&server).list().await.unwrap_err();
        table += &format!("## {name}\n{}\n\n", shown(&Err(error)).replace(&server.url, "http://server"));
    }
    let dead = dead_url();
    let error = McpToolset::new(config(&dead)).unwrap().list().await.unwrap_err();
    table += &format!("## nobody listens\n{}\n", shown(&Err(error)).replace(&dead, "http://server"));
    insta::assert_snapshot!(table);
}

#[tokio::test]
async fn silence_has_a_deadline() {
    let server = Server::start([Reply::silence()]);
    let mut config = config(&server.url);
    config.start_timeout = Duration::from_millis(300);
    let begun = Instant::now();
    let error = McpToolset::new(config).unwrap().list().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.detail()),
        (ToolErrorKind::Timeout, "the server did not start within 300 milliseconds")
    );
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());

    let server = acting(|_| Reply::silence());
    let toolset = toolset(&server);
    toolset.list().await.unwrap();
    let error = call(&toolset, "act", json!({}), Duration::from_millis(300)).await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Timeout);
    // The server is told, in the session.
    let told = async {
        while !server.seen().iter().any(|request| request.json()["method"] == "notifications/cancelled") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), told).await.unwrap();
    assert_eq!(echo(&toolset).await.unwrap().model_text(), "still here");
}

/// A session that is over is begun anew, and the call that did not reach it is made in the new one, once.
#[tokio::test]
async fn a_session_that_is_gone_is_begun_anew() {
    for gone in [
        Reply::json(
            "404 Not Found",
            json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "Session not found"}}),
        ),
        Reply::json(
            "400 Bad Request",
            json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "Bad Request: No valid session ID provided"}}),
        ),
    ] {
        let begun = Arc::new(AtomicUsize::new(0));
        let sessions = Arc::clone(&begun);
        let server = Server::answering(move |request| {
            if request.json()["method"] == "initialize" {
                let number = sessions.fetch_add(1, Ordering::SeqCst) + 1;
                return good_in(&format!("s{number}"), request);
            }
            // The first session ends with the first call.
            if is_call(request, "act") && request.header("mcp-session-id") == Some("s1") {
                gone.clone()
            } else {
                good(request)
            }
        });
        let toolset = toolset(&server);
        toolset.list().await.unwrap();
        assert_eq!(act(&toolset).await.unwrap().model_text(), "acted");
        assert_eq!(begun.load(Ordering::SeqCst), 2);
        let sessions: Vec<_> = server
            .seen()
            .iter()
            .filter(|request| is_call(request, "act"))
            .map(|request| request.header("mcp-session-id").unwrap().to_owned())
            .collect();
        assert_eq!(sessions, ["s1", "s2"]);
    }
}

#[tokio::test]
async fn a_session_that_is_gone_for_good_is_an_error() {
    let server = Server::answering(|request| {
        if is_call(request, "act") { Reply::json("404 Not Found", "{}") } else { good(request) }
    });
    let toolset = toolset(&server);
    toolset.list().await.unwrap();
    let error = act(&toolset).await.unwrap_err();
    assert_eq!((error.kind(), error.applied()), (ToolErrorKind::Unavailable, Applied::No));
    // Not in circles.
    assert_eq!(acts(&server), 2);
}

#[tokio::test]
async fn requests_say_who_makes_them() {
    let server = Server::answering(good);
    let mut config = config(&server.url);
    let McpServer::Http(http) = &mut config.server else { unreachable!() };
    http.headers = vec![("X-Tenant".into(), "t1".to_owned().into())];
    http.auth = Auth::Bearer("sesame".to_owned().into());
    http.caller_headers = vec!["x-user".into()];
    let toolset = McpToolset::new(config).unwrap();
    toolset.list().await.unwrap();
    let cx = context(Duration::from_secs(5))
        .caller_headers(CallerHeaders::new([("X-User", "ada"), ("X-Other", "no")]));
    toolset.call(&valid("act", json!({})), &cx).await.unwrap();
    for request in server.seen() {
        let said = |name| request.header(name);
        assert_eq!(
            (said("x-tenant"), said("authorization"), said("x-other")),
            (Some("t1"), Some("Bearer sesame"), None)
        );
        assert_eq!(said("x-user"), is_call(&request, "act").then_some("ada"), "{}", request.body);
    }
}

#[tokio::test]
async fn a_token_that_is_not_taken_is_asked_for_once_more() {
    let granted = Arc::new(AtomicUsize::new(0));
    let tokens = Arc::clone(&granted);
    let server = Server::answering(move |request| {
        if request.line() == "POST /token" {
            let number = tokens.fetch_add(1, Ordering::SeqCst) + 1;
            return Reply::json("200 OK", json!({"access_token": format!("t{number}"), "expires_in": 3600}));
        }
        // The first one holds until the first call.
        let stale = is_call(request, "act") && request.header("authorization") == Some("Bearer t1");
        if stale { Reply::new("401 Unauthorized", &[], "") } else { good(request) }
    });
    let mut config = config(&server.url);
    let McpServer::Http(http) = &mut config.server else { unreachable!() };
    let oauth2 =
        OAuth2::new(format!("{}/token", server.url).parse().unwrap(), "me", "secret".to_owned().into());
    http.auth = Auth::OAuth2(Box::new(oauth2));
    let toolset = McpToolset::new(config).unwrap();
    toolset.list().await.unwrap();
    assert_eq!(act(&toolset).await.unwrap().model_text(), "acted");
    assert_eq!((granted.load(Ordering::SeqCst), acts(&server)), (2, 2));
    assert!(
        server
            .seen()
            .iter()
            .filter(|request| request.line() == "POST /mcp")
            .all(|request| request.header("authorization").is_some())
    );
}

#[tokio::test]
async fn the_newest_protocol_is_spoken_where_it_is_known() {
    let server = Server::answering(|request| {
        let message = request.json();
        match answer(&message, Behaviour::Stateless) {
            None => Reply::new("202 Accepted", &[], ""),
            Some(answer) => Reply::json("200 OK", answer),
        }
    });
    let toolset = toolset(&server);
    toolset.list().await.unwrap();
    assert_eq!(echo(&toolset).await.unwrap().model_text(), "still here");
    let call = server.seen().into_iter().find(|request| is_call(request, "echo")).unwrap();
    let said = |name| call.header(name);
    assert_eq!(
        (said("mcp-protocol-version"), said("mcp-method"), said("mcp-name"), said("mcp-session-id")),
        (Some("2026-07-28"), Some("tools/call"), Some("echo"), None)
    );
    assert!(!server.seen().iter().any(|request| request.json()["method"] == "initialize"));
}

#[tokio::test]
async fn the_session_is_ended_with_the_toolset() {
    let server = Server::answering(good);
    let toolset = toolset(&server);
    toolset.list().await.unwrap();
    drop(toolset);
    let ended =
        async {
            while !server.seen().iter().any(|request| {
                request.line() == "DELETE /mcp" && request.header("mcp-session-id") == Some("s1")
            }) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
    tokio::time::timeout(Duration::from_secs(5), ended).await.unwrap();
}

/// Some ignore what they don't know: they are asked in the old way while there is time.
#[tokio::test]
async fn an_address_that_ignores_the_newest_protocol_is_asked_for_an_older_one() {
    let server = Server::answering(|request| match request.json()["method"] == "server/discover" {
        true => Reply::silence(),
        false => good(request),
    });
    let mut config = config(&server.url);
    config.start_timeout = Duration::from_secs(3);
    let toolset = McpToolset::new(config).unwrap();
    let begun = Instant::now();
    toolset.list().await.unwrap();
    assert!(begun.elapsed() < Duration::from_millis(2500), "{:?}", begun.elapsed());
    assert_eq!(echo(&toolset).await.unwrap().model_text(), "still here");
}
