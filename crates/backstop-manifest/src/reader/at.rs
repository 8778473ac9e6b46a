//! One value: where it stands, and how its problems are reported.

use backstop_core::text;

use super::trail::Trail;
use crate::{
    context::Context,
    diagnostic::{Diagnostic, code},
    span::{Span, Spanned},
    tree::{Node, Value},
};

/// One value, where it stands, and how the decoder came to it.
#[derive(Clone)]
pub(crate) struct At<'c> {
    pub(crate) cx: &'c Context<'c>,
    pub(super) node: &'c Node,
    /// The key that it stands behind.
    pub(super) key: Option<(&'c str, Span)>,
    pub(super) trail: Trail,
}

impl<'c> At<'c> {
    pub(crate) fn root(cx: &'c Context<'c>, node: &'c Node) -> Self {
        Self { cx, node, key: None, trail: Trail::default() }
    }

    /// Where to point for this value: at a scalar itself, at the key of anything larger.
    pub(crate) fn span(&self) -> Span {
        match (&self.node.value, self.key) {
            (Value::Scalar(scalar), Some((_, key))) if scalar.is_blank() => key,
            (Value::Scalar(_), _) => self.node.span,
            (_, Some((_, key))) => key,
            (Value::Map(entries), None) => entries.first().map_or(self.node.span, |entry| entry.key_span),
            (Value::List(_), None) => self.node.span,
        }
    }

    /// Where the key stands; the value's place where there is none.
    pub(crate) fn key_span(&self) -> Span {
        self.key.map_or_else(|| self.span(), |(_, span)| span)
    }

    /// The key that it stands behind.
    pub(crate) fn key(&self) -> Spanned<String> {
        Spanned::new(self.key.map_or_else(String::new, |(key, _)| key.to_owned()), self.key_span())
    }

    pub(crate) fn path(&self) -> String {
        self.trail.render()
    }

    /// Reports a problem of this value.
    pub(crate) fn report(&self, problem: Diagnostic) {
        self.cx.problems.push(problem.at(self.span(), self.path()));
    }

    /// Reports a problem of the key that it stands behind.
    pub(crate) fn report_key(&self, problem: Diagnostic) {
        self.cx.problems.push(problem.at(self.key_span(), self.path()));
    }

    pub(crate) fn error(&self, code: &'static str, message: impl Into<String>) {
        self.report(Diagnostic::error(code, message));
    }

    pub(crate) fn warn(&self, code: &'static str, message: impl Into<String>) {
        self.report(Diagnostic::warning(code, message));
    }

    pub(super) fn wrong_type(&self, expected: &str) -> Diagnostic {
        Diagnostic::error(code::WRONG_TYPE, format!("expected {expected}, got {}", self.found()))
    }

    /// What stands there, as written: a reference is not replaced, so nothing of its value is shown.
    pub(super) fn found(&self) -> String {
        match &self.node.value {
            Value::List(_) => "a list".into(),
            Value::Map(_) => "a mapping".into(),
            Value::Scalar(scalar) if scalar.is_blank() => "nothing".into(),
            Value::Scalar(scalar) => {
                let shown = text::escaped(&scalar.text, 40);
                if scalar.plain { format!("`{shown}`") } else { format!("the text `\"{shown}\"`") }
            }
        }
    }
}
