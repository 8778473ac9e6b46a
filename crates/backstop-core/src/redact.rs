//! Takes known secret values out of everything that leaves a run.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::{
    error::{Causes, ToolError},
    model::{ModelError, ModelReply},
    output::{Part, ToolOutput},
};

/// What stands in place of a secret.
const MASK: &str = "[secret]";
/// Shorter values are not searched for: they would hit ordinary words.
const SHORTEST: usize = 4;

/// Knows secret values and takes them out of texts: plain, percent-encoded, JSON-escaped and base64 at any
/// alignment. Cheap to clone.
///
/// # Example
///
/// ```
/// use backstop_core::Redactor;
///
/// let redactor = Redactor::new(["hunter2/x"]);
/// assert_eq!(redactor.redact("key=hunter2%2Fx"), Some("key=[secret]".into()));
/// assert_eq!(redactor.redact("nothing here"), None);
/// ```
#[derive(Clone, Default)]
pub struct Redactor(Arc<Vec<String>>);

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} forms)", self.0.len())
    }
}

impl Redactor {
    /// A redactor of these values; those shorter than four bytes are left alone.
    pub fn new<T: AsRef<str>>(secrets: impl IntoIterator<Item = T>) -> Self {
        Self::default().with(secrets)
    }

    /// A redactor of these values, too.
    #[must_use]
    pub fn with<T: AsRef<str>>(&self, secrets: impl IntoIterator<Item = T>) -> Self {
        let mut forms = self.0.to_vec();
        for secret in secrets {
            let secret = secret.as_ref();
            if secret.len() < SHORTEST {
                continue;
            }
            let encoded = utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string();
            let partly =
                encoded.replace("%2D", "-").replace("%2E", ".").replace("%5F", "_").replace("%7E", "~");
            let quoted = Value::from(secret).to_string();
            forms.extend([
                lower_escapes(&partly),
                lower_escapes(&encoded),
                partly.replace("%20", "+"),
                partly,
                encoded,
            ]);
            forms.extend(quoted.get(1..quoted.len() - 1).map(str::to_owned));
            forms.push(secret.to_owned());
            for shift in 0..3 {
                forms.extend(base64_forms(secret.as_bytes(), shift));
            }
        }
        forms.retain(|form| form.len() >= SHORTEST);
        // Longest first, so that no form leaves the rest of a longer one behind.
        forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        forms.dedup();
        Self(Arc::new(forms))
    }

    /// Whether there is nothing to take out.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `text` without secrets; `None` where there are none in it.
    pub fn redact(&self, text: &str) -> Option<String> {
        let mut out: Option<String> = None;
        for form in self.0.iter() {
            let current = out.as_deref().unwrap_or(text);
            if current.contains(form.as_str()) {
                out = Some(current.replace(form.as_str(), MASK));
            }
        }
        out
    }

    /// A tool's result without secrets.
    pub fn result(&self, result: Result<ToolOutput, ToolError>) -> Result<ToolOutput, ToolError> {
        if self.is_empty() {
            return result;
        }
        match result {
            Ok(ToolOutput::Text(text)) => Ok(ToolOutput::Text(self.redact(&text).unwrap_or(text))),
            Ok(ToolOutput::Json(mut value)) => {
                self.value(&mut value);
                Ok(ToolOutput::Json(value))
            }
            Ok(ToolOutput::Parts(parts)) => {
                Ok(ToolOutput::Parts(parts.into_iter().map(|part| self.part(part)).collect()))
            }
            Err(error) => Err(self.tool_error(error)),
        }
    }

    /// A part of a result without secrets. The bytes of a blob stay: no model and no log reads them.
    fn part(&self, part: Part) -> Part {
        let text = |text: String| self.redact(&text).unwrap_or(text);
        match part {
            Part::Text { text: shown } => Part::Text { text: text(shown) },
            Part::Json { mut value } => {
                self.value(&mut value);
                Part::Json { value }
            }
            Part::Blob { media_type, data, name } => Part::Blob { media_type, data, name: name.map(text) },
            Part::Link { uri, name, media_type, size } => {
                Part::Link { uri: text(uri), name: name.map(text), media_type, size }
            }
        }
    }

