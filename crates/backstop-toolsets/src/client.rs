//! The one place where an HTTP client is made.

use std::{sync::Once, time::Duration};

use secrecy::{ExposeSecret, SecretString};

use crate::guard::{Guard, GuardedResolver};

/// Time to make a connection, unless said otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

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

/// An HTTP client with Backstop's defaults: rustls with ring, no redirects, a connect timeout, proxies from
/// the environment. Clone it rather than making a second one: its clones share one connection pool.
///
/// # Errors
///
/// When the TLS set-up of the machine can't be used.
pub fn http_client() -> Result<reqwest::Client, reqwest::Error> {
    http_client_with(&ClientOptions::default())
}

/// An HTTP client whose connections are made in this way.
///
/// # Errors
///
/// When a certificate, a key or the address of the proxy is none, or the TLS set-up of the machine can't be used.
pub fn http_client_with(options: &ClientOptions) -> Result<reqwest::Client, reqwest::Error> {
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
        Proxy::Url(url) => builder = builder.proxy(reqwest::Proxy::all(url.expose_secret())?),
    }
    for pem in &options.authorities {
        builder = builder.tls_certs_merge(reqwest::Certificate::from_pem_bundle(pem)?);
    }
    if let Some(pem) = &options.identity {
        builder = builder.identity(reqwest::Identity::from_pem(pem.expose_secret().as_bytes())?);
    }
    if let Some(guard) = &options.guard {
        builder = builder.dns_resolver(GuardedResolver::new(guard.clone()));
    }
    builder.build()
}
