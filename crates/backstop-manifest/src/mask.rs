//! Hides `${...}` from the YAML parser.
//!
//! `{`, `}`, `,` and `: ` mean something to YAML, so `auth: { bearer: ${secret:TOKEN} }` would be a syntax error
//! although everybody writes it. References are replaced by harmless letters of the same length before parsing,
//! so that all places stay right, and put back into the scalars afterwards.

use std::{borrow::Cow, ops::Range};

/// The text without references.
pub(crate) struct Masked<'s> {
    pub(crate) text: Cow<'s, str>,
    source: &'s str,
    references: Vec<Range<usize>>,
    letter: char,
}

/// What stands for a special character; one that does not follow a `$` anywhere in the text is taken.
const LETTERS: &str = "_xqjzkvwyXQJZKVWY0123456789abcdefghilmnoprstuABCDEFGHILMNOPRSTU";

impl<'s> Masked<'s> {
    pub(crate) fn new(source: &'s str) -> Self {
        let references = references(source);
        let letter = LETTERS.chars().find(|letter| !source.contains(&format!("${letter}")));
        let Some(letter) = letter.filter(|_| !references.is_empty()) else {
            return Self { text: Cow::Borrowed(source), source, references: Vec::new(), letter: '_' };
        };
        let mut text = String::with_capacity(source.len());
        let mut done = 0;
        for range in &references {
            text.push_str(source.get(done..range.start).unwrap_or_default());
            text.extend(source.get(range.clone()).unwrap_or_default().chars().map(|c| hide(c, letter)));
            done = range.end;
        }
        text.push_str(source.get(done..).unwrap_or_default());
        Self { text: Cow::Owned(text), source, references, letter }
    }

    /// Puts the references back into a scalar that was read from `place`.
    pub(crate) fn restore(&self, scalar: Cow<'_, str>, place: Range<usize>) -> String {
        let first = self.references.partition_point(|range| range.start < place.start);
        let inside = self.references.iter().skip(first).take_while(|range| range.end <= place.end);
        let mut out = String::new();
        let mut rest = scalar.as_ref();
        for range in inside {
            let reference = self.source.get(range.clone()).unwrap_or_default();
            let hidden: String = reference.chars().map(|c| hide(c, self.letter)).collect();
            // A block scalar may leave out what is behind its indentation, a comment is no part of a scalar.
            if let Some((before, after)) = rest.split_once(hidden.as_str()) {
                out.push_str(before);
                out.push_str(reference);
                rest = after;
            }
        }
        if out.is_empty() {
            return scalar.into_owned();
        }
        out.push_str(rest);
        out
    }
}

fn hide(c: char, letter: char) -> char {
    if matches!(c, '{' | '}' | '[' | ']' | ',' | ':' | '#') { letter } else { c }
}

/// Every `${...}` on one line without quotes, escapes or braces in it: in these forms hiding can't change how
/// the text around it is read.
fn references(source: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = source.get(from..).and_then(|rest| rest.find("${")).map(|at| from + at) {
        let body = source.get(start + 2..).unwrap_or_default();
        match body.find(['{', '}', '"', '\'', '\\', '\n', '\r']) {
            Some(length) if body.get(length..).is_some_and(|rest| rest.starts_with('}')) => {
                from = start + 2 + length + 1;
                found.push(start..from);
            }
            _ => from = start + 2,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_hidden_and_put_back() {
        let source = "{a: ${X:-b, ü}, $_: \"${\", c: $${Y}}";
        let masked = Masked::new(source);
        assert_eq!(masked.text, "{a: $xXx-bx üx, $_: \"${\", c: $$xYx}");
        assert_eq!(masked.text.len(), source.len());
        assert_eq!(masked.restore(Cow::Borrowed("$xXx-bx üx"), 4..15), "${X:-b, ü}");
        assert_eq!(masked.restore(Cow::Borrowed("plain"), 0..2), "plain");
    }
}
