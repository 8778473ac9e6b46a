//! `connection`: how a service is reached, and how much is asked of it.

use std::{num::NonZeroU32, path::PathBuf, time::Duration};

use super::name::LONGEST;
use crate::{
    context::Secrets,
    diagnostic::{Diagnostic, code},
    reader::{At, secret_text},
    secret::SecretText,
};

const KEYS: &[&str] = &[
    "connect_timeout",
    "first_byte",
    "proxy",
    "authorities",
    "certificate",
    "network",
    "concurrency",
    "rate",
];

/// How a service is reached, and how much is asked of it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Connection {
    /// Time to make a connection.
    pub connect_timeout: Option<Duration>,
    /// Time until an answer begins.
    pub first_byte: Option<Duration>,
    /// Which proxy requests go through.
    pub proxy: ProxyChoice,
    /// Files with certificates of authorities beside those of the machine, joined to the directory of the manifest.
    pub authorities: Vec<PathBuf>,
    /// The certificate that the client shows and its key: PEM.
    pub certificate: Option<SecretText>,
    /// Which addresses requests may go to; `None` leaves it to where the address of the service comes from.
    pub network: Option<Network>,
    /// Requests at the same time.
    pub concurrency: Option<NonZeroU32>,
    /// Requests in a time.
    pub rate: Option<(NonZeroU32, Duration)>,
}

/// Which proxy requests go through.
#[derive(Clone, Debug, Default)]
pub enum ProxyChoice {
    /// What the environment says.
    #[default]
    Environment,
    /// None.
    None,
    /// This one.
    Url(SecretText),
}

/// Which addresses requests may go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Network {
    /// All.
    Any,
    /// Those of the open internet, and these hosts and networks.
    Public(Vec<String>),
}

/// Reads a connection.
pub(super) fn connection(at: &At<'_>) -> Connection {
    let Some(fields) = at.fields(KEYS) else { return Connection::default() };
    let authorities = fields.get("authorities").map(At::one_or_many).unwrap_or_default();
    Connection {
        connect_timeout: fields.duration("connect_timeout", LONGEST),
        first_byte: fields.duration("first_byte", LONGEST),
        proxy: fields.get("proxy").and_then(proxy).unwrap_or_default(),
        authorities: authorities.iter().filter_map(|at| Some(at.cx.base_dir.join(at.some_text()?))).collect(),
        certificate: fields.get("certificate").and_then(certificate),
        network: fields.get("network").and_then(network),
        concurrency: fields.get("concurrency").and_then(|at| NonZeroU32::new(at.count(1, 10_000)?)),
        rate: fields.get("rate").and_then(rate),
    }
}

fn certificate(at: &At<'_>) -> Option<SecretText> {
    let found = at.secret(Secrets::Required)?;
    at.cx.keep_secret(&found.text);
    Some(secret_text(found))
}

fn proxy(at: &At<'_>) -> Option<ProxyChoice> {
    let found = at.secret(Secrets::Required)?;
    Some(match found.text.as_str() {
        "environment" => ProxyChoice::Environment,
        "none" => ProxyChoice::None,
        text => match url::Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => {
                at.cx.keep_secret(text);
                ProxyChoice::Url(secret_text(found))
            }
            // What stands there is not shown: it may hold a password.
            _ => {
                let message = "expected `environment`, `none` or the URL of a proxy";
                at.report(Diagnostic::error(code::INVALID_URL, message));
                return None;
            }
        },
    })
}

/// Reads `any`, `public`, or what is allowed beside public addresses.
fn network(at: &At<'_>) -> Option<Network> {
    if at.is_scalar() {
        return at.one_of(&[("any", 0), ("public", 1)]).map(|choice| match choice {
            0 => Network::Any,
            _ => Network::Public(Vec::new()),
        });
    }
    let places = at.items("`any`, `public`, or a list of hosts and networks")?;
    Some(Network::Public(places.iter().filter_map(At::some_text).collect()))
}

/// Reads `10/s`, `100/min` or `1000/h`.
fn rate(at: &At<'_>) -> Option<(NonZeroU32, Duration)> {
    let text = at.text()?;
    let parsed = text.split_once('/').and_then(|(requests, unit)| {
        let requests = NonZeroU32::new(requests.trim().parse().ok()?)?;
        let per = match unit.trim() {
            "s" => Duration::from_secs(1),
            "min" => Duration::from_secs(60),
            "h" => Duration::from_secs(3600),
            _ => return None,
        };
        Some((requests, per))
    });
    if parsed.is_none() {
        let shown = backstop_core::text::escaped(&text, 40);
        let problem = Diagnostic::error(code::INVALID_VALUE, format!("`{shown}` is not a rate"));
        at.report(problem.hint("write `10/s`, `100/min` or `1000/h`"));
    }
    parsed
}
