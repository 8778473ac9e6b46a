//! What is declared about answers: which of them are successes, and which part of one is the result.

use std::ops::RangeInclusive;

use backstop_core::ToolErrorKind;
use serde_json::Value;
use serde_json_path::JsonPath;

use super::media::Media;

/// What is declared about the answers of an endpoint.
///
/// # Example
///
/// ```
/// use backstop_core::ToolErrorKind;
/// use backstop_toolsets::http::{AnswerPath, AnswerRules, AnswerTest, FailWhen};
///
/// let mut failed = AnswerTest::default();
/// failed.path = Some(AnswerPath::parse("$.error")?);
/// let mut rules = AnswerRules::default();
/// rules.fail_when.push(FailWhen { test: failed, kind: ToolErrorKind::Rejected });
/// rules.result = Some(AnswerPath::parse("/data/items")?);
/// # Ok::<_, String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AnswerRules {
    /// What a success must be, beside its status; anything else is `rejected`. A status that it names is one of a
    /// success, even if it is not 2xx.
    pub success_when: Option<AnswerTest>,
    /// What is a failure whatever the status says; the first that holds gives the kind.
    pub fail_when: Vec<FailWhen>,
    /// The part of an answer that is the result; the whole answer where there is none.
    pub result: Option<AnswerPath>,
    /// Whether an answer may differ from what is declared (its content type, its schema, any content at all):
    /// operators are told then, and it is passed on. Otherwise it is `invalid_output`. For declarations that
    /// somebody else wrote, which often say what was true once.
    pub lenient: bool,
}

/// An answer that is a failure.
#[derive(Clone, Debug, PartialEq)]
pub struct FailWhen {
    /// What it looks like.
    pub test: AnswerTest,
    /// What it stands for.
    pub kind: ToolErrorKind,
}

/// What an answer looks like; everything that is said must hold, and nothing said holds always.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AnswerTest {
    /// One of these statuses.
    pub statuses: Vec<RangeInclusive<u16>>,
    /// One of these content types, without parameters; `image/*` stands for all images.
    pub media_types: Vec<String>,
    /// Something is at this place of a JSON body; `null` is nothing.
    pub path: Option<AnswerPath>,
    /// What must be there; anything where nothing is said.
    pub equals: Option<Value>,
    /// Nothing is at `path`.
    pub missing: bool,
    /// The body has this text in it, as it is written here.
    pub contains: Option<String>,
}

/// An answer, as far as it is looked at.
pub(crate) struct Seen<'a> {
    pub(crate) status: u16,
    pub(crate) media: &'a Media,
    pub(crate) text: Option<&'a str>,
    pub(crate) json: Option<&'a Value>,
}

impl AnswerRules {
    /// The kind of failure that an answer is declared to be.
    pub(crate) fn failure(&self, seen: &Seen<'_>) -> Option<ToolErrorKind> {
        self.fail_when.iter().find(|fail| fail.test.holds(seen)).map(|fail| fail.kind)
    }

    /// Whether a status can be that of a success.
    pub(super) fn may_succeed(&self, status: u16) -> bool {
        let named = self.success_when.iter().flat_map(|test| &test.statuses);
        (200..300).contains(&status) || named.into_iter().any(|range| range.contains(&status))
    }

    /// Whether an answer is the success that was declared.
    pub(crate) fn succeeded(&self, seen: &Seen<'_>) -> bool {
        self.success_when.as_ref().is_none_or(|test| test.holds(seen))
    }
}

impl AnswerTest {
    fn holds(&self, seen: &Seen<'_>) -> bool {
        let status =
            self.statuses.is_empty() || self.statuses.iter().any(|range| range.contains(&seen.status));
        let media = self.media_types.is_empty() || self.media_types.iter().any(|kind| seen.media.is(kind));
        let contains = self.contains.as_deref().is_none_or(|wanted| {
            let text = seen.text.unwrap_or_default();
            text.contains(wanted)
        });
        status && media && contains && self.path.as_ref().is_none_or(|path| self.finds(path, seen.json))
    }

    fn finds(&self, path: &AnswerPath, json: Option<&Value>) -> bool {
        let found = json.map(|json| path.all(json)).unwrap_or_default();
        let there = match &self.equals {
            Some(wanted) => found.contains(&wanted),
            None => found.iter().any(|value| !value.is_null()),
        };
        there != self.missing
    }
}

/// A place in a JSON body: a JSON Pointer (RFC 6901), which starts with `/`, or a JSONPath (RFC 9535), which starts
/// with `$`.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerPath {
    text: String,
    /// `None` for a pointer.
    query: Option<Query>,
}

#[derive(Clone, Debug, PartialEq)]
struct Query {
    path: JsonPath,
    /// The path to what is searched, where more than one value can be found.
    stem: Option<JsonPath>,
}

