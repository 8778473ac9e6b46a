//! Lists and mappings of what is wrong, in any of the forms that services give them.

use backstop_core::schema::place_in_words;
use serde_json::{Map, Value};

use super::{
    fields::{Field, Fields},
    plain::fit,
};

/// Problems of one body that are listed.
const LIST_CAP: usize = 10;
/// Problems of one body that are looked at.
const READ_CAP: usize = 100;
/// Mappings inside mappings that are looked into.
const DEPTH: usize = 6;
/// Where the message of one problem stands, the best one first.
const MESSAGES: [&str; 11] = [
    "msg",
    "message",
    "Message",
    "detail",
    "defaultMessage",
    "description",
    "reason",
    "title",
    "error",
    "errorMessage",
    "code",
];
/// Where its field stands.
const PLACES: [&str; 14] = [
    "loc",
    "field",
    "instancePath",
    "dataPath",
    "pointer",
    "param",
    "parameter",
    "property",
    "propertyPath",
    "path",
    "keys",
    "target",
    "attribute",
    "name",
];
/// What stands for no field in particular.
const GENERAL: [&str; 9] =
    ["", "$", "_", "base", "global", "general", "non_field_errors", "nonFieldErrors", "__all__"];

/// Reads problems, and keeps which arguments they name.
pub(super) struct Problems<'a> {
    fields: Fields<'a>,
    /// Places in arguments, with the argument.
    named: Vec<(String, String)>,
}

impl<'a> Problems<'a> {
    pub(super) fn new(fields: Fields<'a>) -> Self {
        Self { fields, named: Vec::new() }
    }

    /// The argument that is named, if it is one: the place in it where all problems have the same.
    pub(super) fn only_argument(&self) -> Option<String> {
        let (place, argument) = self.named.first()?;
        if self.named.iter().any(|(_, other)| other != argument) {
            return None;
        }
        let same = self.named.iter().all(|(other, _)| other == place);
        Some(if same { place.clone() } else { argument.clone() })
    }

    /// Keeps the field that an error names beside its message.
    pub(super) fn named(&mut self, error: &Map<String, Value>) {
        for key in ["param", "parameter", "field", "target", "pointer"] {
            if let Some(Value::String(place)) = error.get(key) {
                let steps = self.fields.steps(place);
                self.found(&steps);
            }
        }
    }

    /// One line for each problem.
    pub(super) fn of(&mut self, list: &Value) -> Vec<String> {
        let mut lines = Vec::new();
        self.collect(list, &[], 0, &mut lines);
        lines
    }

