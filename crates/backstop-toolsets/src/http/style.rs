//! Values in the styles of OpenAPI: arrays and objects outside of JSON.
//!
//! The forms are those of [OpenAPI's style examples](https://spec.openapis.org/oas/v3.1.1#style-examples). What it
//! leaves open is decided here: nothing is sent for null, for an empty array and for an empty object; an array in a
//! `deepObject` is `name[key][]=a`, an object in it `name[key][inner]=a`.

use backstop_core::ToolError;
use serde_json::{Map, Value};

use super::{
    Parameter, Style,
    value::{checked_for_path, encoded, encoded_reserved, scalar, unfit},
};
use crate::pointer;

/// Levels of an object that is sent as `deepObject`.
const DEPTH: usize = 8;
const NOT_ITS_OWN: &str = "has a key that is not one of its own";

/// A value taken apart: its texts, with their keys where it is an object.
enum Parts {
    Nothing,
    One(String),
    Items(Vec<String>),
    Fields(Vec<(String, String)>),
}

impl Parts {
    /// # Errors
    ///
    /// `invalid_arguments` for what is nested where the style has no form for it.
    fn of(value: &Value, at: &str) -> Result<Self, ToolError> {
        let text = |value: &Value, token: &str| {
            let at = pointer::child(at, token);
            scalar(value).ok_or_else(|| unfit(&at, "must be a string, a number, true or false"))
        };
        Ok(match value {
            Value::Null => Self::Nothing,
            Value::Array(items) => {
                let items = items.iter().enumerate().filter(|(_, item)| !item.is_null());
                let items: Vec<String> =
                    items.map(|(index, item)| text(item, &index.to_string())).collect::<Result<_, _>>()?;
                if items.is_empty() { Self::Nothing } else { Self::Items(items) }
            }
            Value::Object(fields) => {
                let fields = fields.iter().filter(|(_, field)| !field.is_null());
                let fields: Vec<(String, String)> = fields
                    .map(|(key, field)| Ok((key.clone(), text(field, key)?)))
                    .collect::<Result<_, ToolError>>()?;
                if fields.is_empty() { Self::Nothing } else { Self::Fields(fields) }
            }
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                scalar(value).map_or(Self::Nothing, Self::One)
            }
        })
    }

    /// All texts one after the other, keys before their values.
    fn flat(self) -> Vec<String> {
        match self {
            Self::Nothing => Vec::new(),
            Self::One(text) => vec![text],
            Self::Items(items) => items,
            Self::Fields(fields) => fields.into_iter().flat_map(|(key, text)| [key, text]).collect(),
        }
    }
}

/// A value as `name=value` pairs, encoded; for queries and forms. `taken` are names that the value's own keys can't
/// be, since they belong to others.
///
/// # Errors
///
/// `invalid_arguments` for a value that the style has no form for.
pub(super) fn pairs(
    parameter: &Parameter,
    value: &Value,
    at: &str,
    taken: &dyn Fn(&str) -> bool,
) -> Result<Vec<String>, ToolError> {
    let name = encoded(&parameter.wire_name);
    let text = |text: &str| if parameter.allow_reserved { encoded_reserved(text) } else { encoded(text) };
    let separator = match parameter.style {
        Style::Json => {
            return Ok(if value.is_null() {
                Vec::new()
            } else {
                vec![format!("{name}={}", text(&value.to_string()))]
            });
        }
        Style::DeepObject if value.is_object() => {
            let mut deep = Deep { text: &text, taken, pairs: Vec::new() };
            deep.write(&parameter.wire_name, value, at, DEPTH)?;
            return Ok(deep.pairs);
        }
        Style::SpaceDelimited => "%20",
        Style::PipeDelimited => "%7C",
        Style::Form | Style::DeepObject | Style::Simple | Style::Label | Style::Matrix => ",",
    };
    Ok(match (Parts::of(value, at)?, parameter.explode) {
        (Parts::Nothing, _) => Vec::new(),
        (Parts::One(one), _) => vec![format!("{name}={}", text(&one))],
        (Parts::Items(items), true) => items.iter().map(|item| format!("{name}={}", text(item))).collect(),
        (Parts::Fields(fields), true) => {
            if let Some((key, _)) = fields.iter().find(|(key, _)| key.is_empty() || taken(key)) {
                return Err(unfit(&pointer::child(at, key), NOT_ITS_OWN));
            }
            fields.iter().map(|(key, field)| format!("{}={}", encoded(key), text(field))).collect()
        }
        (parts, false) => {
            let texts: Vec<String> = parts.flat().iter().map(|one| text(one)).collect();
            vec![format!("{name}={}", texts.join(separator))]
        }
    })
}

/// The pairs of a `deepObject`.
struct Deep<'w> {
    text: &'w dyn Fn(&str) -> String,
    taken: &'w dyn Fn(&str) -> bool,
    pairs: Vec<String>,
}

