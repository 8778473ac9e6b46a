//! The parameters of a REST tool.

use serde_json::{Map, Value as Json};

use super::{
    credential::{Credentials, is_telling},
    draft::Draft,
    report::{changed, unsupported},
};
use crate::{
    diagnostic::{Diagnostic, code},
    reader::{At, JsonType, suggest},
};

/// What a schema may say: the keywords of JSON Schema, and what QuickApps has beside them.
const KEYWORDS: [&str; 62] = [
    "parameter_info",
    "display",
    "type",
    "description",
    "default",
    "enum",
    "const",
    "properties",
    "required",
    "items",
    "title",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
    "additionalProperties",
    "patternProperties",
    "unevaluatedProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "definitions",
    "nullable",
    "$schema",
    "$id",
    "$ref",
    "$defs",
    "$anchor",
    "$comment",
    "$dynamicRef",
    "$dynamicAnchor",
];

/// Where a parameter goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Query,
    Url,
    Body,
    Header,
}

const PLACES: [(&str, Place); 4] =
    [("query", Place::Query), ("url", Place::Url), ("body", Place::Body), ("header", Place::Header)];

/// A parameter before it is known what its endpoint does with it.
pub(super) struct Parameter<'c> {
    pub(super) at: At<'c>,
    pub(super) place: Place,
    /// The name in the request.
    pub(super) key: String,
    info: At<'c>,
}

/// Reads where a parameter goes.
pub(super) fn parameter<'c>(at: &At<'c>) -> Option<Parameter<'c>> {
    at.entries("a mapping")?;
    let Some(info) = at.child("parameter_info").filter(|info| !info.is_null()) else {
        unsupported(at, "has no `parameter_info`, so it goes nowhere: the parameter is left out");
        return None;
    };
    let fields = info.fields_leniently(&["type", "key"])?;
    let place = fields.required("type").and_then(|at| at.one_of(&PLACES));
    let key = match fields.get("key") {
        Some(at) => at.some_text(),
        None => Some(at.key().value),
    };
    keywords(at);
    parts(at).iter().for_each(part);
    Some(Parameter { at: at.clone(), place: place?, key: key?, info })
}

/// The schemas right below a schema.
pub(super) fn parts<'c>(at: &At<'c>) -> Vec<At<'c>> {
    let members = at.child("properties").and_then(|at| at.entries_quietly()).unwrap_or_default();
    members.into_iter().chain(at.child("items")).collect()
}

/// Says what a part of a value can't have, though the value itself can.
fn part(at: &At<'_>) {
    keywords(at);
    if let Some(info) = at.child("parameter_info").filter(|info| !info.is_null()) {
        unsupported(&info, "of a part changes nothing: it goes where the whole goes");
    }
    if at.child("const").is_some() && at.child("type").is_some_and(|kind| kind.is_null()) {
        changed(
            at,
            "QuickApps fills in a constant inside of a value; here the model is asked for it",
            "make the value a parameter of its own, or say in the description that it is always the same",
        );
    }
    parts(at).iter().for_each(part);
}

fn keywords(at: &At<'_>) {
    for entry in at.entries_quietly().unwrap_or_default() {
        let key = entry.key().value;
        if !KEYWORDS.contains(&key.as_str()) {
            let message = format!("unknown key `{}`", backstop_core::text::escaped(&key, 80));
            let hint = suggest(&key, &KEYWORDS).filter(|hint| hint.starts_with("did you mean"));
            entry.report_key(Diagnostic::warning(code::UNKNOWN_KEY, message).maybe_hint(hint));
        }
    }
}

impl Parameter<'_> {
    /// The native parameter. `toolset` names its credentials.
    pub(super) fn draft(&self, required: bool, credentials: &Credentials, toolset: &str) -> Option<Draft> {
        let at = &self.at;
        let place = match self.place {
            Place::Query => "query",
            Place::Url => "path",
            Place::Body => "body",
            Place::Header => "header",
        };
        let mut members = vec![("in", Draft::text(&self.info, place))];
        if self.key != at.key().value {
            members.push(("wire_name", Draft::text(&self.info, &self.key)));
        }
        if let Some(constant) = at.child("const") {
            let value = constant.json(None)?;
            members.push(match &value {
                Json::Null => return None,
                Json::String(text) if self.place != Place::Url && self.is_credential() => {
                    ("const", credentials.value(&constant, text, [toolset, &self.key]))
                }
                value => ("const", Draft::json(&constant, value)),
            });
            return Some(Draft::map(at, members));
        }
        let schema = match at.json(Some(JsonType::Object))? {
            Json::Object(schema) => cleaned(schema),
            _ => return None,
        };
        self.note_form(&schema);
        if required {
            members.push(("required", Draft::plain(at, true)));
        }
        if is_short(&schema) {
            members.extend(schema.iter().filter_map(|(key, value)| {
                let key = ["type", "description", "enum"].into_iter().find(|known| known == key)?;
                Some((key, Draft::json(at, value)))
            }));
        } else {
            members.push(("schema", Draft::json(at, &Json::Object(schema))));
        }
        Some(Draft::map(at, members))
    }

    fn is_credential(&self) -> bool {
        is_telling(&self.key) || is_telling(&self.at.key().value)
    }

    /// Says where a value goes over the wire in another form.
    fn note_form(&self, schema: &Map<String, Json>) {
        let kind = schema.get("type").and_then(Json::as_str).unwrap_or_default();
        match (self.place, kind) {
            (Place::Body, "object" | "array") => changed(
                &self.at,
                "the body holds this value as JSON; QuickApps sends a text that holds JSON",
                "a service that wants text needs a parameter of the type `string`",
            ),
            (Place::Query, "array") => changed(
                &self.at,
                "a list is sent as one query parameter for each item; QuickApps joins them with commas",
                "a service that wants commas needs a parameter of the type `string`",
            ),
            (Place::Query | Place::Header | Place::Url, "object") => changed(
                &self.at,
                "an object can't be sent in this place, so calls that give it are refused; QuickApps sends JSON",
                "use the body, or a parameter of the type `string`",
            ),
            _ => {}
        }
    }
}

/// The schema without what only QuickApps reads.
fn cleaned(schema: Map<String, Json>) -> Map<String, Json> {
    let mut out = Map::new();
    for (key, value) in schema {
        let value = match (key.as_str(), value) {
            ("parameter_info" | "display", _) | ("default" | "type" | "description", Json::Null) => continue,
            ("properties", Json::Object(members)) => {
                let members = members.into_iter().map(|(name, value)| match value {
                    Json::Object(schema) => (name, Json::Object(cleaned(schema))),
                    other => (name, other),
                });
                Json::Object(members.collect())
            }
            ("items", Json::Object(schema)) => Json::Object(cleaned(schema)),
            ("description", Json::String(text)) if text.trim().is_empty() => continue,
            (_, value) => value,
        };
        out.insert(key, value);
    }
    out
}

/// Whether the short form of a native parameter says the same.
fn is_short(schema: &Map<String, Json>) -> bool {
    let is_text = |value: &Json| value.as_str().is_some_and(|text| !text.trim().is_empty());
    let kind = schema.get("type").and_then(Json::as_str);
    let known = kind.is_some_and(|kind| JsonType::ALL.iter().any(|(name, _)| *name == kind));
    known
        && schema.iter().all(|(key, value)| match key.as_str() {
            "type" => true,
            "description" => is_text(value),
            "enum" => {
                kind == Some("string")
                    && value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(Json::is_string))
            }
            _ => false,
        })
}
