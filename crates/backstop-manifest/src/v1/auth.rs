//! `auth`: how requests are authenticated.

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{
    header::{check_header_name, credential},
    url::{HttpUrl, url_with_query},
};
use crate::{
    context::Secrets,
    diagnostic::{Diagnostic, code},
    reader::At,
    secret::SecretText,
};

/// How requests are authenticated.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Auth {
    /// Not at all.
    #[default]
    None,
    /// `Authorization: Bearer`.
    Bearer(SecretText),
    /// `Authorization: Basic`.
    Basic {
        /// The user.
        username: SecretText,
        /// The password; may be empty.
        password: SecretText,
    },
    /// A key in a header or a query parameter.
    ApiKey {
        /// Header or query parameter.
        place: ApiKeyPlace,
        /// Its name.
        name: String,
        /// The key.
        value: SecretText,
    },
    /// `Authorization: Bearer` with a token that these credentials are exchanged for.
    OAuth2(Box<OAuth2>),
}

impl Auth {
    /// The header that it is sent in; none for what goes in the query.
    pub(super) fn header(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::Bearer(_) | Self::Basic { .. } | Self::OAuth2(_) => Some("authorization"),
            Self::ApiKey { place: ApiKeyPlace::Header, name, .. } => Some(name),
            Self::ApiKey { place: ApiKeyPlace::Cookie, .. } => Some("cookie"),
            Self::ApiKey { place: ApiKeyPlace::Query, .. } => None,
        }
    }
}

/// Credentials that are exchanged for a token (RFC 6749, section 4.4).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OAuth2 {
    /// Where.
    pub token_url: HttpUrl,
    /// Who.
    pub client_id: String,
    /// The client's secret.
    pub client_secret: SecretText,
    /// What for; empty where nothing is said.
    pub scope: String,
    /// Further fields of the request, such as `audience`.
    pub extra: Vec<(String, String)>,
    /// Whether the client says who it is in the body, not in a header.
    pub in_body: bool,
}

/// Where an API key goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApiKeyPlace {
    /// In a header.
    Header,
    /// In the query.
    Query,
    /// In a cookie.
    Cookie,
}

/// Reads the credential of a service.
pub(super) fn auth(at: &At<'_>) -> Option<Auth> {
    if at.is_scalar() {
        // What stands there is not shown: it may be the credential itself.
        if at.text()? == "none" {
            return Some(Auth::None);
        }
        let message = "expected `none` or a mapping with `bearer`, `basic`, `api_key` or `oauth2` (of an MCP server also `login`)";
        at.report(
            Diagnostic::error(code::WRONG_TYPE, message).hint("write `auth: {bearer: ${secret:NAME}}`"),
        );
        return None;
    }
    let fields = at.fields(&["bearer", "basic", "api_key", "oauth2"])?;
    let bearer = fields.get("bearer").map(|at| credential(at, Secrets::Required).map(Auth::Bearer));
    let basic = fields.get("basic").map(basic);
    let api_key = fields.get("api_key").map(api_key);
    let oauth2 = fields.get("oauth2").map(oauth2);
    let mut given = [bearer, basic, api_key, oauth2].into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(auth), None) => auth,
        _ => {
            at.error(
                code::EXACTLY_ONE,
                "`auth` has exactly one of `bearer`, `basic`, `api_key` and `oauth2`",
            );
            None
        }
    }
}

fn basic(at: &At<'_>) -> Option<Auth> {
    let fields = at.fields(&["username", "password"])?;
    let username = fields.required("username").and_then(|at| at.secret(Secrets::Required));
    let password = fields.required("password").and_then(|at| credential(at, Secrets::Required));
    let (username, password) = (username?.text, password?);
    if username.contains(':') {
        // It ends the user name on the wire (RFC 7617).
        fields.get("username")?.error(code::INVALID_VALUE, "a user name can't have a `:` in it");
    }
    at.cx.keep_secret(&STANDARD.encode(format!("{username}:{}", password.expose())));
    Some(Auth::Basic { username: SecretText::new(username), password })
}

fn api_key(at: &At<'_>) -> Option<Auth> {
    let fields = at.fields(&["header", "query", "cookie", "value"])?;
    let value = fields.required("value").and_then(|at| credential(at, Secrets::Required));
    let header = fields.get("header").map(|at| at.some_text().filter(|name| check_header_name(at, name)));
    let query = fields.get("query").map(At::some_text);
    let cookie = fields.get("cookie").map(|at| at.some_text().filter(|name| check_header_name(at, name)));
    let (place, name) = match (header, query, cookie) {
        (Some(name), None, None) => (ApiKeyPlace::Header, name),
        (None, Some(name), None) => (ApiKeyPlace::Query, name),
        (None, None, Some(name)) => (ApiKeyPlace::Cookie, name),
        _ => {
            at.error(code::EXACTLY_ONE, "`api_key` has exactly one of `header`, `query` and `cookie`");
            return None;
        }
    };
    Some(Auth::ApiKey { place, name: name?, value: value? })
}

fn oauth2(at: &At<'_>) -> Option<Auth> {
    const KEYS: &[&str] = &["token_url", "client_id", "client_secret", "scope", "extra", "client_auth"];
    let fields = at.fields(KEYS)?;
    let token_url = fields.required("token_url").and_then(url_with_query);
    let client_id = fields.required("client_id").and_then(At::some_text);
    let client_secret = fields.required("client_secret").and_then(|at| credential(at, Secrets::Required));
    let scope = fields.text("scope").unwrap_or_default();
    let extra = fields.get("extra").and_then(|at| at.entries("a mapping of fields")).unwrap_or_default();
    let extra = extra.iter().filter_map(|entry| Some((entry.key().value, entry.text()?))).collect();
    let in_body = match fields.get("client_auth") {
        Some(at) => at.one_of(&[("basic", false), ("body", true)])?,
        None => false,
    };
    Some(Auth::OAuth2(Box::new(OAuth2 {
        token_url: token_url?.value,
        client_id: client_id?,
        client_secret: client_secret?,
        scope,
        extra,
        in_body,
    })))
}