    fn collect(&mut self, value: &Value, at: &[String], depth: usize, lines: &mut Vec<String>) {
        if depth > DEPTH || lines.len() >= READ_CAP {
            return;
        }
        match value {
            Value::String(text) => {
                let line = fit(text).map(|message| self.line(at, &message));
                push(lines, line);
            }
            Value::Array(items) if !at.is_empty() && items.iter().all(Value::is_string) => {
                let messages: Vec<String> = items.iter().filter_map(Value::as_str).filter_map(fit).collect();
                let line = (!messages.is_empty()).then(|| self.line(at, &messages.join(", ")));
                push(lines, line);
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate().take(READ_CAP) {
                    match item {
                        Value::Object(object) if !is_problem(object) && !at.is_empty() => {
                            let inner = [at, &[index.to_string()]].concat();
                            self.collect(item, &inner, depth + 1, lines);
                        }
                        _ => self.collect(item, at, depth + 1, lines),
                    }
                }
            }
            Value::Object(object) if is_problem(object) => {
                let line = self.problem(object, at);
                push(lines, line);
                // A problem may hold more exact ones, as those of Google and Azure do.
                for key in ["errors", "details", "fieldViolations", "unionErrors"] {
                    if let Some(inner) = object.get(key).filter(|inner| inner.is_array()) {
                        self.collect(inner, at, depth + 1, lines);
                    }
                }
            }
            Value::Object(object) => {
                for (key, inner) in object.iter().take(READ_CAP) {
                    if !is_of_problems(key, inner) {
                        continue;
                    }
                    let steps = if GENERAL.contains(&key.as_str()) || is_list(key) {
                        at.to_vec()
                    } else {
                        [at, &self.fields.steps(key)].concat()
                    };
                    self.collect(inner, &steps, depth + 1, lines);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn problem(&mut self, object: &Map<String, Value>, at: &[String]) -> Option<String> {
        let message = message(object)?;
        let steps = match self.place(object) {
            Some(place) => [at, &place].concat(),
            None => at.to_vec(),
        };
        Some(self.line(&steps, &message))
    }

    /// Which field a problem is about, in any of the usual forms.
    fn place(&self, problem: &Map<String, Value>) -> Option<Vec<String>> {
        let source = problem.get("source").and_then(Value::as_object);
        let inner = source
            .and_then(|source| ["pointer", "parameter", "header"].iter().find_map(|key| source.get(*key)));
        // The path of a GraphQL error is one of the result.
        let is_graphql = problem.contains_key("locations") || problem.contains_key("extensions");
        let place = inner.or_else(|| {
            let keys = PLACES.iter().filter(|key| !(is_graphql && **key == "path"));
            keys.filter_map(|key| problem.get(*key)).find(|place| place.is_string() || place.is_array())
        })?;
        let mut steps = match place {
            Value::String(text) if text.contains(char::is_whitespace) => return None,
            Value::String(text) => self.fields.steps(text),
            Value::Array(parts) => parts
                .iter()
                .map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned))
                .collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
        };
        // Validators name the object, and beside it what it lacks or has too much.
        let params = problem.get("params");
        let missing = params.and_then(|params| {
            ["missingProperty", "additionalProperty"].iter().find_map(|key| params.get(*key)?.as_str())
        });
        steps.extend(missing.map(str::to_owned));
        Some(steps)
    }

    fn line(&mut self, steps: &[String], message: &str) -> String {
        if steps.is_empty() {
            return message.to_owned();
        }
        let field = self.found(steps);
        format!("{}: {message}", place_in_words(&field.pointer))
    }

    fn found(&mut self, steps: &[String]) -> Field {
        let field = self.fields.find(steps);
        if let Some(argument) = &field.argument {
            self.named.push((field.pointer.clone(), argument.clone()));
        }
        field
    }
}

/// All lines in one, as many as are listed: `qty: must be >= 1; name: too long`.
pub(super) fn in_one(lines: Vec<String>) -> Option<String> {
    let more = lines.len().saturating_sub(LIST_CAP);
    let mut shown = String::new();
    for line in lines.iter().take(LIST_CAP) {
        if !shown.is_empty() {
            shown.truncate(shown.trim_end_matches('.').len());
            shown.push_str("; ");
        }
        shown.push_str(line);
    }
    if more > 0 {
        shown.push_str(&format!("; and {more} more"));
    }
    (!shown.is_empty()).then_some(shown)
}

fn push(lines: &mut Vec<String>, line: Option<String>) {
    lines.extend(line.filter(|line| !lines.contains(line)));
}

fn message(object: &Map<String, Value>) -> Option<String> {
    MESSAGES.iter().find_map(|key| object.get(*key).and_then(Value::as_str).and_then(fit))
}

fn is_problem(object: &Map<String, Value>) -> bool {
    message(object).is_some()
}

/// Members that hold problems and are no field.
fn is_list(key: &str) -> bool {
    matches!(key, "errors" | "fieldErrors" | "formErrors" | "fieldViolations" | "issues" | "violations")
}

/// Whether what stands behind a key may be problems: a type or a number of them is none.
fn is_of_problems(key: &str, value: &Value) -> bool {
    match value {
        Value::Array(_) | Value::Object(_) => true,
        Value::String(_) => !key.starts_with('@') && !matches!(key, "source" | "type" | "domain"),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
