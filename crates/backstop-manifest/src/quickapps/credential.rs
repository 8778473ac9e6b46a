//! Credentials that stand in the text: kept under a name, and only the name goes on.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
};

use super::{draft::Draft, name};
use crate::{
    diagnostic::{Diagnostic, code},
    reader::At,
    secret::SecretText,
};

/// Names that mean something else already.
const TAKEN: [&str; 3] = ["OPENAI_API_KEY", "OPENAI_BASE_URL", "DEFAULT_ORCHESTRATOR_DEPLOYMENT_ID"];
/// Parts of names whose values are taken for credentials.
const TELLING: [&str; 8] =
    ["key", "token", "secret", "password", "passwd", "authorization", "cookie", "signature"];

/// Whether the value of something of this name is a credential.
pub(super) fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    TELLING.iter().any(|part| name.contains(part))
}

/// Every credential of a text.
pub(super) struct Credentials {
    values: RefCell<HashMap<String, SecretText>>,
    taken: RefCell<name::Taken>,
    /// Where those stand that are reported.
    reported: RefCell<HashSet<(usize, String)>>,
}

impl Default for Credentials {
    fn default() -> Self {
        let taken = name::Taken::of(TAKEN.map(str::to_owned));
        Self { values: RefCell::default(), taken: RefCell::new(taken), reported: RefCell::default() }
    }
}

impl Credentials {
    /// The credential that stands at `at`, as a reference to a variable whose name is made of these parts.
    pub(super) fn draft(&self, at: &At<'_>, parts: [&str; 2]) -> Option<Draft> {
        let text = at.text()?;
        Some(self.value(at, &text, parts))
    }

    /// The same for a part of what stands there.
    pub(super) fn value(&self, at: &At<'_>, text: &str, parts: [&str; 2]) -> Draft {
        if text.trim().is_empty() {
            return Draft::text(at, text);
        }
        let wanted = name::variable_letters(&parts.join("_"));
        let wanted: String = wanted.chars().take(name::LONGEST).collect();
        let is_same = |name: &String, value: &SecretText| name.starts_with(&wanted) && value.expose() == text;
        let known =
            self.values.borrow().iter().find(|(name, value)| is_same(name, value)).map(|(n, _)| n.clone());
        let name = known.unwrap_or_else(|| self.taken.borrow_mut().unique(wanted, "_"));
        self.values.borrow_mut().insert(name.clone(), SecretText::new(text));
        if self.reported.borrow_mut().insert((at.span().start, name.clone())) {
            let hint = format!("`backstop migrate` writes a manifest that reads it from the variable {name}");
            at.report(Diagnostic::warning(code::PLAIN_SECRET, "a credential is written out").hint(hint));
        }
        Draft::reference(at, format!("${{secret:{name}}}"))
    }

    pub(super) fn into_values(self) -> HashMap<String, SecretText> {
        self.values.into_inner()
    }
}
