//! One type a schema, for servers that read no more.

use serde_json::{Map, Value, json};

use super::{
    expand::{LEVELS, cut, is_nested},
    facts::{SchemaProfile, Shapes},
    merge,
    note::{Loss, Notes},
    reference::escaped,
    types::{is_about, is_array, type_of, types, types_of_all},
};

/// Alternatives of one value at most.
const ALTERNATIVES: usize = 64;
/// What stays beside `anyOf`: it is about the value, not about what it may be.
const WORDS: [&str; 4] = ["title", "description", "default", "examples"];

/// Gives a whole schema the shape of an object with properties and no choice at its top, which all servers want.
pub(super) fn top(schema: &mut Map<String, Value>, notes: &mut Notes) {
    flatten(schema, 0);
    let choice = take_choice(schema);
    if !choice.is_empty() {
        notes.add("", Loss::Choice);
        merge::any_of(schema, choice);
    }
    for keyword in ["enum", "const", "not"] {
        schema.shift_remove(keyword);
    }
    schema.insert("type".into(), "object".into());
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".into(), json!({}));
    }
}

/// Shapes a schema whose top is an object.
pub(super) struct Shaper<'a> {
    pub(super) profile: &'a SchemaProfile,
    /// Schemas that may still be shaped.
    pub(super) room: usize,
    pub(super) notes: &'a mut Notes,
}

impl Shaper<'_> {
    /// The whole schema; nothing where it grows too large.
    pub(super) fn whole(&mut self, schema: Map<String, Value>) -> Option<Value> {
        let shaped = self.of_type(schema, "object", "", 0);
        (self.room > 0).then(|| shaped.into())
    }

    fn schema(&mut self, schema: Value, at: &str, level: usize) -> Value {
        self.room = self.room.saturating_sub(1);
        let Value::Object(mut object) = schema else { return self.any(Map::new(), true) };
        if self.room == 0 {
            return self.any(words(&mut object), true);
        }
        if level >= LEVELS {
            // A choice adds a level, and what is sent must not be deeper than what is read.
            if is_nested(&object) {
                self.notes.add(at, Loss::Depth);
            }
            object = cut(&object);
        }
        flatten(&mut object, 0);
        let choice = take_choice(&mut object);
        if !choice.is_empty() {
            if ["properties", "items", "prefixItems", "enum", "const"]
                .iter()
                .any(|keyword| object.contains_key(*keyword))
            {
                if !object.contains_key("type")
                    && let Some(kinds) = types_of_all(&choice)
                {
                    object.insert("type".into(), kinds.into());
                }
                merge::any_of(&mut object, choice);
            } else {
                return self.choice(object, choice, at, level);
            }
        }
        self.list_values(&mut object, at);
        match types(&object).as_slice() {
            [] => self.any(words(&mut object), true),
            [only] => self.of_type(object, only, at, level).into(),
            several if self.profile.shapes == Shapes::OneType => {
                let alternatives = several.iter().map(|kind| {
                    let mut alternative = object.clone();
                    alternative.retain(|keyword, _| {
                        !WORDS.contains(&keyword.as_str()) && self.belongs(keyword, kind)
                    });
                    alternative.insert("type".into(), (*kind).into());
                    alternative
                });
                let alternatives = alternatives.collect();
                self.choice(words(&mut object), alternatives, at, level)
            }
            several => {
                object.retain(|keyword, _| several.iter().any(|kind| self.belongs(keyword, kind)));
                object.insert("type".into(), several.into());
                self.inner(object, at, level).into()
            }
        }
    }

    /// A choice, and what is said of all its alternatives.
    fn choice(
        &mut self,
        mut common: Map<String, Value>,
        choice: Vec<Map<String, Value>>,
        at: &str,
        level: usize,
    ) -> Value {
        let mut made = words(&mut common);
        let mut alternatives: Vec<Value> = Vec::new();
        if choice.len() > ALTERNATIVES {
            return self.any(made, true);
        }
        for mut alternative in choice {
            merge::fill(&mut alternative, common.clone());
            let shaped = self.schema(alternative.into(), at, level + 1);
            // A choice in a choice is one choice.
            let inner = match shaped.get("anyOf").and_then(Value::as_array) {
                Some(inner) if shaped.as_object().is_some_and(|shaped| shaped.len() == 1) => inner.clone(),
                _ => vec![shaped],
            };
            for shaped in inner {
                if !alternatives.contains(&shaped) {
                    alternatives.push(shaped);
                }
            }
        }
        if alternatives.len() > ALTERNATIVES {
            return self.any(made, true);
        }
        if let [only] = alternatives.as_slice()
            && let Some(only) = only.as_object()
        {
            merge::fill(&mut made, only.clone());
        } else {
            made.insert("anyOf".into(), alternatives.into());
        }
        self.keep_known(&mut made);
        made.into()
    }

    /// A schema of one type: only what belongs to it, and all of it shaped.
    fn of_type(
        &mut self,
        mut object: Map<String, Value>,
        kind: &str,
        at: &str,
        level: usize,
    ) -> Map<String, Value> {
        object.insert("type".into(), kind.into());
        object.retain(|keyword, _| self.belongs(keyword, kind));
        self.inner(object, at, level)
    }

    /// The schemas inside one whose type is known.
    fn inner(&mut self, mut object: Map<String, Value>, at: &str, level: usize) -> Map<String, Value> {
        if let Some(Value::Array(first)) = object.shift_remove("prefixItems") {
            // A list with a schema for each place is told as a list of any of them.
            let mut items: Vec<Map<String, Value>> = first.into_iter().filter_map(object_of).collect();
            items.extend(object.shift_remove("items").and_then(object_of).filter(|rest| !rest.is_empty()));
            object.insert("items".into(), json!({ "anyOf": items }));
        }
        if object.shift_remove("patternProperties").is_some() {
            // Servers that pass over the one would take the other at its word.
            object.shift_remove("additionalProperties");
        }
        if is_array(&object) && !object.contains_key("items") {
            object.insert("items".into(), json!({}));
        }
        self.keep_known(&mut object);
        for (keyword, value) in &mut object {
            match (keyword.as_str(), &mut *value) {
                ("properties", Value::Object(schemas)) => {
                    for (name, schema) in schemas {
                        let at = format!("{at}/properties/{}", escaped(name));
                        *schema = self.schema(schema.take(), &at, level + 1);
                    }
                }
                ("items", items) => {
                    let at = format!("{at}/items");
                    let is_any =
                        items.as_object().is_none_or(|items| !items.keys().any(|keyword| says_more(keyword)));
                    *items = match items.take() {
                        Value::Object(mut items) if is_any => self.any(words(&mut items), false),
                        items if is_any || items.is_boolean() => self.any(Map::new(), false),
                        items => self.schema(items, &at, level + 1),
                    };
                }
                ("additionalProperties", Value::Object(_)) => {
                    *value = self.schema(value.take(), &format!("{at}/additionalProperties"), level + 1);
                }
                _ => {}
            }
        }
        self.keep_required(&mut object);
        object
    }

    /// A value of any kind.
    fn any(&self, mut made: Map<String, Value>, with_arrays: bool) -> Value {
        let mut kinds = vec!["string", "number", "boolean", "object", "null"];
        match self.profile.shapes {
            Shapes::All => {}
            Shapes::TypeList => {
                let items = json!({ "type": kinds });
                if with_arrays {
                    kinds.push("array");
                }
                made.insert("type".into(), kinds.into());
                if with_arrays {
                    made.insert("items".into(), items);
                }
            }
            Shapes::OneType => {
                let mut alternatives: Vec<Value> = kinds.iter().map(|kind| json!({ "type": kind })).collect();
                if with_arrays {
                    alternatives.push(json!({"type": "array", "items": {"anyOf": alternatives}}));
                }
                made.insert("anyOf".into(), alternatives.into());
            }
        }
        self.keep_known(&mut made);
        made.into()
    }

    /// A constant is a list of one value; a list is told where the server takes such values.
    fn list_values(&mut self, object: &mut Map<String, Value>, at: &str) {
        if let Some(value) = object.shift_remove("const") {
            object.insert("enum".into(), vec![value].into());
        }
        let Some(Value::Array(values)) = object.get_mut("enum") else { return };
        let kinds: Vec<&str> = values.iter().map(type_of).fold(Vec::new(), |mut kinds, kind| {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
            kinds
        });
        let lost =
            !self.profile.any_enum && values.iter().any(|value| !value.is_string() && !value.is_null());
        if !self.profile.any_enum {
            values.retain(Value::is_string);
        }
        let none_left = values.is_empty();
        if lost {
            self.notes.add(at, Loss::Values);
        }
        if none_left {
            object.shift_remove("enum");
        }
        if !object.contains_key("type") {
            object.insert("type".into(), kinds.into());
        }
    }

    /// Whether a keyword may stand in a schema of this one type.
    fn belongs(&self, keyword: &str, kind: &str) -> bool {
        let kind = if kind == "integer" { "number" } else { kind };
        match keyword {
            "enum" => kind == "string" || self.profile.any_enum,
            "format" => matches!(kind, "string" | "number"),
            // What can't be told of one type.
            "not" | "if" | "then" | "else" => false,
            keyword => is_about(keyword).is_none_or(|about| about == kind),
        }
    }

    fn keep_known(&self, object: &mut Map<String, Value>) {
        if let Some(known) = self.profile.keywords {
            object.retain(|keyword, _| known.contains(&keyword.as_str()));
        }
    }

    /// Gemini refuses a required property that is not declared.
    fn keep_required(&self, object: &mut Map<String, Value>) {
        let declared: Vec<String> = match object.get("properties") {
            Some(Value::Object(properties)) => properties.keys().cloned().collect(),
            _ => Vec::new(),
        };
        if let Some(Value::Array(required)) = object.get_mut("required") {
            required
                .retain(|name| name.as_str().is_some_and(|name| declared.iter().any(|known| known == name)));
            if required.is_empty() {
                object.shift_remove("required");
            }
        }
    }
}

