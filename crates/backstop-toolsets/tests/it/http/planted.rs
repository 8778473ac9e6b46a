//! C38: whatever a secret is made of, and however it comes back, nobody reads it.

use std::{
    io,
    sync::{Arc, Mutex},
};

use backstop_core::{
    CallId, CallerHeaders, OperatorView, Redactor, Reference, RunId, ToolError, ToolOutput, Toolset,
};
use backstop_test::server::{Reply, Request, Server};
use backstop_toolsets::http::{Auth, HttpConfig, HttpToolset, OAuth2};
use base64::{Engine, engine::general_purpose::STANDARD};
use proptest::prelude::*;
use secrecy::SecretString;
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use super::shop_config;
use crate::support::{context, valid, view};

/// Says all that it was asked, in one answer or another, and gives a token that says its number.
fn echo() -> Server {
    Server::answering(|request: &Request| {
        let said =
            json!({"message": format!("{}\n{}", request.head, request.body), "code": request.target()});
        match request.target().split('?').next().unwrap() {
            "/token" => Reply::json("200 OK", json!({"access_token": TOKEN})),
            "/orders/ok" => Reply::json("200 OK", said),
            "/orders/text" => Reply::new("200 OK", &[("content-type", "text/plain")], said.to_string()),
            "/orders/broken" => Reply::json("502 Bad Gateway", said),
            "/orders/refused" => Reply::json("401 Unauthorized", said),
            "/orders/cut" => Reply::json("200 OK", said).cut(1),
            target => Reply::new("404 Not Found", &[("x-request-id", target)], said.to_string()),
        }
    })
}

const TOKEN: &str = "tok-5b1c9e02d7";
const WAYS: [&str; 6] = ["ok", "text", "broken", "refused", "cut", "missing"];

/// All places for a credential, and each kind of auth in turn.
fn configs(base_url: &str, [auth, header, query, user]: [&str; 4]) -> Vec<HttpConfig> {
    let secret = || SecretString::from(auth.to_owned());
    let oauth2 = OAuth2::new(format!("{base_url}/token").parse().unwrap(), "client-1", secret());
    let auths = [
        Auth::None,
        Auth::Bearer(secret()),
        Auth::Basic { username: "user".into(), password: secret() },
        Auth::ApiKeyHeader { name: "x-key".into(), value: secret() },
        Auth::ApiKeyQuery { name: "key".into(), value: secret() },
        Auth::ApiKeyCookie { name: "session".into(), value: secret() },
        Auth::OAuth2(Box::new(oauth2)),
    ];
    let config = |auth| {
        let mut config = shop_config(base_url);
        config.base_url.set_username("u").unwrap();
        config.base_url.set_password(Some(user)).unwrap();
        config.base_url.query_pairs_mut().append_pair("api-key", query);
        config.headers = vec![("x-api-key".into(), header.to_owned().into())];
        config.caller_headers = vec!["x-user".into()];
        config.auth = auth;
        config
    };
    auths.into_iter().map(config).collect()
}

/// What operators and models read of a result.
async fn texts(toolset: &HttpToolset, result: &Result<ToolOutput, ToolError>) -> Vec<String> {
    let mut texts =
        vec![format!("{toolset:?}"), format!("{result:?}"), serde_json::to_string(result).unwrap()];
    match result {
        Ok(output) => texts.push(serde_json::to_string(output).unwrap()),
        Err(error) => {
            let operator = OperatorView::new(error, Reference::new(0), RunId::new("r"), CallId::new("c"));
            texts.push(serde_json::to_string(&operator).unwrap());
            texts.push(view(toolset, "get_order", error).await);
        }
    }
    texts
}

async fn no_text_holds(secrets: &[String; 5]) {
    let server = echo();
    let [auth, header, query, user, caller] = secrets;
    let caller = CallerHeaders::new([("x-user", caller.as_str())]);
    let cx = context().caller_headers(caller.clone());
    // As a run knows them: those of the manifest, and those of the caller.
    let redactor = caller.redactor(&Redactor::new(&secrets[..4]));
    for config in configs(&server.url, [auth, header, query, user]) {
        let mut all = vec![format!("{config:?} {cx:?}")];
        let toolset = HttpToolset::new(config).unwrap();
        for id in WAYS {
            let call = valid(&toolset, "get_order", json!({"id": id})).await;
            let result = redactor.result(toolset.call(&call, &cx).await);
            all.extend(texts(&toolset, &result).await);
        }
        for text in all {
            for secret in secrets.iter().map(String::as_str).chain([TOKEN]) {
                let quoted = serde_json::to_string(secret).unwrap();
                let quoted = &quoted[1..quoted.len() - 1];
                assert!(!text.contains(secret) && !text.contains(quoted), "{secret} is in {text}");
            }
            let pairs = [("user", auth), ("u", user), ("client-1", auth)];
            for pair in pairs.map(|(name, password)| STANDARD.encode(format!("{name}:{password}"))) {
                assert!(!text.contains(&pair), "{pair} is in {text}");
            }
        }
    }
    let sent = server.seen();
    assert!(sent.iter().any(|seen| seen.header("authorization") == Some(&format!("Bearer {auth}"))));
    assert!(sent.iter().filter(|seen| seen.target() != "/token").all(|seen| seen.header("x-user").is_some()));
}

/// What is logged, at whatever level.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl io::Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Logged {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_planted_secret_comes_back(secrets in prop::array::uniform5("[A-Za-z0-9!-~]{10,24}")) {
        let logged = Logged::default();
        let log = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(logged.clone());
        let _log = tracing::subscriber::set_default(log.finish());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(no_text_holds(&secrets));
        let logged = String::from_utf8(logged.0.lock().unwrap().clone()).unwrap();
        for secret in &secrets {
            prop_assert!(!logged.contains(secret.as_str()), "{logged}");
        }
    }
}
