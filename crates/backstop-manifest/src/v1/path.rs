//! Path templates: `/orders/{id}/lines`.

use crate::{diagnostic::code, reader::At};

/// The names in braces, in order; reports what is no template.
pub(super) fn placeholders(at: &At<'_>, path: &str) -> Option<Vec<String>> {
    match parse(path) {
        Ok(names) => Some(names),
        Err(reason) => {
            at.error(code::INVALID_PATH, reason);
            None
        }
    }
}

fn parse(path: &str) -> Result<Vec<String>, String> {
    if !path.starts_with('/') {
        return Err("a path starts with `/`".into());
    }
    let mut names = Vec::new();
    let mut literal = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('{') {
        literal.push_str(before);
        let (name, behind) = after.split_once('}').ok_or("a `{` of the path is not closed")?;
        if name.is_empty() || name.contains(['{', '/']) {
            return Err(format!("`{{{name}}}` is not the name of a parameter"));
        }
        if names.iter().any(|other| other == name) {
            return Err(format!("`{{{name}}}` stands twice in the path"));
        }
        names.push(name.to_owned());
        // A segment with a parameter in it is no dot segment.
        literal.push('x');
        rest = behind;
    }
    literal.push_str(rest);
    if literal.contains('}') {
        return Err("a `}` of the path has no `{`".into());
    }
    if literal.contains(['?', '#']) {
        return Err("a path has no query and no fragment: declare query parameters under `parameters`".into());
    }
    if literal.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\') {
        return Err("a path has no blanks, backslashes or control characters".into());
    }
    if literal.split('/').any(|segment| matches!(segment, "." | "..")) {
        return Err("a path has no `.` or `..` segments".into());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_gives_its_names() {
        assert_eq!(parse("/a/{id}/b-{n}.json"), Ok(vec!["id".into(), "n".into()]));
        assert_eq!(parse("/"), Ok(vec![]));
    }

    #[test]
    fn what_is_no_template_is_refused() {
        for path in ["", "a", "/{", "/{}", "/{a/b}", "/{a}/{a}", "/a}", "/a?b=1", "/a b", "/../x", "/./x"] {
            assert!(parse(path).is_err(), "{path}");
        }
    }
}
