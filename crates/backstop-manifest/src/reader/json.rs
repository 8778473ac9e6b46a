//! Data of any form.

use serde_json::{Map, Number, Value as Json};

use super::at::At;
use crate::{context::Secrets, tree::Value};

/// What a JSON value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonType {
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
}

impl JsonType {
    pub(crate) const ALL: [(&'static str, Self); 6] = [
        ("string", Self::String),
        ("integer", Self::Integer),
        ("number", Self::Number),
        ("boolean", Self::Boolean),
        ("array", Self::Array),
        ("object", Self::Object),
    ];

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

impl At<'_> {
    /// JSON of this type, or of any.
    pub(crate) fn json(&self, wanted: Option<JsonType>) -> Option<Json> {
        match wanted {
            None => self.any_json(),
            Some(JsonType::String) => self.text().map(Json::String),
            Some(JsonType::Boolean) => self.boolean().map(Json::Bool),
            Some(JsonType::Number) => self.plain("a number", json_number).map(Json::Number),
            Some(JsonType::Integer) => {
                let integer = |text: &str| json_number(text).filter(|number| !number.is_f64());
                self.plain("a whole number", integer).map(Json::Number)
            }
            Some(JsonType::Array) => match &self.node.value {
                Value::List(_) => self.any_json(),
                Value::Scalar(_) | Value::Map(_) => {
                    self.report(self.wrong_type("a list"));
                    None
                }
            },
            Some(JsonType::Object) => match &self.node.value {
                Value::Map(_) => self.any_json(),
                Value::Scalar(_) | Value::List(_) => {
                    self.report(self.wrong_type("a mapping"));
                    None
                }
            },
        }
    }

    pub(super) fn any_json(&self) -> Option<Json> {
        match &self.node.value {
            Value::List(items) => {
                // Read all of them, so that every problem is reported.
                let items: Vec<Option<Json>> =
                    self.children(items).iter().map(|item| item.any_json()).collect();
                items.into_iter().collect::<Option<_>>().map(Json::Array)
            }
            Value::Map(entries) => {
                let mut object = Map::new();
                let mut whole = true;
                for entry in entries {
                    match self.entry(entry).any_json() {
                        Some(value) => drop(object.insert(entry.key.clone(), value)),
                        None => whole = false,
                    }
                }
                whole.then_some(Json::Object(object))
            }
            Value::Scalar(_) if self.is_blank() || self.is_null() => Some(Json::Null),
            Value::Scalar(_) => {
                let found = self.expanded("a value", Secrets::Forbidden)?;
                Some(match found.text.as_str() {
                    "true" if found.plain => Json::Bool(true),
                    "false" if found.plain => Json::Bool(false),
                    text if found.plain => {
                        json_number(text).map_or_else(|| Json::String(text.to_owned()), Json::Number)
                    }
                    text => Json::String(text.to_owned()),
                })
            }
        }
    }
}

/// A number in the form that JSON knows, so that `0123`, `+1`, `.5` and `0x1F` are none.
pub(super) fn json_number(text: &str) -> Option<Number> {
    serde_json::from_str(text).ok()
}
