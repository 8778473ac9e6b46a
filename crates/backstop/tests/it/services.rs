//! What a manifest declares about talking to a service, through a whole run.

use std::path::Path;

use backstop::{
    Agent, CallerHeaders, LoadError, Overrides, agent_from_manifest,
    manifest::{Manifest, MapEnvironment},
};
use backstop_test::server::{Reply, Server};

/// A service that takes each request, and answers the first ones with nothing but the end of the connection.
fn losing(lost: usize) -> Server {
    let paid = Reply::new("200 OK", &[("content-type", "text/plain")], "paid");
    Server::start(vec![Reply::hang_up(); lost].into_iter().chain([paid]))
}

/// The values of a header, request by request.
fn sent(service: &Server, name: &str) -> Vec<String> {
    service.seen().iter().map(|seen| seen.header(name).unwrap_or("none").to_owned()).collect()
}

fn manifest(text: &str, folder: &Path) -> Manifest {
    let environment = MapEnvironment::new().with_var("KEY", "sesame-sesame");
    let (manifest, problems) = Manifest::load(text, "shop.yaml", folder, &environment);
    manifest.unwrap_or_else(|| panic!("{problems:#?}"))
}

fn shop(url: &str, http: &str) -> String {
    format!(
        "
version: 1
name: shop
model: {{ provider: scripted, script: script.yaml }}
fallback: [{{ retry: {{ max: 2, backoff: 1ms, jitter: false }} }}]
toolsets:
  shop:
    http:
      base_url: '{url}'
{http}
      endpoints:
        pay: {{ method: POST, path: /pay }}
        pay_once: {{ method: POST, path: /pay, idempotent_key: true }}
"
    )
}

async fn load(text: &str, folder: &Path, script: &str) -> Result<Agent, LoadError> {
    let mut overrides = Overrides::default();
    overrides.script = Some(script.to_owned());
    let (agent, problems) = agent_from_manifest(&manifest(text, folder), &overrides).await?;
    assert!(problems.is_empty(), "{problems:?}");
    Ok(agent)
}

async fn agent(url: &str, http: &str, script: &str) -> Agent {
    load(&shop(url, http), Path::new("nowhere"), script).await.unwrap()
}

#[tokio::test]
async fn a_payment_whose_reply_is_lost_is_sent_once() {
    let service = losing(1);
    let agent = agent(&service.url, "", "- text: unused").await;
    let call = agent.call("pay", "{}", None).await.unwrap().calls().remove(0);
    assert_eq!(
        call.view,
        "Tool \"pay\" is unavailable.\n\
         The call may have taken effect: verify before repeating it, or tell the user."
    );
    assert_eq!((call.attempts, sent(&service, "idempotency-key")), (1, vec!["none".to_owned()]));
}

#[tokio::test]
async fn a_keyed_payment_whose_reply_is_lost_is_sent_again_with_the_same_key() {
    let service = losing(2);
    let agent = agent(&service.url, "      idempotency_header: X-Request-Key", "- text: unused").await;
    let mut calls = Vec::new();
    for _ in 0..2 {
        calls.push(agent.call("pay_once", "{}", None).await.unwrap().calls().remove(0));
    }
    assert_eq!(
        calls.iter().map(|call| (call.view.as_str(), call.attempts)).collect::<Vec<_>>(),
        [("paid", 3), ("paid", 1)]
    );
    let keys = sent(&service, "x-request-key");
    assert_eq!((keys.len(), &keys[0], &keys[0]), (4, &keys[1], &keys[2]));
    assert!(keys[0].len() >= 16 && keys[3].len() >= 16 && keys[0] != keys[3], "{keys:?}");
}

#[tokio::test]
async fn headers_of_the_caller_are_passed_on_by_name() {
    let service = losing(0);
    let script = "[{calls: [{tool: pay, arguments: {}}]}, {text: done}]";
    let agent = agent(&service.url, "      caller_headers: [Authorization]", script).await;
    let caller = CallerHeaders::new([("authorization", "Bearer user-1"), ("x-tenant", "t-7")]);
    agent.start("go").caller_headers(caller).drive().await.unwrap();
    assert_eq!(
        (sent(&service, "authorization"), sent(&service, "x-tenant")),
        (vec!["Bearer user-1".to_owned()], vec!["none".to_owned()])
    );
}

#[tokio::test]
async fn what_a_connection_can_not_be_made_of_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("empty.pem"), "no certificate").unwrap();
    let mut told = String::new();
    for connection in [
        "authorities: [missing.pem]",
        "authorities: empty.pem",
        "certificate: '${secret:KEY}'",
        "network: public",
        "network: [shop.example, 10.0.0.0/99]",
    ] {
        let text = shop("http://127.0.0.1:9", &format!("      connection: {{ {connection} }}"));
        let error = load(&text, folder.path(), "- text: hi").await.err().unwrap();
        let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |cause| cause.source());
        let causes: Vec<String> = causes.map(ToString::to_string).collect();
        told += &format!("{connection}\n  {}\n", causes.join("\n  "));
    }
    let oauth2 = "      connection: { network: ['127.0.0.1'] }
      auth: { oauth2: { token_url: 'http://10.0.0.1/token', client_id: c, client_secret: '${secret:KEY}' } }";
    let error = load(&shop("http://127.0.0.1:9", oauth2), folder.path(), "- text: hi").await.err().unwrap();
    told += &format!("a token endpoint\n  {}\n", std::error::Error::source(&error).unwrap());
    insta::assert_snapshot!(told.replace(&folder.path().display().to_string(), "FOLDER"));
}
