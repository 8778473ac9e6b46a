//! Servers that a person logs in to, and what becomes of what they were given.

use std::{os::unix::fs::PermissionsExt as _, path::Path, sync::Arc, time::Duration};

use backstop_core::{Applied, ToolError, ToolErrorKind, Toolset as _};
use backstop_test::{
    oauth::{Guarded, Manner},
    server::{Reply, dead_url},
};
use backstop_toolsets::{
    client::http_client,
    mcp::{
        HttpServer, McpConfig, McpToolset, Server,
        login::{LoggedIn, Login, LoginConfig, LoginError, TokenFile},
    },
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::kit::echo;

const BACK: &str = "http://127.0.0.1:9/callback";

/// A server, and the folder for its tokens.
struct Place {
    guarded: Guarded,
    folder: TempDir,
}

impl Place {
    fn new(manner: Manner) -> Self {
        Self { guarded: Guarded::start(manner), folder: TempDir::new().unwrap() }
    }

    /// One that somebody is logged in to.
    async fn entered(manner: Manner) -> Self {
        let place = Self::new(manner);
        place.log_in().await.unwrap();
        place
    }

    fn server(&self) -> HttpServer {
        HttpServer::new(self.guarded.url().parse().unwrap(), http_client().unwrap())
    }

    fn login(&self) -> LoginConfig {
        LoginConfig::new(TokenFile::new(&self.folder.path().join("new"), &self.server().url))
    }

    fn toolset(&self) -> McpToolset {
        let mut server = self.server();
        server.login = Some(self.login());
        let mut config = McpConfig::new("fake", Server::Http(server));
        config.start_timeout = Duration::from_secs(5);
        McpToolset::new(config).unwrap()
    }

    async fn log_in(&self) -> Result<LoggedIn, LoginError> {
        let login = Login::begin(&self.server(), &self.login(), BACK).await?;
        login.finish(&came_back(&login).await).await
    }

    fn kept(&self) -> Value {
        serde_json::from_str(&std::fs::read_to_string(self.login().file.path()).unwrap()).unwrap()
    }

    fn renewals(&self) -> usize {
        self.guarded.token_requests().iter().filter(|form| form["grant_type"] == "refresh_token").count()
    }
}

/// Where a browser ends that opens the address.
async fn came_back(login: &Login) -> String {
    let page = http_client().unwrap().get(login.url().clone()).send().await.unwrap();
    page.headers()["location"].to_str().unwrap().to_owned()
}

fn told(error: &ToolError) -> String {
    let causes: Vec<String> = std::iter::successors(std::error::Error::source(error), |cause| cause.source())
        .map(|cause| format!(" <- {cause}"))
        .collect();
    format!("{:?}, applied {:?}: {}{}", error.kind(), error.applied(), error.detail(), causes.concat())
}

#[tokio::test]
async fn a_login_is_kept_and_used() {
    let place = Place::new(Manner::default());
    let error = place.toolset().list().await.unwrap_err();
    assert_eq!(
        told(&error),
        format!(
            "Unauthenticated, applied No: nobody is logged in to {}: `backstop login` does that",
            place.guarded.url()
        )
    );
    // Nothing was asked of the server.
    assert_eq!(place.guarded.server.lines(), [""; 0]);

    let logged_in = place.log_in().await.unwrap();
    assert_eq!(logged_in.client_id, "registered");
    assert_eq!(logged_in.scopes, ["read"]);
    assert!(logged_in.renewable && logged_in.ends.is_some());
    let asked = &place.guarded.token_requests()[0];
    assert_eq!(
        (asked["resource"].as_str(), asked["redirect_uri"].as_str()),
        (place.guarded.url().as_str(), BACK)
    );
    assert!(asked["code_verifier"].len() >= 43, "{asked:?}");

    let file = place.login().file;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(file.path()), mode(file.path().parent().unwrap())), (0o600, 0o700));
    let toolset = place.toolset();
    assert_eq!(echo(&toolset).await.unwrap().model_text(), "still here");
    assert_eq!(place.renewals(), 0);
    let shown = format!("{:?} {:?}", place.login(), toolset);
    assert!(!shown.contains("access-1"), "{shown}");

    assert!(file.forget().unwrap() && !file.forget().unwrap());
}

