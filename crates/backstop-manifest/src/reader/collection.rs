//! Lists and mappings.

use std::{rc::Rc, time::Duration};

use backstop_core::text;

use super::{at::At, suggest::suggest, trail::Step};
use crate::{
    diagnostic::{Diagnostic, code},
    tree::{Entry, Node, Value},
};

impl<'c> At<'c> {
    /// The values of a list; nothing where there is nothing.
    pub(crate) fn items(&self, expected: &str) -> Option<Vec<At<'c>>> {
        match &self.node.value {
            Value::List(items) => Some(self.children(items)),
            Value::Scalar(scalar) if scalar.is_blank() => Some(Vec::new()),
            Value::Scalar(_) | Value::Map(_) => {
                self.report(self.wrong_type(expected));
                None
            }
        }
    }

    /// The values of a list, or the one value that stands there without one.
    pub(crate) fn one_or_many(&self) -> Vec<At<'c>> {
        match &self.node.value {
            Value::List(items) => self.children(items),
            Value::Scalar(_) | Value::Map(_) => vec![self.clone()],
        }
    }

    pub(super) fn children(&self, items: &'c [Rc<Node>]) -> Vec<At<'c>> {
        let child =
            |(index, node)| At { cx: self.cx, node, key: None, trail: self.trail.then(Step::Index(index)) };
        items.iter().map(Rc::as_ref).enumerate().map(child).collect()
    }

    /// The values of a list, without a word where this is none.
    pub(crate) fn elements(&self) -> Vec<At<'c>> {
        match &self.node.value {
            Value::List(items) => self.children(items),
            Value::Scalar(_) | Value::Map(_) => Vec::new(),
        }
    }

    /// The values of a mapping with any keys; nothing where there is nothing.
    pub(crate) fn entries(&self, expected: &str) -> Option<Vec<At<'c>>> {
        match &self.node.value {
            Value::Map(_) => self.entries_quietly(),
            Value::Scalar(scalar) if scalar.is_blank() => Some(Vec::new()),
            Value::Scalar(_) | Value::List(_) => {
                self.report(self.wrong_type(expected));
                None
            }
        }
    }

    /// The value behind a key, where this is a mapping with that key.
    pub(crate) fn child(&self, key: &str) -> Option<At<'c>> {
        self.entries_quietly()?.into_iter().find(|at| at.key.is_some_and(|(name, _)| name == key))
    }

    /// The values of a mapping, without a word where this is none.
    pub(crate) fn entries_quietly(&self) -> Option<Vec<At<'c>>> {
        match &self.node.value {
            Value::Map(entries) => Some(entries.iter().map(|entry| self.entry(entry)).collect()),
            Value::Scalar(_) | Value::List(_) => None,
        }
    }

    pub(super) fn entry(&self, entry: &'c Entry) -> At<'c> {
        let trail = self.trail.then(Step::Key(text::escaped(&entry.key, 80)));
        At { cx: self.cx, node: &entry.node, key: Some((&entry.key, entry.key_span)), trail }
    }

    /// A mapping with these keys and no others.
    pub(crate) fn fields(&self, known: &'static [&'static str]) -> Option<Fields<'c>> {
        self.fields_or(known, Diagnostic::error)
    }

    /// A mapping with these keys, where others change nothing.
    pub(crate) fn fields_leniently(&self, known: &'static [&'static str]) -> Option<Fields<'c>> {
        self.fields_or(known, Diagnostic::warning)
    }

    fn fields_or(
        &self,
        known: &'static [&'static str],
        unknown: fn(&'static str, String) -> Diagnostic,
    ) -> Option<Fields<'c>> {
        let entries = self.entries("a mapping")?;
        for entry in &entries {
            let key = entry.key.map_or("", |(key, _)| key);
            if !known.contains(&key) {
                let shown = text::escaped(key, 80);
                let problem = unknown(code::UNKNOWN_KEY, format!("unknown key `{shown}`"));
                let hint = if key == "<<" {
                    Some("merge keys are not supported: use an alias for the whole value".into())
                } else {
                    suggest(key, known)
                };
                entry.report_key(problem.maybe_hint(hint));
            }
        }
        Some(Fields { at: self.clone(), entries })
    }
}

/// A mapping whose keys are known.
pub(crate) struct Fields<'c> {
    pub(crate) at: At<'c>,
    entries: Vec<At<'c>>,
}

impl<'c> Fields<'c> {
    /// The value behind a key; `null` is the same as no key.
    pub(crate) fn get(&self, key: &str) -> Option<&At<'c>> {
        self.has(key).filter(|at| !at.is_null())
    }

    /// Like [`Self::get`], and reports where there is none.
    pub(crate) fn required(&self, key: &str) -> Option<&At<'c>> {
        let found = self.get(key);
        if found.is_none() {
            self.at.report(Diagnostic::error(code::MISSING_KEY, format!("`{key}` is missing")));
        }
        found
    }

    /// Like [`Self::get`], but takes `null` for a value.
    pub(crate) fn has(&self, key: &str) -> Option<&At<'c>> {
        self.entries.iter().find(|entry| entry.key.is_some_and(|(name, _)| name == key))
    }

    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.get(key)?.text()
    }

    pub(crate) fn boolean(&self, key: &str) -> Option<bool> {
        self.get(key)?.boolean()
    }

    pub(crate) fn duration(&self, key: &str, most: Duration) -> Option<Duration> {
        self.get(key)?.duration(most)
    }
}
