//! Keywords one by one, references followed: a schema that means the same, as far as the server takes it.

use serde_json::{Map, Value, json};

use super::{
    facts::SchemaProfile,
    merge,
    note::{Loss, Notes},
    reference::{can_be_kept, escaped, follow},
    types::is_array,
};

/// Levels of a schema that are followed.
pub(super) const LEVELS: usize = 64;

/// One walk through a declared schema.
pub(super) struct Walk<'a> {
    profile: &'a SchemaProfile,
    root: &'a Value,
    /// References that may be followed on one path.
    follows: usize,
    /// Pointers to the definitions that are being written out.
    open: Vec<String>,
    /// Bytes that may still be written.
    room: usize,
    pub(super) notes: Notes,
}

impl<'a> Walk<'a> {
    pub(super) fn new(profile: &'a SchemaProfile, root: &'a Value, follows: usize) -> Self {
        Self {
            profile,
            root,
            follows,
            open: vec![String::new()],
            room: profile.size_cap,
            notes: Notes::default(),
        }
    }

    /// The whole schema; nothing where it grows too large.
    pub(super) fn whole(&mut self) -> Option<Map<String, Value>> {
        let expanded = self.schema(self.root, "", 0, true);
        if self.room == 0 {
            return None;
        }
        match expanded {
            Value::Object(object) => Some(object),
            _ => Some(Map::new()),
        }
    }

    /// One schema, which stands at `at`. A `top` one is about the root's own value: a reference there is always
    /// followed, since servers want to see an object.
    fn schema(&mut self, schema: &Value, at: &str, level: usize, top: bool) -> Value {
        let object = match schema {
            Value::Object(object) if self.room > 0 => object,
            Value::Bool(false) => return json!({"not": {}}),
            _ => return json!({}),
        };
        if level >= LEVELS {
            self.notes.add(at, Loss::Depth);
            return cut(object).into();
        }
        match object.get("$ref").and_then(Value::as_str) {
            Some(reference) if top || !self.profile.references || !can_be_kept(self.root, reference) => {
                self.written_out(object, reference, at, level, top)
            }
            _ => self.keywords(object, at, level, top).into(),
        }
    }

    fn written_out(
        &mut self,
        object: &Map<String, Value>,
        reference: &str,
        at: &str,
        level: usize,
        top: bool,
    ) -> Value {
        let mut beside = object.clone();
        beside.shift_remove("$ref");
        let target = follow(self.root, reference);
        if let Some(target) = &target {
            merge::fill(&mut beside, target.beside.clone());
        }
        let mut beside = self.keywords(&beside, at, level, top);
        let Some(target) = target else {
            self.notes.add(at, Loss::Reference);
            return beside.into();
        };
        let uses = self.open.iter().filter(|open| **open == target.pointer).count();
        let expanded = if uses >= self.profile.depth || self.open.len() > self.follows {
            if target.schema.as_object().is_some_and(is_nested) {
                self.notes.add(at, Loss::Depth);
            }
            target.schema.as_object().map_or_else(|| json!({}), |object| cut(object).into())
        } else {
            self.open.push(target.pointer.clone());
            let expanded = self.schema(target.schema, &target.pointer, level + 1, top);
            self.open.pop();
            expanded
        };
        if let Value::Object(expanded) = expanded {
            merge::all_of(&mut beside, expanded);
        }
        beside.into()
    }

    fn keywords(
        &mut self,
        object: &Map<String, Value>,
        at: &str,
        level: usize,
        top: bool,
    ) -> Map<String, Value> {
        let mut made = Map::new();
        // Whether there are properties that are not told of.
        let mut is_open = false;
        for (keyword, value) in object {
            self.room = self.room.saturating_sub(keyword.len() + 4);
            let inside = |what: &str| format!("{at}/{}", escaped(what));
            match (keyword.as_str(), value) {
                ("$defs" | "definitions", Value::Object(schemas)) => {
                    if self.profile.references {
                        made.insert(keyword.clone(), self.named(schemas, &inside(keyword), level));
                    }
                }
                ("properties" | "dependentSchemas", Value::Object(schemas)) => {
                    made.insert(keyword.clone(), self.named(schemas, &inside(keyword), level));
                }
                ("patternProperties", Value::Object(schemas)) => {
                    let kept = self.readable(schemas, at);
                    is_open |= kept.len() < schemas.len();
                    made.insert(keyword.clone(), self.named(&kept, &inside(keyword), level));
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                    made.insert(keyword.clone(), self.listed(schemas, &inside(keyword), level, top));
                }
                // A list of items is how drafts before 2020-12 wrote what is `prefixItems` now.
                ("prefixItems" | "items", Value::Array(schemas)) => {
                    made.insert("prefixItems".into(), self.listed(schemas, &inside(keyword), level, false));
                }
                ("additionalProperties" | "unevaluatedProperties" | "unevaluatedItems", Value::Bool(_)) => {
                    made.insert(keyword.clone(), value.clone());
                }
                (
                    "items"
                    | "additionalProperties"
                    | "unevaluatedProperties"
                    | "unevaluatedItems"
                    | "contains"
                    | "not"
                    | "if"
                    | "then"
                    | "else"
                    | "propertyNames",
                    schema,
                ) => {
                    made.insert(keyword.clone(), self.schema(schema, &inside(keyword), level + 1, false));
                }
                _ => self.plain_keyword(&mut made, keyword, value, at),
            }
        }
        if is_open {
            made.shift_remove("additionalProperties");
        }
        of_older_drafts(&mut made);
        if is_array(&made) && !made.contains_key("items") {
            made.insert("items".into(), json!({}));
        }
        made
    }

