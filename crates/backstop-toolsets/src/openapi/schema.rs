//! OpenAPI's schemas as JSON Schema 2020-12, with the definitions that they use.

use std::collections::{HashMap, VecDeque};

use backstop_core::schema::CompiledSchema;
use serde_json::{Map, Value, json};

use super::{document::Version, name::Names, reference::Node};

/// Keywords of one schema that are left out at most because they can't be used.
const REPAIRS: usize = 64;
/// Levels of one schema at most.
const DEPTH: usize = 64;
/// Keywords that hold one schema.
const ONE: [&str; 12] = [
    "items",
    "additionalProperties",
    "not",
    "contains",
    "propertyNames",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
    "additionalItems",
];
/// Keywords that hold a list of schemas.
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords that hold schemas by name.
const MAPS: [&str; 5] = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];
/// What says nothing about a value, or means another thing outside of its document.
const LEFT_OUT: [&str; 13] = [
    "$id",
    "$schema",
    "$anchor",
    "$dynamicAnchor",
    "$comment",
    "xml",
    "externalDocs",
    "discriminator",
    "deprecated",
    "readOnly",
    "writeOnly",
    "nullable",
    "example",
];

/// Who the values of a schema come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The model: what is read-only is left out.
    Request,
    Response,
}

/// Converts the schemas of one tool, and gathers the definitions that they use.
pub(super) struct Schemas<'d> {
    direction: Direction,
    /// The names of definitions by their places.
    names: HashMap<(usize, String), String>,
    taken: Names,
    open: VecDeque<(String, Node<'d>)>,
    definitions: Map<String, Value>,
    nodes: usize,
    /// Values at most; what is beyond them may be anything.
    limit: usize,
    is_cut: bool,
    problems: Vec<(String, String)>,
}

/// What schemas were converted to.
#[derive(Default)]
pub(super) struct Converted {
    pub(super) definitions: Map<String, Value>,
    /// Places and words.
    pub(super) problems: Vec<(String, String)>,
    /// Values that there are.
    pub(super) nodes: usize,
}

impl<'d> Schemas<'d> {
    /// Schemas of at most `limit` values.
    pub(super) fn new(direction: Direction, limit: usize) -> Self {
        Self {
            direction,
            names: HashMap::new(),
            taken: Names::default(),
            open: VecDeque::new(),
            definitions: Map::new(),
            nodes: 0,
            limit,
            is_cut: false,
            problems: Vec::new(),
        }
    }

    /// The schema at a place.
    pub(super) fn convert(&mut self, node: &Node<'d>) -> Value {
        self.at(node, DEPTH)
    }

    /// The definitions that were used, once all schemas are converted.
    pub(super) fn definitions(mut self) -> Converted {
        while let Some((name, node)) = self.open.pop_front() {
            let schema = self.at(&node, DEPTH);
            self.definitions.insert(name, schema);
        }
        Converted { definitions: self.definitions, problems: self.problems, nodes: self.nodes }
    }

    fn at(&mut self, node: &Node<'d>, depth: usize) -> Value {
        self.nodes += 1;
        let Some(depth) = depth.checked_sub(1).filter(|_| self.nodes <= self.limit) else {
            if !self.is_cut {
                self.is_cut = true;
                self.problems
                    .push((node.place(), "the schema is too large: a part of it is left out".into()));
            }
            return json!({});
        };
        let object = match node.value {
            Value::Object(object) => object,
            Value::Bool(any) => return Value::Bool(*any),
            _ => {
                self.problems.push((node.place(), "the schema is not an object: anything is taken".into()));
                return json!({});
            }
        };
        let mut schema = Map::new();
        if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
            match self.definition(node, reference) {
                Ok(name) => {
                    schema.insert("$ref".into(), format!("#/$defs/{name}").into());
                }
                Err(why) => self.problems.push((node.place(), format!("{why}: anything is taken"))),
            }
            // OpenAPI 3.0 has nothing beside a reference, 3.1 what JSON Schema has.
            if node.documents.version == Version::V30 {
                let description = object.get("description").filter(|text| text.is_string());
                schema.extend(description.map(|text| ("description".into(), text.clone())));
                return Value::Object(schema);
            }
        }
        for keyword in object.keys() {
            let (key, word) = (keyword.clone(), keyword.as_str());
            let Some(child) = node.child(word) else {
                // `default: null` and `const: null` are values.
                if matches!(word, "default" | "const") {
                    schema.insert(key, Value::Null);
                }
                continue;
            };
            if word == "$ref" || LEFT_OUT.contains(&word) || word.starts_with("x-") {
                continue;
            }
            let converted = if ONE.contains(&word) && !child.value.is_array() {
                self.at(&child, depth)
            } else if LISTS.contains(&word) || word == "items" {
                let items = node.items(word);
                let list = items.iter().map(|item| self.at(item, depth)).collect();
                Value::Array(list)
            } else if MAPS.contains(&word) {
                let left_out = |node: &Node<'_>| {
                    self.direction == Direction::Request && word == "properties" && is_read_only(node)
                };
                let entries: Vec<_> =
                    node.entries(word).into_iter().filter(|(_, node)| !left_out(node)).collect();
                let map = entries.iter().map(|(name, node)| ((*name).to_owned(), self.at(node, depth)));
                Value::Object(map.collect())
            } else {
                self.nodes += size(child.value);
                child.value.clone()
            };
            schema.insert(key, converted);
        }
        self.without_read_only(node, &mut schema);
        pin_branches(node, &mut schema);
        upgrade_bounds(&mut schema);
        if node.documents.version == Version::V30 && object.get("nullable") == Some(&Value::Bool(true)) {
            allow_null(&mut schema);
        }
        Value::Object(schema)
    }

    /// Takes what is left out of `properties` out of `required`, too.
    fn without_read_only(&self, node: &Node<'d>, schema: &mut Map<String, Value>) {
        if self.direction == Direction::Response {
            return;
        }
        let read_only: Vec<&str> = node
            .entries("properties")
            .into_iter()
            .filter(|(_, node)| is_read_only(node))
            .map(|(name, _)| name)
            .collect();
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.retain(|name| name.as_str().is_none_or(|name| !read_only.contains(&name)));
        }
    }

    /// The name of the definition that a reference leads to.
    fn definition(&mut self, node: &Node<'d>, reference: &str) -> Result<String, String> {
        let target = node.follow(reference)?;
        // A reference that only refers back to itself is a circle with nothing in it.
        target.resolved()?;
        let place = (target.file, target.pointer.clone());
        if let Some(name) = self.names.get(&place) {
            return Ok(name.clone());
        }
        let name = self.free_name(&target);
        self.names.insert(place, name.clone());
        self.open.push_back((name.clone(), target));
        Ok(name)
    }

    fn free_name(&mut self, target: &Node<'_>) -> String {
        let last = target.pointer.rsplit('/').next().unwrap_or_default();
        let path = target.documents.path(target.file);
        let last = if last.is_empty() { path.rsplit('/').next().unwrap_or_default() } else { last };
        let fit = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
        let wanted: String = last.chars().map(fit).take(60).collect();
        self.taken.free(if wanted.is_empty() { "schema".to_owned() } else { wanted })
    }
}

