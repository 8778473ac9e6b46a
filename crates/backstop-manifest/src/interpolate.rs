//! References in text: `${NAME}`, `${NAME:-default}`, `${secret:NAME}`, `${secret:file:PATH}`, and `$${` for a
//! literal `${`.
//!
//! Only the grammar is here. What a reference stands for is looked up by the context, once: nothing that comes
//! out of a variable is read as a reference again.

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    /// Text as it is.
    Text(&'t str),
    /// `$${`, which stands for `${`.
    Escape,
    /// `${NAME}` or `${NAME:-default}`.
    Variable { name: &'t str, default: Option<&'t str>, raw: &'t str },
    /// `${secret:NAME}`, with or without an empty default.
    Secret { name: &'t str, optional: bool, raw: &'t str },
    /// `${secret:file:PATH}`.
    SecretFile { path: &'t str, raw: &'t str },
    /// Something that starts with `${` and is none of these.
    Malformed { reason: &'static str, raw: &'t str },
}

/// Takes a text apart.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("$${") {
            pieces.push(Piece::Escape);
            rest = after;
        } else if let Some(body) = rest.strip_prefix("${") {
            let (piece, length) = reference(rest, body);
            pieces.push(piece);
            rest = rest.get(length..).unwrap_or_default();
        } else {
            // `$` is one byte, so the cut is at a character.
            let end = rest.bytes().skip(1).position(|byte| byte == b'$').map_or(rest.len(), |at| at + 1);
            let end = if rest.starts_with('$') { 1 } else { end };
            let (plain, after) = rest.split_at(end);
            pieces.push(Piece::Text(plain));
            rest = after;
        }
    }
    pieces
}

/// The reference at the start of `rest`, and its length.
fn reference<'t>(rest: &'t str, body: &'t str) -> (Piece<'t>, usize) {
    let Some(close) = body.find('}') else {
        return (Piece::Malformed { reason: "it is not closed by `}`", raw: rest }, rest.len());
    };
    let length = 2 + close + 1;
    let inner = body.get(..close).unwrap_or_default();
    let raw = rest.get(..length).unwrap_or_default();
    let malformed = |reason| Piece::Malformed { reason, raw };
    if inner.contains("${") {
        return (malformed("references can't be nested"), length);
    }
    let piece = match inner.strip_prefix("secret:") {
        Some(secret) => match secret.strip_prefix("file:") {
            Some("") => malformed("the path of the secret file is missing"),
            Some(path) => Piece::SecretFile { path, raw },
            None => match secret.split_once(":-") {
                Some((name, "")) if is_name(name) => Piece::Secret { name, optional: true, raw },
                Some((name, _)) if is_name(name) => {
                    malformed("a secret has no default other than an empty one")
                }
                None if is_name(secret) => Piece::Secret { name: secret, optional: false, raw },
                _ => malformed("the name of a secret has letters, digits and `_`"),
            },
        },
        None => match inner.split_once(":-") {
            Some((name, default)) if is_name(name) => Piece::Variable { name, default: Some(default), raw },
            None if is_name(inner) => Piece::Variable { name: inner, default: None, raw },
            _ => malformed("the name of a variable has letters, digits and `_`"),
        },
    };
    (piece, length)
}

fn is_name(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(text: &str) -> &'static str {
        match pieces(text).as_slice() {
            [Piece::Malformed { reason, .. }] => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_text_is_taken_apart() {
        assert_eq!(
            pieces("ä$5 ${A}${B:-x:-y}$${C} $$${D}$"),
            [
                Piece::Text("ä"),
                Piece::Text("$"),
                Piece::Text("5 "),
                Piece::Variable { name: "A", default: None, raw: "${A}" },
                Piece::Variable { name: "B", default: Some("x:-y"), raw: "${B:-x:-y}" },
                Piece::Escape,
                Piece::Text("C} "),
                Piece::Text("$"),
                Piece::Escape,
                Piece::Text("D}"),
                Piece::Text("$"),
            ]
        );
        assert_eq!(
            pieces("${secret:K}${secret:K:-}${secret:file:a/b:-c}"),
            [
                Piece::Secret { name: "K", optional: false, raw: "${secret:K}" },
                Piece::Secret { name: "K", optional: true, raw: "${secret:K:-}" },
                Piece::SecretFile { path: "a/b:-c", raw: "${secret:file:a/b:-c}" },
            ]
        );
    }

    #[test]
    fn what_is_no_reference_is_malformed() {
        assert_eq!(reason("${A"), "it is not closed by `}`");
        assert_eq!(reason("${}"), "the name of a variable has letters, digits and `_`");
        assert_eq!(reason("${A-b}"), "the name of a variable has letters, digits and `_`");
        assert_eq!(reason("${1A}"), "the name of a variable has letters, digits and `_`");
        assert_eq!(reason("${secret:}"), "the name of a secret has letters, digits and `_`");
        assert_eq!(reason("${secret:K:-fallback}"), "a secret has no default other than an empty one");
        assert_eq!(reason("${secret:file:}"), "the path of the secret file is missing");
        assert!(matches!(
            pieces("${A:-${B}}").as_slice(),
            [Piece::Malformed { reason: "references can't be nested", raw: "${A:-${B}" }, Piece::Text("}")]
        ));
    }
}
