//! Templates of queries, headers and bodies: values with the arguments of a call in them.
//!
//! A text that is `{name}` stands for the argument as it is, whatever its type; a text with `{name}` in it holds the
//! argument's text. `{{` and `}}` are braces. What names an argument that was not given is left out, with its key.
//! A filled template is encoded for its place like any argument, so nothing in a value can leave it.

use serde_json::{Map, Value};

use super::value::scalar;
use crate::pointer;

/// Levels of a template that are filled.
const DEPTH: usize = 32;

/// The templates of an endpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Templates {
    /// Query parameters by name.
    pub query: Vec<(String, Value)>,
    /// Headers by name.
    pub headers: Vec<(String, Value)>,
    /// The whole body, as JSON; then no parameter is a field of it.
    pub body: Option<Value>,
}

/// A piece of a text.
enum Piece<'t> {
    Text(&'t str),
    Argument(&'t str),
}

impl Templates {
    /// The arguments that they name.
    ///
    /// # Errors
    ///
    /// A text whose braces don't pair, or that is nested too deep.
    pub fn names(&self) -> Result<Vec<&str>, String> {
        let all = self.query.iter().chain(&self.headers).map(|(_, value)| value).chain(&self.body);
        let mut names = Vec::new();
        for value in all {
            collect(value, DEPTH, &mut names)?;
        }
        Ok(names)
    }

    /// The argument that stands where a service says: in the body, step by step, or in a query parameter or header
    /// of this name.
    pub(super) fn argument_at(&self, steps: &[String]) -> Option<&str> {
        let [first, ..] = steps else { return None };
        let in_body = self.body.as_ref().and_then(|body| {
            steps.iter().try_fold(body, |value, step| match value {
                Value::Array(items) => items.get(step.parse::<usize>().ok()?),
                value => value.get(step),
            })
        });
        let named = self.query.iter().chain(&self.headers).find(|(name, _)| name.eq_ignore_ascii_case(first));
        let template = in_body.or(named.filter(|_| steps.len() == 1).map(|(_, value)| value))?;
        match names_in(template).as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }
}

/// The arguments that one template names, as far as it can be read.
pub(super) fn names_in(template: &Value) -> Vec<&str> {
    let mut names = Vec::new();
    // What can't be read was refused when the endpoint was made.
    let _ = collect(template, DEPTH, &mut names);
    names
}

/// The JSON Pointer of the argument to blame for what a template became: the first one that `is_at_fault`, or the
/// first at all.
pub(super) fn blamed<'a>(
    template: &'a Value,
    arguments: &'a Map<String, Value>,
    is_at_fault: impl Fn(&Value) -> bool,
) -> String {
    let names = names_in(template);
    let found = names.iter().find(|name| arguments.get(**name).is_some_and(&is_at_fault));
    found.or(names.first()).map_or_else(String::new, |name| pointer::child("", name))
}

