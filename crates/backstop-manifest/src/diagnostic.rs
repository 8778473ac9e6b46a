//! What is wrong with a manifest, and where.

use std::{
    cell::{Cell, RefCell},
    fmt,
};

use serde::Serialize;

use crate::span::Span;

/// Diagnostics of one manifest at most; the rest is counted.
const CAP: usize = 200;

/// Whether a manifest with this problem can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It can't.
    Error,
    /// It can, but it may do something other than was meant.
    Warning,
}

/// One problem of a manifest. Holds no value of a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The stable name of the problem; all of them are in [`code`].
    pub code: &'static str,
    /// Whether the manifest can be used.
    pub severity: Severity,
    /// What is wrong: lowercase, no final period.
    pub message: String,
    /// Where in the text.
    pub span: Option<Span>,
    /// What to do.
    pub hint: Option<String>,
    /// Where in the data, like `toolsets.shop.http.endpoints.get_order.path`; empty for the whole manifest.
    pub path: String,
}

impl Diagnostic {
    pub(crate) fn error(code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, severity: Severity::Error, message, span: None, hint: None, path: String::new() }
    }

    pub(crate) fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    pub(crate) fn at(mut self, span: Span, path: impl Into<String>) -> Self {
        self.span = Some(span);
        self.path = path.into();
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a hint where there is one.
    pub(crate) fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    /// Whether the manifest can't be used because of it.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diagnostic {
    /// One line: `3:5: error[unknown-key]: model: unknown key ...`; the hint on a second.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(span) = self.span {
            write!(f, "{}:{}: ", span.line, span.column)?;
        }
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}[{}]: ", self.code)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

/// Gathers the problems of one manifest.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    found: RefCell<Vec<Diagnostic>>,
    left_out: Cell<usize>,
    errors: Cell<usize>,
}

impl Problems {
    pub(crate) fn push(&self, diagnostic: Diagnostic) {
        if diagnostic.is_error() {
            self.errors.set(self.errors.get() + 1);
        }
        let mut found = self.found.borrow_mut();
        if found.len() < CAP {
            found.push(diagnostic);
        } else {
            self.left_out.set(self.left_out.get() + 1);
        }
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors.get() > 0
    }

    /// All of them in the order of the text.
    pub(crate) fn into_sorted(self) -> Vec<Diagnostic> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|diagnostic| diagnostic.span.map(|span| span.start));
        let left_out = self.left_out.get();
        if left_out > 0 {
            let message = format!("{left_out} more problems are left out");
            // They may hold the only error.
            let severity = if self.errors.get() > 0 { Severity::Error } else { Severity::Warning };
            found.push(Diagnostic { severity, ..Diagnostic::error(code::TOO_MANY_PROBLEMS, message) });
        }
        found
    }
}

