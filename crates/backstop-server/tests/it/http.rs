//! The gateway over HTTP: who may ask, both protocols, and how it ends.

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use backstop::{CancellationToken, Toolset, http_client};
use backstop_server::mcp::{GatewayOptions, HttpOptions, ServeError, Tokens, serve_http};
use futures_util::future::join_all;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::oneshot,
    task::JoinHandle,
};

use crate::kit::{Counts, gateway};

struct Served {
    address: SocketAddr,
    stop: CancellationToken,
    ended: JoinHandle<Result<(), ServeError>>,
    counts: Arc<Counts>,
}

async fn served(options: HttpOptions) -> Served {
    let counts = Arc::new(Counts::default());
    let gateway = gateway(&counts, GatewayOptions::default()).await;
    let stop = CancellationToken::new();
    let (told, bound) = oneshot::channel();
    let ready = |address| told.send(address).unwrap();
    #[expect(clippy::disallowed_methods, reason = "the test waits for it")]
    let ended = tokio::spawn(serve_http(gateway, ([127, 0, 0, 1], 0).into(), options, stop.clone(), ready));
    Served { address: bound.await.unwrap(), stop, ended, counts }
}

impl Served {
    fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    async fn post(&self, headers: &[(&str, &str)], body: Value) -> Response {
        let mut request = http_client()
            .unwrap()
            .request(Method::POST, self.url())
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(body.to_string()).send().await.unwrap()
    }
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    }})
}

fn stateless(tool: &str) -> (Vec<(&'static str, String)>, Value) {
    let headers = vec![
        ("mcp-protocol-version", "2026-07-28".to_owned()),
        ("mcp-method", "tools/call".to_owned()),
        ("mcp-name", tool.to_owned()),
    ];
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": tool, "arguments": {"n": 1}, "_meta": meta});
    (headers, json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
}

/// The message in an answer, be it JSON or events.
async fn message(response: Response) -> Value {
    let text = response.text().await.unwrap();
    let data = text
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .map(str::trim)
        .find(|data| !data.is_empty());
    serde_json::from_str(data.unwrap_or(&text)).unwrap_or_else(|_| panic!("{text}"))
}

/// Our own client, over the whole way.
#[tokio::test]
async fn a_client_gets_typed_results_over_http() {
    use backstop_toolsets::mcp::{HttpServer, McpConfig, McpToolset, Server};
    let served = served(HttpOptions::default()).await;
    let server = HttpServer::new(served.url().parse().unwrap(), http_client().unwrap());
    let toolset = McpToolset::new(McpConfig::new("gateway", Server::Http(server))).unwrap();
    let specs = toolset.list().await.unwrap();
    assert!(specs.iter().any(|spec| spec.name == "add" && spec.output_schema.is_some()));
    served.stop.cancel();
    served.ended.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_call_without_a_session_is_answered() {
    let served = served(HttpOptions::default()).await;
    let (headers, body) = stateless("add");
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answer = message(served.post(&headers, body).await).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"sum": 2}), "{answer}");
}

#[tokio::test]
async fn a_client_that_hangs_up_cancels_its_call() {
    let served = served(HttpOptions::default()).await;
    let (headers, body) = stateless("hang");
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let _ = tokio::time::timeout(Duration::from_millis(300), async {
        message(served.post(&headers, body).await).await
    })
    .await;
    let ended = async {
        while served.counts.dropped.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), ended).await.unwrap();
}

#[tokio::test]
async fn only_those_with_a_token_may_ask() {
    let mut options = HttpOptions::default();
    options.tokens = Tokens::new(["sesame".to_owned(), "open".to_owned()]);
    let served = served(options).await;
    for (header, status) in [
        (None, StatusCode::UNAUTHORIZED),
        (Some("Bearer nope"), StatusCode::UNAUTHORIZED),
        (Some("Bearer "), StatusCode::UNAUTHORIZED),
        (Some("Basic sesame"), StatusCode::UNAUTHORIZED),
        (Some("Bearer sesam"), StatusCode::UNAUTHORIZED),
        (Some("Bearer sesame"), StatusCode::OK),
        (Some("bearer open"), StatusCode::OK),
    ] {
        let headers: Vec<_> = header.iter().map(|value| ("authorization", *value)).collect();
        let response = served.post(&headers, initialize()).await;
        assert_eq!(response.status(), status, "{header:?}");
        let wants =
            response.headers().get("www-authenticate").map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(wants.as_deref(), (status == StatusCode::UNAUTHORIZED).then_some("Bearer"), "{header:?}");
    }
}

#[tokio::test]
async fn pages_of_others_and_other_names_are_refused() {
    let mut options = HttpOptions::default();
    options.hosts = vec!["tools.example".into()];
    options.origins = vec!["https://app.example:443".into()];
    let served = served(options).await;
    for (name, value, status) in [
        ("origin", "https://evil.example", StatusCode::FORBIDDEN),
        ("origin", "null", StatusCode::FORBIDDEN),
        ("origin", "http://localhost:3000", StatusCode::OK),
        ("origin", "https://app.example", StatusCode::OK),
        ("host", "evil.example", StatusCode::FORBIDDEN),
        ("host", "tools.example", StatusCode::OK),
    ] {
        assert_eq!(served.post(&[(name, value)], initialize()).await.status(), status, "{name}: {value}");
    }
}

