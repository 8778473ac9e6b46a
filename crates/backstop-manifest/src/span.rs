//! Places in the text of a manifest.

use serde::Serialize;

/// A place in the text: byte offsets, and where it starts for a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset behind the last byte.
    pub end: usize,
    /// The line of the first byte, from 1.
    pub line: usize,
    /// The column of the first byte in characters, from 1.
    pub column: usize,
}

/// A value and where it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// A value that stands at `span`.
    pub const fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }
}

impl<T> std::ops::Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl Span {
    /// The place of `start..end` in `source`, both counted from the start of this span. Falls back to the whole
    /// span where that is no place in it.
    pub(crate) fn part(self, source: &str, start: usize, end: usize) -> Self {
        let Some(before) = source.get(self.start..self.start + start) else { return self };
        let (line, column) = match before.rfind('\n') {
            Some(at) => {
                let last = before.get(at + 1..).unwrap_or_default();
                (self.line + before.matches('\n').count(), last.chars().count() + 1)
            }
            None => (self.line, self.column + before.chars().count()),
        };
        Self { start: self.start + start, end: (self.start + end).min(self.end), line, column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_counted_in_characters_and_over_lines() {
        let source = "key: ää${X}\n  b${Y}";
        let whole = Span { start: 5, end: source.len(), line: 1, column: 6 };
        let x = source.find("${X}").unwrap();
        assert_eq!(whole.part(source, x - 5, x - 1), Span { start: x, end: x + 4, line: 1, column: 8 });
        let y = source.find("${Y}").unwrap();
        assert_eq!(whole.part(source, y - 5, y - 1), Span { start: y, end: y + 4, line: 2, column: 4 });
    }
}
