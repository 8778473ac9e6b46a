//! What a tool is called, and what a model reads about it.

use std::collections::{HashMap, HashSet};

/// Bytes of a description at most.
const DESCRIPTION: usize = 300;
const DEPRECATED: &str = " (deprecated)";

/// Names of which each is there once.
#[derive(Debug, Default)]
pub(super) struct Names {
    taken: HashSet<String>,
    /// The number that is tried next behind a name.
    next: HashMap<String, u32>,
}

impl Names {
    /// Takes a name; `false` where it is taken already.
    pub(super) fn take(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }

    /// Takes a name, with a number behind it where it is taken already: `wanted`, `wanted_2`, `wanted_3`.
    pub(super) fn free(&mut self, wanted: String) -> String {
        if self.taken.insert(wanted.clone()) {
            return wanted;
        }
        let next = self.next.entry(wanted.clone()).or_insert(2);
        loop {
            let name = format!("{wanted}_{next}");
            *next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// A name made of method and path: `get_pets_by_petId` for `GET /pets/{petId}`.
pub(super) fn of_path(method: &str, path: &str) -> String {
    let mut words = vec![method.to_ascii_lowercase()];
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        match segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(name) => words.push(format!("by_{}", fit(name))),
            None => words.push(fit(segment)),
        }
    }
    words.join("_")
}

/// The letters that argument and tool names have everywhere.
pub(super) fn fit(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let fit: String = name.chars().map(letter).collect();
    let fit = fit.trim_matches('_');
    if fit.is_empty() { "value".to_owned() } else { fit.to_owned() }
}

/// A short plain description: the summary, else the first paragraph of the description.
pub(super) fn description(summary: Option<&str>, description: Option<&str>, deprecated: bool) -> String {
    let summary = summary.map(plain).filter(|text| !text.is_empty());
    let paragraph = || {
        let text = description?.trim();
        let end = text.find("\n\n").unwrap_or(text.len());
        Some(plain(text.get(..end).unwrap_or(text))).filter(|text| !text.is_empty())
    };
    let text = summary.or_else(paragraph).unwrap_or_default();
    if !deprecated {
        return backstop_core::text::head(&text, DESCRIPTION);
    }
    let text = backstop_core::text::head(&text, DESCRIPTION - DEPRECATED.len());
    format!("{text}{DEPRECATED}").trim_start().to_owned()
}

/// A description of a parameter, in one line.
pub(super) fn line(text: &str) -> String {
    backstop_core::text::head(&plain(text), DESCRIPTION)
}

/// Text without markup and line breaks: tags go, `[words](address)` is its words.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(4 * DESCRIPTION));
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if out.len() > 4 * DESCRIPTION {
            break;
        }
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        let skipped = match c {
            '<' => tag(after),
            ']' => after.strip_prefix('(').and_then(|link| link.get(link.find(')')? + 1..)),
            '[' if rest.contains("](") => Some(after),
            '`' | '*' => Some(after),
            _ => None,
        };
        match skipped {
            Some(left) => rest = left,
            None => {
                out.push(c);
                rest = after;
            }
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is behind an HTML tag; `None` where a `<` is no tag.
fn tag(after: &str) -> Option<&str> {
    let begins = |c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!');
    let end = after.starts_with(begins).then(|| after.find('>')).flatten()?;
    after.get(end + 1..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_method_and_path() {
        assert_eq!(of_path("GET", "/pets/{petId}"), "get_pets_by_petId");
        assert_eq!(of_path("POST", "/v1/users:batch-get"), "post_v1_users_batch-get");
        assert_eq!(of_path("GET", "/"), "get");
        assert_eq!(fit("filter[name]"), "filter_name");
        assert_eq!(fit("$"), "value");
    }

    #[test]
    fn each_name_is_there_once() {
        let mut names = Names::default();
        assert!(names.take("a_2"));
        assert!(!names.take("a_2"));
        let free: Vec<String> = ["a", "a", "a", "b"].map(|name| names.free(name.to_owned())).into();
        assert_eq!(free, ["a", "a_3", "a_4", "b"]);
    }

    #[test]
    fn descriptions_are_short_and_plain() {
        assert_eq!(description(Some(" Lists\n pets. "), Some("x"), false), "Lists pets.");
        assert_eq!(
            description(None, Some("Lists **all** [pets](https://h/p), <b>5 < 6</b>.\n\nMore."), true),
            "Lists all pets, 5 < 6. (deprecated)"
        );
        assert_eq!(description(None, None, false), "");
        assert_eq!(description(Some(&"é".repeat(400)), None, false).chars().count(), 149);
        let long = description(Some(&"a".repeat(400)), None, true);
        assert_eq!((long.len(), long.ends_with("a… (deprecated)")), (300, true), "{long}");
    }
}