/// Makes one schema of all that a value must fit.
fn flatten(object: &mut Map<String, Value>, level: usize) {
    let Some(Value::Array(all)) = object.shift_remove("allOf") else { return };
    for mut schema in all.into_iter().filter_map(object_of) {
        if level < LEVELS {
            flatten(&mut schema, level + 1);
        }
        merge::all_of(object, schema);
    }
}

/// The alternatives of a schema, each flat.
fn take_choice(object: &mut Map<String, Value>) -> Vec<Map<String, Value>> {
    let any = object.shift_remove("anyOf");
    let one = object.shift_remove("oneOf");
    let Some(Value::Array(choice)) = any.or(one) else { return Vec::new() };
    let mut choice: Vec<Map<String, Value>> = choice.into_iter().filter_map(object_of).collect();
    choice.iter_mut().for_each(|alternative| flatten(alternative, 0));
    choice
}

fn object_of(schema: Value) -> Option<Map<String, Value>> {
    match schema {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

fn words(object: &mut Map<String, Value>) -> Map<String, Value> {
    let said =
        WORDS.into_iter().filter_map(|keyword| Some((keyword.to_owned(), object.shift_remove(keyword)?)));
    said.collect()
}

/// Whether a keyword says something about what a value may be.
fn says_more(keyword: &str) -> bool {
    !WORDS.contains(&keyword) && keyword != "not"
}
