//! Serde's text about a value that does not fit, in words for a model.
//!
//! Serde has no typed errors, so this reads the fixed forms of its texts. What is not one of them is never shown:
//! it may name Rust types, or hold whatever a hand-written `Deserialize` says.

use backstop_core::text::{head, nearest};
use serde_json::Value;

/// Bytes of a value that are echoed.
const ECHO_CAP: usize = 80;
/// Names that are listed.
const LIST_CAP: usize = 20;
/// For everything that is not recognised.
const UNKNOWN_FORM: &str = "is not of the form that the tool takes";

/// What is wrong with a value.
pub(super) struct Explanation {
    pub(super) must: String,
    /// `. Did you mean "a"?`; mostly empty.
    pub(super) meant: String,
    pub(super) at: At,
}

/// What of the value is at fault.
pub(super) enum At {
    /// All of it: it helps to repeat it.
    Value,
    /// A field that is not there.
    Missing(String),
    /// A field that does not belong there.
    Unknown(String),
}

impl Explanation {
    fn new(at: At, must: impl Into<String>) -> Self {
        Self { must: must.into(), meant: String::new(), at }
    }

    fn of_value(must: impl Into<String>) -> Self {
        Self::new(At::Value, must)
    }
}

/// A value as JSON, capped.
pub(super) fn quoted(value: &Value) -> String {
    head(&value.to_string(), ECHO_CAP)
}

pub(super) fn explain(text: &str, value: &Value) -> Explanation {
    if let Some(rest) = text.strip_prefix("unknown variant ") {
        return unknown_variant(rest, value);
    }
    if let Some(field) = text.strip_prefix("missing field ").and_then(|rest| ticked(rest).next()) {
        return Explanation::new(At::Missing(field.to_owned()), "must not be left out");
    }
    if let Some(rest) = text.strip_prefix("unknown field ") {
        let (field, names) = name_and_known(rest);
        let at = At::Unknown(field.to_owned());
        if names.is_empty() {
            return Explanation::new(at, "does not exist, and nothing else does there");
        }
        let known = listed(&names, str::to_owned);
        let meant = did_you_mean(field, &names);
        let must = format!("does not exist, please use one of these: {known}");
        return Explanation { meant, ..Explanation::new(at, must) };
    }
    let expected = ["invalid type: ", "invalid value: ", "invalid length "]
        .iter()
        .find_map(|form| text.strip_prefix(form))
        .and_then(|rest| rest.rsplit_once(", expected "))
        .map(|(_, expected)| expected);
    Explanation::of_value(expected.and_then(must_be).unwrap_or_else(|| UNKNOWN_FORM.to_owned()))
}

fn unknown_variant(rest: &str, value: &Value) -> Explanation {
    let (_, names) = name_and_known(rest);
    if names.is_empty() {
        return Explanation::of_value(UNKNOWN_FORM);
    }
    let json = |name: &str| Value::from(name).to_string();
    let must = match names.as_slice() {
        [only] => format!("must be {}", json(only)),
        names => format!("must be one of {}", listed(names, json)),
    };
    let meant = value.as_str().map(|word| did_you_mean(word, &names)).unwrap_or_default();
    Explanation { meant, ..Explanation::of_value(must) }
}

/// Takes "`c`, expected `a` or `b`" apart. The name came from the model and may hold anything.
fn name_and_known(rest: &str) -> (&str, Vec<&str>) {
    let parted = rest.rsplit_once(", expected ").or_else(|| rest.rsplit_once(", there are no "));
    let (name, known) = parted.unwrap_or((rest, ""));
    (name.trim_matches('`'), ticked(known).collect())
}

/// `. Did you mean "a"?`, or nothing.
fn did_you_mean(word: &str, names: &[&str]) -> String {
    let near = nearest(word, names.iter().copied());
    let near: Vec<String> = near.into_iter().map(|name| Value::from(name).to_string()).collect();
    if near.is_empty() { String::new() } else { format!(". Did you mean {}?", near.join(" or ")) }
}

/// The words between backticks.
fn ticked(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn listed(names: &[&str], write: impl Fn(&str) -> String) -> String {
    let shown: Vec<String> = names.iter().take(LIST_CAP).map(|name| write(name)).collect();
    let more = names.len().saturating_sub(LIST_CAP);
    if more > 0 { format!("{} or {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// What serde expected, where it is one of its own words.
fn must_be(expected: &str) -> Option<String> {
    let range = |min: &dyn std::fmt::Display, max: &dyn std::fmt::Display| {
        Some(format!("must be an integer from {min} to {max}"))
    };
    let count = |rest: &str| {
        let count: u64 = rest.parse().ok()?;
        Some(if count == 1 { "must have 1 item".into() } else { format!("must have {count} items") })
    };
    match expected {
        "i8" => range(&i8::MIN, &i8::MAX),
        "i16" => range(&i16::MIN, &i16::MAX),
        "i32" => range(&i32::MIN, &i32::MAX),
        "u8" => range(&u8::MIN, &u8::MAX),
        "u16" => range(&u16::MIN, &u16::MAX),
        "u32" => range(&u32::MIN, &u32::MAX),
        "i64" | "i128" | "isize" => Some("must be an integer".into()),
        "u64" | "u128" | "usize" => Some("must be an integer of at least 0".into()),
        "a nonzero u8" | "a nonzero u16" | "a nonzero u32" | "a nonzero u64" | "a nonzero usize" => {
            Some("must be an integer of at least 1".into())
        }
        "f32" | "f64" => Some("must be a number".into()),
        "a boolean" => Some("must be true or false".into()),
        "a string" | "a borrowed string" | "str" => Some("must be a string".into()),
        "a character" => Some("must be one character".into()),
        "a sequence" => Some("must be an array".into()),
        "a map" => Some("must be an object".into()),
        "fewer elements in array" => Some("must have fewer items".into()),
        _ => {
            if let Some(count_text) = expected
                .strip_prefix("a tuple of size ")
                .or_else(|| expected.strip_prefix("an array of length "))
            {
                return count(count_text);
            }
            let is_object =
                expected.starts_with("struct ") || expected.starts_with("internally tagged enum ");
            is_object.then(|| "must be an object".into())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_that_are_not_serdes_own_are_not_shown() {
        for text in [
            "data did not match any variant of untagged enum Shape",
            "invalid type: string \"x\", expected my_crate::secret::Type",
            "invalid value: string \"x\", expected variant index 0 <= i < 2",
            "premature end of input",
            "there is no such thing at src/main.rs:12",
            "",
        ] {
            assert_eq!(explain(text, &json!("x")).must, UNKNOWN_FORM, "{text}");
        }
    }

    #[test]
    fn ranges_and_counts_are_said() {
        let must = |text: &str| explain(text, &json!(0)).must;
        assert_eq!(must("invalid value: integer `300`, expected u8"), "must be an integer from 0 to 255");
        assert_eq!(must("invalid length 2, expected a tuple of size 3"), "must have 3 items");
        assert_eq!(must("invalid type: map, expected a sequence"), "must be an array");
        assert_eq!(must("invalid type: null, expected struct Point"), "must be an object");
    }
}
