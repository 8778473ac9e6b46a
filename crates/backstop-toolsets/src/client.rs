//! The one place where an HTTP client is made.

use std::{error::Error, sync::Once, time::Duration};

use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::guard::{Guard, GuardedResolver};

/// Time to make a connection, unless said otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Where the environment may name a proxy.
const PROXY_VARIABLES: [&str; 6] =
    ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/// Which proxy requests go through.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Proxy {
    /// What `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` say.
    #[default]
    Environment,
    /// None.
    None,
    /// This one, by its URL, which may hold a user and a password.
    Url(SecretString),
}

/// How connections to one service are made.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ClientOptions {
    /// Time to make a connection: 10 seconds unless said otherwise.
    pub connect_timeout: Option<Duration>,
    /// Which proxy requests go through. Behind a proxy, the guard knows only the host that was written.
    pub proxy: Proxy,
    /// Certificates of authorities beside those of the machine: PEM.
    pub authorities: Vec<Vec<u8>>,
    /// The certificate that the client shows, and its key: PEM, one behind the other.
    pub identity: Option<SecretString>,
    /// Which addresses requests may go to; all where there is none.
    pub guard: Option<Guard>,
}

impl PartialEq for ClientOptions {
    fn eq(&self, other: &Self) -> bool {
        let Self { connect_timeout, proxy, authorities, identity, guard } = other;
        self.connect_timeout == *connect_timeout
            && self.proxy == *proxy
            && self.authorities == *authorities
            && exposed(self.identity.as_ref()) == exposed(identity.as_ref())
            && self.guard == *guard
    }
}

fn exposed(secret: Option<&SecretString>) -> Option<&str> {
    secret.map(ExposeSecret::expose_secret)
}

impl PartialEq for Proxy {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Environment, Self::Environment) | (Self::None, Self::None) => true,
            (Self::Url(one), Self::Url(other)) => one.expose_secret() == other.expose_secret(),
            _ => false,
        }
    }
}

