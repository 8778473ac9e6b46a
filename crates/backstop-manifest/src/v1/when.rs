//! `when`: which failures a strategy is for.

use backstop_core::{Applied, ErrorClass, ToolErrorKind, When, policy::TextMatch};
use regex::RegexBuilder;

use crate::{
    diagnostic::{Diagnostic, code},
    reader::{At, Fields},
};

const KEYS: &[&str] = &[
    "kind",
    "class",
    "status",
    "applied",
    "tool",
    "tools",
    "contains",
    "equals",
    "matches",
    "case_sensitive",
];
/// Bytes that a compiled regular expression may take.
const REGEX_CAP: usize = 1024 * 1024;

/// Reads a condition; an empty one matches every failure.
pub(super) fn when(at: &At<'_>) -> Option<When> {
    let fields = at.fields(KEYS)?;
    let mut when = When::always();
    when.kinds = many(&fields, "kind", |at| at.one_of(&ToolErrorKind::ALL.map(|kind| (kind.as_str(), kind))));
    when.classes =
        many(&fields, "class", |at| at.one_of(&ErrorClass::ALL.map(|class| (class.as_str(), class))));
    when.applied = many(&fields, "applied", |at| at.one_of(&Applied::ALL.map(|word| (word.as_str(), word))));
    when.statuses =
        many(&fields, "status", |at| at.count(100, 599).and_then(|status| status.try_into().ok()));
    when.tools = many(&fields, "tool", At::some_text);
    when.tools.extend(many(&fields, "tools", At::some_text));
    when.text = text(&fields);
    if !when.kinds.is_empty()
        && !when.classes.is_empty()
        && !when.kinds.iter().any(|kind| when.classes.contains(&kind.class()))
    {
        let message = "no kind that is named here is of a class that is named here, so nothing matches";
        at.warn(code::NEVER_MATCHES, message);
    }
    Some(when)
}

fn many<'c, T>(fields: &Fields<'c>, key: &str, read: impl Fn(&At<'c>) -> Option<T>) -> Vec<T> {
    let Some(at) = fields.get(key) else { return Vec::new() };
    let items = at.one_or_many();
    if items.is_empty() {
        empty(at, key);
    }
    items.iter().filter_map(read).collect()
}

fn empty(at: &At<'_>, key: &str) {
    let problem = Diagnostic::error(code::EMPTY_MATCHER, format!("`{key}` holds nothing to match"));
    at.report(problem.hint("take the key away to match everything"));
}

fn text(fields: &Fields<'_>) -> Vec<TextMatch> {
    let case_sensitive = fields.boolean("case_sensitive").unwrap_or(false);
    let some = |key: &str| {
        let at = fields.get(key)?;
        let text = at.text()?;
        if text.trim().is_empty() {
            empty(at, key);
            return None;
        }
        Some(text)
    };
    let contains = some("contains").map(|text| TextMatch::Contains { text, case_sensitive });
    let equals = some("equals").map(|text| TextMatch::Equals { text, case_sensitive });
    let matches = some("matches").and_then(|pattern| {
        let regex =
            RegexBuilder::new(&pattern).case_insensitive(!case_sensitive).size_limit(REGEX_CAP).build();
        match regex {
            Ok(regex) => Some(TextMatch::Matches(regex)),
            Err(cause) => {
                let problem = Diagnostic::error(code::INVALID_REGEX, reason(&cause));
                let hint = "the syntax is that of the Rust crate `regex`: no look-around, no back-references";
                fields.get("matches")?.report(problem.hint(hint));
                None
            }
        }
    });
    if let Some(at) = fields.get("case_sensitive")
        && ["contains", "equals", "matches"].iter().all(|key| fields.get(key).is_none())
    {
        let message = "`case_sensitive` changes nothing without `contains`, `equals` or `matches`";
        at.report_key(Diagnostic::warning(code::NO_EFFECT, message));
    }
    [contains, equals, matches].into_iter().flatten().collect()
}

/// The last line of the cause: the lines before it draw the pattern.
fn reason(cause: &regex::Error) -> String {
    match cause {
        regex::Error::CompiledTooBig(limit) => {
            format!("the regular expression takes more than {limit} bytes")
        }
        cause => {
            let text = cause.to_string();
            let last = text.lines().last().unwrap_or_default();
            let last = last.strip_prefix("error: ").unwrap_or(last);
            format!("not a regular expression: {last}")
        }
    }
}