    /// A tool's error without secrets.
    pub fn tool_error(&self, error: ToolError) -> ToolError {
        if self.is_empty() {
            return error;
        }
        let mut parts = error.parts().clone();
        let texts = [
            Some(&mut parts.detail),
            parts.words.as_mut(),
            parts.answered.as_mut(),
            parts.code.as_mut(),
            parts.request_id.as_mut(),
        ];
        for text in texts.into_iter().flatten() {
            if let Some(redacted) = self.redact(text) {
                *text = redacted;
            }
            self.redact_cut(text);
        }
        for violation in &mut parts.violations {
            if let Some(redacted) = self.redact(&violation.message) {
                violation.message = redacted;
            }
        }
        let causes = parts.causes.texts();
        if causes.iter().any(|cause| self.redact(cause).is_some()) {
            parts.causes = Causes::from_texts(
                causes.into_iter().map(|cause| self.redact(&cause).unwrap_or(cause)).collect(),
            );
        }
        ToolError::from_parts(parts)
    }

    /// Takes out the beginning of a secret that was cut off, where an ellipsis says that something was.
    fn redact_cut(&self, text: &mut String) {
        let mut from = 0;
        while let Some(at) = text.get(from..).and_then(|rest| rest.find('…')).map(|at| from + at) {
            let begun = self.held_back(text.get(..at).unwrap_or_default());
            from = at + '…'.len_utf8();
            if begun >= SHORTEST {
                text.replace_range(at - begun..at, MASK);
                from = from - begun + MASK.len();
            }
        }
    }

    /// A model's error without secrets.
    pub fn model_error(&self, error: ModelError) -> ModelError {
        if self.is_empty() { error } else { error.map_texts(&|text| self.redact(text)) }
    }

    /// A model's reply without secrets in its text and its calls.
    pub fn model_reply(&self, mut reply: ModelReply) -> ModelReply {
        if self.is_empty() {
            return reply;
        }
        let calls = reply.calls.iter_mut().flat_map(|call| [&mut call.name, &mut call.arguments.0]);
        for text in reply.text.iter_mut().chain(calls) {
            if let Some(redacted) = self.redact(text) {
                *text = redacted;
            }
        }
        reply.extra.values_mut().for_each(|value| self.value(value));
        reply
    }

    /// Bytes at the end of `text` that may be the beginning of a secret: what a stream must hold back until more
    /// of it is there.
    pub fn held_back(&self, text: &str) -> usize {
        let starts_here = |at: usize| {
            let tail = text.get(at..).unwrap_or_default();
            !tail.is_empty() && self.0.iter().any(|form| form.len() > tail.len() && form.starts_with(tail))
        };
        let longest = self.0.first().map_or(0, String::len);
        let from = text.ceil_char_boundary(text.len().saturating_sub(longest));
        let found = (from..text.len()).find(|at| text.is_char_boundary(*at) && starts_here(*at));
        found.map_or(0, |at| text.len() - at)
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(redacted) = self.redact(text) {
                    *text = redacted;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(object) => {
                if object.keys().any(|key| self.redact(key).is_some()) {
                    *object = std::mem::take(object)
                        .into_iter()
                        .map(|(key, value)| (self.redact(&key).unwrap_or(key), value))
                        .collect();
                }
                object.values_mut().for_each(|value| self.value(value));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Percent-encoded text with its escapes in lower case: `%2F` as `%2f`.
fn lower_escapes(encoded: &str) -> String {
    let mut out = String::with_capacity(encoded.len());
    let mut digits = 0u8;
    for c in encoded.chars() {
        out.push(if digits > 0 { c.to_ascii_lowercase() } else { c });
        digits = if c == '%' { 2 } else { digits.saturating_sub(1) };
    }
    out
}

/// What a secret looks like inside of base64 when `shift` bytes stand before it: the letters that depend on the
/// secret alone.
fn base64_forms(secret: &[u8], shift: usize) -> Vec<String> {
    let mut bytes = vec![0; shift];
    bytes.extend_from_slice(secret);
    let first = (shift * 8).div_ceil(6);
    let last = bytes.len() * 8 / 6;
    [general_purpose::STANDARD_NO_PAD.encode(&bytes), general_purpose::URL_SAFE_NO_PAD.encode(&bytes)]
        .iter()
        .filter_map(|text| text.get(first..last).map(str::to_owned))
        // Too few letters would hit ordinary words.
        .filter(|form| form.len() >= 6)
        .collect()
}
