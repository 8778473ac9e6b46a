//! One login, from the address for the browser to the token.

use std::{
    collections::HashMap,
    fmt,
    future::Future,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use reqwest::{
    Method, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, WWW_AUTHENTICATE},
};
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialStore as _, InMemoryCredentialStore, OAuthClientConfig,
    StoredCredentials,
};
use secrecy::ExposeSecret as _;
use tokio::time::{Instant, timeout};
use url::Url;

use super::{
    LoginConfig, LoginError, TokenFile, bare,
    client::{self, Failures},
    error::{Said, shown},
    file::Kept,
};
use crate::mcp::{HttpServer, errand::Errand, http::Requests};

/// Time for each half of a login, beside what the person takes.
const WAIT: Duration = Duration::from_secs(60);
/// What the client calls itself where it registers.
const NAME: &str = "Backstop";
/// Something that every server knows, and that changes nothing.
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// A login on its way.
///
/// # Example
///
/// ```no_run
/// use backstop_toolsets::{
///     client::http_client,
///     mcp::{HttpServer, login::{Login, LoginConfig, TokenFile}},
/// };
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let server = HttpServer::new("https://mcp.example/mcp".parse()?, http_client()?);
/// let dir = TokenFile::usual_dir().ok_or("there is no home")?;
/// let config = LoginConfig::new(TokenFile::new(&dir, &server.url));
/// let login = Login::begin(&server, &config, "http://127.0.0.1:8123/callback").await?;
/// println!("open {}", login.url());
/// # let came_back = "";
/// // What the browser asked for at 127.0.0.1:8123 in the end.
/// let logged_in = login.finish(came_back).await?;
/// println!("logged in as {}", logged_in.client_id);
/// # Ok(())
/// # }
/// ```
pub struct Login {
    manager: AuthorizationManager,
    failures: Failures,
    store: InMemoryCredentialStore,
    file: TokenFile,
    url: Url,
    state: String,
    /// What is kept, but for the token that is still to come.
    kept: Kept,
}

/// What a login brought.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoggedIn {
    /// The client's id at the authorization server.
    pub client_id: String,
    /// What may be done with the token, where that is known.
    pub scopes: Vec<String>,
    /// When the token ends, where that is known.
    pub ends: Option<SystemTime>,
    /// Whether it is renewed then, without anybody's doing.
    pub renewable: bool,
}

impl Login {
    /// Finds out where to log in, and as which client. `redirect` is where the browser comes back to, at a listener on
    /// loopback such as `http://127.0.0.1:8123/callback`.
    ///
    /// # Errors
    ///
    /// [`LoginError`] where that is not found, or the client is not known there.
    pub async fn begin(
        server: &HttpServer,
        config: &LoginConfig,
        redirect: &str,
    ) -> Result<Self, LoginError> {
        in_time(Self::begun(server, config, redirect)).await
    }

    async fn begun(server: &HttpServer, config: &LoginConfig, redirect: &str) -> Result<Self, LoginError> {
        let address = bare(&server.url);
        let name = crate::http::shown(&address);
        let (asked, challenge) = challenge(server).await?;
        let http = config.client.as_ref().unwrap_or(&server.client);
        let none = |error| LoginError::Discovery(name.clone(), Said::new(&error, &Failures::default()));
        let (mut manager, failures) = client::manager(&address, http).await.map_err(none)?;
        let nowhere = |error: AuthError| LoginError::Discovery(name.clone(), Said::new(&error, &failures));
        let found = manager.resolve_metadata_from_challenge(challenge.as_deref()).await.map_err(nowhere)?;
        if !asked && !found.source.is_discovered() {
            return Err(LoginError::NotAsked(name));
        }
        manager.set_metadata(found.metadata);
        let scopes = match config.scopes.is_empty() {
            true => manager.select_initial_scopes(&[]).await,
            false => config.scopes.clone(),
        };
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let client = match &config.client_id {
            Some(id) => {
                let mut made = OAuthClientConfig::new(id, redirect);
                made.client_secret =
                    config.client_secret.as_ref().map(|secret| secret.expose_secret().to_owned());
                manager.configure_client(made.clone()).map_err(nowhere)?;
                made
            }
            None => {
                let registered = manager.register_client(NAME, redirect, &scopes).await;
                registered.map_err(|error| LoginError::Registration(Said::new(&error, &failures)))?
            }
        };
        let store = InMemoryCredentialStore::new();
        manager.set_credential_store(store.clone());
        let url = manager.get_authorization_url(&scopes).await.map_err(nowhere)?;
        let url = Url::parse(&url).map_err(|cause| nowhere(cause.into()))?;
        let state = parameter(&url, "state").unwrap_or_default();
        let kept = Kept {
            server: address,
            credentials: StoredCredentials::new(client.client_id.clone(), None, Vec::new(), None),
            client_id: client.client_id,
            client_secret: client.client_secret,
            redirect: client.redirect_uri,
            challenge,
        };
        Ok(Self { manager, failures, store, file: config.file.clone(), url, state, kept })
    }

