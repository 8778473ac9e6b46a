//! A schema compiled once.

use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value};

use super::{
    expected::has_secrets,
    problem::{Problem, problems_of, without_implied},
};

/// Bytes of one schema at most.
const SCHEMA_CAP: usize = 1024 * 1024;
/// Bytes of one compiled pattern at most.
const PATTERN_CAP: usize = 1024 * 1024;
/// Steps that a pattern with lookaround may take.
const BACKTRACK_CAP: usize = 100_000;
/// Problems looked at in one call.
pub(crate) const PROBLEM_CAP: usize = 64;

/// A JSON Schema compiled once, without network or files: a remote `$ref` is an error. Without `$schema` it is
/// draft 2020-12. Patterns run in
/// linear time, those with lookaround with bounded backtracking.
#[derive(Debug)]
pub struct CompiledSchema {
    root: Value,
    validator: Validator,
    has_defaults: bool,
    has_secrets: bool,
}

/// A schema that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} (at `{pointer}`)")]
pub struct SchemaError {
    /// Where in the schema, as a JSON Pointer.
    pub pointer: String,
    /// Why.
    pub reason: String,
}

impl CompiledSchema {
    /// Compiles a schema for the arguments of a tool.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] when it is not a valid schema, refers to something that is not in it, has a pattern that is
    /// not one, or is too large.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        let fail = |pointer: &str, reason: String| SchemaError { pointer: pointer.to_owned(), reason };
        if schema.to_string().len() > SCHEMA_CAP {
            return Err(fail("", format!("the schema is larger than {SCHEMA_CAP} bytes")));
        }
        let draft = jsonschema::Draft::Draft202012.detect(schema);
        let options = || {
            jsonschema::options()
                .with_draft(draft)
                .offline()
                .should_validate_formats(true)
                .should_ignore_unknown_formats(true)
        };
        let linear =
            options().with_pattern_options(PatternOptions::regex().size_limit(PATTERN_CAP)).build(schema);
        // A pattern with lookaround, which the linear engine does not know, is run with bounded backtracking: one
        // that takes longer counts as not matched.
        let bounded = PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_CAP).size_limit(PATTERN_CAP);
        let validator = linear
            .or_else(|_| options().with_pattern_options(bounded).build(schema))
            .map_err(|error| fail(error.instance_path().as_str(), error.to_string()))?;
        Ok(Self {
            has_defaults: has_defaults(schema, 0),
            has_secrets: has_secrets(schema),
            root: schema.clone(),
            validator,
        })
    }

    /// The schema as it was declared.
    pub fn root(&self) -> &Value {
        &self.root
    }

    /// Puts declared defaults where nothing was said, and constants where a required one is missing.
    pub(crate) fn apply_defaults(&self, arguments: &mut Map<String, Value>) {
        if self.has_defaults {
            apply_defaults(&self.root, arguments, 0);
        }
    }

    /// Whether an argument, however deep, is declared to be a secret.
    pub(crate) fn has_secrets(&self) -> bool {
        self.has_secrets
    }

    /// What is first wrong with a value, such as `` `items[0].qty` must be an integer; got "x" ``; `None` where it fits.
    pub fn misfit(&self, value: &Value) -> Option<String> {
        if self.is_valid(value) {
            return None;
        }
        Some(self.problems(value).first().map_or_else(|| "it does not fit".into(), Problem::in_words))
    }

    pub(crate) fn is_valid(&self, arguments: &Value) -> bool {
        self.validator.is_valid(arguments)
    }

    /// Everything that is wrong with `arguments`, in schema order.
    pub(crate) fn problems(&self, arguments: &Value) -> Vec<Problem> {
        let errors = self.validator.iter_errors(arguments).take(PROBLEM_CAP);
        let mut problems: Vec<Problem> =
            errors.flat_map(|error| problems_of(&self.root, arguments, &error, 0)).collect();
        let order: Vec<&str> = self
            .root
            .get("properties")
            .and_then(Value::as_object)
            .map(|properties| properties.keys().map(String::as_str).collect())
            .unwrap_or_default();
        problems.sort_by_key(|problem| {
            let first =
                problem.pointer.split('/').nth(1).unwrap_or_default().replace("~1", "/").replace("~0", "~");
            order.iter().position(|name| *name == first).unwrap_or(order.len())
        });
        problems.dedup_by(|a, b| a.pointer == b.pointer && a.fault == b.fault);
        without_implied(problems)
    }
}

/// Nested `properties` that are looked at for defaults.
const DEPTH: usize = 8;

fn has_defaults(schema: &Value, depth: usize) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    depth < DEPTH
        && properties.is_some_and(|properties| {
            properties.values().any(|property| {
                property.get("default").is_some()
                    || property.get("const").is_some()
                    || has_defaults(property, depth + 1)
            })
        })
}

fn apply_defaults(schema: &Value, arguments: &mut Map<String, Value>, depth: usize) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    let is_required = |name: &str| {
        let required = schema.get("required").and_then(Value::as_array);
        required.is_some_and(|required| required.iter().any(|entry| entry == name))
    };
    for (name, property) in properties {
        match arguments.get_mut(name) {
            Some(Value::Object(inner)) if depth < DEPTH => apply_defaults(property, inner, depth + 1),
            Some(_) => {}
            None => {
                // A `null` default stands for "left out" in generated schemas, and need not fit the type.
                let default = property.get("default").filter(|value| !value.is_null());
                let constant = property.get("const").filter(|_| is_required(name));
                if let Some(value) = default.or(constant) {
                    arguments.insert(name.clone(), value.clone());
                }
            }
        }
    }
}