fn collect<'t>(value: &'t Value, depth: usize, names: &mut Vec<&'t str>) -> Result<(), String> {
    let depth = depth.checked_sub(1).ok_or("a template is nested too deep")?;
    match value {
        Value::String(text) => {
            names.extend(pieces(text)?.into_iter().filter_map(|piece| match piece {
                Piece::Argument(name) => Some(name),
                Piece::Text(_) => None,
            }));
        }
        Value::Array(items) => {
            for item in items {
                collect(item, depth, names)?;
            }
        }
        Value::Object(fields) => {
            for field in fields.values() {
                collect(field, depth, names)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

fn pieces(text: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, after) = rest.split_at(at);
        pieces.push(Piece::Text(before));
        if let Some(left) = after.strip_prefix("{{").or_else(|| after.strip_prefix("}}")) {
            pieces.push(Piece::Text(after.get(..1).unwrap_or_default()));
            rest = left;
        } else if let Some((name, left)) = after.strip_prefix('{').and_then(|left| left.split_once('}'))
            && !name.is_empty()
            && !name.contains('{')
        {
            pieces.push(Piece::Argument(name));
            rest = left;
        } else {
            return Err(format!("the braces of `{}` don't pair", backstop_core::text::escaped(text, 80)));
        }
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

/// What a template became is larger than it may be.
#[derive(Debug, PartialEq)]
pub(super) struct TooLarge;

/// Fills one template with the arguments of a call, at most `left` bytes of them: a small template may name a large
/// argument many times.
pub(super) struct Filling<'a> {
    pub(super) arguments: &'a Map<String, Value>,
    pub(super) left: usize,
}

impl Filling<'_> {
    /// `None` where it names an argument that is not there.
    pub(super) fn value(&mut self, template: &Value) -> Result<Option<Value>, TooLarge> {
        Ok(Some(match template {
            Value::String(text) => return self.text(text),
            Value::Array(items) => {
                let mut filled = Vec::new();
                for item in items {
                    filled.extend(self.value(item)?);
                }
                Value::Array(filled)
            }
            Value::Object(fields) => {
                let mut filled = Map::new();
                for (key, field) in fields {
                    if let Some(value) = self.value(field)? {
                        filled.insert(key.clone(), value);
                    }
                }
                Value::Object(filled)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => template.clone(),
        }))
    }

    fn text(&mut self, text: &str) -> Result<Option<Value>, TooLarge> {
        // Checked when the endpoint was made.
        let Ok(pieces) = pieces(text) else { return Ok(None) };
        if let [Piece::Text(""), Piece::Argument(name), Piece::Text("")] = pieces.as_slice() {
            let Some(value) = self.arguments.get(*name) else { return Ok(None) };
            self.spend(value.to_string().len())?;
            return Ok(Some(value.clone()));
        }
        let mut out = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Argument(name) => match self.arguments.get(name) {
                    None | Some(Value::Null) => return Ok(None),
                    Some(value) => {
                        let text = scalar(value).unwrap_or_else(|| value.to_string());
                        self.spend(text.len())?;
                        out.push_str(&text);
                    }
                },
            }
        }
        Ok(Some(out.into()))
    }

    fn spend(&mut self, bytes: usize) -> Result<(), TooLarge> {
        self.left = self.left.checked_sub(bytes).ok_or(TooLarge)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn templates_take_values_texts_and_nothing() {
        let arguments = json!({"id": 7, "list": ["a", {"b": 1}], "text": "x{y}", "none": null, "name": "é"});
        let arguments = arguments.as_object().unwrap();
        for (template, expected) in [
            (json!("{id}"), Some(json!(7))),
            (json!("{list}"), Some(json!(["a", {"b": 1}]))),
            (json!("for {name}: {id}"), Some(json!("for é: 7"))),
            (json!("{text}!"), Some(json!("x{y}!"))),
            (json!("{{id}} {{{id}}}"), Some(json!("{id} {7}"))),
            (json!("{gone}"), None),
            (json!("a {gone}"), None),
            (json!("{none}"), Some(json!(null))),
            (json!("a {none}"), None),
            (
                json!({"a": {"b": "{id}", "c": "{gone}"}, "d": [1, "{gone}", true]}),
                Some(json!({"a": {"b": 7}, "d": [1, true]})),
            ),
        ] {
            let mut filling = Filling { arguments, left: 1000 };
            assert_eq!(filling.value(&template), Ok(expected), "{template}");
        }
    }

    #[test]
    fn a_template_grows_no_further_than_it_may() {
        let arguments = json!({"a": "x".repeat(10)});
        let fill = |template: Value, left| {
            Filling { arguments: arguments.as_object().unwrap(), left }.value(&template).map(|_| ())
        };
        assert_eq!(fill(json!(["{a}!", "{a}!"]), 20), Ok(()));
        assert_eq!(fill(json!(["{a}!", {"b": "{a}!"}]), 19), Err(TooLarge));
        assert_eq!(fill(json!(["{a}", "{a}"]), 23), Err(TooLarge));
    }

    #[test]
    fn what_a_service_names_is_found_in_the_template() {
        let templates = Templates {
            query: vec![("q".into(), json!("{term} in:title"))],
            headers: vec![("X-Ref".into(), json!("{id}"))],
            body: Some(json!({"filter": [{"id": "{id}"}], "note": "{a} and {b}"})),
        };
        let find = |steps: &[&str]| {
            let steps: Vec<String> = steps.iter().map(|step| (*step).to_owned()).collect();
            templates.argument_at(&steps)
        };
        assert_eq!(find(&["filter", "0", "id"]), Some("id"));
        assert_eq!(find(&["filter"]), Some("id"));
        assert_eq!(find(&["q"]), Some("term"));
        assert_eq!(find(&["x-ref"]), Some("id"));
        assert_eq!(find(&["note"]), None);
        assert_eq!(find(&["filter", "1"]), None);
        assert_eq!(find(&[]), None);
    }

    #[test]
    fn braces_that_do_not_pair_are_refused() {
        let names = |text: &str| {
            let templates = Templates { body: Some(json!([text])), ..Templates::default() };
            templates.names().map(|names| names.join(","))
        };
        assert_eq!(names("{a} {b}{{c}}"), Ok("a,b".into()));
        for bad in ["{a", "a}", "{}", "{a{b}}"] {
            assert!(names(bad).is_err(), "{bad}");
        }
        assert_eq!(names("{a").unwrap_err(), "the braces of `{a` don't pair");
    }
}
