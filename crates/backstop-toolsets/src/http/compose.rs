//! Templates of queries, headers and bodies: values with the arguments of a call in them.
//!
//! A text that is `{name}` stands for the argument as it is, whatever its type; a text with `{name}` in it holds the
//! argument's text. `{{` and `}}` are braces. What names an argument that was not given is left out, with its key.
//! A filled template is encoded for its place like any argument, so nothing in a value can leave it.

use serde_json::{Map, Value};

use super::value::scalar;

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

/// A template with the arguments that `argument` gives; `None` where it names one that is not there.
pub(super) fn filled<'a>(template: &Value, argument: &dyn Fn(&str) -> Option<&'a Value>) -> Option<Value> {
    Some(match template {
        Value::String(text) => filled_text(text, argument)?,
        Value::Array(items) => items.iter().filter_map(|item| filled(item, argument)).collect(),
        Value::Object(fields) => {
            let fields =
                fields.iter().filter_map(|(key, field)| Some((key.clone(), filled(field, argument)?)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => template.clone(),
    })
}

fn filled_text<'a>(text: &str, argument: &dyn Fn(&str) -> Option<&'a Value>) -> Option<Value> {
    // Checked when the endpoint was made.
    let pieces = pieces(text).ok()?;
    if let [Piece::Text(""), Piece::Argument(name), Piece::Text("")] = pieces.as_slice() {
        return argument(name).cloned();
    }
    let mut out = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Argument(name) => match argument(name)? {
                Value::Null => return None,
                value => out.push_str(&scalar(value).unwrap_or_else(|| value.to_string())),
            },
        }
    }
    Some(out.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn templates_take_values_texts_and_nothing() {
        let arguments = json!({"id": 7, "list": ["a", {"b": 1}], "text": "x{y}", "none": null, "name": "é"});
        let argument = |name: &str| arguments.get(name);
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
            assert_eq!(filled(&template, &argument), expected, "{template}");
        }
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
