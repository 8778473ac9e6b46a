//! Paths with placeholders.

use std::collections::HashSet;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

/// What can't stand in the literal part of a path as it is. `%` can: a template may be encoded already.
const LITERAL: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'`').add(b'^').add(b'|');

/// A path such as `/files/{name}/meta`, taken apart once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// Encoded.
    Literal(String),
    Placeholder(String),
}

impl Template {
    /// # Errors
    ///
    /// Why it can't be a path.
    pub(super) fn parse(path: &str) -> Result<Self, &'static str> {
        if !path.is_empty() && !path.starts_with('/') {
            return Err("does not start with `/`");
        }
        if path.contains(['?', '#', '\\']) {
            return Err("holds `?`, `#` or `\\`: declare a query as parameters");
        }
        let lower = path.to_ascii_lowercase().replace("%2e", ".");
        if lower.split('/').any(|segment| matches!(segment, "." | "..")) {
            return Err("has a `.` or `..` segment");
        }
        let mut pieces = Vec::new();
        let mut seen = HashSet::new();
        let mut rest = path;
        while let Some((literal, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').ok_or("has a `{` without its `}`")?;
            if name.is_empty() || name.contains('{') || !seen.insert(name) {
                return Err("has a placeholder that is empty, nested or there twice");
            }
            pieces.push(literal_piece(literal)?);
            pieces.push(Piece::Placeholder(name.to_owned()));
            rest = after;
        }
        pieces.push(literal_piece(rest)?);
        Ok(Self(pieces))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Placeholder(name) => Some(name.as_str()),
            Piece::Literal(_) => None,
        })
    }

    /// The path with what `encoded` gives for each placeholder. Braces in a value are not expanded again.
    pub(super) fn fill<E>(&self, mut encoded: impl FnMut(&str) -> Result<String, E>) -> Result<String, E> {
        self.0.iter().try_fold(String::new(), |mut path, piece| {
            match piece {
                Piece::Literal(literal) => path.push_str(literal),
                Piece::Placeholder(name) => path.push_str(&encoded(name)?),
            }
            Ok(path)
        })
    }
}

fn literal_piece(literal: &str) -> Result<Piece, &'static str> {
    if literal.contains('}') {
        return Err("has a `}` without its `{`");
    }
    Ok(Piece::Literal(utf8_percent_encode(literal, LITERAL).to_string()))
}
