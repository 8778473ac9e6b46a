//! Takes known secret values out of everything that leaves a run.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::{
    call::ToolOutput,
    error::{Causes, ToolError},
    model::{ModelError, ModelReply},
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
        let mut forms = Vec::new();
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
                partly.to_lowercase(),
                partly.replace("%20", "+"),
                partly,
                encoded.to_lowercase(),
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
            Err(error) => Err(self.tool_error(error)),
        }
    }

    /// A tool's error without secrets.
    pub fn tool_error(&self, error: ToolError) -> ToolError {
        if self.is_empty() {
            return error;
        }
        let mut parts = error.parts().clone();
        let texts =
            [Some(&mut parts.detail), parts.words.as_mut(), parts.code.as_mut(), parts.request_id.as_mut()];
        for text in texts.into_iter().flatten() {
            if let Some(redacted) = self.redact(text) {
                *text = redacted;
            }
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

    /// A model's error without secrets.
    pub fn model_error(&self, error: ModelError) -> ModelError {
        if self.is_empty() { error } else { error.map_texts(&|text| self.redact(text)) }
    }

    /// A model's reply without secrets in its text.
    pub fn model_reply(&self, mut reply: ModelReply) -> ModelReply {
        if let Some(redacted) = reply.text.as_deref().and_then(|text| self.redact(text)) {
            reply.text = Some(redacted);
        }
        reply
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
