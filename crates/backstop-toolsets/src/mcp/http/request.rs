//! One request, with all that says who makes it.

use std::time::Duration;

use backstop_core::ToolError;
use bytes::Bytes;
use http::Method;
use reqwest::{Response, StatusCode, header::HeaderMap};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::Instant;

use super::super::{HttpServer, errand::Errand, login::Grants};
use crate::http::{Auth, Base, HttpConfig, Tokens, shown, transport};

/// Time for a token to be given.
const TOKEN: Duration = Duration::from_secs(30);
/// Requests may last as long as a call, and streams longer: their deadline is the caller's.
const NO_LIMIT: Duration = Duration::from_secs(86_400);

/// Where the token comes from that requests carry, if they carry one that changes.
enum Source {
    None,
    Exchanged(Box<Tokens>),
    Given(Box<Grants>),
}

impl Source {
    async fn token(
        &self,
        refused: Option<&SecretString>,
        until: Instant,
    ) -> Option<Result<SecretString, ToolError>> {
        match self {
            Self::None => None,
            Self::Exchanged(tokens) => Some(tokens.token(refused, until).await),
            Self::Given(grants) => Some(grants.token(refused, until).await),
        }
    }
}

/// What all requests to a server share.
pub(in super::super) struct Requests {
    base: Base,
    tokens: Source,
    client: reqwest::Client,
    /// The address, for operators.
    shown: String,
}

impl Requests {
    /// # Errors
    ///
    /// `misconfigured` where a header can't be sent, or the address is none.
    pub(in super::super) fn new(server: &HttpServer) -> Result<Self, ToolError> {
        let mut config = HttpConfig::new("", server.url.clone(), server.client.clone());
        config.headers.clone_from(&server.headers);
        config.auth = server.auth.clone();
        config.caller_headers.clone_from(&server.caller_headers);
        let tokens = match (&server.auth, &server.login) {
            (_, Some(login)) => Source::Given(Box::new(Grants::new(login, &server.url, &server.client))),
            (Auth::OAuth2(oauth2), None) => {
                Source::Exchanged(Box::new(Tokens::new((**oauth2).clone(), server.client.clone())))
            }
            _ => Source::None,
        };
        let base = Base::new(&config)?;
        Ok(Self { base, tokens, client: server.client.clone(), shown: shown(&server.url) })
    }

    /// Method, host and path, for operators.
    pub(super) fn what(&self, method: &Method) -> String {
        format!("{method} {}", self.shown)
    }

    /// Makes a request: one, but where the server did not take a token that a new one may take the place of. It has
    /// not looked at the request then.
    ///
    /// # Errors
    ///
    /// Why there is no answer; nothing where there is one, whatever it says.
    pub(in super::super) async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Option<Bytes>,
        errand: &Errand,
    ) -> Result<Response, ToolError> {
        let until = Instant::now() + TOKEN;
        let Some(first) = self.tokens.token(None, until).await.transpose()? else {
            return self.once(method, headers, body, errand, None).await;
        };
        let response = self.once(method.clone(), headers.clone(), body.clone(), errand, Some(&first)).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let second = self.tokens.token(Some(&first), until).await.transpose()?;
        self.once(method, headers, body, errand, second.as_ref()).await
    }

    async fn once(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Option<Bytes>,
        errand: &Errand,
        token: Option<&SecretString>,
    ) -> Result<Response, ToolError> {
        let what = self.what(&method);
        let (url, own) = self.base.bare(&errand.caller_headers)?;
        let mut request = self.client.request(method, url).headers(own).headers(headers);
        if let Some(body) = body {
            request = request.body(body);
        }
        if let Some(token) = token {
            request = request.bearer_auth(token.expose_secret());
        }
        errand.leave();
        request.send().await.map_err(|cause| transport::no_answer(cause, &what, NO_LIMIT))
    }
}

impl std::fmt::Debug for Requests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Requests").field("url", &self.shown).finish_non_exhaustive()
    }
}
