//! Endpoints as a toolset.

use std::collections::HashMap;

use async_trait::async_trait;
use backstop_core::{CallContext, ToolError, ToolErrorKind, ToolOutput, ToolSpec, Toolset, ValidCall, text};

use super::{
    Endpoint, HttpConfig,
    config::shown,
    payload::{Payload, form},
    request::Base,
    response::{self, Exchange},
    template::Template,
    transport,
};

/// HTTP endpoints as a toolset. One call is one request: it never retries and never follows a redirect.
///
/// See [`HttpConfig`] for an example.
#[derive(Debug)]
pub struct HttpToolset {
    name: String,
    base: Base,
    endpoints: Vec<(Endpoint, Template)>,
    by_name: HashMap<String, usize>,
    max_body: usize,
    client: reqwest::Client,
}

impl HttpToolset {
    /// A toolset of these endpoints. Makes no request.
    ///
    /// # Errors
    ///
    /// `misconfigured` when the base URL is not an HTTP one, a header can't be sent, two endpoints have one name,
    /// or an [endpoint](Endpoint::check) can't be used.
    pub fn new(config: HttpConfig) -> Result<Self, ToolError> {
        let base = Base::new(
            config.base_url,
            &config.headers,
            config.auth,
            config.idempotency_header.as_deref(),
            config.max_request,
        )?;
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
            endpoints.push((endpoint, template));
        }
        Ok(Self {
            name: config.name,
            base,
            endpoints,
            by_name,
            max_body: config.max_body,
            client: config.client,
        })
    }
}

#[async_trait]
impl Toolset for HttpToolset {
    fn name(&self) -> &str {
        &self.name
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(self.endpoints.iter().map(|(endpoint, _)| endpoint.spec.clone()).collect())
    }

    async fn call(&self, call: &ValidCall, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let index = self.by_name.get(call.own_name());
        let Some((endpoint, template)) = index.and_then(|index| self.endpoints.get(*index)) else {
            let name = text::escaped(call.own_name(), 200);
            let detail = format!("toolset `{}` has no tool `{name}`", self.name);
            return Err(ToolError::new(ToolErrorKind::UnknownTool, detail));
        };
        let prepared = self.base.prepare(endpoint, template, call.arguments(), cx)?;
        let exchange = Exchange {
            endpoint,
            what: format!("{} {}", endpoint.method, text::escaped(&shown(&prepared.url), 500)),
            max_body: self.max_body,
            timeout: cx.timeout,
        };
        let mut request = self
            .client
            .request(endpoint.method.clone(), prepared.url)
            .headers(prepared.headers)
            .timeout(cx.timeout);
        request = match prepared.payload {
            Payload::None => request,
            Payload::Bytes { bytes, .. } => request.body(bytes),
            Payload::Multipart(pieces) => request.multipart(form(pieces)?),
        };
        let response =
            request.send().await.map_err(|cause| transport::no_answer(cause, &exchange.what, cx.timeout))?;
        response::read(response, &exchange).await
    }
}
