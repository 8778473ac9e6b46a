//! What a tool is called, and what a model reads about it.

/// Characters of a description at most.
const DESCRIPTION: usize = 300;

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
    let text = if deprecated { format!("{text} (deprecated)").trim().to_owned() } else { text };
    backstop_core::text::head(&text, DESCRIPTION)
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
    fn descriptions_are_short_and_plain() {
        assert_eq!(description(Some(" Lists\n pets. "), Some("x"), false), "Lists pets.");
        assert_eq!(
            description(None, Some("Lists **all** [pets](https://h/p), <b>5 < 6</b>.\n\nMore."), true),
            "Lists all pets, 5 < 6. (deprecated)"
        );
        assert_eq!(description(None, None, false), "");
        assert_eq!(description(Some(&"é".repeat(400)), None, false).chars().count(), 149);
    }
}
