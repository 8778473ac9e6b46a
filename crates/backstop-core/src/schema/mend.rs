//! Mends that have one reading: a lossless type change, a renamed argument, one near value; and, for text that is
//! not JSON, syntax that can be read in one way.

use jsonschema::JsonType;
use serde_json::{Map, Value};

use super::{strict, violation::pointer_token};

/// One change that mends one problem.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mend {
    pointer: String,
    change: Change,
}

#[derive(Clone, Debug, PartialEq)]
enum Change {
    /// The same value as another type.
    Set(Value),
    /// A value that is likely, not sure.
    Guess(Value),
    Rename(String),
}

impl Mend {
    pub(super) fn set(pointer: &str, value: Value) -> Self {
        Self { pointer: pointer.to_owned(), change: Change::Set(value) }
    }

    pub(super) fn guessed(pointer: &str, value: Value) -> Self {
        Self { pointer: pointer.to_owned(), change: Change::Guess(value) }
    }

    pub(super) fn rename(pointer: &str, to: &str) -> Self {
        Self { pointer: pointer.to_owned(), change: Change::Rename(to.to_owned()) }
    }

    /// Whether it puts in a value that nobody wrote.
    pub(super) fn is_guess(&self) -> bool {
        matches!(self.change, Change::Guess(_))
    }

    /// Whether it takes what a text stands for, and no text.
    pub(super) fn is_from_text(&self) -> bool {
        matches!(&self.change, Change::Set(value) if !value.is_string())
    }

    /// Where the argument is after it.
    pub(super) fn target(&self) -> String {
        match (&self.change, self.pointer.rsplit_once('/')) {
            (Change::Rename(name), Some((parent, _))) => format!("{parent}/{}", pointer_token(name)),
            _ => self.pointer.clone(),
        }
    }

    pub(super) fn apply(&self, arguments: &mut Value) -> Option<()> {
        match &self.change {
            Change::Set(value) | Change::Guess(value) => {
                *arguments.pointer_mut(&self.pointer)? = value.clone()
            }
            Change::Rename(name) => {
                let (parent, token) = self.pointer.rsplit_once('/')?;
                let token = token.replace("~1", "/").replace("~0", "~");
                let object = arguments.pointer_mut(parent)?.as_object_mut()?;
                if object.contains_key(name) {
                    return None;
                }
                // The order of the arguments is kept.
                *object = std::mem::take(object)
                    .into_iter()
                    .map(|(key, value)| (if key == token { name.clone() } else { key }, value))
                    .collect::<Map<_, _>>();
            }
        }
        Some(())
    }
}

/// `value` as one of `types`, where that loses nothing and can be read in one way. Never where a string is
/// allowed, since a string is what came then.
pub(super) fn retyped(value: &Value, types: &[JsonType]) -> Option<Value> {
    let wants = |kind| types.contains(&kind);
    match value {
        Value::String(text) if !wants(JsonType::String) => {
            let parsed = strict::value(text.trim()).ok()?;
            let fits = match &parsed {
                Value::Null => false,
                Value::Bool(_) => wants(JsonType::Boolean),
                // Written as this very text: no `3.0` for 3, no digits lost.
                Value::Number(number) => {
                    number.to_string() == text.trim()
                        && (wants(JsonType::Number) || (wants(JsonType::Integer) && !number.is_f64()))
                }
                Value::String(_) => false,
                Value::Array(_) => wants(JsonType::Array),
                Value::Object(_) => wants(JsonType::Object),
            };
            fits.then_some(parsed)
        }
        Value::Number(number) if wants(JsonType::String) && !number.is_f64() => {
            Some(number.to_string().into())
        }
        _ => None,
    }
}

/// The object that a text stands for which is almost JSON, if there is one reading: a code fence around it,
/// commas before a closing bracket, single quotes where there are no double ones; or an object in a JSON string.
pub(super) fn one_reading(raw: &str) -> Option<Map<String, Value>> {
    if let Ok(inner) = serde_json::from_str::<String>(raw) {
        return strict::object(&inner);
    }
    let text = unfenced(raw.trim());
    let without_commas = without_trailing_commas(text);
    strict::object(&without_commas).or_else(|| {
        let single_only = !text.contains('"') && !text.contains('\\');
        // An apostrophe inside a word would end the string: then there is more than one reading.
        let quotes_pair = text.matches('\'').count().is_multiple_of(2) && !has_inner_apostrophe(text);
        (single_only && quotes_pair)
            .then(|| without_commas.replace('\'', "\""))
            .and_then(|text| strict::object(&text))
    })
}

fn has_inner_apostrophe(text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    chars
        .windows(3)
        .any(|window| matches!(window, [a, '\'', b] if a.is_alphanumeric() && b.is_alphanumeric()))
}

fn unfenced(text: &str) -> &str {
    let Some(inner) = text.strip_prefix("```").and_then(|text| text.strip_suffix("```")) else { return text };
    inner.strip_prefix("json").unwrap_or(inner).trim()
}

fn without_trailing_commas(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for (index, c) in text.char_indices() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
        } else if c == '"' {
            in_string = true;
        } else if c == ',' {
            let rest = text.get(index + 1..).unwrap_or_default().trim_start();
            if rest.starts_with(['}', ']']) {
                continue;
            }
        }
        out.push(c);
    }
    out
}