impl Proxy {
    /// The URLs of the proxies that a request may go through.
    fn urls(&self) -> Vec<Url> {
        let parse = |text: &str| {
            let text = text.trim();
            Url::parse(text).ok().filter(Url::has_host).or_else(|| Url::parse(&format!("http://{text}")).ok())
        };
        match self {
            Self::Environment => {
                PROXY_VARIABLES.iter().filter_map(|name| parse(&std::env::var(name).ok()?)).collect()
            }
            Self::None => Vec::new(),
            Self::Url(url) => parse(url.expose_secret()).into_iter().collect(),
        }
    }
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// What is to be the certificates of authorities holds none.
    #[error("there is no certificate of an authority that can be read")]
    Authorities {
        /// Which of them, counted from 0.
        index: usize,
        /// Why, where it is more than that there is none.
        #[source]
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// What is to be the client's certificate and its key is none.
    #[error("the client certificate can't be used: it is to be a certificate and its key, as PEM")]
    Identity(#[source] reqwest::Error),
    /// The address of the proxy is none.
    #[error("the address of the proxy can't be used")]
    Proxy(#[source] reqwest::Error),
    /// The TLS set-up of the machine, or of these options, can't be used.
    #[error("the TLS set-up can't be used")]
    Tls(#[source] reqwest::Error),
}

/// An HTTP client with Backstop's defaults: rustls with ring, no redirects, a connect timeout, proxies from
/// the environment. Clone it rather than making a second one: its clones share one connection pool.
///
/// # Errors
///
/// When the TLS set-up of the machine can't be used.
pub fn http_client() -> Result<reqwest::Client, ClientError> {
    http_client_with(&ClientOptions::default())
}

/// An HTTP client whose connections are made in this way.
///
/// # Errors
///
/// When a certificate, a key or the address of the proxy is none, or the TLS set-up of the machine can't be used.
pub fn http_client_with(options: &ClientOptions) -> Result<reqwest::Client, ClientError> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Fails only where the embedding program has installed one, which is just as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    #[expect(clippy::disallowed_methods, reason = "this is the factory that the rule points to")]
    let mut builder = reqwest::Client::builder()
        .connect_timeout(options.connect_timeout.unwrap_or(CONNECT_TIMEOUT))
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("backstop/", env!("CARGO_PKG_VERSION")));
    match &options.proxy {
        Proxy::Environment => {}
        Proxy::None => builder = builder.no_proxy(),
        Proxy::Url(url) => {
            let proxy = reqwest::Proxy::all(url.expose_secret());
            builder = builder.proxy(proxy.map_err(|cause| ClientError::Proxy(cause.without_url()))?);
        }
    }
    for (index, pem) in options.authorities.iter().enumerate() {
        let found =
            authorities(pem).map_err(|cause| ClientError::Authorities { index, source: Some(cause) })?;
        if found.is_empty() {
            return Err(ClientError::Authorities { index, source: None });
        }
        builder = builder.tls_certs_merge(found);
    }
    if let Some(pem) = &options.identity {
        let identity = reqwest::Identity::from_pem(pem.expose_secret().as_bytes());
        builder = builder.identity(identity.map_err(ClientError::Identity)?);
    }
    if let Some(guard) = &options.guard {
        // The resolver is asked for the proxy, too, which is where the operator said it is.
        let guard = options.proxy.urls().iter().fold(guard.clone(), Guard::host);
        builder = builder.dns_resolver(GuardedResolver::new(guard));
    }
    builder.build().map_err(ClientError::Tls)
}

/// The certificates in a text. Each is looked at by itself: the client as a whole does not say which is none.
fn authorities(pem: &[u8]) -> Result<Vec<reqwest::Certificate>, Box<dyn Error + Send + Sync>> {
    let each = |found: Result<CertificateDer<'static>, _>| -> Result<_, Box<dyn Error + Send + Sync>> {
        let found = found?;
        RootCertStore::empty().add(found.clone())?;
        Ok(reqwest::Certificate::from_der(&found)?)
    };
    CertificateDer::pem_slice_iter(pem).map(each).collect()
}

/// Clients by their options: equal ones are one client, and share their connections.
#[derive(Debug, Default)]
pub struct Clients(Vec<(ClientOptions, reqwest::Client)>);

impl Clients {
    /// The client with these options.
    ///
    /// # Errors
    ///
    /// As [`http_client_with`].
    pub fn get(&mut self, options: &ClientOptions) -> Result<reqwest::Client, ClientError> {
        if let Some((_, client)) = self.0.iter().find(|(known, _)| known == options) {
            return Ok(client.clone());
        }
        let client = http_client_with(options)?;
        self.0.push((options.clone(), client.clone()));
        Ok(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_options_are_one_client() {
        let proxy = |url: &str| Proxy::Url(url.to_owned().into());
        let options = |proxy, guard| ClientOptions { proxy, guard, ..ClientOptions::default() };
        let all = || {
            [
                ClientOptions::default(),
                options(Proxy::None, None),
                options(proxy("http://u:p1@127.0.0.1:9"), None),
                options(proxy("http://u:p2@127.0.0.1:9"), None),
                options(Proxy::None, Some(Guard::default())),
            ]
        };
        let mut clients = Clients::default();
        for options in all().iter().chain(&all()) {
            clients.get(options).unwrap();
        }
        assert_eq!(clients.0.len(), all().len());
        let shown =
            |pem: &str| ClientOptions { identity: Some(pem.to_owned().into()), ..ClientOptions::default() };
        assert!(shown("a") == shown("a") && shown("a") != shown("b"));
    }

    #[test]
    fn a_proxy_has_its_host_with_and_without_a_scheme() {
        for text in ["http://u:p@proxy.internal:3128", "proxy.internal:3128", "https://proxy.internal"] {
            let urls = Proxy::Url(text.to_owned().into()).urls();
            assert_eq!(urls.len(), 1);
            assert_eq!(urls[0].host_str(), Some("proxy.internal"), "{text}");
        }
        assert_eq!(Proxy::None.urls(), []);
    }
}
