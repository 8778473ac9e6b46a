//! `requestBody`: fields of its own where it is a plain object, one argument where it is anything else.

use serde_json::{Value, json};

use super::{
    arguments::{Argument, Arguments, described, style},
    reference::Node,
    schema::is_read_only,
};
use crate::http::{BodyForm, Parameter, Place, Style};

/// Fields that a body may have to be written out as arguments.
const FIELDS: usize = 100;
/// Levels of `allOf` and references that are looked through.
const DEPTH: usize = 16;
/// Schemas that are looked at for the fields of a body.
const PARTS: usize = 1000;

/// The fields of a plain object.
struct Shape<'d> {
    fields: Vec<(&'d str, Node<'d>)>,
    required: Vec<&'d str>,
}

/// Adds the arguments of a body, and gives its form.
///
/// # Errors
///
/// Why no request can be made with it.
pub(super) fn body<'d>(operation: &Node<'d>, arguments: &mut Arguments<'d>) -> Result<BodyForm, String> {
    let Some(body) = operation.get("requestBody") else { return Ok(BodyForm::default()) };
    let body = body?;
    let content = body.entries("content");
    let chosen = content.iter().min_by_key(|(media, _)| rank(media));
    let Some((media, node)) = chosen else { return Ok(BodyForm::default()) };
    let required = body.flag("required");
    let schema = node.child("schema");
    let mut parts = PARTS;
    let shape = schema.as_ref().and_then(|schema| shape(schema, DEPTH, &mut parts)).filter(|shape| {
        let is_needed = |(name, _): &(&str, Node<'_>)| shape.required.contains(name);
        // What is needed in a body that is not needed itself can be said of the whole body only. A form is always
        // written out: as one text it would be for the model to encode.
        let is_sure = required || !shape.fields.iter().any(is_needed) || !is_json(&essence(media));
        (1..=FIELDS).contains(&shape.fields.len()) && is_sure
    });
    let form = match essence(media).as_str() {
        "application/x-www-form-urlencoded" => Some(BodyForm::UrlEncoded),
        "multipart/form-data" => Some(BodyForm::Multipart),
        media if is_json(media) => Some(BodyForm::Json),
        _ => None,
    };
    let (Some(form), Some(shape)) = (form, shape) else {
        let whole = BodyForm::Whole { media_type: (*media).to_owned() };
        let schema = match schema {
            Some(schema) if is_json(&essence(media)) => arguments.schemas.convert(&schema),
            Some(_) | None if is_text(&essence(media)) => json!({"type": "string"}),
            Some(_) | None if is_json(&essence(media)) => json!({}),
            Some(_) | None => json!({"type": "string", "contentEncoding": "base64"}),
        };
        let text = body.text("description").or(Some("The body of the request."));
        let (parameter, schema) = (Parameter::new("body", Place::Body), described(schema, text));
        arguments.add(Argument { parameter, schema, required });
        return Ok(whole);
    };
    for (name, field) in &shape.fields {
        let mut parameter = Parameter::new(*name, Place::Body);
        let encoding = node.child("encoding").and_then(|encoding| encoding.child(name));
        if let Some(encoding) = &encoding {
            parameter.media_type = encoding.text("contentType").map(str::to_owned);
            if let Some(style) = encoding.text("style").and_then(style) {
                parameter.style = style;
            }
            let explode = encoding.value.get("explode").and_then(Value::as_bool);
            parameter.explode = explode.unwrap_or(parameter.style == Style::Form);
        }
        let schema = match (form == BodyForm::Multipart).then(|| file(field)).flatten() {
            Some(file) => file,
            None => arguments.schemas.convert(field),
        };
        let text = field.resolved().ok().and_then(|field| field.text("description"));
        let schema = described(schema, text);
        arguments.add(Argument { parameter, schema, required: shape.required.contains(name) });
    }
    Ok(form)
}

/// The fields of an object that a request has, through references and `allOf`; `None` where it is anything else.
fn shape<'d>(schema: &Node<'d>, depth: usize, parts: &mut usize) -> Option<Shape<'d>> {
    let depth = depth.checked_sub(1)?;
    *parts = parts.checked_sub(1)?;
    let schema = schema.resolved().ok()?;
    let object = schema.value.as_object()?;
    let is_other = |key: &str| object.contains_key(key);
    let kind = object.get("type");
    if ["oneOf", "anyOf", "not", "if", "patternProperties", "enum", "const"].into_iter().any(is_other)
        || kind.is_some_and(|kind| kind != "object")
        || object.get("nullable") == Some(&Value::Bool(true))
    {
        return None;
    }
    let fields = schema.entries("properties").into_iter().filter(|(_, field)| !is_read_only(field)).collect();
    let mut shape = Shape { fields, required: required(&schema) };
    for part in schema.items("allOf") {
        let part = self::shape(&part, depth, parts)?;
        for (name, node) in part.fields {
            match shape.fields.iter_mut().find(|(known, _)| *known == name) {
                // Both hold, which no single field says.
                Some(_) => return None,
                None => shape.fields.push((name, node)),
            }
        }
        shape.required.extend(part.required);
    }
    Some(shape)
}

fn required<'d>(schema: &Node<'d>) -> Vec<&'d str> {
    let list = schema.value.get("required").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// A file of a multipart body as an argument, or a list of them; `None` where a field is anything else.
fn file(field: &Node<'_>) -> Option<Value> {
    let field = field.resolved().ok()?;
    let is_file = |node: &Node<'_>| {
        node.text("format") == Some("binary")
            || node.text("contentEncoding") == Some("binary")
            || node.text("contentMediaType") == Some("application/octet-stream")
    };
    let file = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The name of the file."},
            "media_type": {"type": "string"},
            "text": {"type": "string", "description": "The content, where it is text."},
            "base64": {"type": "string", "description": "The content as base64, where it is not."},
        },
        "additionalProperties": false,
    });
    let items = field.get("items").and_then(Result::ok);
    match items {
        _ if is_file(&field) => Some(file),
        Some(item) if is_file(&item) => Some(json!({"type": "array", "items": file})),
        _ => None,
    }
}

/// The order in which media types are preferred.
fn rank(media: &str) -> u8 {
    match essence(media).as_str() {
        media if is_json(media) => 0,
        "application/x-www-form-urlencoded" => 1,
        "multipart/form-data" => 2,
        media if is_text(media) => 3,
        _ => 4,
    }
}

pub(super) fn essence(media: &str) -> String {
    media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

pub(super) fn is_json(essence: &str) -> bool {
    essence.ends_with("/json") || essence.ends_with("+json") || essence == "*/*" || essence == "application/*"
}

fn is_text(essence: &str) -> bool {
    essence.starts_with("text/")
        || essence.ends_with("+xml")
        || essence.ends_with("/xml")
        || essence.ends_with("yaml")
}
