//! Bodies of requests.

use backstop_core::{ToolError, text::size};
use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use reqwest::{header::HeaderValue, multipart};
use serde_json::{Map, Value};

use super::{
    BodyForm, Endpoint, Parameter,
    media::Media,
    style,
    value::{scalar, unfit},
};
use crate::pointer;

/// Whether the end is padded changes nothing of what it means.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
/// What an argument that is a file may hold.
const FILE_KEYS: [&str; 4] = ["name", "media_type", "text", "base64"];
/// Bytes around the content of a part, but for what it is called.
const AROUND_A_PART: usize = 200;

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
                let content_type = HeaderValue::from_str(sent_as(media_type)).map_err(|_| {
                    ToolError::misconfigured(format!("`{media_type}` can't be a content type"))
                })?;
                Payload::Bytes { content_type, bytes: whole(media_type, value, at)? }
            }
        },
    };
    let at = fields.iter().max_by_key(|(_, value, _)| value.to_string().len()).map(|(_, _, at)| at.as_str());
    within(payload, cap, at.unwrap_or_default())
}

/// A JSON body that was made from a template; `at` is the largest argument in it.
///
/// # Errors
///
/// `invalid_arguments` where it is larger than `cap`.
pub(super) fn composed(body: &Value, cap: usize, at: &str) -> Result<Payload, ToolError> {
    let bytes = body.to_string().into_bytes();
    let payload = Payload::Bytes { content_type: HeaderValue::from_static("application/json"), bytes };
    within(payload, cap, at)
}

fn within(payload: Payload, cap: usize, at: &str) -> Result<Payload, ToolError> {
    let bytes = payload.len();
    if bytes > cap {
        let words = format!("makes a request of {}, more than the limit of {}", size(bytes), size(cap));
        return Err(unfit(at, &words));
    }
    Ok(payload)
}

impl Payload {
    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Bytes { bytes, .. } => bytes.len(),
            Self::Multipart(pieces) => pieces.iter().map(Piece::len).sum(),
        }
    }
}

impl Piece {
    fn len(&self) -> usize {
        let called = [self.file_name.as_deref(), self.media_type.as_deref(), Some(self.name.as_str())];
        let called: usize = called.into_iter().flatten().map(str::len).sum();
        self.bytes.len() + called + AROUND_A_PART
    }
}

/// Whether this can be a content type.
pub(super) fn is_media_type(text: &str) -> bool {
    multipart::Part::text("").mime_str(text).is_ok()
}

/// The content type of a field's parts, where it is declared: the first of a list, as OpenAPI has them, and none
/// where it is a range.
pub(super) fn declared(parameter: &Parameter) -> Option<&str> {
    let first = parameter.media_type.as_deref()?.split(',').next()?.trim();
    (!first.contains('*')).then_some(first)
}

/// The form that `pieces` make.
///
/// # Errors
///
/// `internal` for a content type that is none, which was looked at before.
pub(super) fn form(pieces: &[Piece]) -> Result<multipart::Form, ToolError> {
    // Names as browsers write them: reqwest's own way is `name*=`, which RFC 7578 forbids and servers don't read.
    let mut form = multipart::Form::new().percent_encode_noop();
    for piece in pieces {
        let mut part = multipart::Part::bytes(piece.bytes.clone());
        if let Some(media_type) = &piece.media_type {
            part = part.mime_str(media_type).map_err(|cause| {
                ToolError::internal("the content type of a part is none").not_applied().with_source(cause)
            })?;
        }
        if let Some(name) = &piece.file_name {
            part = part.file_name(name.clone());
        }
        let name = piece.name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
        form = form.part(name, part);
    }
    Ok(form)
}

/// Whether values are sent as JSON. So they are where anything is taken.
fn is_json(media_type: &str) -> bool {
    let media = Media::parse(media_type);
    media.is_json() || matches!(media.essence.as_str(), "*/*" | "application/*")
}

/// The content type of a body whose declared one may be a range.
pub(super) fn sent_as(media_type: &str) -> &str {
    match media_type {
        media_type if !media_type.contains('*') => media_type,
        media_type if is_json(media_type) => "application/json",
        media_type if Media::parse(media_type).is_text() => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

fn whole(media_type: &str, value: &Value, at: &str) -> Result<Vec<u8>, ToolError> {
    if is_json(media_type) {
        return Ok(value.to_string().into_bytes());
    }
    let Some(text) = value.as_str() else { return Err(unfit(at, "must be a string")) };
    if Media::parse(media_type).is_text() {
        return Ok(text.as_bytes().to_vec());
    }
    binary(text, at)
}

/// What base64 stands for; it may be broken into lines.
fn binary(text: &str, at: &str) -> Result<Vec<u8>, ToolError> {
    let text: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    BASE64.decode(text).map_err(|cause| unfit(at, "must be base64").with_source(cause))
}

/// The parts of one field: one for each item of an array.
fn parts(parameter: &Parameter, value: &Value, at: &str) -> Result<Vec<Piece>, ToolError> {
    let piece = |bytes: Vec<u8>, media_type: Option<&str>| Piece {
        name: parameter.wire_name.clone(),
        bytes,
        media_type: declared(parameter).or(media_type).map(str::to_owned),
        file_name: None,
    };
    Ok(match value {
        Value::Null => Vec::new(),
        Value::Array(items) if declared(parameter).is_none_or(|media| !is_json(media)) => {
            let parts = items
                .iter()
                .enumerate()
                .map(|(index, item)| parts(parameter, item, &pointer::child(at, &index.to_string())));
            parts.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect()
        }
        Value::Object(object) if is_file(object) => vec![file(parameter, object, at)?],
        Value::Array(_) | Value::Object(_) => {
            vec![piece(value.to_string().into_bytes(), Some("application/json"))]
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            vec![piece(scalar(value).unwrap_or_default().into_bytes(), None)]
        }
    })
}

/// Whether an object is a file, and not data that has a text in it.
fn is_file(object: &Map<String, Value>) -> bool {
    (object.contains_key("text") || object.contains_key("base64"))
        && object.keys().all(|key| FILE_KEYS.contains(&key.as_str()))
}

/// A file: `{"name", "media_type", "text"}`, or `base64` in place of `text`.
fn file(parameter: &Parameter, object: &Map<String, Value>, at: &str) -> Result<Piece, ToolError> {
    let text = |key: &str| match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(unfit(&pointer::child(at, key), "must be a string")),
    };
    // What a file is when nobody says it (RFC 7578, section 4.4).
    let (bytes, usual) = match (text("text")?, text("base64")?) {
        (Some(text), None) => (text.as_bytes().to_vec(), "text/plain; charset=utf-8"),
        (None, Some(data)) => (binary(data, &pointer::child(at, "base64"))?, "application/octet-stream"),
        _ => return Err(unfit(at, "must have either \"text\" or \"base64\"")),
    };
    let name = text("name")?.unwrap_or(&parameter.wire_name);
    if name.chars().any(char::is_control) {
        let at = pointer::child(at, "name");
        return Err(unfit(&at, "must not hold line breaks or other control characters"));
    }
    let own = text("media_type")?;
    if own.is_some_and(|own| !is_media_type(own)) {
        return Err(unfit(&pointer::child(at, "media_type"), "must be a content type, such as text/csv"));
    }
    Ok(Piece {
        name: parameter.wire_name.clone(),
        bytes,
        media_type: own.or_else(|| declared(parameter)).or(Some(usual)).map(str::to_owned),
        file_name: Some(name.to_owned()),
    })
}
