//! Endpoints as a toolset.

use std::{collections::HashMap, time::Duration};

use async_trait::async_trait;
use backstop_core::{
    CallContext, Redactor, ToolError, ToolErrorKind, ToolOutput, ToolSpec, Toolset, ValidCall, text,
};
use reqwest::{Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;

use super::{
    Auth, Endpoint, HttpConfig,
    config::shown,
    gate::Gate,
    payload::{Payload, form},
    promise::Promise,
    request::{Base, Prepared},
    response::{self, Exchange},
    template::Template,
    token::Tokens,
    transport,
};

/// A time that no call takes.
const FAR: Duration = Duration::from_secs(86_400 * 365);

/// HTTP endpoints as a toolset. One call is one request: it never retries and never follows a redirect,
/// but asks once more with a new token where a service did not take the old one.
///
/// See [`HttpConfig`] for an example.
#[derive(Debug)]
pub struct HttpToolset {
    name: String,
    base: Base,
    endpoints: Vec<Ready>,
    by_name: HashMap<String, usize>,
    max_body: usize,
    first_byte: Option<Duration>,
    gate: Gate,
    tokens: Option<Tokens>,
    client: reqwest::Client,
}

/// An endpoint that requests can be made from.
#[derive(Debug)]
struct Ready {
    endpoint: Endpoint,
    template: Template,
    promise: Promise,
}

impl HttpToolset {
    /// A toolset of these endpoints. Makes no request.
    ///
    /// # Errors
    ///
    /// `misconfigured` when the base URL is not an HTTP one, a header can't be sent, two endpoints have one name,
    /// or an [endpoint](Endpoint::check) can't be used.
    pub fn new(config: HttpConfig) -> Result<Self, ToolError> {
        let tokens = match &config.auth {
            Auth::OAuth2(oauth2) => Some(Tokens::new((**oauth2).clone(), config.client.clone())),
            _ => None,
        };
        let base = Base::new(&config)?;
        let mut endpoints = Vec::new();
        let mut by_name = HashMap::new();
        for mut endpoint in config.endpoints {
            endpoint.check()?;
            // One source of truth: a key that is promised but not sent would make a blind repeat look safe.
            endpoint.spec.honours_idempotency_key = endpoint.sends_idempotency_key;
            let template = Template::parse(&endpoint.path).map_err(ToolError::misconfigured)?;
            if by_name.insert(endpoint.spec.name.clone(), endpoints.len()).is_some() {
                let detail =
                    format!("toolset `{}` has more than one tool `{}`", config.name, endpoint.spec.name);
                return Err(ToolError::misconfigured(detail));
            }
            let promise = Promise::of(&endpoint)?;
            // The schema is that of the whole answer.
            if endpoint.answer.result.is_some() {
                endpoint.spec.output_schema = None;
            }
            endpoints.push(Ready { endpoint, template, promise });
        }
        Ok(Self {
            name: config.name,
            base,
            endpoints,
            by_name,
            max_body: config.max_body,
            first_byte: config.first_byte,
            gate: Gate::new(config.concurrency, config.rate),
            tokens,
            client: config.client,
        })
    }

    /// Makes a request: one, but where a service did not take a token that a new one may take the place of. It has
    /// not looked at the call then.
    async fn send(
        &self,
        prepared: &Prepared,
        exchange: &Exchange<'_>,
        token: &mut Option<SecretString>,
    ) -> Result<Response, ToolError> {
        let Some(tokens) = &self.tokens else { return self.once(prepared, exchange, None).await };
        let first = tokens.token(None, exchange.until).await?;
        let response = self.once(prepared, exchange, Some(&first)).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            *token = Some(first);
            return Ok(response);
        }
        let second = tokens.token(Some(&first), exchange.until).await?;
        let response = self.once(prepared, exchange, Some(&second)).await;
        *token = Some(second);
        response
    }

    async fn once(
        &self,
        prepared: &Prepared,
        exchange: &Exchange<'_>,
        token: Option<&SecretString>,
    ) -> Result<Response, ToolError> {
        let left = exchange.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let detail = format!("{}: no time was left to make the request", exchange.what);
            return Err(ToolError::timeout(exchange.timeout, detail).not_applied());
        }
        let mut request = self
            .client
            .request(exchange.endpoint.method.clone(), prepared.url.clone())
            .headers(prepared.headers.clone())
            .timeout(left);
        if let Some(token) = token {
            request = request.bearer_auth(token.expose_secret());
        }
        request = match &prepared.payload {
            Payload::None => request,
            Payload::Bytes { bytes, .. } => request.body(bytes.clone()),
            Payload::Multipart(pieces) => request.multipart(form(pieces)?),
        };
        let sent = request.send();
        let answer = match self.first_byte.filter(|limit| *limit < left) {
            None => sent.await,
            Some(limit) => tokio::time::timeout(limit, sent).await.map_err(|_| {
                ToolError::timeout(limit, format!("{}: no answer began in time", exchange.what))
            })?,
        };
        answer.map_err(|cause| transport::no_answer(cause, &exchange.what, exchange.timeout))
    }
}

#[async_trait]
impl Toolset for HttpToolset {
    fn name(&self) -> &str {
        &self.name
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(self.endpoints.iter().map(|ready| ready.endpoint.spec.clone()).collect())
    }

    async fn call(&self, call: &ValidCall, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let index = self.by_name.get(call.own_name());
        let Some(Ready { endpoint, template, promise }) = index.and_then(|index| self.endpoints.get(*index))
        else {
            let name = text::escaped(call.own_name(), 200);
            let detail = format!("toolset `{}` has no tool `{name}`", self.name);
            return Err(ToolError::new(ToolErrorKind::UnknownTool, detail));
        };
        let started = Instant::now();
        let prepared = self.base.prepare(endpoint, template, call.arguments(), cx)?;
        let exchange = Exchange {
            endpoint,
            promise,
            what: format!("{} {}", endpoint.method, text::escaped(&shown(&prepared.url), 500)),
            max_body: self.max_body,
            timeout: cx.timeout,
            // A limit beyond the range of the clock is no limit.
            until: started.checked_add(cx.timeout).unwrap_or(started + FAR),
        };
        let _slot = self.gate.pass(cx.timeout).await?;
        let mut token = None;
        let response = self.send(&prepared, &exchange, &mut token).await?;
        let result = response::read(response, &exchange).await;
        match token {
            // A service may repeat it, and nobody else knows it.
            Some(token) => Redactor::new([token.expose_secret()]).result(result),
            None => result,
        }
    }
}
