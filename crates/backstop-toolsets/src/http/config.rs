//! What a toolset of endpoints is made of.

use std::{fmt, num::NonZeroU32, time::Duration};

use secrecy::SecretString;
use url::Url;

use super::{Endpoint, OAuth2, Rate};

/// Bytes of one request and of one answer at most, unless said otherwise.
const MAX_BODY: usize = 8 * 1024 * 1024;

/// How requests say who makes them.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Auth {
    /// They don't.
    #[default]
    None,
    /// `Authorization: Bearer …`.
    Bearer(SecretString),
    /// `Authorization: Basic …`.
    Basic {
        /// The user.
        username: String,
        /// The password.
        password: SecretString,
    },
    /// A header of its own.
    ApiKeyHeader {
        /// The header.
        name: String,
        /// The key.
        value: SecretString,
    },
    /// A query parameter.
    ApiKeyQuery {
        /// The parameter.
        name: String,
        /// The key.
        value: SecretString,
    },
    /// A cookie.
    ApiKeyCookie {
        /// The cookie.
        name: String,
        /// The key, as it stands in the header.
        value: SecretString,
    },
    /// `Authorization: Bearer …` with a token that these credentials are exchanged for.
    OAuth2(Box<OAuth2>),
}

/// What an [`HttpToolset`](super::HttpToolset) is made of.
///
/// # Example
///
/// ```
/// use backstop_core::{Effect, ToolSpec};
/// use backstop_toolsets::{
///     client::http_client,
///     http::{Endpoint, HttpConfig, HttpToolset, Method, Parameter, Place},
/// };
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]});
/// let spec = ToolSpec::new("get_order", schema).effect(Effect::ReadOnly);
/// let mut config = HttpConfig::new("shop", "https://shop.example/v1".parse()?, http_client()?);
/// config.endpoints = vec![
///     Endpoint::new(spec, Method::GET, "/orders/{id}").parameter(Parameter::new("id", Place::Path)),
/// ];
/// let shop = HttpToolset::new(config)?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpConfig {
    /// The toolset's name.
    pub name: String,
    /// What the paths of the endpoints are put behind: its own path is kept, and its query is sent along. A user
    /// and password in it are [`Auth::Basic`], where `auth` is [`Auth::None`].
    pub base_url: Url,
    /// Headers of every request; they win over those that come from arguments.
    pub headers: Vec<(String, SecretString)>,
    /// How requests say who makes them.
    pub auth: Auth,
    /// Headers of whoever started the run that are passed on, by name: under those of the toolset, over those that
    /// come from arguments. One that was not sent is left out.
    pub caller_headers: Vec<String>,
    /// The header that carries the idempotency key; `Idempotency-Key` where there is none.
    pub idempotency_header: Option<String>,
    /// The endpoints, one tool each.
    pub endpoints: Vec<Endpoint>,
    /// Bytes of the body of one request at most: 8 MiB unless said otherwise.
    pub max_request: usize,
    /// Bytes of one answer at most, after decompression: 8 MiB unless said otherwise.
    pub max_body: usize,
    /// Time until an answer begins; the whole time of the call where there is none.
    pub first_byte: Option<Duration>,
    /// Requests at the same time.
    pub concurrency: Option<NonZeroU32>,
    /// Requests in a time.
    pub rate: Option<Rate>,
    /// Makes the requests. It must not follow redirects: [`http_client`](crate::client::http_client) makes such
    /// a one.
    pub client: reqwest::Client,
}

impl HttpConfig {
    /// A toolset of this name, without endpoints and without credentials.
    pub fn new(name: impl Into<String>, base_url: Url, client: reqwest::Client) -> Self {
        Self {
            name: name.into(),
            base_url,
            headers: Vec::new(),
            auth: Auth::None,
            caller_headers: Vec::new(),
            idempotency_header: None,
            endpoints: Vec::new(),
            max_request: MAX_BODY,
            max_body: MAX_BODY,
            first_byte: None,
            concurrency: None,
            rate: None,
            client,
        }
    }
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpConfig")
            .field("name", &self.name)
            .field("base_url", &shown(&self.base_url))
            .field("headers", &self.headers)
            .field("auth", &self.auth)
            .field("endpoints", &self.endpoints)
            .finish_non_exhaustive()
    }
}

/// A URL for operators: no userinfo, no query, where keys may be.
pub(crate) fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}
