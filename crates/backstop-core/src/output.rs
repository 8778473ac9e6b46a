//! What comes back from a tool.

use std::{borrow::Cow, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text::{MODEL_TEXT_CAP, escaped, head_and_tail, size};

/// Letters of a name or a content type that a model is shown.
const NAME_CAP: usize = 100;
/// Letters of an address that a model is shown.
const URI_CAP: usize = 1000;

/// What a tool gave.
///
/// # Example
///
/// ```
/// use backstop_core::ToolOutput;
/// assert_eq!(ToolOutput::from(7).model_text(), "7");
/// assert_eq!(ToolOutput::text("").model_text(), "The tool finished and gave no output.");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolOutput {
    /// Text for the model, as it is.
    Text(String),
    /// A value; the model reads it as compact JSON.
    Json(Value),
    /// Several parts, or one that is no text.
    Parts(Vec<Part>),
}

/// One part of an output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// Text for the model, as it is.
    Text {
        /// The text.
        text: String,
    },
    /// A value; the model reads it as compact JSON.
    Json {
        /// The value.
        value: Value,
    },
    /// Content that is no text, such as an image. The model reads what it is, not the bytes.
    Blob {
        /// The content type, such as `image/png`.
        media_type: String,
        /// The bytes as base64.
        data: Arc<str>,
        /// What it is called, where it has a name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Content that is somewhere else.
    Link {
        /// Where.
        uri: String,
        /// What it is called, where it has a name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The content type, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        media_type: Option<String>,
        /// Its bytes, where they are known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
    },
}

impl Part {
    /// A blob of these bytes.
    pub fn blob(media_type: impl Into<String>, bytes: &[u8], name: Option<String>) -> Self {
        Self::Blob { media_type: media_type.into(), data: STANDARD.encode(bytes).into(), name }
    }

    /// What the model reads.
    ///
    /// ```
    /// use backstop_core::Part;
    /// let image = Part::blob("image/png", &[0; 2048], Some("shot.png".into()));
    /// assert_eq!(image.model_text(), "[shot.png: image/png, 2 KiB, not shown]");
    /// ```
    pub fn model_text(&self) -> Cow<'_, str> {
        match self {
            Self::Text { text } => Cow::Borrowed(text),
            Self::Json { value: Value::String(text) } => Cow::Borrowed(text),
            Self::Json { value } => Cow::Owned(value.to_string()),
            Self::Blob { media_type, data, name } => {
                let name = name.as_ref().map(|name| format!("{}: ", escaped(name, NAME_CAP)));
                let size = size(decoded_len(data));
                let media_type = escaped(media_type, NAME_CAP);
                Cow::Owned(format!("[{}{media_type}, {size}, not shown]", name.unwrap_or_default()))
            }
            Self::Link { uri, name, media_type, size: bytes } => {
                let name = name.as_ref().map(|name| format!("{}: ", escaped(name, NAME_CAP)));
                let known = [
                    media_type.as_ref().map(|media_type| escaped(media_type, NAME_CAP)),
                    bytes.map(|bytes| size(usize::try_from(bytes).unwrap_or(usize::MAX))),
                ];
                let known: String = known.into_iter().flatten().map(|known| format!(", {known}")).collect();
                Cow::Owned(format!("[{}{}{known}]", name.unwrap_or_default(), escaped(uri, URI_CAP)))
            }
        }
    }
}

/// The bytes that a base64 text stands for.
fn decoded_len(base64: &str) -> usize {
    let padding = base64.bytes().rev().take_while(|byte| *byte == b'=').count();
    (base64.len() / 4 * 3).saturating_sub(padding)
}

impl ToolOutput {
    /// Text for the model, as it is.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A value that the model reads as JSON.
    ///
    /// # Errors
    ///
    /// [`ToolErrorKind::InvalidOutput`](crate::ToolErrorKind::InvalidOutput) when it does not serialise.
    pub fn json(value: &impl Serialize) -> Result<Self, crate::ToolError> {
        serde_json::to_value(value).map(Self::Json).map_err(|cause| {
            crate::ToolError::invalid_output("the tool's result does not serialise").with_source(cause)
        })
    }

    /// What the model reads: never empty, at most [`MODEL_TEXT_CAP`] bytes with head and tail kept.
    pub fn model_text(&self) -> String {
        let whole = self.whole_text();
        if whole.trim().is_empty() {
            return "The tool finished and gave no output.".into();
        }
        if whole.len() <= MODEL_TEXT_CAP { whole.into_owned() } else { head_and_tail(&whole, MODEL_TEXT_CAP) }
    }

    /// The same without a cap; empty where there is nothing.
    pub fn whole_text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) | Self::Json(Value::String(text)) => Cow::Borrowed(text),
            Self::Json(value) => Cow::Owned(value.to_string()),
            Self::Parts(parts) => match parts.as_slice() {
                [only] => only.model_text(),
                parts => {
                    let texts: Vec<Cow<'_, str>> = parts.iter().map(Part::model_text).collect();
                    Cow::Owned(texts.join("\n"))
                }
            },
        }
    }

    /// The output as a value: a text as a JSON string, parts as a list of them.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Text(text) => Value::String(text.clone()),
            Self::Json(value) => value.clone(),
            // Strings and values always serialise.
            Self::Parts(parts) => serde_json::to_value(parts).unwrap_or_default(),
        }
    }
}

macro_rules! from_value {
    ($($from:ty)*) => {$(
        impl From<$from> for ToolOutput {
            fn from(value: $from) -> Self {
                Self::Json(value.into())
            }
        }
    )*};
}
from_value!(i32 i64 u32 u64 usize f64 bool Value);

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<()> for ToolOutput {
    fn from((): ()) -> Self {
        Self::Text(String::new())
    }
}
