//! Bodies of requests.

use backstop_core::{ToolError, text::size};
use base64::{Engine, engine::general_purpose::STANDARD};
use reqwest::{header::HeaderValue, multipart};
use serde_json::Value;

use super::{
    BodyForm, Endpoint, Parameter, style,
    value::{scalar, unfit},
};
use crate::pointer;

/// The body of a request, ready to be sent.
#[derive(Clone, Debug)]
pub(super) enum Payload {
    None,
    Bytes { content_type: HeaderValue, bytes: Vec<u8> },
    Multipart(Vec<Piece>),
}

/// One part of a multipart body.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    name: String,
    bytes: Vec<u8>,
    media_type: Option<String>,
    file_name: Option<String>,
}

/// One field that is sent: parameter, value and the argument's JSON Pointer.
pub(super) type Field<'a> = (&'a Parameter, &'a Value, String);

/// The body that these fields make, at most `cap` bytes.
///
/// # Errors
///
/// `invalid_arguments` for what can't be sent in this form, or is too large; nothing has been sent then.
pub(super) fn payload(endpoint: &Endpoint, fields: Vec<Field<'_>>, cap: usize) -> Result<Payload, ToolError> {
    let payload = match &endpoint.body {
        BodyForm::Json => {
            let object = style::object(fields.iter().map(|(parameter, value, _)| (*parameter, *value)));
            Payload::Bytes {
                content_type: HeaderValue::from_static("application/json"),
                bytes: Value::Object(object).to_string().into_bytes(),
            }
        }
        BodyForm::UrlEncoded => {
            let names: Vec<&str> =
                fields.iter().map(|(parameter, _, _)| parameter.wire_name.as_str()).collect();
            let mut pairs = Vec::new();
            for (parameter, value, at) in &fields {
                pairs.extend(style::pairs(parameter, value, at, &|key| names.contains(&key))?);
            }
            Payload::Bytes {
                content_type: HeaderValue::from_static("application/x-www-form-urlencoded"),
                bytes: pairs.join("&").into_bytes(),
            }
        }
        BodyForm::Multipart => {
            let mut pieces = Vec::new();
            for (parameter, value, at) in &fields {
                pieces.extend(parts(parameter, value, at)?);
            }
            Payload::Multipart(pieces)
        }
        BodyForm::Whole { media_type } => match fields.first() {
            None => Payload::None,
            Some((_, Value::Null, _)) if !is_json(media_type) => Payload::None,
            Some((_, value, at)) => {
                let content_type = HeaderValue::from_str(media_type).map_err(|_| {
                    ToolError::misconfigured(format!("`{media_type}` can't be a content type"))
                })?;
                Payload::Bytes { content_type, bytes: whole(media_type, value, at)? }
            }
        },
    };
    let bytes = payload.len();
    if bytes > cap {
        let words = format!("makes a request of {}, more than the limit of {}", size(bytes), size(cap));
        let at =
            fields.iter().max_by_key(|(_, value, _)| value.to_string().len()).map(|(_, _, at)| at.as_str());
        return Err(unfit(at.unwrap_or(""), &words));
    }
    Ok(payload)
}

/// A JSON body that was made from a template.
///
/// # Errors
///
/// `invalid_arguments` where it is larger than `cap`.
pub(super) fn composed(body: &Value, cap: usize) -> Result<Payload, ToolError> {
    let bytes = body.to_string().into_bytes();
    if bytes.len() > cap {
        let words = format!("makes a request of {}, more than the limit of {}", size(bytes.len()), size(cap));
        return Err(unfit("", &words));
    }
    Ok(Payload::Bytes { content_type: HeaderValue::from_static("application/json"), bytes })
}

impl Payload {
    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Bytes { bytes, .. } => bytes.len(),
            Self::Multipart(pieces) => pieces.iter().map(|piece| piece.bytes.len()).sum(),
        }
    }
}

