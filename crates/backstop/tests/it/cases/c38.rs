//! C38: whatever goes wrong with a request, nobody reads the credentials that it was made with.

use std::{
    any::Any,
    io::Write,
    path::Path,
    sync::{Arc, Mutex},
};

use backstop::{
    Agent, Outcome, Overrides, RunReport, agent_from_manifest,
    manifest::{Manifest, MapEnvironment},
};
use tokio::{io::AsyncWriteExt, net::TcpListener, task::JoinSet};
use tracing_subscriber::fmt::MakeWriter;

use super::kit::{Heard, calls, chunk, done, events};
use crate::tables::{
    provider::strict,
    server::{Answer, Server},
};

const SECRETS: [(&str, &str); 4] =
    [("QUERY", "SECRET_q1/x"), ("HEADER", "SECRET_h1"), ("BEARER", "SECRET_b1"), ("MODEL_KEY", "SECRET_m1")];

/// What all secrets begin with: plain, percent-encoded, and in base64 at each of its three alignments.
const FORMS: [&str; 5] = ["SECRET_", "SECRET%5", "U0VDUkVUX", "NFQ1JFVF", "TRUNSRVRf"];

/// Everything that is logged, at every level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

fn load(model: &str, service: &str) -> (Option<Manifest>, String) {
    // What may not be a reference is written out, and is as secret.
    let with_user = |url: &str| url.replacen("://", "://u:SECRET_u1@", 1);
    let text = format!(
        r#"
version: 1
name: shopper
limits: {{ tool_timeout: 300ms, call_retries: 0, model_retries: 0 }}
model:
  name: m
  base_url: '{}/v1?key=SECRET_k1'
  api_key: ${{secret:MODEL_KEY}}
  headers: {{ x-api-key: '${{secret:HEADER}}' }}
  timeout: 300ms
toolsets:
  shop:
    http:
      base_url: '{}/v1'
      headers: {{ x-api-key: '${{secret:HEADER}}' }}
      auth: {{ bearer: '${{secret:BEARER}}' }}
      endpoints:
        get_order:
          path: /orders/{{id}}
          parameters: {{ id: {{ type: string, required: true }}, key: {{ in: query, const: '${{secret:QUERY}}' }} }}
"#,
        with_user(model),
        with_user(service)
    );
    let environment =
        SECRETS.iter().fold(MapEnvironment::new(), |all, (name, value)| all.with_var(*name, *value));
    let (manifest, problems) = Manifest::load(&text, "shop.yaml", Path::new("."), &environment);
    let shown: Vec<String> = problems.iter().map(|problem| format!("{problem} {problem:?}")).collect();
    (manifest, shown.join("\n"))
}

/// A run of the agent that asks this model and this service, and all that anybody can read of it.
async fn run(model: &str, service: &str) -> (RunReport, String) {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(log.clone())
        .finish();
    let _guard = tracing_subscriber::util::SubscriberInitExt::set_default(subscriber);

    let (manifest, problems) = load(model, service);
    let manifest = manifest.unwrap_or_else(|| panic!("{problems}"));
    let (agent, left_out): (Agent, _) = agent_from_manifest(&manifest, &Overrides::default()).await.unwrap();
    assert!(left_out.is_empty(), "{left_out:?}");
    let heard = Arc::new(Heard::default());
    let report = agent.start("go").observer(Arc::clone(&heard) as _).stream(true).drive().await.unwrap();

    let views: Vec<String> = report.calls().into_iter().map(|call| call.view).collect();
    let read = [
        ("problems", problems),
        ("manifest", format!("{manifest:?}")),
        ("results", views.join("\n")),
        ("journal", serde_json::to_string(&heard.records()).unwrap()),
        ("history", serde_json::to_string(&report.messages()).unwrap()),
        ("stream", heard.text()),
        ("operator", serde_json::to_string(report.failures()).unwrap()),
        ("outcome", serde_json::to_string(report.outcome()).unwrap()),
        ("debug", format!("{report:?}")),
        ("log", String::from_utf8(log.0.lock().unwrap().clone()).unwrap()),
    ];
    for (place, text) in &read {
        for form in FORMS {
            assert!(!text.contains(form), "{form} is in the {place}: {text}");
        }
    }
    assert!(read[9].1.contains("invoke_agent"), "the log was listened to");
    assert_eq!(heard.text(), report.answer().unwrap_or_default(), "the stream was listened to");
    (report, read.map(|(_, text)| text).join("\n"))
}

