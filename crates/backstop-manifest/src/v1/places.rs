//! What an endpoint says about the places of a request, taken together.

use std::collections::HashSet;

use super::{
    header::check_argument_header,
    http::Body,
    parameter::{Parameter, ParameterPlace},
};
use crate::{
    diagnostic::{Diagnostic, code},
    reader::{At, Fields, suggest},
};

/// Reports parameters that a body has no room for. `all_are_read`: there are no others.
pub(super) fn check_body(at: &At<'_>, body: &Body, count: usize, all_are_read: bool) {
    match body {
        Body::Template(_) if count > 0 => {
            at.error(code::INVALID_VALUE, "the body is a template, so no parameter goes there");
        }
        Body::Whole { .. } if count != 1 && all_are_read => {
            let message = format!("a whole body is one parameter with `in: body`, and there are {count}");
            at.error(code::INVALID_VALUE, message);
        }
        Body::Json | Body::Form | Body::Multipart | Body::Template(_) | Body::Whole { .. } => {}
    }
}

/// Warns of what is said about the form of a value and changes nothing.
pub(super) fn check_forms(entries: &[At<'_>], parameters: &[Parameter], body: &Body) {
    for parameter in parameters {
        let Some(at) = entries.iter().find(|at| at.key_span() == parameter.name.span) else { continue };
        let has_style = match parameter.place {
            ParameterPlace::Path
            | ParameterPlace::Query
            | ParameterPlace::Header
            | ParameterPlace::Cookie => true,
            ParameterPlace::Body => *body == Body::Form,
            ParameterPlace::Template => false,
        };
        let is_part = parameter.place == ParameterPlace::Body && *body == Body::Multipart;
        let idle = [("style", has_style), ("explode", has_style), ("media_type", is_part)];
        for (key, _) in idle.iter().filter(|(_, used)| !used) {
            let Some(at) = at.child(key) else { continue };
            let what = if *key == "media_type" {
                "only parts of a `multipart` body have a content type of their own"
            } else {
                "it is for paths, queries, headers, cookies and the fields of a `form`"
            };
            let message = format!("`{key}` changes nothing here");
            at.report_key(Diagnostic::warning(code::NO_EFFECT, message).hint(what));
        }
    }
}

/// Reports templates that go where a parameter or another template goes.
pub(super) fn check_unique_templates(fields: &Fields<'_>, parameters: &[Parameter]) {
    for (key, place) in [("query", ParameterPlace::Query), ("headers", ParameterPlace::Header)] {
        let mut seen = HashSet::new();
        for entry in fields.get(key).and_then(At::entries_quietly).into_iter().flatten() {
            let name = entry.key().value;
            if place == ParameterPlace::Header && !check_argument_header(&entry, &name) {
                continue;
            }
            let is_same = |other: &str| match place {
                ParameterPlace::Header => other.eq_ignore_ascii_case(&name),
                _ => other == name,
            };
            let wire = |it: &Parameter| it.place == place && is_same(&it.wire_name);
            if parameters.iter().any(wire) || seen.iter().any(|other: &String| is_same(other)) {
                let shown = backstop_core::text::escaped(&name, 80);
                let message = format!("something else goes to `{shown}` of the same place");
                entry.report_key(Diagnostic::error(code::DUPLICATE_PARAMETER, message));
            }
            seen.insert(name);
        }
    }
}

/// Reports placeholders of the path that no parameter is for.
pub(super) fn check_declared(path: &At<'_>, placeholders: &[String], parameters: &[Parameter]) {
    let in_path = |name: &String| {
        parameters
            .iter()
            .any(|parameter| parameter.place == ParameterPlace::Path && parameter.wire_name == *name)
    };
    for name in placeholders.iter().filter(|name| !in_path(name)) {
        let known: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let problem = Diagnostic::error(code::UNDECLARED_PARAMETER, format!("`{{{name}}}` has no parameter"));
        let near = suggest(name, &known).filter(|hint| hint.starts_with("did"));
        path.report(
            problem.hint(format!("declare `{name}` under `parameters` with `in: path`")).maybe_hint(near),
        );
    }
}

/// Reports parameters that go where another one goes.
pub(super) fn check_unique(entries: &[At<'_>], parameters: &[Parameter]) {
    let mut seen = HashSet::new();
    for parameter in parameters {
        let wire_name = match parameter.place {
            ParameterPlace::Header => parameter.wire_name.to_ascii_lowercase(),
            ParameterPlace::Path
            | ParameterPlace::Query
            | ParameterPlace::Cookie
            | ParameterPlace::Body
            | ParameterPlace::Template => parameter.wire_name.clone(),
        };
        if !seen.insert((parameter.place, wire_name))
            && let Some(at) = entries.iter().find(|at| at.key_span() == parameter.name.span)
        {
            let wire_name = backstop_core::text::escaped(&parameter.wire_name, 80);
            let message = format!("another parameter goes to `{wire_name}` of the same place");
            at.report_key(Diagnostic::error(code::DUPLICATE_PARAMETER, message));
        }
    }
}
