//! Swagger 2.0 as OpenAPI 3.0: the parts that a request needs.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::document::OpenApiError;

/// Fields of a parameter that are no part of its schema.
const OF_PARAMETER: [&str; 8] =
    ["name", "in", "description", "required", "collectionFormat", "allowEmptyValue", "schema", "$ref"];
/// What is read of a parameter that is shared, beside its schema.
const OF_SHARED: [&str; 4] = ["name", "in", "collectionFormat", "type"];
/// Where the schemas of shared parameters are put.
const SHARED: &str = "x-parameters";
/// Bytes of a shared schema, and of a shared description, that are copied to where they are referred to.
const COPIED: usize = 2048;
/// Media types of a body that are looked at.
const MEDIA_TYPES: usize = 16;
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];
/// Levels in which references are renamed.
const DEPTH: usize = 512;

/// The document as OpenAPI 3; itself where it is that already. What is shared stays shared: nothing large is copied.
pub(super) fn upgraded(mut root: Value) -> Result<Value, OpenApiError> {
    let version = match root.get("swagger") {
        None => return Ok(root),
        Some(Value::String(version)) => version.clone(),
        Some(other) => other.to_string(),
    };
    if !version.starts_with('2') {
        let version = backstop_core::text::escaped(&version, 40);
        return Err(OpenApiError::NotOpenApi(format!("Swagger {version} is not known: 2.0 is")));
    }
    rename(&mut root, DEPTH);
    let Value::Object(mut old) = root else { return Ok(root) };
    let consumes = types(&old, "consumes").unwrap_or_default();
    let produces = types(&old, "produces").unwrap_or_default();
    let mut all_shared = taken(&mut old, "parameters");
    let shared = all_shared.iter().map(|(name, one)| (name.clone(), Shared::of(one))).collect();
    let mut paths = taken(&mut old, "paths");
    for item in paths.values_mut().filter_map(Value::as_object_mut) {
        let common = parameters(item.remove("parameters"), &shared);
        for method in METHODS {
            let Some(Value::Object(operation)) = item.get_mut(method) else { continue };
            let consumes = types(operation, "consumes").unwrap_or_else(|| consumes.clone());
            let produces = types(operation, "produces").unwrap_or_else(|| produces.clone());
            let own = parameters(operation.remove("parameters"), &shared);
            // An operation's parameter takes the place of the path's.
            let is_same = |one: &Parameter, other: &Parameter| {
                one.text("name") == other.text("name") && one.text("in") == other.text("in")
            };
            let inherited = common.iter().filter(|one| !own.iter().any(|other| is_same(one, other)));
            let all: Vec<&Parameter> = inherited.chain(&own).collect();
            take_body(operation, &all, &consumes);
            for response in entries(operation, "responses") {
                upgrade_response(response, &produces);
            }
        }
    }
    for parameter in all_shared.values_mut() {
        *parameter = schema_of(parameter);
    }
    for response in entries(&mut old, "responses") {
        upgrade_response(response, &produces);
    }
    let mut schemes = taken(&mut old, "securityDefinitions");
    for scheme in schemes.values_mut() {
        *scheme = security(scheme.take());
    }
    let servers = servers(&old);
    let components = [
        ("schemas", taken(&mut old, "definitions").into()),
        ("responses", taken(&mut old, "responses").into()),
        ("securitySchemes", schemes.into()),
        (SHARED, all_shared.into()),
    ];
    let kept = ["info", "security", "tags"].into_iter().filter_map(|key| Some((key, old.remove(key)?)));
    let kept: Vec<_> = kept.collect();
    let entries = [
        ("openapi", "3.0.3".into()),
        ("servers", servers),
        ("paths", paths.into()),
        ("components", object(components)),
    ];
    Ok(object(entries.into_iter().chain(kept)))
}

fn object<'k>(entries: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    Value::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// Takes an object out of another.
fn taken(of: &mut Map<String, Value>, key: &str) -> Map<String, Value> {
    match of.remove(key) {
        Some(Value::Object(object)) => object,
        _ => Map::new(),
    }
}

/// The objects in an object.
fn entries<'o>(
    of: &'o mut Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'o mut Map<String, Value>> {
    let all = of.get_mut(key).and_then(Value::as_object_mut).into_iter();
    all.flat_map(|all| all.values_mut()).filter_map(Value::as_object_mut)
}

fn types(of: &Map<String, Value>, key: &str) -> Option<Vec<String>> {
    let list = of.get(key)?.as_array()?;
    Some(list.iter().filter_map(Value::as_str).take(MEDIA_TYPES).map(str::to_owned).collect())
}

