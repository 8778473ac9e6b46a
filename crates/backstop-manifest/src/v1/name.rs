//! What names may look like.

use std::time::Duration;

use crate::{
    diagnostic::{Diagnostic, code},
    reader::At,
};

/// The longest timeout of one thing.
pub(super) const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// Letters of a name that every provider takes.
const PROVIDER_CAP: usize = 64;

/// Whether a name of an agent or a toolset is fit: it may become a directory, a prefix, a label.
pub(super) fn is_name(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    let rest = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
    starts && name.len() <= PROVIDER_CAP && name.bytes().all(rest)
}

/// The problem of a name that is not fit.
pub(super) fn invalid_name(name: &str) -> Diagnostic {
    let shown = backstop_core::text::escaped(name, 80);
    Diagnostic::error(code::INVALID_NAME, format!("`{shown}` is not a name"))
        .hint("lowercase letters, digits, `_` and `-`, starting with a letter or digit, at most 64")
}

/// Warns of the name of a tool or parameter that model providers refuse.
pub(super) fn lint_provider_name(at: &At<'_>, what: &str, name: &str) {
    let fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if name.len() > PROVIDER_CAP || name.is_empty() || !name.bytes().all(fit) {
        let shown = backstop_core::text::escaped(name, 80);
        let message = format!("model providers do not take `{shown}` as the name of a {what}");
        let hint = "letters, digits, `_` and `-`, at most 64";
        at.report_key(Diagnostic::warning(code::PROVIDER_NAME, message).hint(hint));
    }
}
