//! Headers and credentials.

use crate::{
    context::Secrets,
    diagnostic::{Diagnostic, code},
    reader::{At, secret_text},
    secret::SecretText,
    span::Spanned,
};

/// A header that goes with every request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Header {
    /// Its name, as written.
    pub name: Spanned<String>,
    /// Its value.
    pub value: SecretText,
}

/// Headers that the client itself is responsible for.
const RESERVED: [&str; 6] = ["host", "content-length", "transfer-encoding", "connection", "upgrade", "te"];
/// Headers whose values are credentials.
const CREDENTIALS: [&str; 7] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "x-api-key",
    "api-key",
    "x-auth-token",
    "x-goog-api-key",
];

/// Reads a mapping of headers.
pub(super) fn headers(at: &At<'_>) -> Vec<Header> {
    let Some(entries) = at.entries("a mapping of header names to values") else { return Vec::new() };
    let mut headers: Vec<Header> = Vec::new();
    for entry in entries {
        let name = entry.key();
        let value = header_value(&entry, &name.value);
        if !check_header_name(&entry, &name.value) {
            continue;
        }
        if headers.iter().any(|other| other.name.eq_ignore_ascii_case(&name.value)) {
            let message = format!("the header `{}` is given twice in different case", name.value);
            entry.report_key(Diagnostic::error(code::DUPLICATE_KEY, message));
            continue;
        }
        headers.extend(value.map(|value| Header { name, value }));
    }
    headers
}

/// Reads the names of headers that are passed on from whoever starts a run. What the toolset sends itself is not
/// among them.
pub(super) fn caller_headers(at: &At<'_>, own: &[Header], own_header: Option<&str>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for item in at.one_or_many() {
        let Some(name) = item.some_text().filter(|name| check_header_name(&item, name)) else { continue };
        let is_same = |other: &str| other.eq_ignore_ascii_case(&name);
        let problem = if names.iter().any(|other| is_same(other)) {
            "is given twice"
        } else if own.iter().any(|header| is_same(&header.name)) || own_header.is_some_and(is_same) {
            "is sent by the toolset itself"
        } else {
            names.push(name);
            continue;
        };
        item.report(Diagnostic::error(code::DUPLICATE_KEY, format!("the header `{name}` {problem}")));
    }
    names
}

/// Whether a byte can be in the name of a header or a cookie.
pub(super) const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

/// Whether a name can be sent and is ours to send.
pub(super) fn check_header_name(at: &At<'_>, name: &str) -> bool {
    let shown = backstop_core::text::escaped(name, 80);
    if name.is_empty() || !name.bytes().all(is_token) {
        at.report_key(Diagnostic::error(code::INVALID_HEADER, format!("`{shown}` is not a header name")));
        return false;
    }
    if RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
        let message = format!("the header `{shown}` is set by the HTTP client");
        at.report_key(Diagnostic::error(code::INVALID_HEADER, message));
        return false;
    }
    true
}

/// The same for a header that arguments are in, and never what says how the message is to be read.
pub(super) fn check_argument_header(at: &At<'_>, name: &str) -> bool {
    if !check_header_name(at, name) {
        return false;
    }
    let of_the_message = ["content-type", "expect", "keep-alive", "trailer"];
    let is_ours = of_the_message.iter().any(|ours| name.eq_ignore_ascii_case(ours));
    if is_ours {
        let shown = backstop_core::text::escaped(name, 80);
        let message = format!("the header `{shown}` can't be set by an argument");
        let problem = Diagnostic::error(code::INVALID_HEADER, message);
        at.report_key(problem.hint("`body` says what the content type is"));
    }
    !is_ours
}

fn header_value(at: &At<'_>, name: &str) -> Option<SecretText> {
    let found = at.secret(Secrets::Required)?;
    let is_credential = CREDENTIALS.iter().any(|known| name.eq_ignore_ascii_case(known));
    if is_credential {
        if !found.referenced {
            let name = backstop_core::text::escaped(name, 80);
            warn_plain(at, &format!("the value of `{name}` is written out"));
        }
        // Without the scheme: `Bearer abc` is a credential as `abc`.
        let bare = found.text.split_once(' ').map_or(found.text.as_str(), |(_, rest)| rest);
        at.cx.keep_secret(bare.trim());
    }
    check_sendable(at, &found.text).then(|| secret_text(found))
}

/// Reads a credential: text that is kept secret however it is written.
pub(super) fn credential(at: &At<'_>, secrets: Secrets) -> Option<SecretText> {
    let found = at.secret(secrets)?;
    if found.text.trim().is_empty() {
        if secrets == Secrets::Optional && found.secret {
            return Some(SecretText::default());
        }
        at.error(code::INVALID_VALUE, "it is empty");
        return None;
    }
    if !found.referenced {
        warn_plain(at, "a credential is written out");
    }
    at.cx.keep_secret(&found.text);
    check_sendable(at, &found.text).then(|| secret_text(found))
}

fn warn_plain(at: &At<'_>, message: &str) {
    let hint = "keep it out of the file: `${secret:NAME}` reads the variable NAME";
    at.report(Diagnostic::warning(code::PLAIN_SECRET, message).hint(hint));
}

/// Whether a value can be part of a header; what it is is not shown.
pub(super) fn check_sendable(at: &At<'_>, value: &str) -> bool {
    let fit = !value.chars().any(|c| c.is_control() && c != '\t');
    if !fit {
        at.error(code::INVALID_HEADER, "a header can't hold line breaks or control characters");
    }
    fit
}
