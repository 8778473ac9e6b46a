//! The name of a file, from `Content-Disposition` (RFC 6266).

use percent_encoding::percent_decode_str;
use reqwest::header::{CONTENT_DISPOSITION, HeaderMap};

/// Letters of a name that are kept.
const NAME_CAP: usize = 200;

/// The name that the answer gives its content, without a path.
pub(super) fn file_name(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_DISPOSITION)?;
    // Many services send the name as it is, which is UTF-8.
    let text = String::from_utf8_lossy(value.as_bytes());
    let (mut plain, mut extended) = (None, None);
    for (key, value) in parameters(&text) {
        match key.as_str() {
            "filename" => plain = Some(value),
            "filename*" => extended = decoded(&value),
            _ => {}
        }
    }
    let name = extended.or(plain)?;
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = name.chars().filter(|c| !c.is_control()).take(NAME_CAP).collect();
    let name = name.trim();
    (!name.is_empty() && !matches!(name, "." | "..")).then(|| name.to_owned())
}

/// The parameters behind the type, names lowercase, values without their quotes.
fn parameters(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text.split_once(';').map_or("", |(_, rest)| rest);
    while let Some((key, behind)) = rest.split_once('=') {
        let key = key.trim().trim_start_matches(';').trim().to_ascii_lowercase();
        let behind = behind.trim_start();
        let (value, next) = match behind.strip_prefix('"') {
            Some(quoted) => unquoted(quoted),
            None => {
                let (value, next) = behind.split_once(';').unwrap_or((behind, ""));
                (value.trim().to_owned(), next)
            }
        };
        found.push((key, value));
        rest = next;
    }
    found
}

/// A quoted text to its closing quote, and what is behind it.
fn unquoted(quoted: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, quoted.get(at + 1..).unwrap_or_default()),
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            c => value.push(c),
        }
    }
    (value, "")
}

/// `UTF-8''na%C3%AFve.txt` (RFC 8187).
fn decoded(value: &str) -> Option<String> {
    let (charset, rest) = value.split_once('\'')?;
    let (_, encoded) = rest.split_once('\'')?;
    let bytes: Vec<u8> = percent_decode_str(encoded).collect();
    let encoding = encoding_rs::Encoding::for_label(charset.as_bytes())?;
    encoding.decode_without_bom_handling_and_without_replacement(&bytes).map(Into::into)
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn names_are_read_in_all_their_forms_and_never_as_a_path() {
        for (header, name) in [
            ("attachment; filename=report.pdf", Some("report.pdf")),
            (r#"attachment; filename="a \"b\"; c.txt"; size=3"#, Some(r#"a "b"; c.txt"#)),
            ("attachment; filename=\"EUR.txt\"; filename*=UTF-8''%e2%82%ac.txt", Some("€.txt")),
            ("attachment; filename*=iso-8859-1''caf%E9.txt", Some("café.txt")),
            ("inline; filename=\"naïve.txt\"", Some("naïve.txt")),
            ("attachment; filename=\"../../etc/passwd\"", Some("passwd")),
            (r"attachment; filename=C:\x.txt", Some("x.txt")),
            ("attachment; filename=\"..\"", None),
            ("attachment; filename=\"\"", None),
            ("attachment; filename=\"open", Some("open")),
            ("attachment", None),
            ("", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_DISPOSITION, HeaderValue::from_bytes(header.as_bytes()).unwrap());
            assert_eq!(file_name(&headers).as_deref(), name, "{header}");
        }
    }
}
