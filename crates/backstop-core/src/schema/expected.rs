//! What a value must be, in words that a model can act on.

use jsonschema::{JsonType, error::TypeKind, error::ValidationErrorKind as Kind};
use serde_json::Value;

use crate::text::{clean, escaped, head};

/// Bytes of a value that are echoed.
const ECHO_CAP: usize = 80;
/// Stands for a secret.
pub(super) const NOT_SHOWN: &str = "a value that is not shown";
/// Allowed values that are listed.
const LIST_CAP: usize = 20;

/// A value as JSON, capped.
pub(super) fn quoted(value: &Value) -> String {
    head(&value.to_string(), ECHO_CAP)
}

/// What came, unless its schema says that it is or holds a secret.
pub(super) fn got(value: &Value, owner: Option<&Value>) -> String {
    if owner.is_some_and(has_secrets) { NOT_SHOWN.into() } else { quoted(value) }
}

/// What came, with its type.
pub(super) fn got_with_type(value: &Value, owner: Option<&Value>) -> String {
    if value.is_null() {
        return "null".into();
    }
    format!("{} ({})", got(value, owner), type_in_words(type_of(value)))
}

/// Whether a schema says of its values, or of something in them, that it is not for showing. Looks everywhere,
/// definitions included: what is not shown in vain costs less than a secret that is.
pub(super) fn has_secrets(schema: &Value) -> bool {
    match schema {
        Value::Object(object) => {
            object.get("format").is_some_and(|format| format == "password")
                || object.get("writeOnly").is_some_and(|flag| flag == true)
                || object.values().any(has_secrets)
        }
        Value::Array(items) => items.iter().any(has_secrets),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn type_of(value: &Value) -> JsonType {
    match value {
        Value::Null => JsonType::Null,
        Value::Bool(_) => JsonType::Boolean,
        Value::Number(number) if number.is_f64() => JsonType::Number,
        Value::Number(_) => JsonType::Integer,
        Value::String(_) => JsonType::String,
        Value::Array(_) => JsonType::Array,
        Value::Object(_) => JsonType::Object,
    }
}

pub(super) fn types(kind: &TypeKind) -> Vec<JsonType> {
    match kind {
        TypeKind::Single(one) => vec![*one],
        TypeKind::Multiple(set) => {
            let mut types: Vec<JsonType> = set.iter().collect();
            types.sort_by_key(|kind| *kind == JsonType::Null);
            types
        }
    }
}

const fn type_in_words(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Array => "an array",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "an integer",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "a string",
    }
}

pub(super) fn types_in_words(types: &[JsonType]) -> String {
    match types {
        [] => "of another type".into(),
        [one] => type_in_words(*one).into(),
        [most @ .., last] => {
            let most: Vec<&str> = most.iter().map(|kind| type_in_words(*kind)).collect();
            format!("{} or {}", most.join(", "), type_in_words(*last))
        }
    }
}

pub(super) fn one_of(options: &[Value]) -> String {
    let listed: Vec<String> = options.iter().take(LIST_CAP).map(quoted).collect();
    let more = options.len().saturating_sub(LIST_CAP);
    let more = if more > 0 { format!(" or {more} more") } else { String::new() };
    match options {
        [only] => format!("must be {}", quoted(only)),
        _ => format!("must be one of {}{more}", listed.join(", ")),
    }
}

fn example(owner: Option<&Value>) -> Option<String> {
    let owner = owner?;
    let first = owner.get("examples").and_then(|examples| examples.get(0));
    first.or_else(|| owner.get("example")).map(quoted)
}

fn count(number: u64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// What a value must be, for the keywords that only need words.
pub(super) fn must(kind: &Kind, owner: Option<&Value>) -> String {
    match kind {
        Kind::Minimum { limit } => format!("must be at least {limit}"),
        Kind::Maximum { limit } => format!("must be at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::MinLength { limit } => {
            format!("must have at least {}", count(*limit, "character", "characters"))
        }
        Kind::MaxLength { limit } => {
            format!("must have at most {}", count(*limit, "character", "characters"))
        }
        Kind::MinItems { limit } => format!("must have at least {}", count(*limit, "item", "items")),
        Kind::MaxItems { limit } => format!("must have at most {}", count(*limit, "item", "items")),
        Kind::AdditionalItems { limit } => {
            format!("must have at most {}", count(*limit as u64, "item", "items"))
        }
        Kind::UnevaluatedItems { .. } => "must not have further items".into(),
        Kind::MinProperties { limit } => {
            format!("must have at least {}", count(*limit, "property", "properties"))
        }
        Kind::MaxProperties { limit } => {
            format!("must have at most {}", count(*limit, "property", "properties"))
        }
        Kind::UniqueItems => "must not hold the same item twice".into(),
        Kind::Contains => "must hold an item of the wanted form".into(),
        Kind::Pattern { pattern } => match example(owner) {
            Some(example) => format!("must be of a form such as {example}"),
            None => format!("must match the pattern {}", head(&clean(pattern), 200)),
        },
        Kind::Format { format } => match example(owner) {
            Some(example) => format!("must be of a form such as {example}"),
            None => format_in_words(format),
        },
        Kind::OneOfMultipleValid { .. } => "must fit exactly one of the allowed forms".into(),
        Kind::FalseSchema => "must be left out".into(),
        Kind::ContentEncoding { content_encoding } => format!("must be encoded as {content_encoding}"),
        Kind::ContentMediaType { content_media_type } => format!("must be {content_media_type}"),
        _ => "is not of the allowed form".into(),
    }
}

fn format_in_words(format: &str) -> String {
    match format {
        "date" => "must be a date such as \"2026-01-31\"".into(),
        "date-time" => "must be a date and time such as \"2026-01-31T13:45:00Z\"".into(),
        "time" => "must be a time such as \"13:45:00Z\"".into(),
        "duration" => "must be a duration such as \"P1DT2H\"".into(),
        "email" | "idn-email" => "must be an email address such as \"name@example.org\"".into(),
        "hostname" | "idn-hostname" => "must be a host name such as \"example.org\"".into(),
        "ipv4" => "must be an IPv4 address such as \"192.0.2.1\"".into(),
        "ipv6" => "must be an IPv6 address such as \"2001:db8::1\"".into(),
        "uri" | "iri" => "must be a whole URL such as \"https://example.org/page\"".into(),
        "uuid" => "must be a UUID such as \"2f1c8e1e-0a3f-4b53-9d0b-6f6a9f3f8e11\"".into(),
        "regex" => "must be a regular expression".into(),
        "json-pointer" => "must be a JSON Pointer such as \"/items/0\"".into(),
        other => format!("must be of format {}", escaped(other, 60)),
    }
}

pub(super) fn keyword(kind: &Kind) -> &'static str {
    match kind {
        Kind::Minimum { .. } => "minimum",
        Kind::Maximum { .. } => "maximum",
        Kind::ExclusiveMinimum { .. } => "exclusiveMinimum",
        Kind::ExclusiveMaximum { .. } => "exclusiveMaximum",
        Kind::MultipleOf { .. } => "multipleOf",
        Kind::MinLength { .. } => "minLength",
        Kind::MaxLength { .. } => "maxLength",
        Kind::MinItems { .. } => "minItems",
        Kind::MaxItems { .. } => "maxItems",
        Kind::AdditionalItems { .. } => "additionalItems",
        Kind::UnevaluatedItems { .. } => "unevaluatedItems",
        Kind::MinProperties { .. } => "minProperties",
        Kind::MaxProperties { .. } => "maxProperties",
        Kind::UniqueItems => "uniqueItems",
        Kind::Contains => "contains",
        Kind::Pattern { .. } => "pattern",
        Kind::Format { .. } => "format",
        Kind::OneOfMultipleValid { .. } => "oneOf",
        Kind::FalseSchema => "false",
        Kind::ContentEncoding { .. } => "contentEncoding",
        Kind::ContentMediaType { .. } => "contentMediaType",
        Kind::Not { .. } => "not",
        _ => "schema",
    }
}
