//! Halves of characters in JSON escapes.
//!
//! A server that cuts its text by UTF-16 units writes half of an emoji as `\ud83d`, and the other half into the
//! next fragment. No Rust text can hold such a half, so a JSON parser refuses the whole document. Here each half
//! becomes a mark, a private character that keeps its value, until the halves are joined or known to be lost.
//! Only documents that did not parse go through this, so a private character of another origin is never touched.

/// The mark of the first surrogate. The 2048 marks lie at the end of the last private-use plane.
const FIRST_MARK: u32 = 0x10_f000;
const FIRST: u32 = 0xd800;
const COUNT: u32 = 0x800;

/// JSON text with a mark in place of each escape of half a character; `None` where there is none.
pub(super) fn mark(json: &str) -> Option<String> {
    let mut out: Option<String> = None;
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = json.get(at..).and_then(|rest| rest.find('\\')) {
        let escape = at + found;
        at = match unit(json, escape) {
            // Another escape: a backslash and one character, which is ASCII in valid JSON.
            None => json.ceil_char_boundary(escape + 2),
            Some(high) if is_high(high) && unit(json, escape + 6).is_some_and(is_low) => escape + 12,
            Some(half) if is_high(half) || is_low(half) => {
                let out = out.get_or_insert_default();
                out.push_str(json.get(copied..escape).unwrap_or_default());
                out.extend(char::from_u32(FIRST_MARK + (half - FIRST)));
                copied = escape + 6;
                copied
            }
            Some(_) => escape + 6,
        };
    }
    let mut out = out?;
    out.push_str(json.get(copied..).unwrap_or_default());
    Some(out)
}

/// Marks as the escapes that they were: what a JSON parser joins or refuses later.
pub(super) fn as_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match half(c) {
            Some(half) => out.push_str(&format!("\\u{half:04x}")),
            None => out.push(c),
        }
    }
    out
}

/// Marks joined where two halves meet, and U+FFFD for each that is alone.
pub(super) fn joined(text: &str) -> String {
    let mut joiner = Joiner::default();
    let mut out = joiner.push(text);
    out.push_str(joiner.end());
    out
}

/// Joins marks over the fragments of one text.
#[derive(Debug, Default)]
pub(super) struct Joiner(Option<u32>);

impl Joiner {
    /// The fragment without marks. A half at its end is kept until the next one comes.
    pub(super) fn push(&mut self, fragment: &str) -> String {
        let mut out = String::with_capacity(fragment.len());
        for c in fragment.chars() {
            match (half(c), self.0) {
                (Some(low), Some(high)) if is_low(low) => {
                    self.0 = None;
                    out.extend(char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)));
                }
                (half, _) => {
                    out.push_str(self.end());
                    match half {
                        Some(high) if is_high(high) => self.0 = Some(high),
                        Some(_) => out.push('\u{fffd}'),
                        None => out.push(c),
                    }
                }
            }
        }
        out
    }

    /// Whether a half is kept.
    pub(super) fn waits(&self) -> bool {
        self.0.is_some()
    }

    /// What stands for a half that is kept: its other half does not come.
    pub(super) fn end(&mut self) -> &'static str {
        if self.0.take().is_some() { "\u{fffd}" } else { "" }
    }
}

fn half(c: char) -> Option<u32> {
    u32::from(c).checked_sub(FIRST_MARK).filter(|offset| *offset < COUNT).map(|offset| FIRST + offset)
}

fn is_high(unit: u32) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

fn is_low(unit: u32) -> bool {
    (0xdc00..0xe000).contains(&unit)
}

/// The value of the escape `\uXXXX` at this place.
fn unit(json: &str, at: usize) -> Option<u32> {
    let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> String {
        serde_json::from_str(&mark(json).unwrap()).unwrap()
    }

    #[test]
    fn only_halves_are_marked() {
        assert_eq!(mark(r#""plain \n \u0041 \ud83d\ude00 \\ud83d""#), None);
        assert!(mark(r#""\ud83d""#).is_some());
        assert!(mark(r#""\ude00\ud83d""#).is_some());
        assert_eq!(mark("\\"), None);
        assert_eq!(mark("\\ü\\u00"), None);
    }

    #[test]
    fn a_half_becomes_a_replacement_character_in_words_and_an_escape_in_arguments() {
        let text = read(r#""done \ud83d \\ud83d \ud83d\ude00""#);
        assert_eq!(joined(&text), "done \u{fffd} \\ud83d 😀");
        assert_eq!(as_escapes(&text), "done \\ud83d \\ud83d 😀");
    }

    #[test]
    fn halves_of_two_fragments_are_joined() {
        let mut joiner = Joiner::default();
        let mut out = joiner.push(&read(r#""a\ud83d""#));
        assert_eq!(out, "a");
        assert!(joiner.waits());
        out += &joiner.push(&read(r#""\ude00b\ud83d""#));
        out += joiner.end();
        assert_eq!(out, "a😀b\u{fffd}");
    }

    #[test]
    fn two_first_halves_are_both_lost() {
        assert_eq!(joined(&read(r#""\ud83d\ud83d\ude00\ude00""#)), "\u{fffd}😀\u{fffd}");
    }
}
