//! What one load knows: the text, the environment, and what has been found so far.

use std::{
    cell::{Cell, RefCell},
    path::Path,
};

use backstop_core::text;

use crate::{
    diagnostic::{Diagnostic, Problems, code},
    environment::Environment,
    interpolate::{Piece, pieces},
    secret::SecretText,
    span::Span,
    tree::{Node, Scalar},
};

/// Bytes that all references of one manifest may come to.
const EXPANDED_CAP: usize = 8 * 1024 * 1024;
const SECRET_PLACES: &str = "secrets are allowed in `api_key`, `auth`, header values, `env`, and `const` of a query, header or body parameter";

/// The state of one load.
pub(crate) struct Context<'a> {
    pub(crate) source: &'a str,
    pub(crate) base_dir: &'a Path,
    environment: &'a dyn Environment,
    pub(crate) problems: &'a Problems,
    secrets: RefCell<Vec<SecretText>>,
    expanded: Cell<usize>,
    literal: bool,
}

/// Whether a text may refer to secrets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secrets {
    /// It may not.
    Forbidden,
    /// It may, and they must be set.
    Required,
    /// It may, and `${secret:NAME:-}` may be unset.
    Optional,
}

/// A text with its references replaced.
pub(crate) struct Expanded {
    pub(crate) text: String,
    /// Neither quoted nor a block.
    pub(crate) plain: bool,
    /// Whether there was a reference in it.
    pub(crate) referenced: bool,
    /// Whether there was a secret in it.
    pub(crate) secret: bool,
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        source: &'a str,
        base_dir: &'a Path,
        environment: &'a dyn Environment,
        problems: &'a Problems,
    ) -> Self {
        let (secrets, expanded) = (RefCell::default(), Cell::new(0));
        Self { source, base_dir, environment, problems, secrets, expanded, literal: false }
    }

    /// In which `${..}` is text like any other.
    pub(crate) fn literal(self) -> Self {
        Self { literal: true, ..self }
    }

    /// Every secret value that was met.
    pub(crate) fn into_secrets(self) -> Vec<SecretText> {
        let mut secrets = self.secrets.into_inner();
        secrets.sort_by(|a, b| a.expose().cmp(b.expose()));
        secrets.dedup_by(|a, b| a.expose() == b.expose());
        secrets
    }

    /// Remembers a value that must never be shown.
    pub(crate) fn keep_secret(&self, value: &str) {
        if !value.is_empty() {
            self.secrets.borrow_mut().push(SecretText::new(value));
        }
    }

    /// Replaces the references of a scalar. Reports every one that can't be replaced.
    pub(crate) fn expand(
        &self,
        node: &Node,
        scalar: &Scalar,
        secrets: Secrets,
        path: &dyn Fn() -> String,
    ) -> Option<Expanded> {
        let mut out = Expanded { text: String::new(), plain: scalar.plain, referenced: false, secret: false };
        if self.literal || !scalar.text.contains("${") {
            out.text.clone_from(&scalar.text);
            return Some(out);
        }
        let mut finder = Finder::new(self.source, node.span);
        let mut failed = false;
        for piece in pieces(&scalar.text) {
            let found = match piece {
                Piece::Text(text) => {
                    out.text.push_str(text);
                    continue;
                }
                Piece::Escape => {
                    finder.place("$${");
                    out.text.push_str("${");
                    continue;
                }
                Piece::Malformed { reason, raw } => {
                    let hint = "write `${NAME}`, `${NAME:-default}`, `${secret:NAME}` or \
                                `${secret:file:PATH}`; `$${` stands for a literal `${`";
                    // In a place for secrets it may be one, and so may the default of a secret.
                    let shown = if secrets == Secrets::Forbidden && !raw.starts_with("${secret:") {
                        text::escaped(raw.trim_end(), 40)
                    } else {
                        "${…".to_owned()
                    };
                    let problem = Diagnostic::error(
                        code::MALFORMED_REFERENCE,
                        format!("`{shown}` is not a reference: {reason}"),
                    );
                    Err((problem.hint(hint), raw))
                }
                Piece::Variable { name, default, raw } => {
                    let value = self.environment.var(name);
                    let value = match default {
                        Some(default) => Some(value.filter(|v| !v.is_empty()).unwrap_or(default.to_owned())),
                        None => value,
                    };
                    let hint = format!("set it, or give a default: `${{{name}:-default}}`");
                    let unset = || Diagnostic::error(code::NOT_SET, format!("{name} is not set")).hint(hint);
                    value.map(|value| (value, raw)).ok_or_else(|| (unset(), raw))
                }
                Piece::Secret { raw, .. } | Piece::SecretFile { raw, .. }
                    if secrets == Secrets::Forbidden =>
                {
                    let problem =
                        Diagnostic::error(code::SECRET_NOT_ALLOWED, "a secret is not kept secret here");
                    Err((problem.hint(SECRET_PLACES), raw))
                }
                Piece::Secret { name, optional, raw } => {
                    out.secret = true;
                    self.secret(name, optional && secrets == Secrets::Optional)
                        .map(|value| (value, raw))
                        .map_err(|problem| (*problem, raw))
                }
                Piece::SecretFile { path, raw } => {
                    out.secret = true;
                    self.secret_file(&self.base_dir.join(path), path)
                        .map(|value| (value, raw))
                        .map_err(|problem| (*problem, raw))
                }
            };
            out.referenced = true;
            match found {
                Ok((value, raw)) => {
                    finder.place(raw);
                    self.expanded.set(self.expanded.get().saturating_add(value.len()));
                    out.text.push_str(&value);
                }
                Err((problem, raw)) => {
                    failed = true;
                    self.problems.push(problem.at(finder.place(raw), path()));
                }
            }
            if self.expanded.get() > EXPANDED_CAP {
                let message = format!("references come to more than {EXPANDED_CAP} bytes");
                self.problems.push(Diagnostic::error(code::TOO_LARGE, message).at(node.span, path()));
                return None;
            }
        }
        (!failed).then_some(out)
    }

    fn secret(&self, name: &str, optional: bool) -> Result<String, Box<Diagnostic>> {
        if let Some(value) = self.environment.var(name).filter(|value| !value.is_empty()) {
            self.keep_secret(&value);
            return Ok(value);
        }
        let file = format!("{name}_FILE");
        if let Some(path) = self.environment.var(&file).filter(|path| !path.is_empty()) {
            return self.secret_file(Path::new(&path), &path);
        }
        if optional {
            return Ok(String::new());
        }
        let problem = Diagnostic::error(code::SECRET_NOT_SET, format!("the secret {name} is not set"));
        Err(Box::new(problem.hint(format!("set {name}, or {file} to the path of a file that holds it"))))
    }

    fn secret_file(&self, path: &Path, shown: &str) -> Result<String, Box<Diagnostic>> {
        let shown = text::escaped(shown, 200);
        match self.environment.read_file(path) {
            Ok(value) if value.trim_end().is_empty() => {
                let message = format!("the secret file `{shown}` is empty");
                Err(Box::new(Diagnostic::error(code::SECRET_NOT_SET, message)))
            }
            Ok(value) => {
                let value = value.trim_end();
                self.keep_secret(value);
                Ok(value.to_owned())
            }
            Err(cause) => {
                let message = format!("the secret file `{shown}` can't be read: {}", cause.kind());
                let hint = "a path in the manifest is relative to the manifest";
                Err(Box::new(Diagnostic::error(code::SECRET_UNREADABLE, message).hint(hint)))
            }
        }
    }
}

/// Finds the references of a scalar in the source, one after the other and in linear time.
struct Finder<'s> {
    source: &'s str,
    scalar: Span,
    /// What is not searched yet; `None` once an escape or a line fold has hidden a reference.
    rest: Option<Span>,
}

impl<'s> Finder<'s> {
    fn new(source: &'s str, scalar: Span) -> Self {
        Self { source, scalar, rest: Some(scalar) }
    }

    /// Where `raw` stands; the whole scalar where that can't be said.
    fn place(&mut self, raw: &str) -> Span {
        let Some(rest) = self.rest.take() else { return self.scalar };
        let Some(at) = self.source.get(rest.start..rest.end).and_then(|text| text.find(raw)) else {
            return self.scalar;
        };
        let found = rest.part(self.source, at, at + raw.len());
        let behind = Span { end: rest.end, ..found }.part(self.source, raw.len(), rest.end - found.start);
        self.rest = Some(behind);
        found
    }
}
