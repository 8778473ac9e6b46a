//! C13, C14, C15: every status and every failure of the transport in one table: what it is, whether the world may
//! have changed, whether the call is made again, and what the model reads.

use std::{fmt::Write as _, time::Duration};

use backstop_core::{
    Budget, Decision, Effect, Failure, Reference, ToolError, ToolSpec, Toolset, ValidCall, decide,
    error::ViewFacts,
};
use backstop_test::server::{Reply, Server, dead_url};
use backstop_toolsets::client::{ClientOptions, http_client_with};
use backstop_toolsets::http::{Endpoint, HttpConfig, HttpToolset, Method, Parameter, Place};
use serde_json::json;

use super::client;
use crate::support::{context_for, valid};

const PROBLEM: &str = "application/problem+json";
const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain";

/// Status line, further headers, content type, body.
type Row = (&'static str, &'static [(&'static str, &'static str)], &'static str, &'static str);

const WAIT: &[(&str, &str)] = &[("retry-after", "3")];
const WAIT_UNTIL: &[(&str, &str)] =
    &[("retry-after", "Wed, 21 Oct 2026 07:28:05 GMT"), ("date", "Wed, 21 Oct 2026 07:28:00 GMT")];
const ELSEWHERE: &[(&str, &str)] = &[("location", "https://u:p@other.example.test/login?token=abc")];

