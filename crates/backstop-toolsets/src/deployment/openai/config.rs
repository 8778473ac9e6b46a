//! What a person sets of one model on one server.

use secrecy::SecretString;
use serde_json::{Map, Value};
use url::Url;

use crate::deployment::profile::SchemaProfile;

/// Bytes of one reply at most, unless the config says otherwise.
const MAX_REPLY: usize = 16 * 1024 * 1024;

/// One model on one server that speaks chat completions.
///
/// # Example
///
/// ```
/// use backstop_toolsets::{client::http_client, deployment::OpenAiConfig};
///
/// let base_url = "http://127.0.0.1:11434/v1".parse()?;
/// let config = OpenAiConfig::new(base_url, "qwen3:8b", http_client()?).temperature(0.0).max_tokens(512);
/// assert_eq!(config.max_tokens, Some(512));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenAiConfig {
    /// Where the API begins, with its version: `https://api.openai.com/v1`. A query is sent along.
    pub base_url: Url,
    /// Sent as a bearer token.
    pub api_key: Option<SecretString>,
    /// The name by which the server knows the model.
    pub model: String,
    /// Headers of every request; they win over those that the client would set itself.
    pub headers: Vec<(String, SecretString)>,
    /// Sampling temperature; the server's default where there is none.
    pub temperature: Option<f64>,
    /// Tokens of one reply at most; the server's default where there is none.
    pub max_tokens: Option<u32>,
    /// Further fields of the request body. They win over the fields above, and `null` takes a field out;
    /// `messages`, `tools` and `stream` can't be set. `tool_choice` and `parallel_tool_calls` are sent only with
    /// tools, `stream_options` only with a streamed request.
    pub extra: Map<String, Value>,
    /// What the server takes in a tool's schema.
    pub profile: SchemaProfile,
    /// Whether a reply may be streamed where somebody listens.
    pub stream: bool,
    /// The client that makes the requests: see [`http_client`](crate::client::http_client).
    pub client: reqwest::Client,
    /// Bytes of one reply at most, decompressed; a longer one is refused.
    pub max_reply: usize,
}

impl OpenAiConfig {
    /// The model of this name at this address, which also says the [profile](SchemaProfile::of_address).
    pub fn new(base_url: Url, model: impl Into<String>, client: reqwest::Client) -> Self {
        Self {
            profile: SchemaProfile::of_address(&base_url),
            base_url,
            api_key: None,
            model: model.into(),
            headers: Vec::new(),
            temperature: None,
            max_tokens: None,
            extra: Map::new(),
            stream: true,
            client,
            max_reply: MAX_REPLY,
        }
    }

    /// Sets the bearer token.
    #[must_use]
    pub fn api_key(mut self, key: impl Into<SecretString>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// Adds a header to every request.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<SecretString>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the sampling temperature.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Sets how many tokens one reply may have.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Sets a further field of the request body.
    #[must_use]
    pub fn extra(mut self, field: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(field.into(), value.into());
        self
    }

    /// Sets what the server takes in a tool's schema.
    #[must_use]
    pub fn profile(mut self, profile: SchemaProfile) -> Self {
        self.profile = profile;
        self
    }

    /// Sets whether a reply may be streamed.
    #[must_use]
    pub fn stream(mut self, stream: bool) -> Self {
        self.stream = stream;
        self
    }

    /// Sets how many bytes one reply may have.
    #[must_use]
    pub fn max_reply(mut self, bytes: usize) -> Self {
        self.max_reply = bytes;
        self
    }
}