#[tokio::test]
async fn a_token_is_renewed_when_it_ends_and_when_it_is_not_taken() {
    // Too short to be used a second time.
    let place = Place::entered(Manner { expires_in: 0, ..Manner::default() }).await;
    let toolset = place.toolset();
    place.guarded.change(|manner| manner.expires_in = 3600);
    assert_eq!(echo(&toolset).await.unwrap().model_text(), "still here");
    assert_eq!(place.renewals(), 1);
    let asked = place.guarded.token_requests()[1].clone();
    assert_eq!(
        (asked["refresh_token"].as_str(), asked["resource"].as_str()),
        ("refresh-1", place.guarded.url().as_str())
    );
    let token = |place: &Place| place.kept()["credentials"]["token_response"].clone();
    assert_eq!(
        (&token(&place)["access_token"], &token(&place)["refresh_token"]),
        (&json!("access-2"), &json!("refresh-2"))
    );

    // In the middle of a session.
    place.guarded.forget();
    assert_eq!(echo(&toolset).await.unwrap().model_text(), "still here");
    assert_eq!((place.renewals(), &token(&place)["access_token"]), (2, &json!("access-3")));
}

#[tokio::test]
async fn many_that_need_a_new_token_ask_for_one() {
    let place = Place::entered(Manner { renewal: Duration::from_millis(300), ..Manner::default() }).await;
    // Those of two processes, as far as the file is concerned.
    let toolsets = [Arc::new(place.toolset()), Arc::new(place.toolset())];
    for toolset in &toolsets {
        toolset.list().await.unwrap();
    }
    place.guarded.forget();
    let calls = (0..12).map(|index| {
        let toolset = Arc::clone(&toolsets[index % 2]);
        async move { echo(&toolset).await }
    });
    for result in futures_util::future::join_all(calls).await {
        assert_eq!(result.unwrap().model_text(), "still here");
    }
    assert_eq!(place.renewals(), 1);
}

#[tokio::test]
async fn a_renewal_outlives_the_call_that_began_it() {
    let place = Place::entered(Manner { renewal: Duration::from_millis(400), ..Manner::default() }).await;
    let toolset = place.toolset();
    toolset.list().await.unwrap();
    place.guarded.forget();
    let given_up = tokio::time::timeout(Duration::from_millis(100), echo(&toolset)).await;
    assert!(given_up.is_err());
    // The refresh token is used up by now; a second use of it would be refused.
    assert_eq!(echo(&toolset).await.unwrap().model_text(), "still here");
    assert_eq!(place.renewals(), 1);
}

#[tokio::test]
async fn what_can_not_be_renewed_says_who_must_do_what() {
    let broken = Reply::json("503 Service Unavailable", "{}");
    let refused =
        Reply::json("400 Bad Request", json!({"error": "invalid_grant", "error_description": "revoked"}));
    let unknown = Reply::json("401 Unauthorized", json!({"error": "invalid_client"}));
    let mut shown = Vec::new();
    for (name, manner) in [
        ("no refresh token", Manner { renewable: false, ..Manner::default() }),
        ("refused", Manner { breaks: Some(refused), ..Manner::default() }),
        ("client unknown", Manner { breaks: Some(unknown), ..Manner::default() }),
        ("broken", Manner { breaks: Some(broken), ..Manner::default() }),
        ("silent", Manner { breaks: Some(Reply::reset()), ..Manner::default() }),
    ] {
        let place = Place::entered(manner).await;
        let toolset = place.toolset();
        toolset.list().await.unwrap();
        place.guarded.forget();
        let error = echo(&toolset).await.unwrap_err();
        shown.push(format!("{name}: {}", told(&error).replace(&place.guarded.server.url, "URL")));
        assert_eq!(error.applied(), Applied::No, "{name}");
        // Once somebody is logged in anew, the same toolset goes on.
        place.guarded.change(|manner| manner.breaks = None);
        place.log_in().await.unwrap();
        assert_eq!(echo(&toolset).await.unwrap().model_text(), "still here", "{name}");
    }
    insta::assert_snapshot!(shown.join("\n"));
}

