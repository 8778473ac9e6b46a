//! What an endpoint promises of its answers, and what becomes of a promise that is not kept.

use std::sync::OnceLock;

use backstop_core::{ToolError, ToolOutput, schema::CompiledSchema, text::escaped};
use serde_json::Value;

use super::{Endpoint, media::Media, response::Exchange};

/// Content types and the schema of an endpoint's answers.
#[derive(Debug)]
pub(super) struct Promise {
    media_types: Vec<String>,
    schema: Option<Value>,
    /// Compiled with the first answer that it is for: documents hold hundreds that no call needs.
    compiled: OnceLock<Option<CompiledSchema>>,
    lenient: bool,
}

impl Promise {
    /// The promise of an endpoint.
    ///
    /// # Errors
    ///
    /// `misconfigured` when the schema can't be used, unless the promise is a lenient one.
    pub(super) fn of(endpoint: &Endpoint) -> Result<Self, ToolError> {
        let schema = endpoint.spec.output_schema.clone();
        let lenient = endpoint.answer.lenient;
        let compiled = OnceLock::new();
        if let Some(schema) = schema.as_ref().filter(|_| !lenient) {
            let made = CompiledSchema::compile(schema).map_err(|cause| {
                let detail = format!("tool `{}`: the output schema can't be used", endpoint.spec.name);
                ToolError::misconfigured(detail).with_source(cause)
            })?;
            compiled.get_or_init(|| Some(made));
        }
        Ok(Self { media_types: endpoint.answers.clone(), schema, compiled, lenient })
    }

    /// Whether anything is promised.
    pub(super) fn is_content(&self) -> bool {
        !self.media_types.is_empty() || self.schema.is_some()
    }

    /// Whether JSON is promised, whatever the content type says.
    pub(super) fn is_json(&self) -> bool {
        let is_value =
            self.schema.as_ref().is_some_and(|schema| schema.get("type").is_none_or(|kind| kind != "string"));
        let json = |kind: &String| Media::parse(kind).is_json();
        is_value || (!self.media_types.is_empty() && self.media_types.iter().all(json))
    }

    /// Whether this content type is promised by name.
    pub(super) fn names(&self, media: &Media) -> bool {
        self.media_types.iter().any(|kind| media.is(kind))
    }

    /// Whether this content type is one that may come.
    pub(super) fn allows(&self, media: &Media) -> bool {
        self.media_types.is_empty() || media.essence.is_empty() || self.names(media)
    }

    /// The promised content types.
    pub(super) fn in_words(&self) -> String {
        let kinds: Vec<String> = self.media_types.iter().map(|kind| escaped(kind, 100)).collect();
        kinds.join(" or ")
    }

    /// Checks an output against the schema.
    ///
    /// # Errors
    ///
    /// `invalid_output` where it does not fit, unless the promise is a lenient one.
    pub(super) fn check(&self, exchange: &Exchange<'_>, output: &ToolOutput) -> Result<(), ToolError> {
        let compile = || self.schema.as_ref().and_then(|schema| CompiledSchema::compile(schema).ok());
        let Some(schema) = self.compiled.get_or_init(compile) else { return Ok(()) };
        let misfit = match output {
            ToolOutput::Json(value) => schema.misfit(value),
            ToolOutput::Text(text) => schema.misfit(&Value::String(text.clone())),
            _ => None,
        };
        match misfit {
            Some(misfit) => self.broken(exchange, &format!("the answer does not fit its schema: {misfit}")),
            None => Ok(()),
        }
    }

    /// What becomes of a promise that is not kept in this way.
    ///
    /// # Errors
    ///
    /// `invalid_output`, unless the promise is a lenient one.
    pub(super) fn broken(&self, exchange: &Exchange<'_>, why: &str) -> Result<(), ToolError> {
        self.not_kept(ToolError::invalid_output(format!("{}: {why}", exchange.what)))
    }

    /// As [`broken`](Self::broken), with an error that is made already.
    ///
    /// # Errors
    ///
    /// That error, unless the promise is a lenient one.
    pub(super) fn not_kept(&self, error: ToolError) -> Result<(), ToolError> {
        if self.lenient {
            tracing::debug!(target: "backstop::answer", "{}, and is passed on", error.detail());
            return Ok(());
        }
        Err(error)
    }
}
