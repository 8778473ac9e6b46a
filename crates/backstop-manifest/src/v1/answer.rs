//! `success_when`, `fail_when`, `result`, `check_output`: what is declared about the answers of a tool;
//! `large_results`: what becomes of those that are too large to show.

use std::ops::RangeInclusive;

use backstop_core::ToolErrorKind;
use serde_json::Value as Json;
use serde_json_path::JsonPath;

use crate::{
    diagnostic::{Diagnostic, code},
    reader::{At, Fields},
};

const TEST_KEYS: &[&str] = &["status", "content_type", "path", "equals", "exists", "contains"];
const FAIL_KEYS: &[&str] = &["status", "content_type", "path", "equals", "exists", "contains", "kind"];
/// What an answer can be declared to be.
const KINDS: [ToolErrorKind; 11] = [
    ToolErrorKind::InvalidArguments,
    ToolErrorKind::NotFound,
    ToolErrorKind::AccessDenied,
    ToolErrorKind::Conflict,
    ToolErrorKind::Rejected,
    ToolErrorKind::RateLimited,
    ToolErrorKind::Unavailable,
    ToolErrorKind::UpstreamFailure,
    ToolErrorKind::Unauthenticated,
    ToolErrorKind::Misconfigured,
    ToolErrorKind::InvalidOutput,
];

/// What is declared about the answers of a tool; `None` leaves it to the level above.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AnswerSettings {
    /// What a success must be.
    pub success_when: Option<AnswerTest>,
    /// What is a failure whatever the status says, and of which kind.
    pub fail_when: Option<Vec<(AnswerTest, ToolErrorKind)>>,
    /// The part that is the result: a JSON Pointer, or a JSONPath.
    pub result: Option<String>,
    /// Whether an answer that is not what is declared is a failure.
    pub check_output: Option<bool>,
}

/// What an answer looks like; everything that is said must hold.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AnswerTest {
    /// One of these statuses.
    pub statuses: Vec<RangeInclusive<u16>>,
    /// One of these content types.
    pub content_types: Vec<String>,
    /// Where something is in a JSON body: a JSON Pointer, or a JSONPath.
    pub path: Option<String>,
    /// What must be there.
    pub equals: Option<Json>,
    /// Whether something must be there at all.
    pub exists: bool,
    /// A text that the body has in it.
    pub contains: Option<String>,
}

/// What becomes of results that are too large to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LargeResults {
    /// The model reads head and tail; the rest is lost.
    #[default]
    Cut,
    /// The rest is kept, and the model can read it with a tool.
    Keep,
}

impl AnswerSettings {
    /// These settings, and those of `above` where there are none.
    pub(super) fn or(self, above: &Self) -> Self {
        Self {
            success_when: self.success_when.or_else(|| above.success_when.clone()),
            fail_when: self.fail_when.or_else(|| above.fail_when.clone()),
            result: self.result.or_else(|| above.result.clone()),
            check_output: self.check_output.or(above.check_output),
        }
    }
}

/// Reads what is declared about answers, beside the other keys of a tool.
pub(super) fn answer(fields: &Fields<'_>) -> AnswerSettings {
    let success_when = fields.get("success_when").and_then(|at| test(&at.fields(TEST_KEYS)?));
    let fail_when = fields.get("fail_when").map(|at| {
        let items = at.one_or_many();
        if items.is_empty() {
            empty(at);
        }
        items.iter().filter_map(fail).collect()
    });
    AnswerSettings {
        success_when,
        fail_when,
        result: fields.get("result").and_then(path),
        check_output: fields.boolean("check_output"),
    }
}

/// Reads `keep` or `cut`.
pub(super) fn large_results(at: &At<'_>) -> Option<LargeResults> {
    at.one_of(&[("cut", LargeResults::Cut), ("keep", LargeResults::Keep)])
}

fn fail(at: &At<'_>) -> Option<(AnswerTest, ToolErrorKind)> {
    let fields = at.fields(FAIL_KEYS)?;
    let kinds = KINDS.map(|kind| (kind.as_str(), kind));
    let kind = fields.get("kind").map_or(Some(ToolErrorKind::Rejected), |at| at.one_of(&kinds));
    Some((test(&fields)?, kind?))
}

