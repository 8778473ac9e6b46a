//! One request, one reply.

use std::fmt;

use async_trait::async_trait;
use backstop_core::{
    CatalogEntry, Delta, DeltaSink, Message, Model, ModelError, ModelErrorKind, ModelReply, ModelRequest,
    Redactor, text,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use futures_util::StreamExt;
use percent_encoding::percent_decode_str;
use reqwest::{
    Method, Request, Response,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use secrecy::ExposeSecret;
use url::Url;

use super::{assemble::Assembler, config::OpenAiConfig, encode, error, head::Head, stream, whole};
use crate::deployment::profile::SchemaProfile;

/// A model on a server that speaks chat completions.
///
/// A turn is streamed where somebody listens and the config allows it. Every failure is a [`ModelError`] of the
/// kind that says what to do next, holds the server's own words, and never a key.
///
/// # Example
///
/// ```
/// use backstop_core::Model;
/// use backstop_toolsets::{
///     client::http_client,
///     deployment::{OpenAiConfig, OpenAiModel},
/// };
///
/// let base_url = "https://api.example.test/v1".parse()?;
/// let config = OpenAiConfig::new(base_url, "gpt-5-mini", http_client()?).api_key("sk-…");
/// let model = OpenAiModel::new(config)?;
/// assert_eq!(model.name(), "gpt-5-mini");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct OpenAiModel {
    name: String,
    client: reqwest::Client,
    url: Url,
    headers: HeaderMap,
    head: Head,
    profile: SchemaProfile,
    /// Host and port, for messages.
    endpoint: String,
    stream: bool,
    max_reply: usize,
    redactor: Redactor,
}

impl OpenAiModel {
    /// The model that the config describes.
    ///
    /// # Errors
    ///
    /// [`ModelErrorKind::Misconfigured`] when the address is none of HTTP, or a header or the key can't be sent.
    pub fn new(config: OpenAiConfig) -> Result<Self, ModelError> {
        let wrong = |what: String| ModelError::new(ModelErrorKind::Misconfigured, what);
        let mut url = config.base_url.clone();
        let host = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https"));
        let (Some(host), Some(port)) = (host, url.port_or_known_default()) else {
            return Err(wrong("`base_url` is not an http or https address with a host".into()));
        };
        let endpoint = format!("{host}:{port}");

        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let key = config.api_key.as_ref().map(|key| format!("Bearer {}", key.expose_secret().trim()));
        if let Some(authorization) = key.or_else(|| basic(&url)) {
            let value = secret(&authorization);
            headers.insert(
                AUTHORIZATION,
                value.ok_or_else(|| wrong("`api_key` can't be sent in a header".into()))?,
            );
        }
        for (name, value) in &config.headers {
            let shown = text::escaped(name, 100);
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| wrong(format!("`{shown}` is no name of a header")))?;
            let value = secret(value.expose_secret())
                .ok_or_else(|| wrong(format!("the value of header `{shown}` can't be sent")))?;
            headers.insert(name, value);
        }

        let redactor = Redactor::new(secrets(&config));
        let no_base = |()| wrong("`base_url` can't be a base".into());
        url.set_password(None).and_then(|()| url.set_username("")).map_err(no_base)?;
        url.path_segments_mut().map_err(no_base)?.pop_if_empty().extend(["chat", "completions"]);
        url.set_fragment(None);
        Ok(Self {
            head: Head::new(&config),
            profile: config.profile,
            name: config.model,
            client: config.client,
            url,
            headers,
            endpoint,
            stream: config.stream,
            max_reply: config.max_reply,
            redactor,
        })
    }

    /// The body of a request. Nothing in it is written twice in the life of a run but the copy into one buffer.
    fn body(&self, request: &ModelRequest<'_>, streamed: bool) -> Vec<u8> {
        let profile = &self.profile;
        let message = |message: &Message, out: &mut Vec<u8>| encode::message(profile, message, out);
        request.transcript.encoded(profile.form(), message, |messages| {
            if request.tools.entries().is_empty() {
                return self.head.body(messages, b"", streamed);
            }
            let tools = |entries: &[CatalogEntry]| encode::tools(profile, entries);
            request.tools.encoded(profile.form(), tools, |tools| self.head.body(messages, tools, streamed))
        })
    }

    async fn exchange(
        &self,
        body: Vec<u8>,
        sink: Option<&dyn DeltaSink>,
        heard: &mut Assembler,
    ) -> Result<ModelReply, ModelError> {
        let mut request = Request::new(Method::POST, self.url.clone());
        *request.headers_mut() = self.headers.clone();
        *request.body_mut() = Some(body.into());
        let response =
            self.client.execute(request).await.map_err(|cause| error::not_sent(&self.endpoint, cause))?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        // A page under a good status: somebody else listens at this address.
        if kind.starts_with("text/html") {
            return Err(error::not_a_model(&self.endpoint, kind));
        }
        // A server may answer in one piece where it was asked for a stream, and the other way round.
        let streamed = if sink.is_some() {
            !kind.starts_with("application/json")
        } else {
            kind.starts_with("text/event-stream")
        };
        if streamed {
            let body = response.bytes_stream();
            let body = body.map(|chunk| chunk.map_err(|cause| error::cut(&self.endpoint, cause)));
            return stream::read(body, self.max_reply, &self.endpoint, heard, sink.unwrap_or(&Nobody)).await;
        }
        let reply = whole::read(&self.whole_body(response).await?, &self.endpoint)?;
        if let Some(sink) = sink {
            show(&reply, sink);
        }
        Ok(reply)
    }

    /// The body of a reply, within its cap.
    async fn whole_body(&self, mut response: Response) -> Result<Bytes, ModelError> {
        let cut = |cause| error::cut(&self.endpoint, cause);
        let too_large = || error::too_large(&self.endpoint, "the reply", self.max_reply);
        let Some(first) = response.chunk().await.map_err(cut)? else {
            return Ok(Bytes::new());
        };
        if first.len() > self.max_reply {
            return Err(too_large());
        }
        // Most replies come in one piece, which needs no copy.
        let Some(second) = response.chunk().await.map_err(cut)? else {
            return Ok(first);
        };
        let mut body = first.to_vec();
        let mut next = Some(second);
        while let Some(chunk) = next {
            if body.len() + chunk.len() > self.max_reply {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
            next = response.chunk().await.map_err(cut)?;
        }
        Ok(body.into())
    }

    async fn refused(&self, mut response: Response) -> ModelError {
        let mut body = Vec::new();
        // The status alone says enough where the body breaks off.
        while let Ok(Some(chunk)) = response.chunk().await {
            let room = error::BODY_CAP.saturating_sub(body.len());
            body.extend(chunk.iter().take(room));
            if room <= chunk.len() {
                break;
            }
        }
        error::refused(&self.endpoint, response.status(), response.headers(), &body)
    }
}

impl fmt::Debug for OpenAiModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiModel")
            .field("name", &self.name)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Model for OpenAiModel {
    fn name(&self) -> &str {
        &self.name
    }

    async fn respond(
        &self,
        request: ModelRequest<'_>,
        sink: Option<&dyn DeltaSink>,
    ) -> Result<ModelReply, ModelError> {
        let sink = sink.filter(|_| self.stream);
        let body = self.body(&request, sink.is_some());
        let mut heard = Assembler::default();
        let answer = tokio::time::timeout(request.timeout, self.exchange(body, sink, &mut heard)).await;
        let answer = answer.unwrap_or_else(|_| {
            // A server that is done and does not hang up has answered all the same.
            let done = if heard.is_finished() { heard.reply() } else { None };
            done.ok_or_else(|| {
                let waited = text::duration(request.timeout);
                let detail = format!("{} did not answer within {waited}", self.endpoint);
                ModelError::new(ModelErrorKind::Timeout, detail).with_partial(heard.text())
            })
        });
        answer.map_err(|error| self.redactor.model_error(error))
    }
}

/// Takes the pieces of a stream that nobody asked for.
struct Nobody;

impl DeltaSink for Nobody {
    fn delta(&self, _: Delta<'_>) {}
}

fn show(reply: &ModelReply, sink: &dyn DeltaSink) {
    if let Some(text) = &reply.text {
        sink.delta(Delta::Text(text));
    }
    for call in &reply.calls {
        sink.delta(Delta::CallStarted { name: &call.name });
    }
}

fn secret(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The credentials in front of the host, as a header.
fn basic(url: &Url) -> Option<String> {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let password = url.password().map(decoded);
    if url.username().is_empty() && password.is_none() {
        return None;
    }
    let pair = format!("{}:{}", decoded(url.username()), password.unwrap_or_default());
    Some(format!("Basic {}", STANDARD.encode(pair)))
}

/// All values that must not turn up in a message, wherever the server repeats them.
fn secrets(config: &OpenAiConfig) -> Vec<String> {
    let url = &config.base_url;
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let query =
        url.query_pairs().filter(|(name, _)| name != "api-version").map(|(_, value)| value.into_owned());
    let headers = config.headers.iter().map(|(_, value)| value.expose_secret());
    // A scheme in front of a credential is no part of it.
    let credentials = headers.clone().filter_map(|value| Some(value.split_once(' ')?.1));
    let key = config.api_key.iter().map(|key| key.expose_secret().trim());
    key.chain(headers)
        .chain(credentials)
        .map(str::to_owned)
        .chain(url.password().map(decoded))
        .chain(query)
        .collect()
}