/// The stable names of all problems.
pub mod code {
    macro_rules! codes {
        ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
            $($(#[$doc])* pub const $name: &str = $text;)*
            /// Every code.
            pub const ALL: &[&str] = &[$($text),*];
        };
    }

    codes! {
        /// The text is not YAML or JSON.
        SYNTAX = "syntax";
        /// The text is too large, has too many values, or its references grow too large.
        TOO_LARGE = "too-large";
        /// Lists and mappings are nested too deep.
        TOO_DEEP = "too-deep";
        /// More problems than are listed.
        TOO_MANY_PROBLEMS = "too-many-problems";
        /// More than one YAML document in one text.
        MULTIPLE_DOCUMENTS = "multiple-documents";
        /// A YAML tag other than `!!str`.
        UNSUPPORTED_TAG = "unsupported-tag";
        /// The same key twice in one mapping.
        DUPLICATE_KEY = "duplicate-key";
        /// A key that does not exist there.
        UNKNOWN_KEY = "unknown-key";
        /// A key that must be there.
        MISSING_KEY = "missing-key";
        /// A value of another type.
        WRONG_TYPE = "wrong-type";
        /// A value of the right type that is not allowed.
        INVALID_VALUE = "invalid-value";
        /// A word that is not one of the known ones.
        UNKNOWN_VALUE = "unknown-value";
        /// A number or a duration out of its range.
        OUT_OF_RANGE = "out-of-range";
        /// A duration without a unit, or with an unknown one.
        INVALID_DURATION = "invalid-duration";
        /// A name with letters that it can't have.
        INVALID_NAME = "invalid-name";
        /// Not a URL that can be used.
        INVALID_URL = "invalid-url";
        /// Not a header that can be sent.
        INVALID_HEADER = "invalid-header";
        /// Not a regular expression.
        INVALID_REGEX = "invalid-regex";
        /// Not a path template.
        INVALID_PATH = "invalid-path";
        /// Not a JSON Schema.
        INVALID_SCHEMA = "invalid-schema";
        /// A manifest version that this program does not know.
        UNSUPPORTED_VERSION = "unsupported-version";
        /// A model provider of a later version.
        UNSUPPORTED_PROVIDER = "unsupported-provider";
        /// A kind of toolset of a later version.
        UNSUPPORTED_TOOLSET = "unsupported-toolset";
        /// Not exactly one of several keys that exclude each other.
        EXACTLY_ONE = "exactly-one";
        /// An environment variable that is not set.
        NOT_SET = "not-set";
        /// A secret that is not set.
        SECRET_NOT_SET = "secret-not-set";
        /// A secret file that can't be read.
        SECRET_UNREADABLE = "secret-unreadable";
        /// A secret in a place that is not kept secret.
        SECRET_NOT_ALLOWED = "secret-not-allowed";
        /// A `${` that is not a reference.
        MALFORMED_REFERENCE = "malformed-reference";
        /// A `{name}` of a path without a parameter.
        UNDECLARED_PARAMETER = "undeclared-parameter";
        /// A path parameter that the path does not have.
        UNUSED_PARAMETER = "unused-parameter";
        /// Two parameters of the same wire name and place.
        DUPLICATE_PARAMETER = "duplicate-parameter";
        /// A tool that the toolset does not have.
        UNKNOWN_TOOL = "unknown-tool";
        /// A condition that holds nothing.
        EMPTY_MATCHER = "empty-matcher";
        /// Warning: a strategy behind one that takes every failure that it is for.
        UNREACHABLE_STRATEGY = "unreachable-strategy";
        /// Warning: conditions that exclude each other.
        NEVER_MATCHES = "never-matches";
        /// Warning: a retry of failures that are never retried.
        USELESS_RETRY = "useless-retry";
        /// Warning: a retry of a tool that changes something each time; it falls through.
        UNSAFE_RETRY = "unsafe-retry";
        /// Warning: a tool that changes something in the place of one that only looks.
        UNSAFE_USE_TOOL = "unsafe-use-tool";
        /// Warning: arguments that a tool in the place of another does not take, or is not given.
        UNFIT_ARGUMENTS = "unfit-arguments";
        /// Warning: a call that finds out whether another took effect, and changes something itself.
        UNSAFE_RECONCILE = "unsafe-reconcile";
        /// Warning: tools that serve each other's calls.
        CIRCLE = "use-tool-circle";
        /// Warning: more retries than the run has time or retries for.
        NO_ROOM = "no-room-for-retries";
        /// Warning: a secret written out.
        PLAIN_SECRET = "plain-secret";
        /// Warning: a toolset without tools.
        EMPTY_TOOLSET = "empty-toolset";
        /// Warning: a name that model providers do not take.
        PROVIDER_NAME = "provider-name";
        /// Warning: a timeout longer than the whole run.
        TIMEOUT_TOO_LONG = "timeout-too-long";
        /// Warning: a key that changes nothing here.
        NO_EFFECT = "no-effect";
        /// Warning: the model of a QuickApps manifest is asked for elsewhere.
        QUICKAPPS_MODEL = "quickapps-model";
        /// Warning: something of a QuickApps manifest that has no counterpart.
        QUICKAPPS_UNSUPPORTED = "quickapps-unsupported";
        /// Warning: something of a QuickApps manifest that its makers have given up.
        QUICKAPPS_DEPRECATED = "quickapps-deprecated";
        /// Warning: something of a QuickApps manifest that behaves otherwise here.
        QUICKAPPS_CHANGED = "quickapps-changed";
        /// Warning: a name of a QuickApps manifest that can't be used as it is.
        QUICKAPPS_RENAMED = "quickapps-renamed";
        /// Warning: a toolset or a tool of a QuickApps manifest that is switched off.
        QUICKAPPS_DISABLED = "quickapps-disabled";
        /// Warning: fields of a QuickApps manifest that are only a preview.
        QUICKAPPS_PREVIEW = "quickapps-preview";
    }
}