impl AnswerPath {
    /// Reads a place.
    ///
    /// # Errors
    ///
    /// Why it is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim().to_owned();
        if text.starts_with('/') {
            return Ok(Self { text, query: None });
        }
        if !text.starts_with('$') {
            return Err("it starts with `/` as a JSON Pointer, or with `$` as a JSONPath".into());
        }
        let path = JsonPath::parse(&text).map_err(|cause| format!("not a JSONPath: {}", cause.message()))?;
        let stem = match text.get(..singular(&text)) {
            Some(stem) if stem != text => JsonPath::parse(stem).ok(),
            _ => None,
        };
        Ok(Self { text, query: Some(Query { path, stem }) })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn all<'v>(&self, json: &'v Value) -> Vec<&'v Value> {
        match &self.query {
            None => json.pointer(&self.text).into_iter().collect(),
            Some(query) => query.path.query(json).all(),
        }
    }

    /// The value at this place. A path that can find many gives a list, which is empty where what it searches is
    /// there and has none of them; `None` where nothing is there at all.
    pub(crate) fn part(&self, json: &Value) -> Option<Value> {
        let found = self.all(json);
        match self.query.as_ref().map(|query| &query.stem) {
            Some(Some(stem)) if found.is_empty() => {
                let there = stem.query(json).all().iter().any(|value| !value.is_null());
                there.then(|| Value::Array(Vec::new()))
            }
            Some(Some(_)) => Some(found.into_iter().cloned().collect()),
            None | Some(None) => found.first().map(|value| (*value).clone()),
        }
    }
}

/// Bytes at the start of a JSONPath that lead to one value at most: names and indexes.
fn singular(path: &str) -> usize {
    let mut end = 1;
    loop {
        let rest = path.get(end..).unwrap_or_default();
        let step = if let Some(name) = rest.strip_prefix('.') {
            let len = name.find(['.', '[', ' ']).unwrap_or(name.len());
            if len == 0 || name.starts_with('*') { 0 } else { len + 1 }
        } else if rest.starts_with('[') {
            selector(rest)
        } else {
            0
        };
        if step == 0 {
            return end;
        }
        end += step;
    }
}

/// Bytes of a selector in brackets that is one name or one index; 0 for any other.
fn selector(rest: &str) -> usize {
    let inner = rest.get(1..).unwrap_or_default();
    let len = match inner.chars().next() {
        Some(quote @ ('\'' | '"')) => {
            let name = inner.get(1..).unwrap_or_default();
            // A name with an escape in it is left to the query.
            name.find(quote)
                .filter(|end| !name.get(..*end).unwrap_or_default().contains('\\'))
                .map(|end| end + 2)
        }
        _ => inner.find(|c: char| !c.is_ascii_digit() && c != '-').filter(|end| *end > 0),
    };
    match len {
        Some(len) if inner.get(len..).is_some_and(|rest| rest.starts_with(']')) => len + 2,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn part(path: &str, json: &Value) -> Option<Value> {
        AnswerPath::parse(path).unwrap().part(json)
    }

    #[test]
    fn a_place_is_a_pointer_or_a_path() {
        let json =
            json!({"data": {"items": [{"name": "a"}, {"name": "b"}], "none": [], "a.b": 1}, "n": null});
        for (path, found) in [
            ("/data/items/1/name", Some(json!("b"))),
            ("/data/nothing", None),
            ("/n", Some(json!(null))),
            ("$", Some(json.clone())),
            ("$.data.items[0].name", Some(json!("a"))),
            ("$['data']['a.b']", Some(json!(1))),
            ("$.data.nothing", None),
            ("$.data.items[*].name", Some(json!(["a", "b"]))),
            ("$.data.items[?@.name == 'b']", Some(json!([{"name": "b"}]))),
            ("$.data.items[?@.name == 'c']", Some(json!([]))),
            ("$.data.none[*].name", Some(json!([]))),
            ("$.data.nothing[*].name", None),
            ("$.n[*]", None),
            ("$..name", Some(json!(["a", "b"]))),
            ("$.data.items[0,1].name", Some(json!(["a", "b"]))),
            ("$.data.items[1:].name", Some(json!(["b"]))),
        ] {
            assert_eq!(part(path, &json), found, "{path}");
        }
    }

    #[test]
    fn what_is_no_place_is_told() {
        for (path, why) in [
            ("data", "it starts with `/` as a JSON Pointer, or with `$` as a JSONPath"),
            ("", "it starts with `/` as a JSON Pointer, or with `$` as a JSONPath"),
        ] {
            assert_eq!(AnswerPath::parse(path).unwrap_err(), why);
        }
        assert!(AnswerPath::parse("$.a[").unwrap_err().starts_with("not a JSONPath: "));
    }
}
