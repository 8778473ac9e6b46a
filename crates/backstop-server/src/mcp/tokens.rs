//! Who may ask: bearer tokens (RFC 6750).

use std::fmt;

use axum::http::{HeaderMap, header::AUTHORIZATION};
use subtle::ConstantTimeEq as _;

/// The tokens that are taken. Any of them may do everything.
#[derive(Clone, Default)]
pub struct Tokens(Vec<String>);

impl Tokens {
    /// These tokens; blank ones are left out.
    pub fn new(tokens: impl IntoIterator<Item = String>) -> Self {
        let tokens = tokens.into_iter().map(|token| token.trim().to_owned());
        Self(tokens.filter(|token| !token.is_empty()).collect())
    }

    /// Whether everybody may ask.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a request with these headers may ask. How long it takes tells nothing of a token but its length.
    pub(super) fn allow(&self, headers: &HeaderMap) -> bool {
        if self.is_empty() {
            return true;
        }
        let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let Some((scheme, token)) = header.split_once(' ') else { return false };
        let token = token.trim().as_bytes();
        let known = self.0.iter().fold(false, |known, own| known | bool::from(own.as_bytes().ct_eq(token)));
        scheme.eq_ignore_ascii_case("bearer") && known
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokens({})", self.0.len())
    }
}
