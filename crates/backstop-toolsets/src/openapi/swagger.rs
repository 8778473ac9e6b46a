//! Swagger 2.0 as OpenAPI 3.0: the parts that a request needs.

use serde_json::{Map, Value, json};

use super::document::OpenApiError;

/// Fields of a parameter that are no part of its schema.
const OF_PARAMETER: [&str; 8] =
    ["name", "in", "description", "required", "collectionFormat", "allowEmptyValue", "schema", "$ref"];
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];
/// Levels in which references are renamed.
const DEPTH: usize = 512;

/// The document as OpenAPI 3; itself where it is that already.
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
    rename_references(&mut root, DEPTH);
    let Value::Object(old) = root else { return Ok(root) };
    let types = |of: &Map<String, Value>, key: &str| -> Option<Vec<String>> {
        let list = of.get(key)?.as_array()?;
        Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    };
    let consumes = types(&old, "consumes").unwrap_or_default();
    let produces = types(&old, "produces").unwrap_or_default();
    let shared = old.get("parameters").and_then(Value::as_object).cloned().unwrap_or_default();

    let mut paths = Map::new();
    for (path, item) in old.get("paths").and_then(Value::as_object).into_iter().flatten() {
        let Some(item) = item.as_object() else {
            paths.insert(path.clone(), item.clone());
            continue;
        };
        let common = parameters(item, &shared);
        let mut new: Map<String, Value> = item
            .iter()
            .filter(|(key, _)| *key != "parameters")
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        for method in METHODS {
            let Some(Value::Object(operation)) = new.get_mut(method) else { continue };
            let consumes = types(operation, "consumes").unwrap_or_else(|| consumes.clone());
            let produces = types(operation, "produces").unwrap_or_else(|| produces.clone());
            let own = parameters(operation, &shared);
            // An operation's parameter takes the place of the path's.
            let is_same = |a: &Value, b: &Value| a.get("name") == b.get("name") && a.get("in") == b.get("in");
            let inherited = common.iter().filter(|one| !own.iter().any(|other| is_same(one, other)));
            let all: Vec<Value> = inherited.chain(&own).cloned().collect();
            take_body(operation, &all, &consumes);
            responses(operation, &produces);
        }
        paths.insert(path.clone(), Value::Object(new));
    }
    let of = |key: &str| old.get(key).cloned().unwrap_or_else(|| json!({}));
    let schemes = old.get("securityDefinitions").and_then(Value::as_object).into_iter().flatten();
    let schemes: Map<String, Value> =
        schemes.map(|(name, scheme)| (name.clone(), security(scheme))).collect();
    let entries = [
        ("openapi", "3.0.3".into()),
        ("info", of("info")),
        ("servers", servers(&old)),
        ("paths", paths.into()),
        (
            "components",
            json!({"schemas": of("definitions"), "responses": of("responses"), "securitySchemes": schemes}),
        ),
    ];
    let mut new: Map<String, Value> =
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let kept =
        ["security", "tags"].iter().filter_map(|key| Some(((*key).to_owned(), old.get(*key)?.clone())));
    new.extend(kept);
    Ok(Value::Object(new))
}