    /// What a person opens in a browser.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Takes the address that the browser came back to, or its part behind the host, and keeps the token.
    ///
    /// # Errors
    ///
    /// [`LoginError::Stray`] where it belongs to another login, and this one goes on; any other ends it.
    pub async fn finish(&self, came_back: &str) -> Result<LoggedIn, LoginError> {
        in_time(self.finished(came_back)).await
    }

    async fn finished(&self, came_back: &str) -> Result<LoggedIn, LoginError> {
        let base = Url::parse("http://127.0.0.1").map_err(|_| LoginError::Stray)?;
        let url = base.join(came_back.trim()).map_err(|_| LoginError::Stray)?;
        if self.state.is_empty() || parameter(&url, "state").as_ref() != Some(&self.state) {
            return Err(LoginError::Stray);
        }
        if let Some(error) = parameter(&url, "error") {
            let more = parameter(&url, "error_description").map(|more| format!(": {more}"));
            return Err(LoginError::Refused(shown(&format!("{error}{}", more.unwrap_or_default()))));
        }
        let Some(code) = parameter(&url, "code") else { return Err(LoginError::Stray) };
        let failed = |error: AuthError| LoginError::Exchange(Said::new(&error, &self.failures));
        let issuer = parameter(&url, "iss");
        self.manager
            .exchange_code_for_token_with_issuer(&code, &self.state, issuer.as_deref())
            .await
            .map_err(failed)?;
        let credentials = self.store.load().await.map_err(failed)?;
        let credentials = credentials.ok_or_else(|| failed(AuthError::AuthorizationRequired))?;
        let kept = Kept { credentials, ..self.kept.clone() };
        let _lock = self.file.lock(Instant::now() + WAIT).await?;
        self.file.write(&kept)?;
        Ok(LoggedIn {
            client_id: kept.client_id.clone(),
            scopes: kept.credentials.granted_scopes.clone(),
            ends: kept.ends(),
            renewable: kept.is_renewable(),
        })
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("file", &self.file).finish_non_exhaustive()
    }
}

async fn in_time<T>(work: impl Future<Output = Result<T, LoginError>>) -> Result<T, LoginError> {
    timeout(WAIT, work).await.unwrap_or(Err(LoginError::Timeout(WAIT)))
}

/// Whether the server wants to know who asks, and what it says about that.
async fn challenge(server: &HttpServer) -> Result<(bool, Option<String>), LoginError> {
    let mut anybody = server.clone();
    anybody.login = None;
    let failed = |error: backstop_core::ToolError| {
        LoginError::Unreachable(crate::http::shown(&server.url) + " can't be asked", error)
    };
    let requests = Requests::new(&anybody).map_err(failed)?;
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let ping = Bytes::from_static(PING.as_bytes());
    let response =
        requests.send(Method::POST, headers, Some(ping), &Errand::default()).await.map_err(failed)?;
    let asked = response.status() == StatusCode::UNAUTHORIZED;
    let wanted =
        response.headers().get_all(WWW_AUTHENTICATE).into_iter().filter_map(|value| value.to_str().ok());
    let wanted: Vec<&str> = wanted.collect();
    Ok((asked, (asked && !wanted.is_empty()).then(|| wanted.join(", "))))
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    let mut all: HashMap<_, _> = url.query_pairs().collect();
    all.remove(name).map(std::borrow::Cow::into_owned)
}