/// Renames what references lead to, and what says that a value may be null.
fn rename(value: &mut Value, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match value {
        Value::Object(object) => {
            if let Some(Value::String(reference)) = object.get_mut("$ref") {
                for (old, new) in
                    [("#/definitions/", "#/components/schemas/"), ("#/responses/", "#/components/responses/")]
                {
                    if let Some(rest) = reference.strip_prefix(old) {
                        *reference = format!("{new}{rest}");
                        break;
                    }
                }
            }
            if object.get("x-nullable") == Some(&Value::Bool(true)) {
                object.insert("nullable".into(), true.into());
            }
            object.values_mut().for_each(|value| rename(value, depth));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| rename(value, depth)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A parameter of Swagger 2.
struct Parameter {
    value: Value,
    /// As OpenAPI 3 has it, or a reference to that.
    schema: Value,
}

impl Parameter {
    fn text(&self, key: &str) -> Option<&str> {
        self.value.get(key)?.as_str()
    }
}

/// A parameter that others refer to.
struct Shared {
    /// Without its schema.
    value: Value,
    /// `None` where it is too large to be copied.
    schema: Option<Value>,
}

impl Shared {
    fn of(parameter: &Value) -> Self {
        let schema = Some(schema_of(parameter)).filter(|schema| schema.to_string().len() <= COPIED);
        Self { value: small(parameter), schema }
    }
}

/// The parameters of a path or an operation, with those that are referred to in their place.
fn parameters(list: Option<Value>, shared: &HashMap<String, Shared>) -> Vec<Parameter> {
    let Some(Value::Array(list)) = list else { return Vec::new() };
    let upgraded = |parameter: Value| {
        let to =
            parameter.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix("#/parameters/"));
        match to.and_then(|token| Some((token, shared.get(&name_of(token))?))) {
            Some((token, Shared { value, schema })) => {
                let reference = || json!({"$ref": format!("#/components/{SHARED}/{token}")});
                Parameter { value: value.clone(), schema: schema.clone().unwrap_or_else(reference) }
            }
            None => Parameter { schema: schema_of(&parameter), value: parameter },
        }
    };
    list.into_iter().map(upgraded).collect()
}

/// The name that a token of a reference stands for.
fn name_of(token: &str) -> String {
    percent_decode_str(token).decode_utf8_lossy().replace("~1", "/").replace("~0", "~")
}

/// A shared parameter without what may be large.
fn small(shared: &Value) -> Value {
    let kept = OF_SHARED.iter().filter_map(|key| Some((*key, shared.get(key)?.as_str()?.into())));
    let required = shared.get("required").cloned().filter(Value::is_boolean);
    let text = shared.get("description").and_then(Value::as_str);
    let text = text.map(|text| backstop_core::text::head(text, COPIED).into());
    let more = [("required", required), ("description", text)];
    object(kept.chain(more.into_iter().filter_map(|(key, value)| Some((key, value?)))))
}

/// Puts the parameters of the body where OpenAPI 3 has them.
fn take_body(operation: &mut Map<String, Value>, parameters: &[&Parameter], consumes: &[String]) {
    let in_place = |place: &str| -> Vec<&Parameter> {
        parameters.iter().copied().filter(|parameter| parameter.text("in") == Some(place)).collect()
    };
    let is_kept = |parameter: &&&Parameter| !matches!(parameter.text("in"), Some("body" | "formData"));
    let kept: Vec<Value> = parameters.iter().filter(is_kept).map(|one| parameter(one)).collect();
    operation.insert("parameters".into(), kept.into());
    if let Some(body) = in_place("body").first() {
        let media = consumes.iter().find(|media| media.contains("json")).or(consumes.first());
        let media = media.map_or("application/json", String::as_str);
        operation.insert(
            "requestBody".into(),
            json!({
                "required": body.value.get("required").cloned().unwrap_or(false.into()),
                "description": body.text("description").unwrap_or_default(),
                "content": {media: {"schema": body.schema}},
            }),
        );
        return;
    }
    let fields = in_place("formData");
    if fields.is_empty() {
        return;
    }
    let has_file = fields.iter().any(|field| field.text("type") == Some("file"));
    let multipart = has_file || consumes.iter().any(|media| media == "multipart/form-data");
    let media = if multipart { "multipart/form-data" } else { "application/x-www-form-urlencoded" };
    let (mut properties, mut encoding, mut required) = (Map::new(), Map::new(), Vec::new());
    for field in &fields {
        let Some(name) = field.text("name") else { continue };
        let mut schema = field.schema.clone();
        if let (Some(schema), Some(text)) = (schema.as_object_mut(), field.value.get("description")) {
            schema.insert("description".into(), text.clone());
        }
        if field.value.get("required") == Some(&Value::Bool(true)) {
            required.push(name.to_owned());
        }
        if let Some((style, explode)) = collection(field) {
            encoding.insert(name.to_owned(), json!({"style": style, "explode": explode}));
        }
        properties.insert(name.to_owned(), schema);
    }
    let schema = json!({"type": "object", "properties": properties, "required": required});
    operation.insert(
        "requestBody".into(),
        json!({"required": !required.is_empty(), "content": {media: {"schema": schema, "encoding": encoding}}}),
    );
}

fn parameter(old: &Parameter) -> Value {
    let Some(fields) = old.value.as_object().filter(|fields| !fields.contains_key("$ref")) else {
        return old.value.clone();
    };
    let kept = ["name", "in", "description", "required"].into_iter();
    let kept = kept.filter_map(|key| Some((key, fields.get(key)?.clone())));
    let mut new: Vec<(&str, Value)> = kept.chain([("schema", old.schema.clone())]).collect();
    if let Some((style, explode)) = collection(old) {
        let in_query = old.text("in") == Some("query");
        // Outside of queries there is one form.
        new.push(("style", if in_query { style } else { "simple" }.into()));
        new.push(("explode", (explode && in_query).into()));
    }
    object(new)
}

/// The schema of a parameter, which stands beside the rest of it but for bodies.
fn schema_of(parameter: &Value) -> Value {
    if let Some(schema) = parameter.get("schema") {
        return schema.clone();
    }
    let entries = parameter.as_object().into_iter().flatten();
    let mut schema: Map<String, Value> = entries
        .filter(|(key, _)| !OF_PARAMETER.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if schema.get("type").is_some_and(|kind| kind == "file") {
        schema.insert("type".into(), "string".into());
        schema.insert("format".into(), "binary".into());
    }
    Value::Object(schema)
}

/// The style of an array, and whether its items are written one by one.
fn collection(parameter: &Parameter) -> Option<(&'static str, bool)> {
    if parameter.text("type") != Some("array") {
        return None;
    }
    Some(match parameter.text("collectionFormat") {
        Some("multi") => ("form", true),
        Some("ssv") => ("spaceDelimited", false),
        Some("pipes") => ("pipeDelimited", false),
        _ => ("form", false),
    })
}

/// Puts the schema of an answer where OpenAPI 3 has it: under its JSON type, or the first type that there is.
fn upgrade_response(response: &mut Map<String, Value>, produces: &[String]) {
    let Some(mut schema) = response.remove("schema") else { return };
    let json = ["application/json".to_owned()];
    let all = if produces.is_empty() { &json } else { produces };
    let main = all.iter().position(|media| media.contains("json")).unwrap_or(0);
    let media_node = |(index, media): (usize, &String)| {
        let schema = if index == main { json!({"schema": schema.take()}) } else { json!({}) };
        (media.clone(), schema)
    };
    let content: Map<String, Value> = all.iter().enumerate().map(media_node).collect();
    response.insert("content".into(), Value::Object(content));
}

fn security(old: Value) -> Value {
    match old.get("type").and_then(Value::as_str) {
        Some("basic") => json!({"type": "http", "scheme": "basic"}),
        Some("oauth2") => {
            let flow = old.get("flow").and_then(Value::as_str).unwrap_or_default();
            let flow = if flow == "application" { "clientCredentials" } else { flow };
            json!({"type": "oauth2", "flows": {flow: {"tokenUrl": old.get("tokenUrl")}}})
        }
        _ => old,
    }
}

fn servers(old: &Map<String, Value>) -> Value {
    let base = old.get("basePath").and_then(Value::as_str).unwrap_or("/").trim_start_matches('/');
    let Some(host) = old.get("host").and_then(Value::as_str) else {
        return json!([{"url": format!("/{base}")}]);
    };
    let schemes = old.get("schemes").and_then(Value::as_array);
    let has = |wanted: &str| schemes.is_some_and(|list| list.iter().any(|scheme| scheme == wanted));
    let scheme = if schemes.is_none() || has("https") { "https" } else { "http" };
    json!([{"url": format!("{scheme}://{host}/{base}")}])
}
