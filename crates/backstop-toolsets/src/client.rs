//! The one place where an HTTP client is made.

use std::{sync::Once, time::Duration};

/// An HTTP client with Backstop's defaults: rustls with ring, no redirects, a connect timeout, proxies from
/// the environment. Clone it rather than making a second one: its clones share one connection pool.
///
/// # Errors
///
/// When the TLS set-up of the machine can't be used.
pub fn http_client() -> Result<reqwest::Client, reqwest::Error> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Fails only where the embedding program has installed one, which is just as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    #[expect(clippy::disallowed_methods, reason = "this is the factory that the rule points to")]
    reqwest::Client::builder()
        .connect_timeout(Duration::from_secs(10))
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("backstop/", env!("CARGO_PKG_VERSION")))
        .build()
}