#[tokio::test]
async fn a_file_that_is_none_is_told_without_what_is_in_it() {
    let place = Place::entered(Manner::default()).await;
    let path = place.login().file.path().to_owned();
    let good = std::fs::read_to_string(&path).unwrap();
    let mut shown = Vec::new();
    for (name, text) in [
        ("half of it", good[..good.len() / 2].to_owned()),
        ("another server", good.replace("/mcp\"", "/else\"")),
        ("a number", "7 access-1".to_owned()),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = place.toolset().list().await.unwrap_err();
        assert_eq!(error.kind(), ToolErrorKind::Misconfigured, "{name}");
        let told =
            told(&error).replace(path.to_str().unwrap(), "FILE").replace(&place.guarded.server.url, "URL");
        assert!(!told.contains("access-1"), "{told}");
        shown.push(format!("{name}: {told}"));
    }
    insta::assert_snapshot!(shown.join("\n"));
}

#[tokio::test]
async fn a_login_ends_only_with_its_own_answer() {
    let place = Place::new(Manner::default());
    let login = Login::begin(&place.server(), &place.login(), BACK).await.unwrap();
    let back = came_back(&login).await;
    let other = Login::begin(&place.server(), &place.login(), BACK).await.unwrap();
    for stray in [
        "",
        "/callback",
        "/callback?code=code-1",
        "/callback?code=code-1&state=",
        "/callback?error=access_denied",
        "/callback?error=access_denied&state=x",
        &came_back(&other).await,
    ] {
        assert!(matches!(login.finish(stray).await, Err(LoginError::Stray)), "{stray}");
    }
    // Somebody else's code, with another issuer.
    let mixed = back.split("&iss=").next().unwrap().to_owned();
    for wrong in [mixed.clone(), format!("{mixed}&iss=http%3A%2F%2Felsewhere.example")] {
        assert!(matches!(login.finish(&wrong).await, Err(LoginError::Exchange(_))), "{wrong}");
    }
    assert_eq!(place.guarded.token_requests(), []);
    assert!(!place.login().file.path().exists());
    // The part behind the host is enough.
    let rest = back.strip_prefix("http://127.0.0.1:9").unwrap();
    assert_eq!(login.finish(rest).await.unwrap().client_id, "registered");
}

#[tokio::test]
async fn why_nobody_is_logged_in_is_told() {
    let mut shown = Vec::new();
    let causes = |error: &LoginError| {
        let layers = std::iter::successors(Some(error as &dyn std::error::Error), |layer| (*layer).source());
        layers.map(ToString::to_string).collect::<Vec<_>>().join(": ")
    };
    let refuses = Place::new(Manner { refuses: true, ..Manner::default() });
    shown.push(causes(&refuses.log_in().await.unwrap_err()).replace(&refuses.guarded.server.url, "URL"));
    let closed = Place::new(Manner { registers: false, ..Manner::default() });
    shown.push(causes(&closed.log_in().await.unwrap_err()).replace(&closed.guarded.server.url, "URL"));
    // With an id of its own it needs no registration.
    let mut config = closed.login();
    config.client_id = Some("known".to_owned());
    config.client_secret = Some("s3cret".to_owned().into());
    config.scopes = vec!["write".to_owned(), "admin".to_owned()];
    let login = Login::begin(&closed.server(), &config, BACK).await.unwrap();
    assert!(login.url().as_str().contains("scope=write+admin"), "{}", login.url());
    assert_eq!(login.finish(&came_back(&login).await).await.unwrap().client_id, "known");
    let asked = closed.guarded.server.seen();
    let token = asked.iter().find(|request| request.line() == "POST /token").unwrap();
    assert_eq!(token.header("authorization"), Some("Basic a25vd246czNjcmV0"));

    let open = backstop_test::server::Server::answering(|_| Reply::json("404 Not Found", "{}"));
    let dead = dead_url();
    for url in [&open.url, &dead] {
        let server = HttpServer::new(url.parse().unwrap(), http_client().unwrap());
        let error = Login::begin(&server, &closed.login(), BACK).await.unwrap_err();
        shown.push(causes(&error).replace(url.as_str(), "URL"));
    }
    insta::assert_snapshot!(shown.join("\n"));
}
