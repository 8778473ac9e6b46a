//! How a service is reached: the client, and the limits of its toolset.

use backstop_core::ToolError;
use backstop_manifest::v1::{Connection, Network, ProxyChoice};
use backstop_toolsets::{
    client::{ClientError, ClientOptions, Clients, Proxy},
    guard::Guard,
    http::{Auth, HttpConfig, Rate},
};
use url::Url;

use super::{http::secret, read_pem};

/// Who wrote the address of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Author {
    /// Whoever wrote the manifest: it is theirs to choose.
    Operator,
    /// Somebody else: it may lead only to where everybody is.
    Foreign,
}

/// Takes over what is declared about how much is asked of a service.
pub(super) fn limit(made: &mut HttpConfig, connection: &Connection) {
    made.first_byte = connection.first_byte;
    made.concurrency = connection.concurrency;
    made.rate = connection.rate.map(|(requests, per)| Rate { requests, per });
}

/// The client for requests to this address.
///
/// # Errors
///
/// `misconfigured` where it can't be made, or would not go there.
pub(super) fn client(
    connection: &Connection,
    url: &Url,
    author: Author,
    clients: &mut Clients,
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
    options.guard = match (&connection.network, author) {
        (Some(Network::Public(allowed)), _) => {
            Some(Guard::new(allowed).map_err(|wrong| ToolError::misconfigured(wrong.to_string()))?)
        }
        (None, Author::Foreign) => Some(Guard::default()),
        (Some(Network::Any), _) | (None, Author::Operator) => None,
    };
    if options.guard.as_ref().is_some_and(|guard| !guard.allows(url)) {
        let host = url.host_str().unwrap_or_default();
        let hint = match author {
            Author::Operator => "allow it under `connection: { network: [...] }`",
            Author::Foreign => "allow it under `connection: { network: [...] }`, or declare `base_url`",
        };
        return Err(ToolError::misconfigured(format!("`{host}` is not a public address: {hint}")));
    }
    clients.get(&options).map_err(|error| {
        let declared = match &error {
            ClientError::Authorities { index, .. } => connection.authorities.get(*index),
            _ => None,
        };
        let what = declared.map_or_else(
            || "its connection can't be made".to_owned(),
            |path| format!("the authorities in `{}` can't be used", path.display()),
        );
        ToolError::misconfigured(what).with_source(error)
    })
}

/// Tokens are asked for where the manifest says, whoever says where the service itself is.
pub(super) fn for_tokens(
    auth: &mut Auth,
    connection: &Connection,
    clients: &mut Clients,
) -> Result<(), ToolError> {
    if let Auth::OAuth2(oauth2) = auth {
        oauth2.client = Some(client(connection, &oauth2.token_url, Author::Operator, clients)?);
    }
    Ok(())
}

/// The client for an authorization server, which is where the server at this address says: it may lead only to where
/// everybody is, or to the server's own host. One on this machine, or in its network, is trusted with that.
///
/// # Errors
///
/// As [`client`].
#[cfg(feature = "mcp")]
pub(super) fn for_logins(
    connection: &Connection,
    server: &Url,
    clients: &mut Clients,
) -> Result<reqwest::Client, ToolError> {
    let mut connection = connection.clone();
    if connection.network.is_none() && Guard::default().allows(server) {
        connection.network =
            Some(Network::Public(server.host_str().map(str::to_owned).into_iter().collect()));
    }
    client(&connection, server, Author::Operator, clients)
}