impl Deep<'_> {
    /// `name` is not encoded yet: as it is, it must not be that of another.
    fn write(&mut self, name: &str, value: &Value, at: &str, depth: usize) -> Result<(), ToolError> {
        let Some(depth) = depth.checked_sub(1) else { return Err(unfit(at, "is nested too deep")) };
        match value {
            Value::Null => {}
            Value::Object(fields) => {
                for (key, field) in fields {
                    self.write(&format!("{name}[{key}]"), field, &pointer::child(at, key), depth)?;
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let at = pointer::child(at, &index.to_string());
                    self.write(&format!("{name}[]"), item, &at, depth)?;
                }
            }
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                if (self.taken)(name) {
                    return Err(unfit(at, NOT_ITS_OWN));
                }
                let one = scalar(value).unwrap_or_default();
                self.pairs.push(format!("{}={}", encoded(name), (self.text)(&one)));
            }
        }
        Ok(())
    }
}

/// A value for its place in a path: it stays there, whatever it holds. `taken` as for [`pairs`].
///
/// # Errors
///
/// `invalid_arguments` for what would be nothing, or a `.` or `..` segment once the service decodes it.
pub(super) fn for_path(
    parameter: &Parameter,
    value: &Value,
    at: &str,
    taken: &dyn Fn(&str) -> bool,
) -> Result<String, ToolError> {
    if parameter.style == Style::Json && !value.is_null() {
        return checked_for_path(&[value.to_string()], at).map(|texts| texts.join(","));
    }
    let parts = Parts::of(value, at)?;
    let explode = parameter.explode;
    let (first, between) = match (parameter.style, explode) {
        (Style::Label, true) => (".", "."),
        (Style::Label, false) => (".", ","),
        (Style::Matrix, true) => (";", ";"),
        (Style::Matrix, false) => (";", ","),
        _ => ("", ","),
    };
    let name = encoded(&parameter.wire_name);
    let is_matrix = parameter.style == Style::Matrix;
    let texts: Vec<String> = match parts {
        Parts::Fields(fields) if explode => {
            if let Some((key, _)) = fields.iter().find(|(key, _)| is_matrix && taken(key)) {
                return Err(unfit(&pointer::child(at, key), NOT_ITS_OWN));
            }
            let (keys, values): (Vec<String>, Vec<String>) = fields.into_iter().unzip();
            let (keys, values) = (checked_for_path(&keys, at)?, checked_for_path(&values, at)?);
            keys.iter().zip(&values).map(|(key, value)| format!("{key}={value}")).collect()
        }
        Parts::Items(items) if explode && is_matrix => {
            checked_for_path(&items, at)?.iter().map(|item| format!("{name}={item}")).collect()
        }
        parts => {
            let texts = checked_for_path(&parts.flat(), at)?;
            if is_matrix { vec![format!("{name}={}", texts.join(","))] } else { texts }
        }
    };
    Ok(format!("{first}{}", texts.join(between)))
}

/// A value for a header; `None` where nothing is sent.
///
/// # Errors
///
/// `invalid_arguments` for what would end the header.
pub(super) fn for_header(
    parameter: &Parameter,
    value: &Value,
    at: &str,
) -> Result<Option<String>, ToolError> {
    let text = match (parameter.style, value) {
        (_, Value::Null) => return Ok(None),
        (Style::Json, value) => value.to_string(),
        (_, value) => match Parts::of(value, at)? {
            Parts::Nothing => return Ok(None),
            Parts::Fields(fields) if parameter.explode => {
                let fields: Vec<String> = fields.iter().map(|(key, text)| format!("{key}={text}")).collect();
                fields.join(",")
            }
            parts => parts.flat().join(","),
        },
    };
    if text.chars().any(char::is_control) {
        return Err(unfit(at, "must not hold line breaks or other control characters"));
    }
    Ok(Some(text))
}

/// A value as `name=value` pairs of the header `Cookie`, encoded.
///
/// # Errors
///
/// As [`pairs`].
pub(super) fn for_cookie(
    parameter: &Parameter,
    value: &Value,
    at: &str,
    taken: &dyn Fn(&str) -> bool,
) -> Result<Vec<String>, ToolError> {
    // A name is sent as it is: what it may not hold was refused when the endpoint was made.
    let pairs = pairs(parameter, value, at, taken)?;
    let name = encoded(&parameter.wire_name);
    let renamed = pairs.into_iter().map(|pair| match pair.strip_prefix(&format!("{name}=")) {
        Some(value) => format!("{}={value}", parameter.wire_name),
        None => pair,
    });
    Ok(renamed.collect())
}

/// The fields of an object, for a form.
pub(super) fn object<'a>(fields: impl Iterator<Item = (&'a Parameter, &'a Value)>) -> Map<String, Value> {
    fields.map(|(parameter, value)| (parameter.wire_name.clone(), value.clone())).collect()
}
