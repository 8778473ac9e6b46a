//! Text as values: JSON and YAML, and which keys are there twice.

use std::{cell::RefCell, fmt};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{DOCUMENT_CAP, OpenApiError};
use crate::pointer;

/// Levels of YAML at most: its reader takes much of the stack for each.
const DEPTH: usize = 64;
/// Values that aliases of YAML repeat at most.
const REPEATED: usize = 100_000;
/// Keys that are there twice and are told at most.
const TWICE: usize = 20;

/// A text that was read.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) value: Value,
    /// The JSON Pointers of keys that are there twice: the last one counts.
    pub(super) twice: Vec<String>,
}

/// Reads JSON, or YAML where the text does not begin like JSON.
///
/// # Errors
///
/// Where it is neither, or too large.
pub(super) fn parse(text: &str) -> Result<Parsed, OpenApiError> {
    if text.len() > DOCUMENT_CAP {
        return Err(OpenApiError::TooLarge);
    }
    let text = text.trim_start_matches('\u{feff}');
    let notes = RefCell::new(Notes::default());
    let values = Values(&notes);
    let value = if text.trim_start().starts_with(['{', '[']) {
        json(text, values).map_err(|cause| cause.to_string())
    } else {
        serde_saphyr::with_deserializer_from_str_with_options(text, yaml(), |yaml| values.deserialize(yaml))
            .map_err(|cause| cause.to_string())
    };
    let value = value.map_err(|why| OpenApiError::Syntax(backstop_core::text::escaped(&why, 300)))?;
    Ok(Parsed { value, twice: notes.into_inner().twice })
}

fn json(text: &str, values: Values<'_>) -> Result<Value, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = values.deserialize(&mut json)?;
    json.end()?;
    Ok(value)
}

fn yaml() -> serde_saphyr::Options {
    let mut options = serde_saphyr::Options::default();
    options.with_snippet = false;
    // `n`, `no` and `off` are names like others (YAML 1.2).
    options.strict_booleans = true;
    options.duplicate_keys = serde_saphyr::DuplicateKeyPolicy::PassThrough;
    options.non_finite_float_policy = serde_saphyr::NonFiniteFloatPolicy::PassThrough;
    options.alias_limits.max_total_replayed_events = REPEATED;
    if let Some(budget) = options.budget.as_mut() {
        // A document of 64 MiB has many nodes.
        budget.max_events = 20_000_000;
        budget.max_nodes = 10_000_000;
        budget.max_total_scalar_bytes = DOCUMENT_CAP;
        budget.max_depth = DEPTH;
    }
    options
}

#[derive(Debug, Default)]
struct Notes {
    /// Where the reader is.
    path: Vec<String>,
    twice: Vec<String>,
}

/// Reads any value, and notes the keys that are there twice.
#[derive(Clone, Copy)]
struct Values<'n>(&'n RefCell<Notes>);

impl<'de> DeserializeSeed<'de> for Values<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Values<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        self.deserialize(from)
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

    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(number(value as f64))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Value, E> {
        Ok(number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            self.0.borrow_mut().path.push(list.len().to_string());
            let item = items.next_element_seed(self)?;
            self.0.borrow_mut().path.pop();
            match item {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            self.0.borrow_mut().path.push(key.clone());
            let value = entries.next_value_seed(self)?;
            let mut notes = self.0.borrow_mut();
            if object.insert(key, value).is_some() && notes.twice.len() < TWICE {
                let place =
                    notes.path.iter().fold(String::new(), |place, token| pointer::child(&place, token));
                notes.twice.push(place);
            }
            notes.path.pop();
        }
        Ok(Value::Object(object))
    }
}

/// Infinities, which only YAML has, are no values of JSON.
fn number(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}