/// An address where nobody listens.
async fn dead() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// A server that speaks no TLS, at an address that says it does.
async fn plain() -> (JoinSet<()>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let mut running = JoinSet::new();
    running.spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    (running, url)
}

/// What can go wrong, the server that does it, and its address as it is set up.
type Situation = (&'static str, Box<dyn Any>, String);

async fn situations(other: &Server) -> Vec<Situation> {
    let redirect = format!(
        "HTTP/1.1 302 Found\r\nlocation: {}/?key=SECRET_q1%2Fx\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        other.url.replace("127.0.0.1", "localhost")
    );
    let always = async |answer: Answer| {
        let server = Server::start(move |_, _| answer.clone()).await;
        let url = server.url.clone();
        (Box::new(server) as Box<dyn Any>, url)
    };
    let (silent, silent_url) = always(Answer::Silence).await;
    let (echo, echo_url) = always(Answer::Echo("404 Not Found")).await;
    let (redirects, redirects_url) = always(Answer::Bytes(redirect)).await;
    let (no_tls, no_tls_url) = plain().await;
    vec![
        ("no such host", Box::new(()), "http://no-such-host.invalid".into()),
        ("refused", Box::new(()), dead().await),
        ("silence", silent, silent_url),
        ("echo", echo, echo_url),
        ("redirect", redirects, redirects_url),
        ("no TLS", Box::new(no_tls), no_tls_url),
    ]
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The credentials were sent, and the server's echo shows where they stood.
fn echoed(name: &str, text: &str) {
    for place in ["?key=[secret] ", "x-api-key: [secret]", "authorization: Bearer [secret]"] {
        assert_eq!(text.contains(place), name == "echo", "{name}: {text}");
    }
}

/// A model's last reply that says the secrets, some of them in pieces.
fn blurts() -> Answer {
    let says = |text: &str| chunk(&format!(r#"{{"content":"{text}"}}"#), "null");
    let pieces = ["It is SECR", "ET_q1/x or SECRET_h1, ", "U0VDUkVUX2Ix", " and SECRET_q1%2F", "x."];
    let mut chunks: Vec<String> = pieces.iter().map(|piece| says(piece)).collect();
    chunks.push(chunk("{}", "\"stop\""));
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    events(&chunks)
}

#[tokio::test]
async fn a_tool_whose_request_fails_shows_host_and_path_and_no_credential() {
    let other = Server::start(|_, _| Answer::json("200 OK", "{}")).await;
    let mut told = Vec::new();
    for (name, _server, url) in situations(&other).await {
        let model = strict(vec![calls(&[("c1", "get_order", r#"{"id":"7"}"#)]), blurts()]).await;
        let (report, read) = run(&model.url, &url).await;
        assert_eq!(report.answer(), Some("It is [secret] or [secret], [secret] and [secret]."), "{name}");
        assert!(read.contains(&format!("GET {url}/v1/orders/7")), "{name}: {read}");
        let view = report.calls().remove(0).view;
        let reference = report.failures()[0].reference.to_string();
        told.push(format!("{name}: {}", first_line(&view).replace(&reference, "REF")));
        echoed(name, &view);
    }
    assert_eq!(other.bodies().len(), 0, "a credential may have gone to another origin");
    insta::assert_snapshot!("c38_tools", told.join("\n"));
}

#[tokio::test]
async fn a_model_whose_request_fails_shows_the_host_and_no_credential() {
    let other = Server::start(|_, _| done()).await;
    let mut told = Vec::new();
    for (name, _server, url) in situations(&other).await {
        let (report, _) = run(&url, "http://127.0.0.1:9").await;
        let Outcome::ModelFailed { error } = report.outcome() else { panic!("{:?}", report.outcome()) };
        let host = url.split("//").nth(1).unwrap();
        let text = error.to_string();
        told.push(format!("{name}: {}", first_line(&text).replace(host, "HOST")));
        echoed(name, &text);
    }
    assert_eq!(other.bodies().len(), 0, "a credential may have gone to another origin");
    insta::assert_snapshot!("c38_models", told.join("\n"));
}

#[test]
fn an_address_that_is_none_is_a_problem_that_does_not_show_it() {
    let (manifest, problems) = load("http://[model", "http://[shop");
    assert!(manifest.is_none());
    for form in FORMS {
        assert!(!problems.contains(form), "{problems}");
    }
    assert!(problems.contains("not a URL: invalid IPv6 address"), "{problems}");
}
