//! URLs that may hold a password.

use std::{borrow::Cow, fmt};

use base64::{Engine, engine::general_purpose::STANDARD};
use percent_encoding::percent_decode_str;
use serde::{Serialize, Serializer};
use url::Url;

use crate::{
    diagnostic::{Diagnostic, code},
    reader::At,
    span::Spanned,
};

/// An `http` or `https` URL. `Debug`, `Display` and `Serialize` show no password and no key of its query.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpUrl(Url);

impl HttpUrl {
    pub(super) const fn new(url: Url) -> Self {
        Self(url)
    }

    /// The URL, with its password where it has one.
    pub fn as_url(&self) -> &Url {
        &self.0
    }

    fn shown(&self) -> String {
        let mut shown = self.0.clone();
        // It can only fail for a URL without a host, which this is not; then nothing is shown.
        if shown.password().is_some() && shown.set_password(Some("***")).is_err() {
            return String::new();
        }
        if shown.query_pairs().any(|(name, _)| is_credential(&name)) {
            let hidden = |(name, value): (Cow<'_, str>, Cow<'_, str>)| {
                let value = if is_credential(&name) { "***".to_owned() } else { value.into_owned() };
                (name.into_owned(), value)
            };
            let pairs: Vec<(String, String)> = self.0.query_pairs().map(hidden).collect();
            shown.query_pairs_mut().clear().extend_pairs(pairs);
        }
        shown.to_string()
    }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

impl fmt::Debug for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpUrl({})", self.shown())
    }
}

impl Serialize for HttpUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.shown())
    }
}

/// Reads the URL that paths are added to.
pub(super) fn base_url(at: &At<'_>) -> Option<Spanned<HttpUrl>> {
    let url = url_with_query(at)?;
    if url.value.as_url().query().is_some() {
        let hint = "for a constant query parameter, declare it with `const`";
        let message = "a base URL has no query and no fragment";
        at.report(Diagnostic::error(code::INVALID_URL, message).hint(hint));
        return None;
    }
    Some(url)
}

/// Reads a URL whose query goes along with every request, such as `?api-version=`.
pub(super) fn url_with_query(at: &At<'_>) -> Option<Spanned<HttpUrl>> {
    let text = at.text()?;
    let invalid = |reason: String| Diagnostic::error(code::INVALID_URL, reason);
    // The text is not shown anywhere: it may hold a password.
    let url = match Url::parse(text.trim()) {
        Ok(url) => url,
        Err(cause) => {
            at.report(
                invalid(format!("not a URL: {cause}")).hint("a URL looks like `https://api.example.com/v1`"),
            );
            return None;
        }
    };
    if !matches!(url.scheme(), "http" | "https") {
        at.report(
            invalid(format!("expected an `http` or `https` URL, got the scheme `{}`", url.scheme()))
                .hint("a URL looks like `https://api.example.com/v1`"),
        );
        return None;
    }
    if url.fragment().is_some() {
        at.report(invalid("a base URL has no fragment".into()));
        return None;
    }
    if let Some(password) = url.password().filter(|password| !password.is_empty()) {
        let decoded = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
        let plain = decoded(password);
        at.cx.keep_secret(password);
        at.cx.keep_secret(&STANDARD.encode(format!("{}:{plain}", decoded(url.username()))));
        at.cx.keep_secret(&plain);
        if !at.is_reference() {
            at.report(
                Diagnostic::warning(code::PLAIN_SECRET, "the password of the URL is written out")
                    .hint("use `auth: {basic: {username: .., password: ${secret:NAME}}}`"),
            );
        }
    }
    for (name, value) in url.query_pairs().filter(|(name, _)| is_credential(name)) {
        at.cx.keep_secret(&value);
        if !at.is_reference() {
            let name = backstop_core::text::escaped(&name, 80);
            at.report(
                Diagnostic::warning(
                    code::PLAIN_SECRET,
                    format!("the value of `{name}` in the URL is written out"),
                )
                .hint("where the server takes it in a header, use `headers: {NAME: ${secret:NAME}}`"),
            );
        }
    }
    Some(Spanned::new(HttpUrl::new(url), at.span()))
}

/// Whether a query parameter of this name holds a credential. Other values are no secrets: hiding `true` would hide
/// it everywhere.
pub(crate) fn is_credential(name: &str) -> bool {
    let name: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    ["key", "token", "secret", "password", "signature"].iter().any(|end| name.ends_with(end))
        || matches!(name.as_str(), "sig" | "code" | "auth" | "authorization")
}
