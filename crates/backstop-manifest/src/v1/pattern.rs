//! Patterns over the names of tools.

use std::fmt;

use globset::{Glob, GlobSet};

use crate::{
    diagnostic::{Diagnostic, code},
    reader::At,
};

/// Patterns over the names of tools, such as `get_*`.
#[derive(Clone, Default)]
pub struct ToolPatterns {
    texts: Vec<String>,
    set: GlobSet,
}

impl ToolPatterns {
    /// The patterns as they are written.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// All of them in one.
    pub fn set(&self) -> &GlobSet {
        &self.set
    }

    /// Whether one of them matches a name.
    pub fn matches(&self, name: &str) -> bool {
        self.set.is_match(name)
    }
}

impl fmt::Debug for ToolPatterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.texts.fmt(f)
    }
}

/// Reads one pattern or several.
pub(super) fn patterns(at: &At<'_>) -> ToolPatterns {
    let read: Vec<(String, Glob)> = at.one_or_many().iter().filter_map(pattern).collect();
    let (texts, globs): (Vec<String>, Vec<Glob>) = read.into_iter().unzip();
    let set = GlobSet::new(globs).unwrap_or_else(|_| {
        at.error(code::TOO_LARGE, "the patterns are too large");
        GlobSet::empty()
    });
    ToolPatterns { texts, set }
}

fn pattern(at: &At<'_>) -> Option<(String, Glob)> {
    let text = at.some_text()?;
    match Glob::new(&text) {
        Ok(glob) => Some((text, glob)),
        Err(cause) => {
            let problem = Diagnostic::error(code::INVALID_VALUE, format!("not a pattern: {}", cause.kind()));
            at.report(problem.hint("a name, where `*` stands for any letters: `get_*`"));
            None
        }
    }
}
