//! From the service's name of a field to the argument that it is.

use serde_json::Value;

use super::super::{BodyForm, Endpoint, Parameter, Place};
use crate::pointer::child;

/// What services put around the fields of a request.
const WRAPPERS: [&str; 16] = [
    "$",
    "attributes",
    "body",
    "cookie",
    "cookies",
    "data",
    "form",
    "header",
    "headers",
    "input",
    "json",
    "params",
    "path",
    "payload",
    "query",
    "request",
];
/// References of a schema that are followed on the way to one field.
const DEPTH: usize = 16;

/// A field of a request.
#[derive(Debug, PartialEq)]
pub(super) struct Field {
    /// Where it is: in the arguments, or as the service says it.
    pub(super) pointer: String,
    /// The argument that it is or is in.
    pub(super) argument: Option<String>,
}

/// The arguments of an endpoint, by the names that its service knows.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    endpoint: &'a Endpoint,
}

impl<'a> Fields<'a> {
    pub(super) fn of(endpoint: &'a Endpoint) -> Self {
        Self { endpoint }
    }

    /// The field that a service names, step by step.
    pub(super) fn find(&self, steps: &[String]) -> Field {
        let place = steps.first().and_then(|step| place(step));
        for (index, step) in steps.iter().enumerate() {
            let rest = steps.get(index + 1..).unwrap_or_default();
            if let Some(parameter) = self.parameter(step, place.filter(|_| index > 0)) {
                return self.argument(parameter, rest);
            }
            if let Some(name) = self.endpoint.templates.argument_at(steps.get(index..).unwrap_or_default()) {
                let pointer = child("", name);
                return Field { argument: Some(pointer.clone()), pointer };
            }
            if let Some(whole) = self.whole()
                && self.schema(whole).is_some_and(|schema| self.property(schema, step).is_some())
            {
                return self.argument(whole, steps.get(index..).unwrap_or_default());
            }
            if !WRAPPERS.contains(&step.to_lowercase().as_str()) {
                break;
            }
        }
        // Where the argument went is not what the model calls it.
        let steps = match steps {
            [first, rest @ ..] if !rest.is_empty() && (place.is_some() || first == "$") => rest,
            steps => steps,
        };
        let pointer = steps.iter().fold(String::new(), |pointer, step| child(&pointer, step));
        Field { pointer, argument: None }
    }

    /// The steps of a place as services write it: `items[0].qty`, `items.0.qty`, `/items/0/qty`, `$.items[0].qty`.
    pub(super) fn steps(&self, text: &str) -> Vec<String> {
        let text = text.trim().trim_start_matches('#');
        if self.parameter(text, None).is_some() {
            return vec![text.to_owned()];
        }
        if let Some(pointer) = text.strip_prefix('/') {
            let steps = pointer.split('/').filter(|step| !step.is_empty());
            return steps.map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
        }
        let steps = text.split(['.', '[', ']', '/']).map(|step| step.trim_matches(['"', '\'']));
        steps.filter(|step| !step.is_empty()).map(str::to_owned).collect()
    }

    /// An argument that goes by this name, exactly or but for case and separators.
    fn parameter(&self, wire: &str, place: Option<Place>) -> Option<&'a Parameter> {
        let open = || {
            let open = self.endpoint.parameters.iter().filter(|parameter| parameter.constant.is_none());
            open.filter(move |parameter| place.is_none_or(|place| parameter.place == place))
        };
        let exact = open().find(|parameter| parameter.wire_name == wire);
        exact.or_else(|| only(open().filter(|parameter| same(&parameter.wire_name, wire)))).or_else(|| {
            let declared = open().find(|parameter| parameter.name == wire);
            declared.or_else(|| only(open().filter(|parameter| same(&parameter.name, wire))))
        })
    }

    /// The argument that is the whole body.
    fn whole(&self) -> Option<&'a Parameter> {
        let is_whole = matches!(self.endpoint.body, BodyForm::Whole { .. });
        let mut body = self.endpoint.parameters.iter();
        body.find(|parameter| is_whole && parameter.place == Place::Body && parameter.constant.is_none())
    }

    fn argument(&self, parameter: &Parameter, rest: &[String]) -> Field {
        let argument = child("", &parameter.name);
        let mut pointer = argument.clone();
        let mut schema = self.schema(parameter);
        for step in rest {
            let found = schema.and_then(|schema| self.property(schema, step));
            pointer = child(&pointer, found.map_or(step.as_str(), |(name, _)| name));
            schema = found.map(|(_, schema)| schema);
        }
        Field { pointer, argument: Some(argument) }
    }

    fn schema(&self, parameter: &Parameter) -> Option<&'a Value> {
        self.endpoint.spec.input_schema.get("properties")?.get(&parameter.name)
    }

    /// One step into a schema: the name of what is there, and its schema.
    fn property<'s>(&self, schema: &'a Value, step: &'s str) -> Option<(&'s str, &'a Value)>
    where
        'a: 's,
    {
        let mut schema = schema;
        for _ in 0..DEPTH {
            let Some(target) = schema.get("$ref").and_then(Value::as_str) else { break };
            schema = self.endpoint.spec.input_schema.pointer(target.strip_prefix('#')?)?;
        }
        if step.bytes().all(|byte| byte.is_ascii_digit()) && schema.get("properties").is_none() {
            return Some((step, schema.get("items")?));
        }
        let properties = schema.get("properties")?.as_object()?;
        if let Some((name, schema)) = properties.get_key_value(step) {
            return Some((name, schema));
        }
        only(properties.iter().filter(|(name, _)| same(name, step)))
            .map(|(name, schema)| (name.as_str(), schema))
    }
}

/// The place of a request that a step names.
fn place(step: &str) -> Option<Place> {
    match step.to_lowercase().as_str() {
        "body" => Some(Place::Body),
        "query" => Some(Place::Query),
        "path" => Some(Place::Path),
        "header" | "headers" => Some(Place::Header),
        "cookie" | "cookies" => Some(Place::Cookie),
        _ => None,
    }
}

fn only<T>(mut found: impl Iterator<Item = T>) -> Option<T> {
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// Whether two names are the same but for case and separators.
fn same(a: &str, b: &str) -> bool {
    fn letters(name: &str) -> impl Iterator<Item = char> {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
    }
    letters(a).next().is_some() && letters(a).eq(letters(b))
}
