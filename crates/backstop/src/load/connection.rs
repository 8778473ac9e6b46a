//! How a service is reached: the client, and the limits of its toolset.

use backstop_core::ToolError;
use backstop_manifest::v1::{Connection, Network, ProxyChoice};
use backstop_toolsets::{
    client::{ClientOptions, Proxy, http_client_with},
    guard::Guard,
    http::{HttpConfig, Rate},
};
use url::Url;

use super::{http::secret, read_pem};

/// Takes over what is declared about how much is asked of a service.
pub(super) fn limit(made: &mut HttpConfig, connection: &Connection) {
    made.first_byte = connection.first_byte;
    made.concurrency = connection.concurrency;
    made.rate = connection.rate.map(|(requests, per)| Rate { requests, per });
}

/// The client for a service. `shared` is taken where nothing else is declared. `is_foreign`: its address was not
/// written by whoever wrote the manifest, so it may lead only to where everybody is.
pub(super) fn client(
    connection: &Connection,
    base_url: &Url,
    is_foreign: bool,
    shared: &reqwest::Client,
) -> Result<reqwest::Client, ToolError> {
    let mut options = ClientOptions::default();
    options.connect_timeout = connection.connect_timeout;
    options.proxy = match &connection.proxy {
        ProxyChoice::Environment => Proxy::Environment,
        ProxyChoice::None => Proxy::None,
        ProxyChoice::Url(url) => Proxy::Url(secret(url)),
    };
    for path in &connection.authorities {
        let pem = read_pem(path).map_err(|cause| {
            ToolError::misconfigured(format!("the authorities in `{}` can't be read", path.display()))
                .with_source(cause)
        })?;
        options.authorities.push(pem);
    }
    options.identity = connection.certificate.as_ref().map(secret);
    options.guard = match &connection.network {
        Some(Network::Public(allowed)) => {
            Some(Guard::new(allowed).map_err(|wrong| ToolError::misconfigured(wrong.to_string()))?)
        }
        None if is_foreign => Some(Guard::default()),
        Some(Network::Any) | None => None,
    };
    if options.guard.as_ref().is_some_and(|guard| !guard.allows(base_url)) {
        let host = base_url.host_str().unwrap_or_default();
        let hint = "allow it under `connection: { network: [...] }`, or declare `base_url`";
        return Err(ToolError::misconfigured(format!("`{host}` is not a public address: {hint}")));
    }
    let is_usual = connection.connect_timeout.is_none()
        && matches!(connection.proxy, ProxyChoice::Environment)
        && connection.authorities.is_empty()
        && connection.certificate.is_none()
        && options.guard.is_none();
    if is_usual {
        return Ok(shared.clone());
    }
    http_client_with(&options).map_err(|cause| {
        ToolError::misconfigured("its certificates or its proxy can't be used").with_source(cause)
    })
}
