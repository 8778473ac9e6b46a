//! `security`: how a service wants to know who calls.

use super::reference::Node;
use crate::http::Place;

/// One way in which a service wants to know who calls, as its document declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecurityNeed {
    /// `Authorization: Bearer …`.
    Bearer,
    /// A user and a password.
    Basic,
    /// A key.
    ApiKey {
        /// Header, query or cookie.
        place: Place,
        /// Its name there.
        name: String,
    },
    /// A token of OAuth 2 or OpenID Connect.
    OAuth2 {
        /// Where client credentials are exchanged for a token, where the document says it.
        token_url: Option<String>,
    },
    /// Another way.
    Other(String),
}

/// The ways that an operation offers, any of which is enough; empty where it needs none.
pub(super) fn needs(root: &Node<'_>, operation: &Node<'_>) -> Vec<SecurityNeed> {
    let own = operation.value.get("security").is_some();
    let list = if own { operation.items("security") } else { root.items("security") };
    let names: Vec<&str> = list
        .iter()
        .filter_map(|one| one.value.as_object())
        .flat_map(|one| one.keys().map(String::as_str))
        .collect();
    let is_optional = list.iter().any(|one| one.value.as_object().is_some_and(serde_json::Map::is_empty));
    let schemes = root.child("components").map(|components| components.entries("securitySchemes"));
    let mut needs = Vec::new();
    for (name, scheme) in schemes.unwrap_or_default() {
        if let Some(need) =
            scheme.resolved().ok().filter(|_| names.contains(&name)).map(|scheme| need(&scheme))
            && !needs.contains(&need)
        {
            needs.push(need);
        }
    }
    if is_optional { Vec::new() } else { needs }
}

/// The keys that any scheme puts into a request: no arguments of a model.
pub(super) fn keys(root: &Node<'_>) -> Vec<(Place, String)> {
    let schemes = root.child("components").map(|components| components.entries("securitySchemes"));
    let keys = schemes.unwrap_or_default().into_iter().filter_map(|(_, scheme)| {
        match need(&scheme.resolved().ok()?) {
            SecurityNeed::ApiKey { place, name } => Some((place, name)),
            _ => None,
        }
    });
    keys.collect()
}

fn need(scheme: &Node<'_>) -> SecurityNeed {
    let kind = scheme.text("type").unwrap_or_default();
    match (kind, scheme.text("scheme").map(str::to_ascii_lowercase).as_deref()) {
        ("http", Some("bearer")) => SecurityNeed::Bearer,
        ("http", Some("basic")) => SecurityNeed::Basic,
        ("apiKey", _) => {
            let place = match scheme.text("in") {
                Some("query") => Place::Query,
                Some("cookie") => Place::Cookie,
                _ => Place::Header,
            };
            SecurityNeed::ApiKey { place, name: scheme.text("name").unwrap_or_default().to_owned() }
        }
        ("oauth2" | "openIdConnect", _) => {
            let flow = scheme.child("flows").and_then(|flows| flows.child("clientCredentials"));
            let token_url = flow.and_then(|flow| flow.text("tokenUrl").map(str::to_owned));
            SecurityNeed::OAuth2 { token_url }
        }
        (kind, scheme) => SecurityNeed::Other(match scheme {
            Some(scheme) => format!("{kind} {scheme}"),
            None => kind.to_owned(),
        }),
    }
}