fn rename_references(value: &mut Value, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match value {
        Value::Object(object) => {
            if let Some(Value::String(reference)) = object.get_mut("$ref") {
                for (old, new) in
                    [("#/definitions/", "#/components/schemas/"), ("#/responses/", "#/components/responses/")]
                {
                    if let Some((file, rest)) = reference.split_once(old) {
                        *reference = format!("{file}{new}{rest}");
                        break;
                    }
                }
            }
            object.values_mut().for_each(|value| rename_references(value, depth));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| rename_references(value, depth)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The parameters of a path or an operation, with those that are referred to in their place.
fn parameters(of: &Map<String, Value>, shared: &Map<String, Value>) -> Vec<Value> {
    let list = of.get("parameters").and_then(Value::as_array);
    let resolved = |parameter: &Value| {
        let name =
            parameter.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix("#/parameters/"));
        name.and_then(|name| shared.get(name)).unwrap_or(parameter).clone()
    };
    list.into_iter().flatten().map(resolved).collect()
}

/// Puts the parameters of the body where OpenAPI 3 has them.
fn take_body(operation: &mut Map<String, Value>, parameters: &[Value], consumes: &[String]) {
    let place =
        |parameter: &Value| parameter.get("in").and_then(Value::as_str).unwrap_or_default().to_owned();
    let kept: Vec<Value> = parameters
        .iter()
        .filter(|parameter| !matches!(place(parameter).as_str(), "body" | "formData"))
        .map(parameter)
        .collect();
    operation.insert("parameters".into(), kept.into());
    if let Some(body) = parameters.iter().find(|parameter| place(parameter) == "body") {
        let schema = body.get("schema").cloned().unwrap_or_else(|| json!({}));
        let media = consumes.iter().find(|media| media.contains("json")).or(consumes.first());
        let media = media.map_or("application/json", String::as_str);
        operation.insert(
            "requestBody".into(),
            json!({
                "required": body.get("required").cloned().unwrap_or(false.into()),
                "description": body.get("description").cloned().unwrap_or_default(),
                "content": {media: {"schema": schema}},
            }),
        );
        return;
    }
    let fields: Vec<&Value> = parameters.iter().filter(|parameter| place(parameter) == "formData").collect();
    if fields.is_empty() {
        return;
    }
    let has_file = fields.iter().any(|field| field.get("type").is_some_and(|kind| kind == "file"));
    let multipart = has_file || consumes.iter().any(|media| media == "multipart/form-data");
    let media = if multipart { "multipart/form-data" } else { "application/x-www-form-urlencoded" };
    let (mut properties, mut encoding, mut required) = (Map::new(), Map::new(), Vec::new());
    for field in &fields {
        let Some(name) = field.get("name").and_then(Value::as_str) else { continue };
        let mut schema = schema_of(field);
        if let Some(text) = field.get("description") {
            schema.insert("description".into(), text.clone());
        }
        if field.get("required") == Some(&Value::Bool(true)) {
            required.push(name.to_owned());
        }
        if let Some((style, explode)) = collection(field) {
            encoding.insert(name.to_owned(), json!({"style": style, "explode": explode}));
        }
        properties.insert(name.to_owned(), schema.into());
    }
    let schema = json!({"type": "object", "properties": properties, "required": required});
    operation.insert(
        "requestBody".into(),
        json!({"required": !required.is_empty(), "content": {media: {"schema": schema, "encoding": encoding}}}),
    );
}

fn parameter(old: &Value) -> Value {
    let Some(object) = old.as_object() else { return old.clone() };
    if object.contains_key("$ref") {
        return old.clone();
    }
    let mut new: Map<String, Value> = object
        .iter()
        .filter(|(key, _)| matches!(key.as_str(), "name" | "in" | "description" | "required"))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    new.insert("schema".into(), schema_of(old).into());
    if let Some((style, explode)) = collection(old) {
        let in_query = object.get("in").is_some_and(|place| place == "query");
        // Outside of queries there is one form.
        new.insert("style".into(), if in_query { style } else { "simple" }.into());
        new.insert("explode".into(), (explode && in_query).into());
    }
    Value::Object(new)
}

fn schema_of(parameter: &Value) -> Map<String, Value> {
    let entries = parameter.as_object().into_iter().flatten();
    let mut schema: Map<String, Value> = entries
        .filter(|(key, _)| !OF_PARAMETER.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if schema.get("type").is_some_and(|kind| kind == "file") {
        schema.insert("type".into(), "string".into());
        schema.insert("format".into(), "binary".into());
    }
    schema
}

/// The style of an array, and whether its items are written one by one.
fn collection(parameter: &Value) -> Option<(&'static str, bool)> {
    if parameter.get("type").is_none_or(|kind| kind != "array") {
        return None;
    }
    Some(match parameter.get("collectionFormat").and_then(Value::as_str) {
        Some("multi") => ("form", true),
        Some("ssv") => ("spaceDelimited", false),
        Some("pipes") => ("pipeDelimited", false),
        _ => ("form", false),
    })
}

fn responses(operation: &mut Map<String, Value>, produces: &[String]) {
    let Some(Value::Object(responses)) = operation.get_mut("responses") else { return };
    for response in responses.values_mut().filter_map(Value::as_object_mut) {
        let Some(schema) = response.remove("schema") else { continue };
        let media = produces.iter().map(String::as_str).chain(["application/json"]);
        let media = if produces.is_empty() {
            media.collect::<Vec<_>>()
        } else {
            media.take(produces.len()).collect()
        };
        let content: Map<String, Value> =
            media.into_iter().map(|media| (media.to_owned(), json!({"schema": schema}))).collect();
        response.insert("content".into(), Value::Object(content));
    }
}

fn security(old: &Value) -> Value {
    match old.get("type").and_then(Value::as_str) {
        Some("basic") => json!({"type": "http", "scheme": "basic"}),
        Some("oauth2") => json!({"type": "oauth2", "flows": {}}),
        _ => old.clone(),
    }
}

fn servers(old: &Map<String, Value>) -> Value {
    let base = old.get("basePath").and_then(Value::as_str).unwrap_or("/");
    let Some(host) = old.get("host").and_then(Value::as_str) else { return json!([{"url": base}]) };
    let schemes = old.get("schemes").and_then(Value::as_array);
    let has = |wanted: &str| schemes.is_some_and(|list| list.iter().any(|scheme| scheme == wanted));
    let scheme = if schemes.is_none() || has("https") { "https" } else { "http" };
    json!([{"url": format!("{scheme}://{host}{base}")}])
}
