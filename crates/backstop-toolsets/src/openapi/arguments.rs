//! Parameters of all places, flattened into the arguments of one tool.

use serde_json::{Map, Value, json};

use super::{
    name::{Names, fit, line},
    reference::Node,
    schema::{Converted, Direction, Schemas},
};
use crate::http::{Parameter, Place, Style};

/// Gathers the arguments of one tool.
pub(super) struct Arguments<'d> {
    pub(super) schemas: Schemas<'d>,
    properties: Map<String, Value>,
    required: Vec<Value>,
    pub(super) parameters: Vec<Parameter>,
    taken: Names,
}

/// One argument before it has a name.
pub(super) struct Argument {
    pub(super) parameter: Parameter,
    pub(super) schema: Value,
    pub(super) required: bool,
}

impl<'d> Arguments<'d> {
    /// Arguments whose schemas have at most `limit` values.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            schemas: Schemas::new(Direction::Request, limit),
            properties: Map::new(),
            required: Vec::new(),
            parameters: Vec::new(),
            taken: Names::default(),
        }
    }

    /// Adds an argument. The first of a name keeps it; a later one has its place in front: `body_id`.
    pub(super) fn add(&mut self, argument: Argument) {
        let Argument { mut parameter, schema, required } = argument;
        let wanted = fit(&parameter.wire_name);
        let place = match parameter.place {
            Place::Path => "path",
            Place::Query => "query",
            Place::Header => "header",
            Place::Cookie => "cookie",
            Place::Body => "body",
        };
        let name = match self.taken.take(&wanted) {
            true => wanted,
            false => self.taken.free(format!("{place}_{wanted}")),
        };
        if required {
            self.required.push(name.clone().into());
        }
        parameter.name.clone_from(&name);
        self.properties.insert(name, schema);
        self.parameters.push(parameter);
    }

    /// Adds a declared parameter, where it is an argument of the model.
    ///
    /// # Errors
    ///
    /// Why no request can be made with it.
    pub(super) fn parameter(&mut self, node: &Node<'d>) -> Result<(), String> {
        let wire = node.text("name").filter(|name| !name.is_empty()).ok_or("a parameter has no `name`")?;
        let place = match node.text("in") {
            Some("path") => Place::Path,
            Some("query") => Place::Query,
            Some("header") => Place::Header,
            Some("cookie") => Place::Cookie,
            Some(other) => {
                return Err(format!(
                    "parameter `{wire}` is in `{}`",
                    backstop_core::text::escaped(other, 40)
                ));
            }
            None => return Err(format!("parameter `{wire}` says nowhere that it is `in`")),
        };
        if place == Place::Header
            && ["accept", "content-type", "authorization"].contains(&wire.to_ascii_lowercase().as_str())
        {
            return Ok(());
        }
        let mut parameter = Parameter::new(wire, place);
        let content = node.entries("content").into_iter().next();
        let schema = match &content {
            Some((media, media_node)) => {
                if media.contains("json") {
                    parameter.style = Style::Json;
                }
                media_node.child("schema")
            }
            None => node.child("schema"),
        };
        if content.is_none()
            && let Some(style) = node.text("style").and_then(style)
        {
            parameter.style = style;
        }
        parameter.explode = match node.value.get("explode").and_then(Value::as_bool) {
            Some(explode) => explode,
            None => matches!(parameter.style, Style::Form | Style::DeepObject),
        };
        parameter.allow_reserved = node.flag("allowReserved");
        let schema = schema.map_or_else(|| json!({}), |schema| self.schemas.convert(&schema));
        let required = place == Place::Path || node.flag("required");
        let schema = described(schema, node.text("description"));
        self.add(Argument { parameter, schema, required });
        Ok(())
    }

    /// The input schema, its parameters, and what else its schemas came to.
    pub(super) fn finish(self) -> (Value, Vec<Parameter>, Converted) {
        let mut converted = self.schemas.definitions();
        let definitions = std::mem::take(&mut converted.definitions);
        let mut schema = json!({
            "type": "object",
            "properties": self.properties,
            "additionalProperties": false,
        });
        if let Some(object) = schema.as_object_mut() {
            if !self.required.is_empty() {
                object.insert("required".into(), self.required.into());
            }
            if !definitions.is_empty() {
                object.insert("$defs".into(), definitions.into());
            }
        }
        (schema, self.parameters, converted)
    }
}

pub(super) fn style(name: &str) -> Option<Style> {
    Some(match name {
        "simple" => Style::Simple,
        "label" => Style::Label,
        "matrix" => Style::Matrix,
        "form" => Style::Form,
        "spaceDelimited" => Style::SpaceDelimited,
        "pipeDelimited" => Style::PipeDelimited,
        "deepObject" => Style::DeepObject,
        _ => return None,
    })
}

/// The schema with a short description: the parameter's own goes before that of its schema.
pub(super) fn described(mut schema: Value, own: Option<&str>) -> Value {
    if schema == Value::Bool(true) {
        schema = json!({});
    }
    if let Some(object) = schema.as_object_mut() {
        let written = object.get("description").and_then(Value::as_str);
        let text = own.filter(|text| !text.trim().is_empty()).or(written).map(line);
        match text.filter(|text| !text.is_empty()) {
            Some(text) => {
                object.insert("description".into(), text.into());
            }
            None => {
                object.remove("description");
            }
        }
    }
    schema
}