/// Whether a property comes from the service alone, itself or through a reference.
pub(super) fn is_read_only(node: &Node<'_>) -> bool {
    node.flag("readOnly") || node.resolved().is_ok_and(|node| node.flag("readOnly"))
}

/// Says in each branch of a `oneOf` with a `discriminator` which value leads to it.
fn pin_branches(node: &Node<'_>, schema: &mut Map<String, Value>) {
    let Some(discriminator) = node.child("discriminator") else { return };
    let Some(property) = discriminator.text("propertyName") else { return };
    let mapping = discriminator.entries("mapping");
    for keyword in ["oneOf", "anyOf"] {
        let sources = node.items(keyword);
        let Some(Value::Array(branches)) = schema.get_mut(keyword) else { continue };
        for (branch, source) in branches.iter_mut().zip(&sources) {
            let Some(reference) = source.text("$ref") else { continue };
            let named = reference.rsplit('/').next().unwrap_or_default();
            let mut values: Vec<Value> = mapping
                .iter()
                .filter(|(_, target)| {
                    target.value.as_str().is_some_and(|target| target == reference || target == named)
                })
                .map(|(value, _)| Value::from(*value))
                .collect();
            if values.is_empty() {
                values.push(named.into());
            }
            let pin = match values.as_slice() {
                [only] => json!({"const": only}),
                several => json!({"enum": several}),
            };
            let pinned = json!({"properties": {property: pin}, "required": [property]});
            *branch = json!({"allOf": [branch.take(), pinned]});
        }
    }
}

/// `exclusiveMinimum: true`, which is that of draft 4: of OpenAPI 3.0, and of documents that say 3.1 all the same.
fn upgrade_bounds(schema: &mut Map<String, Value>) {
    for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        match schema.get(exclusive) {
            Some(Value::Bool(true)) => {
                schema.remove(exclusive);
                if let Some(value) = schema.remove(bound) {
                    schema.insert(exclusive.into(), value);
                }
            }
            Some(Value::Bool(false)) => {
                schema.remove(exclusive);
            }
            _ => {}
        }
    }
}

/// OpenAPI 3.0's `nullable`.
fn allow_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    if let Some(kind) = schema.get("type") {
        if kind.is_string() {
            let kinds = json!([kind, "null"]);
            schema.insert("type".into(), kinds);
        }
    } else if schema.keys().any(|key| LISTS.contains(&key.as_str()) || key == "$ref") {
        let inner = Value::Object(std::mem::take(schema));
        schema.insert("anyOf".into(), json!([inner, {"type": "null"}]));
    }
}

/// Takes the keywords out of a schema that nothing can be checked with, such as a pattern that is none; tells what.
///
/// # Errors
///
/// Why it can't be used at all.
pub(super) fn repair(schema: &mut Value) -> Result<Vec<String>, String> {
    let mut left_out = Vec::new();
    while let Err(error) = CompiledSchema::compile(schema) {
        let parent = error.pointer.rsplit_once('/');
        let removed = parent.and_then(|(parent, keyword)| {
            let keyword = keyword.replace("~1", "/").replace("~0", "~");
            schema.pointer_mut(parent)?.as_object_mut()?.remove(&keyword)
        });
        if removed.is_none() || left_out.len() >= REPAIRS {
            return Err(format!("its arguments can't be checked: {error}"));
        }
        left_out.push(format!("a keyword of the arguments is left out: {error}"));
    }
    Ok(left_out)
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(object) => 1 + object.values().map(size).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}
