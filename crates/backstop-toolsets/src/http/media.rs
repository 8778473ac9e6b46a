//! What a body is, by its content type and by its first bytes.

use encoding_rs::{Encoding, WINDOWS_1252};
use reqwest::header::{CONTENT_TYPE, HeaderMap};

/// A content type, lowercase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Media {
    /// `type/subtype`; empty where nothing was said.
    pub(crate) essence: String,
    charset: Option<String>,
}

impl Media {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        Self::parse(headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default())
    }

    pub(crate) fn parse(text: &str) -> Self {
        let mut parts = text.split(';');
        let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let charset = parts
            .filter_map(|part| part.split_once('='))
            .find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))
            .map(|(_, value)| value.trim().trim_matches('"').to_ascii_lowercase());
        Self { essence, charset }
    }

    /// Whether it is this type; `image/*` stands for all images, and JSON is JSON, whatever it is about.
    pub(crate) fn is(&self, kind: &str) -> bool {
        let kind = Self::parse(kind);
        let family = kind.essence.strip_suffix('*').filter(|family| family.ends_with('/'));
        kind.essence == self.essence
            || kind.essence == "*/*"
            || family.is_some_and(|family| self.essence.starts_with(family))
            || (kind.is_json() && self.is_json())
    }

    pub(crate) fn is_json(&self) -> bool {
        self.essence.ends_with("+json") || self.essence.ends_with("/json")
    }

    pub(crate) fn is_html(&self) -> bool {
        matches!(self.essence.as_str(), "text/html" | "application/xhtml+xml")
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.essence == "text/plain"
    }

    pub(crate) fn is_text(&self) -> bool {
        const TEXTS: [&str; 9] = [
            "application/xml",
            "application/yaml",
            "application/x-yaml",
            "application/toml",
            "application/javascript",
            "application/graphql",
            "application/sql",
            "application/x-ndjson",
            "application/x-www-form-urlencoded",
        ];
        self.essence.starts_with("text/")
            || self.essence.ends_with("+xml")
            || self.essence.ends_with("+yaml")
            || TEXTS.contains(&self.essence.as_str())
    }

    /// The text of a body; `None` where it is none.
    ///
    /// A charset that was said is believed. Otherwise it is UTF-8, and what is not that but has no control
    /// characters was written before UTF-8: windows-1252, as browsers read it.
    pub(crate) fn decode(&self, bytes: &[u8]) -> Option<String> {
        if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
            let rest = bytes.get(mark..).unwrap_or_default();
            return encoding.decode_without_bom_handling_and_without_replacement(rest).map(Into::into);
        }
        if let Some(encoding) = self.charset.as_deref().and_then(|name| Encoding::for_label(name.as_bytes()))
        {
            return encoding.decode_without_bom_handling_and_without_replacement(bytes).map(Into::into);
        }
        let is_binary = |bytes: &[u8]| {
            bytes.iter().any(|b| *b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b))
        };
        match std::str::from_utf8(bytes) {
            Ok(text) => (!text.contains('\0')).then(|| text.to_owned()),
            Err(_) if is_binary(bytes) || !self.essence.starts_with("text/") => None,
            Err(_) => WINDOWS_1252.decode_without_bom_handling_and_without_replacement(bytes).map(Into::into),
        }
    }
}

/// Whether a text has tags in it: many small services call plain text HTML.
pub(crate) fn has_markup(text: &str) -> bool {
    let tag = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!'));
    text.split('<').skip(1).any(tag)
}

/// Whether a text is a page for people.
pub(crate) fn looks_like_html(text: &str) -> bool {
    let start: String = text.trim_start().chars().take(200).collect::<String>().to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.contains("<html") || start.contains("<body")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn media(text: &str) -> Media {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, text.parse().unwrap());
        Media::of(&headers)
    }

    #[test]
    fn charsets_are_believed_and_missing_ones_are_guessed_with_care() {
        assert_eq!(media("text/csv; charset=iso-8859-1").decode(b"caf\xe9"), Some("café".into()));
        assert_eq!(media("text/csv; Charset=\"ISO-8859-1\"").decode(b"caf\xe9"), Some("café".into()));
        assert_eq!(media("text/csv").decode(b"caf\xe9"), Some("café".into()));
        assert_eq!(media("text/csv").decode("café".as_bytes()), Some("café".into()));
        assert_eq!(media("text/plain").decode(b"\xef\xbb\xbfhi"), Some("hi".into()));
        assert_eq!(media("text/plain; charset=utf-8").decode(b"\xff\xfd caf\xe9 \x00"), None);
        assert_eq!(media("text/plain").decode(b"\x00\xff\x10"), None);
        assert_eq!(media("text/plain; charset=shift_jis").decode(b"\x83e"), Some("テ".into()));
    }

    #[test]
    fn types_are_told_apart() {
        assert!(media("application/problem+JSON; charset=utf-8").is_json());
        assert!(media("text/json").is_json());
        assert!(media("image/svg+xml").is_text());
        assert!(!media("application/octet-stream").is_text());
        assert!(media("Text/HTML").is_html());
        for (kind, same) in [
            ("application/pdf", true),
            ("Application/PDF; x=y", true),
            ("application/*", true),
            ("*/*", true),
            ("application/json", false),
            ("image/*", false),
            ("*", false),
        ] {
            assert_eq!(media("application/pdf").is(kind), same, "{kind}");
        }
        assert!(media("application/hal+json").is("application/json"));
    }
}