/// The form that `pieces` make.
///
/// # Errors
///
/// `invalid_arguments` for a content type that is none.
pub(super) fn form(pieces: &[Piece]) -> Result<multipart::Form, ToolError> {
    let mut form = multipart::Form::new();
    for piece in pieces {
        let mut part = multipart::Part::bytes(piece.bytes.clone());
        if let Some(media_type) = &piece.media_type {
            part = part.mime_str(media_type).map_err(|cause| {
                let words = format!("has no content type: {media_type}");
                unfit(&pointer::child("", &piece.name), &words).with_source(cause)
            })?;
        }
        if let Some(name) = &piece.file_name {
            part = part.file_name(name.clone());
        }
        form = form.part(piece.name.clone(), part);
    }
    Ok(form)
}

fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.ends_with("/json")
        || essence.ends_with("+json")
        || essence.starts_with('*')
        || essence.ends_with("/*")
}

fn is_text(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.starts_with("text/")
        || ["+xml", "/xml", "yaml", "/javascript", "/graphql", "/sql", "/x-ndjson"]
            .iter()
            .any(|end| essence.ends_with(end))
}

fn whole(media_type: &str, value: &Value, at: &str) -> Result<Vec<u8>, ToolError> {
    if is_json(media_type) {
        return Ok(value.to_string().into_bytes());
    }
    let Some(text) = value.as_str() else { return Err(unfit(at, "must be a string")) };
    if is_text(media_type) {
        return Ok(text.as_bytes().to_vec());
    }
    STANDARD.decode(text.trim()).map_err(|cause| unfit(at, "must be base64").with_source(cause))
}

/// The parts of one field: one for each item of an array.
fn parts(parameter: &Parameter, value: &Value, at: &str) -> Result<Vec<Piece>, ToolError> {
    let piece = |bytes: Vec<u8>, media_type: Option<&str>| Piece {
        name: parameter.wire_name.clone(),
        bytes,
        media_type: parameter.media_type.clone().or_else(|| media_type.map(str::to_owned)),
        file_name: None,
    };
    Ok(match value {
        Value::Null => Vec::new(),
        Value::Array(items) if parameter.media_type.as_deref().is_none_or(|media| !is_json(media)) => {
            let parts = items
                .iter()
                .enumerate()
                .map(|(index, item)| parts(parameter, item, &pointer::child(at, &index.to_string())));
            parts.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect()
        }
        Value::Object(object) if object.contains_key("text") || object.contains_key("base64") => {
            vec![file(parameter, object, at)?]
        }
        Value::Array(_) | Value::Object(_) => {
            vec![piece(value.to_string().into_bytes(), Some("application/json"))]
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            vec![piece(scalar(value).unwrap_or_default().into_bytes(), None)]
        }
    })
}

/// A file: `{"name", "media_type", "text"}`, or `base64` in place of `text`.
fn file(
    parameter: &Parameter,
    object: &serde_json::Map<String, Value>,
    at: &str,
) -> Result<Piece, ToolError> {
    let text = |key: &str| object.get(key).and_then(Value::as_str);
    // What a file is when nobody says it (RFC 7578, section 4.4).
    let usual =
        if object.contains_key("text") { "text/plain; charset=utf-8" } else { "application/octet-stream" };
    let bytes = match (text("text"), text("base64")) {
        (Some(text), None) => text.as_bytes().to_vec(),
        (None, Some(data)) => STANDARD
            .decode(data.trim())
            .map_err(|cause| unfit(&pointer::child(at, "base64"), "must be base64").with_source(cause))?,
        _ => return Err(unfit(at, "must have either \"text\" or \"base64\"")),
    };
    let name = text("name").unwrap_or(&parameter.wire_name);
    if name.chars().any(char::is_control) {
        let at = pointer::child(at, "name");
        return Err(unfit(&at, "must not hold line breaks or other control characters"));
    }
    Ok(Piece {
        name: parameter.wire_name.clone(),
        bytes,
        media_type: text("media_type").or(parameter.media_type.as_deref()).or(Some(usual)).map(str::to_owned),
        file_name: Some(name.to_owned()),
    })
}