#[tokio::test]
async fn what_is_no_request_is_refused() {
    let mut options = HttpOptions::default();
    options.max_body = 1000;
    let served = served(options).await;
    let large = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "x".repeat(2000)}});
    assert_eq!(served.post(&[], large).await.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert!(served.post(&[], json!("rubbish")).await.status().is_client_error());
    assert_eq!(
        served.post(&[("mcp-session-id", "nope")], initialize()).await.status(),
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn an_address_that_is_open_to_all_needs_a_token() {
    let gateway = gateway(&Arc::default(), GatewayOptions::default()).await;
    let served = serve_http(
        gateway,
        ([0, 0, 0, 0], 0).into(),
        HttpOptions::default(),
        CancellationToken::new(),
        |_| {},
    );
    assert_eq!(
        served.await.unwrap_err().to_string(),
        "0.0.0.0:0 can be reached from elsewhere: a token is needed"
    );
}

#[tokio::test]
async fn it_ends_although_a_stream_is_open() {
    let served = served(HttpOptions::default()).await;
    let response = served.post(&[], initialize()).await;
    let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let _ = message(response).await;
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    served.post(&[("mcp-session-id", &session), ("mcp-protocol-version", "2025-11-25")], initialized).await;
    let stream = http_client()
        .unwrap()
        .request(Method::GET, served.url())
        .header("accept", "text/event-stream")
        .header("mcp-session-id", &session)
        .send()
        .await
        .unwrap();
    assert_eq!(stream.status(), StatusCode::OK);
    let begun = Instant::now();
    served.stop.cancel();
    tokio::time::timeout(Duration::from_secs(8), served.ended).await.unwrap().unwrap().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn half_a_head_holds_no_connection() {
    let mut options = HttpOptions::default();
    options.head_timeout = Duration::from_millis(200);
    let served = served(options).await;
    let mut stream = tokio::net::TcpStream::connect(served.address).await.unwrap();
    stream.write_all(b"POST /mcp HTTP/1.1\r\nhost: loc").await.unwrap();
    let begun = Instant::now();
    let mut rest = Vec::new();
    tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest)).await.unwrap().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_call_that_outlasts_the_end_is_cancelled_and_answered() {
    let mut options = HttpOptions::default();
    options.drain = Duration::from_millis(200);
    let served = served(options).await;
    let (headers, body) = stateless("hang");
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        served.stop.cancel();
    };
    let (answer, ()) = tokio::join!(async { message(served.post(&headers, body).await).await }, stop);
    assert_eq!(answer["result"]["_meta"]["dev.backstop/error"]["kind"], "cancelled", "{answer}");
    tokio::time::timeout(Duration::from_secs(5), served.ended).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn arguments_that_are_no_object_are_told_to_the_model() {
    let served = served(HttpOptions::default()).await;
    for (arguments, kind) in
        [(json!("{\"n\": 1"), "malformed_arguments"), (json!([1]), "malformed_arguments")]
    {
        let (headers, mut body) = stateless("add");
        body["params"]["arguments"] = arguments.clone();
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = message(served.post(&headers, body).await).await;
        assert_eq!(answer["result"]["isError"], true, "{arguments}: {answer}");
        assert_eq!(answer["result"]["_meta"]["dev.backstop/error"]["kind"], kind, "{arguments}: {answer}");
    }
}

/// A toolset of the gateway, with the protocol without sessions.
#[tokio::test]
async fn changes_are_told_to_those_who_listen() {
    use backstop_toolsets::mcp::{HttpServer, McpConfig, McpToolset, Protocol, Server};
    let served = served(HttpOptions::default()).await;
    for protocol in [Protocol::Stateless, Protocol::Handshake] {
        let server = HttpServer::new(served.url().parse().unwrap(), http_client().unwrap());
        let mut config = McpConfig::new("gateway", Server::Http(server));
        config.protocol = protocol;
        let toolset = McpToolset::new(config).unwrap();
        let before = toolset.list().await.unwrap().len();
        assert_eq!(toolset.changes(), 0);
        // By somebody else.
        let (headers, body) = stateless("grow");
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        // It may not listen yet when it has listed.
        let told = async {
            loop {
                message(served.post(&headers, body.clone()).await).await;
                tokio::time::sleep(Duration::from_millis(50)).await;
                if toolset.changes() > 0 {
                    return;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(5), told).await.unwrap();
        assert!(toolset.list().await.unwrap().len() > before, "{protocol:?}");
    }
}

/// Whatever protocol a request names, and however many come at once.
#[tokio::test]
async fn sessions_are_as_many_as_there_is_room_for() {
    let mut options = HttpOptions::default();
    (options.max_sessions, options.idle) = (4, Duration::from_millis(500));
    let served = served(options).await;
    let newest = [("mcp-protocol-version", "2026-07-28")];
    for headers in [&[][..], &newest] {
        let mut asked = initialize();
        if !headers.is_empty() {
            asked["params"]["protocolVersion"] = json!("2026-07-28");
        }
        let answers = join_all((0..12).map(|_| served.post(headers, asked.clone()))).await;
        let mut codes: Vec<_> = answers.iter().map(|answer| answer.status().as_u16()).collect();
        codes.sort_unstable();
        assert_eq!(codes, [&[200; 4][..], &[503; 8]].concat(), "{headers:?}");
        let refused = answers.iter().find(|answer| answer.status() == StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(refused.unwrap().headers()["retry-after"], "5");
        // What opens none is served meanwhile.
        let (headers, call) = stateless("add");
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(served.post(&headers, call).await.status(), StatusCode::OK);
        // Nobody uses them, so that there is room again.
        tokio::time::sleep(Duration::from_millis(1500)).await;
    }
    served.stop.cancel();
    served.ended.await.unwrap().unwrap();
}
