//! `auth`: how requests are authenticated.

use base64::{Engine, engine::general_purpose::STANDARD};

use super::header::{check_header_name, credential};
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
}

/// Where an API key goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApiKeyPlace {
    /// In a header.
    Header,
    /// In the query.
    Query,
}

/// Reads the credential of a service.
pub(super) fn auth(at: &At<'_>) -> Option<Auth> {
    if at.is_scalar() {
        // What stands there is not shown: it may be the credential itself.
        if at.text()? == "none" {
            return Some(Auth::None);
        }
        let message = "expected `none` or a mapping with `bearer`, `basic` or `api_key`";
        at.report(
            Diagnostic::error(code::WRONG_TYPE, message).hint("write `auth: {bearer: ${secret:NAME}}`"),
        );
        return None;
    }
    let fields = at.fields(&["bearer", "basic", "api_key"])?;
    let bearer = fields.get("bearer").map(|at| credential(at, Secrets::Required).map(Auth::Bearer));
    let basic = fields.get("basic").map(basic);
    let api_key = fields.get("api_key").map(api_key);
    let mut given = [bearer, basic, api_key].into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(auth), None) => auth,
        _ => {
            at.error(code::EXACTLY_ONE, "`auth` has exactly one of `bearer`, `basic` and `api_key`");
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
    let fields = at.fields(&["header", "query", "value"])?;
    let value = fields.required("value").and_then(|at| credential(at, Secrets::Required));
    let header = fields.get("header").map(|at| at.some_text().filter(|name| check_header_name(at, name)));
    let query = fields.get("query").map(At::some_text);
    let (place, name) = match (header, query) {
        (Some(name), None) => (ApiKeyPlace::Header, name),
        (None, Some(name)) => (ApiKeyPlace::Query, name),
        _ => {
            at.error(code::EXACTLY_ONE, "`api_key` has exactly one of `header` and `query`");
            return None;
        }
    };
    Some(Auth::ApiKey { place, name: name?, value: value? })
}
