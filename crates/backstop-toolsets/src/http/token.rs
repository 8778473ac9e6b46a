//! Tokens by OAuth 2 client credentials (RFC 6749, section 4.4): fetched when they are needed, kept while they hold.

use std::time::Duration;

use backstop_core::{Redactor, ToolError, text::escaped};
use base64::{Engine, engine::general_purpose::STANDARD};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;
use tokio::{
    sync::Mutex,
    time::{Instant, timeout_at},
};
use url::{Url, form_urlencoded};

use super::{body, config::shown, transport};

/// Taken off the time that a token holds: it must not end on the way.
const MARGIN: Duration = Duration::from_secs(30);
/// Time that a token holds which does not say it.
const USUAL: Duration = Duration::from_secs(300);
/// Bytes of an answer at most.
const CAP: usize = 256 * 1024;
/// Letters of an answer that operators get to see.
const SHOWN_CAP: usize = 300;

/// How a client says who it is at a token endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientAuth {
    /// In the header `Authorization`.
    #[default]
    Basic,
    /// In the body.
    Body,
}

/// Credentials that are exchanged for a token.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OAuth2 {
    /// Where.
    pub token_url: Url,
    /// Who.
    pub client_id: String,
    /// The client's secret.
    pub client_secret: SecretString,
    /// What for; empty where nothing is said.
    pub scope: String,
    /// Further fields of the request, such as `audience`.
    pub extra: Vec<(String, String)>,
    /// How the client says who it is.
    pub client_auth: ClientAuth,
    /// Asks for the tokens; the client of the toolset where there is none.
    pub client: Option<reqwest::Client>,
}

impl OAuth2 {
    /// Credentials of this client at this endpoint.
    pub fn new(token_url: Url, client_id: impl Into<String>, client_secret: SecretString) -> Self {
        Self {
            token_url,
            client_id: client_id.into(),
            client_secret,
            scope: String::new(),
            extra: Vec::new(),
            client_auth: ClientAuth::default(),
            client: None,
        }
    }
}

/// Keeps one token.
pub(crate) struct Tokens {
    config: OAuth2,
    client: reqwest::Client,
    kept: Mutex<Option<Kept>>,
}

#[derive(Clone)]
struct Kept {
    token: SecretString,
    until: Instant,
}

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    /// A number, and a text with some services.
    expires_in: Option<Value>,
}

impl Tokens {
    pub(crate) fn new(config: OAuth2, client: reqwest::Client) -> Self {
        let client = config.client.clone().unwrap_or(client);
        Self { config, client, kept: Mutex::new(None) }
    }

    /// A token that holds; another one than `refused`, which the service did not take. Asked for until `until`.
    ///
    /// # Errors
    ///
    /// `unauthenticated` when the endpoint does not give one, `unavailable` when it does not answer; nothing has
    /// been asked of the service itself then.
    pub(crate) async fn token(
        &self,
        refused: Option<&SecretString>,
        until: Instant,
    ) -> Result<SecretString, ToolError> {
        // Held while a token is fetched: callers that come meanwhile wait for it rather than fetching their own.
        let kept = timeout_at(until, self.kept.lock()).await;
        let mut kept = kept.map_err(|_| {
            let detail =
                format!("POST {}: another call waits for a token, too", shown(&self.config.token_url));
            ToolError::unavailable(detail).not_applied()
        })?;
        let is_refused = |kept: &Kept| {
            refused.is_some_and(|refused| refused.expose_secret() == kept.token.expose_secret())
        };
        if let Some(kept) = kept.as_ref().filter(|kept| kept.until > Instant::now() && !is_refused(kept)) {
            return Ok(kept.token.clone());
        }
        *kept = None;
        let fetched = self.fetch(until.saturating_duration_since(Instant::now())).await?;
        Ok(kept.insert(fetched).token.clone())
    }

    fn form(&self) -> String {
        let OAuth2 { client_id, client_secret, scope, extra, client_auth, .. } = &self.config;
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        if !scope.is_empty() {
            form.append_pair("scope", scope);
        }
        form.extend_pairs(extra);
        if *client_auth == ClientAuth::Body {
            form.append_pair("client_id", client_id);
            form.append_pair("client_secret", client_secret.expose_secret());
        }
        form.finish()
    }

    async fn fetch(&self, timeout: Duration) -> Result<Kept, ToolError> {
        let OAuth2 { token_url, client_id, client_secret, client_auth, .. } = &self.config;
        let what = format!("POST {}", shown(token_url));
        let mut request = self
            .client
            .post(token_url.clone())
            .timeout(timeout)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json");
        if *client_auth == ClientAuth::Basic {
            // Both parts are form-encoded first (RFC 6749, section 2.3.1).
            let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
            let pair = format!("{}:{}", encoded(client_id), encoded(client_secret.expose_secret()));
            request = request.header(AUTHORIZATION, format!("Basic {}", STANDARD.encode(pair)));
        }
        let request = request.body(self.form());
        let asked = Instant::now();
        let failed = |cause| transport::no_answer(cause, &what, timeout).not_applied();
        let mut response = request.send().await.map_err(failed)?;
        let status = response.status();
        let body = body::read_some(&mut response, CAP).await;
        let text = String::from_utf8_lossy(&body.bytes);
        if !status.is_success() {
            let redactor = Redactor::new([client_secret.expose_secret()]);
            let text = redactor.redact(&text).unwrap_or_else(|| text.into_owned());
            let detail =
                format!("{what}: no token, status {status}, body `{}`", escaped(text.trim(), SHOWN_CAP));
            let error = match status.as_u16() {
                429 | 500.. => ToolError::unavailable(detail),
                _ => ToolError::unauthenticated(detail),
            };
            return Err(error.not_applied());
        }
        // The body is the token itself: nothing of it is shown.
        let granted: Granted = serde_json::from_str(&text).map_err(|_| {
            ToolError::misconfigured(format!("{what}: the answer holds no `access_token`")).not_applied()
        })?;
        let holds = granted
            .expires_in
            .as_ref()
            .and_then(seconds)
            .unwrap_or(USUAL)
            .min(Duration::from_secs(24 * 3600));
        let until = asked + holds.saturating_sub(MARGIN.min(holds / 2));
        Ok(Kept { token: granted.access_token.into(), until })
    }
}

fn seconds(value: &Value) -> Option<Duration> {
    let seconds = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    Duration::try_from_secs_f64(seconds).ok()
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").field("config", &self.config).finish_non_exhaustive()
    }
}
