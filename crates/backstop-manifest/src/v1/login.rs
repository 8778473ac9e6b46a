//! `auth: login`: a person logs in, and what they were given is kept.

use url::Url;

use super::header::credential;
use crate::{
    context::Secrets,
    diagnostic::{Diagnostic, code},
    reader::At,
    secret::SecretText,
};

/// A server that a person logs in to, once.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Login {
    /// The client's id at the authorization server; it registers itself where there is none.
    pub client_id: Option<String>,
    /// The client's secret, where it has one.
    pub client_secret: Option<SecretText>,
    /// What may be done with the token; what the server asks for where it is empty.
    pub scopes: Vec<String>,
    /// Where the browser comes back to, where the client is registered with it: an address on loopback.
    pub redirect: Option<Url>,
}

/// Reads a login, if it is one.
pub(super) fn login(at: &At<'_>) -> Option<Option<Login>> {
    if at.is_scalar() {
        return (!at.has_secret() && at.text()? == "login").then(|| Some(Login::default()));
    }
    let login = at.child("login")?;
    if at.entries_quietly().is_some_and(|entries| entries.len() > 1) {
        at.error(code::EXACTLY_ONE, "`login` stands alone in `auth`");
        return Some(None);
    }
    Some(declared(&login))
}

fn declared(at: &At<'_>) -> Option<Login> {
    let fields = at.fields(&["client_id", "client_secret", "scopes", "redirect"])?;
    let client_id = fields.get("client_id").map(At::some_text);
    let client_secret = fields.get("client_secret").map(|at| credential(at, Secrets::Required));
    if let (Some(at), None) = (fields.get("client_secret"), &client_id) {
        at.error(code::INVALID_VALUE, "`client_secret` needs a `client_id`");
    }
    let scopes = fields.get("scopes").map(At::one_or_many).unwrap_or_default();
    let scopes: Vec<_> = scopes.iter().map(scope).collect();
    let redirect = fields.get("redirect").map(redirect);
    Some(Login {
        client_id: optional(client_id)?,
        client_secret: optional(client_secret)?,
        scopes: scopes.into_iter().collect::<Option<_>>()?,
        redirect: optional(redirect)?,
    })
}

/// What is not said is fine; what can't be read is not.
fn optional<T>(read: Option<Option<T>>) -> Option<Option<T>> {
    match read {
        None => Some(None),
        Some(read) => read.map(Some),
    }
}

/// RFC 6749, section 3.3.
fn scope(at: &At<'_>) -> Option<String> {
    let text = at.some_text()?;
    if !text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\')) {
        let problem = Diagnostic::error(code::INVALID_VALUE, "a scope has no blanks and no quotes in it");
        at.report(problem.hint("more than one are a list: `scopes: [read, write]`"));
        return None;
    }
    Some(text)
}

/// RFC 8252, section 7.3.
fn redirect(at: &At<'_>) -> Option<Url> {
    let text = at.some_text()?;
    let url = Url::parse(&text).ok().filter(|url| {
        url.scheme() == "http"
            && matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"))
            && url.port().is_some()
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none()
    });
    if url.is_none() {
        let problem =
            Diagnostic::error(code::INVALID_URL, "the browser comes back to an address on this machine");
        at.report(problem.hint("write `redirect: http://127.0.0.1:PORT/callback`"));
    }
    url
}