    /// A keyword that holds no schema.
    fn plain_keyword(&mut self, made: &mut Map<String, Value>, keyword: &str, value: &Value, at: &str) {
        let profile = self.profile;
        let sent = match (keyword, value) {
            ("pattern", Value::String(pattern)) if !profile.patterns.takes(pattern) => {
                self.notes.add(at, Loss::Pattern);
                false
            }
            ("format", Value::String(format)) => {
                profile.formats.is_none_or(|formats| formats.contains(&format.as_str()))
            }
            ("default", Value::Null) => profile.null_defaults,
            ("enum", Value::Array(values)) => !values.is_empty(),
            ("required", value) => value.is_array(),
            ("minLength" | "maxLength" | "minItems" | "maxItems", bound) => {
                let too_large = |largest| bound.as_f64().is_some_and(|bound| bound > largest as f64);
                !profile.largest_bound.is_some_and(too_large)
            }
            _ => true,
        };
        if sent {
            self.room = self.room.saturating_sub(value.to_string().len());
            made.insert(keyword.to_owned(), value.clone());
        }
    }

    /// Named schemas. A property that may not be there is not told of.
    fn named(&mut self, schemas: &Map<String, Value>, at: &str, level: usize) -> Value {
        let mut made = Map::new();
        for (name, schema) in schemas.iter().filter(|(_, schema)| **schema != Value::Bool(false)) {
            self.room = self.room.saturating_sub(name.len() + 6);
            let at = format!("{at}/{}", escaped(name));
            made.insert(name.clone(), self.schema(schema, &at, level + 1, false));
        }
        made.into()
    }

    fn listed(&mut self, schemas: &[Value], at: &str, level: usize, top: bool) -> Value {
        let each = schemas.iter().enumerate();
        each.map(|(index, schema)| self.schema(schema, &format!("{at}/{index}"), level + 1, top)).collect()
    }

    /// Those of `patternProperties` whose pattern the server can read.
    fn readable(&mut self, schemas: &Map<String, Value>, at: &str) -> Map<String, Value> {
        let patterns = self.profile.patterns;
        let readable = schemas.iter().filter(|(pattern, _)| patterns.takes(pattern));
        let readable: Map<String, Value> =
            readable.map(|(pattern, schema)| (pattern.clone(), schema.clone())).collect();
        if readable.len() < schemas.len() {
            self.notes.add(&format!("{at}/patternProperties"), Loss::Pattern);
        }
        readable
    }
}

/// Writes as 2020-12 does what OpenAPI 3.0 and draft 4 write in another way.
fn of_older_drafts(schema: &mut Map<String, Value>) {
    if let Some(Value::Bool(nullable)) = schema.get("nullable") {
        let nullable = *nullable;
        schema.shift_remove("nullable");
        if let Some(Value::String(kind)) = schema.get("type")
            && nullable
            && kind != "null"
        {
            let kinds = json!([kind, "null"]);
            schema.insert("type".into(), kinds);
            if let Some(Value::Array(values)) = schema.get_mut("enum")
                && !values.contains(&Value::Null)
            {
                values.push(Value::Null);
            }
        }
    }
    for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        let Some(Value::Bool(is_exclusive)) = schema.get(exclusive) else { continue };
        let is_exclusive = *is_exclusive;
        schema.shift_remove(exclusive);
        if is_exclusive && let Some(bound) = schema.shift_remove(bound) {
            schema.insert(exclusive.into(), bound);
        }
    }
}

/// What is left of a schema that is followed no further: its type and its words.
pub(super) fn cut(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut left = Map::new();
    let kind = match schema.get("type") {
        None if schema.contains_key("properties") || schema.contains_key("required") => Some("object".into()),
        Some(Value::String(kind)) => Some(Value::from(kind.as_str())),
        _ => None,
    };
    let is_array = kind.as_ref().is_some_and(|kind| kind == "array");
    if let Some(kind) = kind {
        left.insert("type".into(), kind);
    }
    if let Some(description) = schema.get("description") {
        left.insert("description".into(), description.clone());
    }
    if is_array {
        left.insert("items".into(), json!({}));
    }
    left
}

/// Whether there is more to a schema than its type and its words.
pub(super) fn is_nested(schema: &Map<String, Value>) -> bool {
    !schema.keys().all(|keyword| matches!(keyword.as_str(), "type" | "description" | "title"))
}