const STATUSES: &[Row] = &[
    ("300 Multiple Choices", ELSEWHERE, "", ""),
    ("301 Moved Permanently", ELSEWHERE, "", ""),
    ("302 Found", ELSEWHERE, HTML, "<html>moved</html>"),
    ("303 See Other", ELSEWHERE, "", ""),
    ("304 Not Modified", &[], "", ""),
    ("307 Temporary Redirect", ELSEWHERE, "", ""),
    ("308 Permanent Redirect", ELSEWHERE, "", ""),
    ("400 Bad Request", &[], "", ""),
    ("400 Bad Request", &[], JSON, r#"{"ok":true}"#),
    ("400 Bad Request", &[], JSON, r#"{"error":{"message":"qty is too high","code":"E_QTY"}}"#),
    ("401 Unauthorized", &[("www-authenticate", "Bearer")], "", ""),
    ("401 Unauthorized", &[], JSON, r#"{"message":"bad key sk-12"}"#),
    ("402 Payment Required", &[], JSON, r#"{"message":"the plan has no orders"}"#),
    ("403 Forbidden", &[], JSON, r#"{"message":"order 7 is not yours"}"#),
    ("404 Not Found", &[], "", ""),
    ("404 Not Found", &[], HTML, "<!doctype html><title>404 Not Found</title>"),
    ("404 Not Found", &[], PROBLEM, r#"{"title":"Not Found","detail":"there is no order 7"}"#),
    ("405 Method Not Allowed", &[], "", ""),
    ("406 Not Acceptable", &[], "", ""),
    ("407 Proxy Authentication Required", &[], "", ""),
    ("408 Request Timeout", &[], "", ""),
    ("409 Conflict", &[], JSON, r#"{"error":"name taken"}"#),
    ("410 Gone", &[], "", ""),
    ("412 Precondition Failed", &[], "", ""),
    ("413 Content Too Large", &[], "", ""),
    ("415 Unsupported Media Type", &[], "", ""),
    ("418 I'm a teapot", &[], TEXT, "short and stout"),
    (
        "422 Unprocessable Content",
        &[],
        PROBLEM,
        r#"{"title":"invalid","errors":[{"loc":["body","qty"],"msg":"must be >= 1"}]}"#,
    ),
    ("422 Unprocessable Content", &[], JSON, r#"{"errors":{"qty":["too high"],"name":["taken"]}}"#),
    ("423 Locked", &[], "", ""),
    ("425 Too Early", &[], "", ""),
    ("426 Upgrade Required", &[], "", ""),
    ("429 Too Many Requests", &[], "", ""),
    ("429 Too Many Requests", WAIT, JSON, r#"{"message":"slow down"}"#),
    ("429 Too Many Requests", WAIT_UNTIL, "", ""),
    ("451 Unavailable For Legal Reasons", &[], "", ""),
    ("499 ", &[], "", ""),
    ("500 Internal Server Error", &[], "", ""),
    ("500 Internal Server Error", &[], JSON, r#"{"message":"boom\n   at Shop.Run(Shop.cs:7)","trace":"x"}"#),
    ("501 Not Implemented", &[], "", ""),
    (
        "502 Bad Gateway",
        &[],
        HTML,
        "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>",
    ),
    ("503 Service Unavailable", WAIT, TEXT, "down for maintenance"),
    ("504 Gateway Timeout", &[], HTML, "<html><title>The shop does not answer</title></html>"),
    ("505 HTTP Version Not Supported", &[], "", ""),
    ("507 Insufficient Storage", &[], "", ""),
    ("511 Network Authentication Required", &[], HTML, "<html><title>Sign in to the airport</title></html>"),
    ("599 ", &[], "", ""),
];

/// What a service does that gives no whole answer.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Refused,
    NoSuchHost,
    NoTls,
    NoHandshake,
    ResetBeforeItIsRead,
    ClosedAfterItIsRead,
    NoHttp,
    NoAnswer,
    NoFirstByte,
    StalledBody,
    CutBody,
    EmptyBody,
    Page,
}

const FAULTS: [Fault; 13] = [
    Fault::Refused,
    Fault::NoSuchHost,
    Fault::NoTls,
    Fault::NoHandshake,
    Fault::ResetBeforeItIsRead,
    Fault::ClosedAfterItIsRead,
    Fault::NoHttp,
    Fault::NoAnswer,
    Fault::NoFirstByte,
    Fault::StalledBody,
    Fault::CutBody,
    Fault::EmptyBody,
    Fault::Page,
];

/// Time limits of the phases of a call, where it is not the usual one.
#[derive(Clone, Copy, Default)]
struct Limits {
    connection: Option<Duration>,
    first_byte: Option<Duration>,
    whole: Option<Duration>,
}

/// `put`, `post` and `keyed` take an id of the path and a quantity; `get` only the id.
fn toolset(base_url: &str, limits: Limits) -> HttpToolset {
    let schema = json!({"type": "object", "properties": {
        "id": {"type": "string"}, "quantity": {"type": "integer"}, "name": {"type": "string"},
    }, "required": ["id"]});
    let endpoint = |name: &str, method: Method| {
        let effect = Endpoint::usual_effect(&method);
        let spec = ToolSpec::new(name, schema.clone()).effect(effect).find_with("list").check_with("list");
        let made =
            Endpoint::new(spec, method.clone(), "/orders/{id}").parameter(Parameter::new("id", Place::Path));
        if method == Method::GET {
            return made;
        }
        made.parameter(Parameter::new("quantity", Place::Body).wire_name("qty"))
            .parameter(Parameter::new("name", Place::Body))
    };
    let mut config = HttpConfig::new("shop", base_url.parse().unwrap(), client());
    config.first_byte = limits.first_byte;
    if limits.connection.is_some() {
        let mut options = ClientOptions::default();
        options.connect_timeout = limits.connection;
        config.client = http_client_with(&options).unwrap();
    }
    config.endpoints = vec![
        endpoint("get", Method::GET),
        endpoint("put", Method::PUT),
        endpoint("post", Method::POST),
        endpoint("keyed", Method::POST).sends_idempotency_key(),
    ];
    for endpoint in &mut config.endpoints {
        endpoint.answers = vec![JSON.into()];
    }
    HttpToolset::new(config).unwrap()
}

/// The table, and the calls that are made for each of its rows.
struct Table {
    out: String,
    calls: Vec<(&'static str, Effect, ValidCall)>,
}

impl Table {
    async fn new() -> Self {
        let toolset = toolset("http://127.0.0.1:1", Limits::default());
        let mut calls = Vec::new();
        for (tool, effect) in [
            ("get", Effect::ReadOnly),
            ("put", Effect::Idempotent),
            ("post", Effect::Mutating),
            ("keyed", Effect::Mutating),
        ] {
            calls.push((tool, effect, valid(&toolset, tool, json!({"id": "7"})).await));
        }
        Self { out: String::new(), calls }
    }

    /// What each of the four tools makes of it, those alike in one.
    async fn rows(&mut self, title: &str, url: &str, limits: Limits) {
        writeln!(self.out, "{title}").unwrap();
        let toolset = toolset(url, limits);
        let mut rows: Vec<(Vec<&str>, String)> = Vec::new();
        for (tool, effect, call) in &self.calls {
            let cx = context_for(limits.whole.unwrap_or(Duration::from_secs(20)));
            let row = row(tool, *effect, &toolset.call(call, &cx).await.unwrap_err());
            match rows.iter_mut().find(|(_, other)| *other == row) {
                Some((tools, _)) => tools.push(tool),
                None => rows.push((vec![tool], row)),
            }
        }
        for (tools, row) in rows {
            writeln!(self.out, "  {}: {row}", tools.join(", ")).unwrap();
        }
    }
}

fn row(tool: &str, effect: Effect, error: &ToolError) -> String {
    let facts =
        ViewFacts::new(tool, effect, Reference::new(0x1a2b_3c4d)).find_with("list").check_with("list");
    let view = facts.view(error, None).to_string();
    assert!(!view.contains("127.0.0.1") && !view.contains("orders/7"), "{view}");
    for secret in ["html", "Shop.cs", "token", "sk-12", "other.example"] {
        assert!(!view.contains(secret), "{view}");
    }
    let budget = Budget { call_retries: 2, run_retries: 20, time: Duration::from_secs(60), jitter: 0 };
    let failure = Failure { error, tool, own_name: tool, attempt: 1, keyed: tool == "keyed" };
    let again = match decide(&failure, effect, &[], &budget) {
        Decision::Retry { after } => format!("again after {after:?}"),
        Decision::Continue { .. } => "not again".into(),
        other => format!("{other:?}"),
    };
    let code = error.code().map(|code| format!(", code {code}")).unwrap_or_default();
    let wait = error.retry_after().map(|wait| format!(", retry after {wait:?}")).unwrap_or_default();
    let view = view.replace(&format!("{tool:?}"), "TOOL").replace(&format!(" {tool} "), " TOOL ");
    let view =
        ["GET /", "PUT /", "POST /"].iter().fold(view, |view, method| view.replace(method, "METHOD /"));
    format!(
        "{}, applied {}{code}{wait}, {again}\n    > {}",
        error.kind(),
        error.applied(),
        view.replace('\n', "\n    > ")
    )
}

#[tokio::test]
async fn every_status_and_every_failure_of_the_transport() {
    let mut table = Table::new().await;
    for (status, headers, content_type, body) in STATUSES {
        let mut headers = headers.to_vec();
        headers.push(("x-request-id", "req-1"));
        if !content_type.is_empty() {
            headers.push(("content-type", content_type));
        }
        let server = Server::start([Reply::new(status, &headers, body)]);
        let shown: Vec<String> = headers
            .iter()
            .filter(|(name, _)| !matches!(*name, "location" | "content-type" | "x-request-id"))
            .map(|(name, value)| format!(" {name}: {value}"))
            .collect();
        table.rows(&format!("{status}{} {body}", shown.concat()), &server.url, Limits::default()).await;
        assert_eq!(server.seen().len(), 4, "one request a call");
    }
    for fault in FAULTS {
        rows_of(&mut table, fault).await;
    }
    insta::assert_snapshot!(table.out);
}

async fn rows_of(table: &mut Table, fault: Fault) {
    let title = format!("{fault:?}");
    let (short, none) = (Some(Duration::from_millis(200)), Limits::default());
    let whole = Reply::json("200 OK", r#"{"id":7}"#);
    let (server, limits) = match fault {
        Fault::Refused => return table.rows(&title, &dead_url(), none).await,
        Fault::NoSuchHost => return table.rows(&title, "http://no-such-host.invalid", none).await,
        Fault::NoTls => {
            let server = Server::greeting("HTTP/1.1 400 Bad Request\r\n\r\n");
            return table.rows(&title, &server.url.replace("http:", "https:"), none).await;
        }
        Fault::NoHandshake => {
            let server = Server::start([Reply::silence()]);
            let limits = Limits { connection: short, ..none };
            return table.rows(&title, &server.url.replace("http:", "https:"), limits).await;
        }
        Fault::ResetBeforeItIsRead => (Server::resetting(), none),
        Fault::ClosedAfterItIsRead => (Server::start([Reply::hang_up()]), none),
        Fault::NoHttp => (Server::start([Reply::bytes("SSH-2.0-OpenSSH_9.9\r\n")]), none),
        Fault::NoAnswer => (Server::start([Reply::silence()]), Limits { whole: short, ..none }),
        Fault::NoFirstByte => (Server::start([Reply::silence()]), Limits { first_byte: short, ..none }),
        Fault::StalledBody => (Server::start([whole.stall(3)]), Limits { whole: short, ..none }),
        Fault::CutBody => (Server::start([whole.cut(3)]), none),
        Fault::EmptyBody => (Server::start([Reply::json("200 OK", "")]), none),
        Fault::Page => {
            let page = Reply::new("200 OK", &[("content-type", HTML)], "<html><title>Sign in</title></html>");
            (Server::start([page]), none)
        }
    };
    table.rows(&title, &server.url, limits).await;
}
