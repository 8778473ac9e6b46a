//! Values with arguments in them: queries, headers and bodies of an endpoint.

use serde_json::Value as Json;

use super::{header::check_sendable, parameter::Parameter};
use crate::{
    diagnostic::{Diagnostic, code},
    reader::{At, suggest},
};

/// The templates of one endpoint, read text by text.
#[derive(Default)]
pub(super) struct Templates<'c> {
    /// The arguments that they name, and where.
    named: Vec<(String, At<'c>)>,
}

impl<'c> Templates<'c> {
    /// Reads a mapping of names to templates.
    pub(super) fn mapping(&mut self, at: &At<'c>) -> Vec<(String, Json)> {
        let entries = at.entries("a mapping of names to templates").unwrap_or_default();
        entries.iter().filter_map(|entry| Some((entry.key().value, self.template(entry)?))).collect()
    }

    /// Reads a mapping of headers to templates.
    pub(super) fn headers(&mut self, at: &At<'c>) -> Vec<(String, Json)> {
        let headers = self.mapping(at);
        for entry in at.entries_quietly().into_iter().flatten() {
            if let Some((_, Json::String(text))) = headers.iter().find(|(name, _)| *name == entry.key().value)
            {
                check_sendable(&entry, text);
            }
        }
        headers
    }

    /// Reads one template.
    pub(super) fn template(&mut self, at: &At<'c>) -> Option<Json> {
        let template = at.json(None)?;
        self.walk(at, &template);
        Some(template)
    }

    fn walk(&mut self, at: &At<'c>, template: &Json) {
        match template {
            Json::String(text) => match names(text) {
                Some(names) => self.named.extend(names.into_iter().map(|name| (name.to_owned(), at.clone()))),
                None => {
                    let problem =
                        Diagnostic::error(code::INVALID_VALUE, "the braces of a template don't pair");
                    at.report(problem.hint("`{name}` is an argument; write `{{` and `}}` for braces"));
                }
            },
            Json::Array(items) => {
                at.elements().iter().zip(items).for_each(|(at, item)| self.walk(at, item));
            }
            Json::Object(fields) => {
                for at in at.entries_quietly().into_iter().flatten() {
                    if let Some(field) = fields.get(&at.key().value) {
                        self.walk(&at, field);
                    }
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }

    /// Whether one of them names this argument.
    pub(super) fn name(&self, argument: &str) -> bool {
        self.named.iter().any(|(name, _)| name == argument)
    }

    /// Reports what they name and what the model does not give.
    pub(super) fn check(&self, parameters: &[Parameter]) {
        let open: Vec<&str> = parameters
            .iter()
            .filter(|parameter| parameter.constant.is_none())
            .map(|parameter| parameter.name.as_str())
            .collect();
        for (name, at) in self.named.iter().filter(|(name, _)| !open.contains(&name.as_str())) {
            let shown = backstop_core::text::escaped(name, 80);
            if parameters.iter().any(|parameter| parameter.name.value == *name) {
                let message = format!("`{{{shown}}}` is constant, and no argument of the model");
                let problem = Diagnostic::error(code::INVALID_VALUE, message);
                at.report(problem.hint("write its value into the template"));
                continue;
            }
            let message = format!("a template names `{{{shown}}}`, which is no parameter");
            let problem = Diagnostic::error(code::UNDECLARED_PARAMETER, message);
            let near = suggest(name, &open).filter(|hint| hint.starts_with("did"));
            let hint = format!("declare `{shown}` under `parameters`, or write `{{{{` and `}}}}` for braces");
            at.report(problem.hint(hint).maybe_hint(near));
        }
    }
}

/// The names in single braces; `None` where braces don't pair.
fn names(text: &str) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (_, found) = rest.split_at(at);
        rest = match found.strip_prefix("{{").or_else(|| found.strip_prefix("}}")) {
            Some(behind) => behind,
            None => {
                let (name, behind) = found.strip_prefix('{')?.split_once('}')?;
                if name.is_empty() || name.contains('{') {
                    return None;
                }
                names.push(name);
                behind
            }
        };
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_single_braces() {
        assert_eq!(names("a {b} {{c}} {{{d}}}"), Some(vec!["b", "d"]));
        assert_eq!(names("{{}} }}{{"), Some(vec![]));
        for text in ["{", "}", "{}", "{a", "a}", "{a{b}}", "{{a}"] {
            assert_eq!(names(text), None, "{text}");
        }
    }
}