fn test(fields: &Fields<'_>) -> Option<AnswerTest> {
    let many = |key: &str| fields.get(key).map(At::one_or_many).unwrap_or_default();
    let statuses: Vec<_> = many("status").iter().map(status).collect();
    let content_types: Vec<_> = many("content_type").iter().map(content_type).collect();
    let path = fields.get("path").map(path);
    let equals = fields.has("equals").map(|at| at.json(None));
    let exists = fields.boolean("exists");
    let contains = fields.get("contains").map(At::some_text);
    if path.is_none()
        && let Some(at) = ["equals", "exists"].iter().find_map(|key| fields.has(key))
    {
        let message = "it says what is at `path`, which is missing";
        at.report_key(Diagnostic::error(code::MISSING_KEY, message));
        return None;
    }
    if let (Some(_), Some(at)) = (&equals, fields.get("exists")) {
        let problem = Diagnostic::error(code::EXACTLY_ONE, "`exists` can't stand beside `equals`");
        at.report_key(problem.hint("`equals` means that it exists"));
        return None;
    }
    if statuses.is_empty() && content_types.is_empty() && path.is_none() && contains.is_none() {
        empty(&fields.at);
        return None;
    }
    Some(AnswerTest {
        statuses: statuses.into_iter().collect::<Option<_>>()?,
        content_types: content_types.into_iter().collect::<Option<_>>()?,
        path: all(path)?,
        equals: all(equals)?,
        exists: exists.unwrap_or(true),
        contains: all(contains)?,
    })
}

/// What was read, if it could be.
fn all<T>(read: Option<Option<T>>) -> Option<Option<T>> {
    match read {
        Some(read) => read.map(Some),
        None => Some(None),
    }
}

fn empty(at: &At<'_>) {
    let problem = Diagnostic::error(code::EMPTY_MATCHER, "it holds nothing to match");
    at.report(problem.hint("say at least one of `status`, `content_type`, `path` and `contains`"));
}

/// Reads `404`, `200-299` or `4xx`.
fn status(at: &At<'_>) -> Option<RangeInclusive<u16>> {
    let text = at.text()?;
    let number = |text: &str| text.trim().parse().ok().filter(|status| (100..=599).contains(status));
    let class = text.strip_suffix("xx").and_then(|class| class.parse::<u16>().ok());
    let range = match (class, text.split_once('-')) {
        (Some(class @ 1..=5), _) => Some(class * 100..=class * 100 + 99),
        (_, Some((first, last))) => number(first).zip(number(last)).map(|(first, last)| first..=last),
        _ => number(&text).map(|status| status..=status),
    };
    let range = range.filter(|range| !range.is_empty());
    if range.is_none() {
        let problem = Diagnostic::error(code::INVALID_VALUE, "not a status, or a range of them");
        at.report(problem.hint("such as `404`, `200-299` or `4xx`"));
    }
    range
}

fn content_type(at: &At<'_>) -> Option<String> {
    let text = at.some_text()?;
    let is_part = |part: &str| !part.is_empty() && !part.contains(|c: char| c.is_whitespace() || c == '/');
    if !text.split_once('/').is_some_and(|(kind, of)| is_part(kind) && is_part(of)) {
        let problem = Diagnostic::error(code::INVALID_VALUE, "not a content type");
        at.report(problem.hint("such as `application/json` or `image/*`"));
        return None;
    }
    Some(text)
}

fn path(at: &At<'_>) -> Option<String> {
    let text = at.some_text()?;
    let reason = if text.starts_with('/') {
        None
    } else if text.starts_with('$') {
        JsonPath::parse(&text).err().map(|cause| format!("not a JSONPath: {}", cause.message()))
    } else {
        Some("neither a JSON Pointer nor a JSONPath".into())
    };
    if let Some(reason) = reason {
        let problem = Diagnostic::error(code::INVALID_VALUE, reason);
        at.report(problem.hint("such as `/data/items` or `$.items[*].name`"));
        return None;
    }
    Some(text)
}
