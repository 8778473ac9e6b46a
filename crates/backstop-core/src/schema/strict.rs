//! JSON text read strictly: nothing that two readers could take differently.
//!
//! [RFC 8259](https://www.rfc-editor.org/rfc/rfc8259) leaves three things to the reader, and readers differ: a name
//! that stands twice in one object (§4: last, first or none wins), half of a surrogate pair (§8.2), and a whole
//! number with more digits than the reader keeps (§6). The first two are refused by the parser and the visitor
//! below, the last one where digits would be lost.

use std::{cell::Cell, fmt};

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

use crate::text::escaped;

/// Letters of a name that are echoed.
const ECHO_CAP: usize = 60;
/// From here on whole numbers may have lost digits: 2^63, the least that does not fit an `i64`.
const LARGE: f64 = 9_223_372_036_854_775_808.0;

/// Why a text is not JSON that can be read in one way.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    pub(super) kind: FlawKind,
    pub(super) reason: String,
    /// Both from 1.
    pub(super) line: usize,
    pub(super) column: usize,
}

/// What the sender can do about a flaw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlawKind {
    NotJson,
    GivenTwice,
    TooManyDigits,
}

/// The value that `text` is.
pub(super) fn value(text: &str) -> Result<Value, Flaw> {
    let large = Cell::new(false);
    let mut json = serde_json::Deserializer::from_str(text);
    let value = Strict { large: &large }.deserialize(&mut json).map_err(|cause| flaw(&cause))?;
    json.end().map_err(|cause| flaw(&cause))?;
    match large.get().then(|| lossy_number(text)).flatten() {
        Some(lossy) => Err(lossy),
        None => Ok(value),
    }
}

/// The object that `text` is, if it is one.
pub(crate) fn object(text: &str) -> Option<Map<String, Value>> {
    match value(text) {
        Ok(Value::Object(object)) => Some(object),
        Ok(_) | Err(_) => None,
    }
}

fn flaw(cause: &serde_json::Error) -> Flaw {
    let text = cause.to_string();
    let reason = text.split(" at line ").next().unwrap_or(&text).to_owned();
    // The visitor refuses nothing but a name that stands twice.
    let kind = if cause.is_data() { FlawKind::GivenTwice } else { FlawKind::NotJson };
    Flaw { kind, reason, line: cause.line(), column: cause.column() }
}

/// The first whole number of a JSON text that changes when it is kept as a float.
fn lossy_number(json: &str) -> Option<Flaw> {
    let mut at = 0;
    while let Some(rest) = json.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next()?;
        let length = match first {
            '"' => string_length(rest),
            '-' | '0'..='9' => rest.find([',', ']', '}', ' ', '\t', '\n', '\r']).unwrap_or(rest.len()),
            other => other.len_utf8(),
        };
        let token = rest.get(..length)?;
        if first != '"' && is_lossy(token) {
            let before = json.get(..at)?;
            let line_start = before.rfind('\n').map_or(0, |end| end + 1);
            return Some(Flaw {
                kind: FlawKind::TooManyDigits,
                reason: "a number has more digits than can be kept".to_owned(),
                line: before.matches('\n').count() + 1,
                column: at - line_start + 1,
            });
        }
        at += length;
    }
    None
}

/// Bytes of the JSON string that `text` begins with, quotes included.
fn string_length(text: &str) -> usize {
    let mut escape = false;
    for (index, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escape => return index + 1,
            b'\\' => escape = !escape,
            _ => escape = false,
        }
    }
    text.len()
}

fn is_lossy(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_whole
        && number.parse::<i64>().is_err()
        && number.parse::<u64>().is_err()
        && number.parse::<f64>().is_ok_and(|float| format!("{float:.0}") != number)
}

/// Reads a value, and tells of numbers that are too large to be surely whole.
#[derive(Clone, Copy)]
struct Strict<'c> {
    large: &'c Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        if value.abs() >= LARGE {
            self.large.set(true);
        }
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(format!("\"{}\" is given twice", escaped(&name, ECHO_CAP))));
            }
            object.insert(name, entries.next_value_seed(self)?);
        }
        Ok(Value::Object(object))
    }
}
