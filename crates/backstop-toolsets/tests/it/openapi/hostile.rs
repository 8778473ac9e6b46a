//! Documents that are made to hurt, or are broken anywhere.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{api, document, try_read};

#[track_caller]
fn quickly<T>(what: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let done = what();
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    done
}

fn with_schemas(schemas: Value, schema: Value) -> String {
    json!({
        "openapi": "3.1.0",
        "paths": {"/a": {"post": {"operationId": "a", "requestBody": {"required": true, "content":
            {"application/json": {"schema": {"type": "object", "properties": {"x": schema}}}}}}}},
        "components": {"schemas": schemas},
    })
    .to_string()
}

#[test]
fn a_fan_out_of_a_million_stays_small() {
    let level = |index: u32| {
        let next = json!({"$ref": format!("#/components/schemas/L{}", index + 1)});
        (format!("L{index}"), json!({"type": "object", "properties": {"a": next, "b": next}}))
    };
    let mut schemas: serde_json::Map<String, Value> = (0..20).map(level).collect();
    schemas.insert("L20".into(), json!({"type": "string"}));
    let text = with_schemas(schemas.into(), json!({"$ref": "#/components/schemas/L0"}));
    let api = quickly(|| api(&text));
    assert!(api.endpoints[0].spec.input_schema.to_string().len() < 4000);
}

#[test]
fn a_chain_of_references_ends() {
    let links = |count: u32| -> serde_json::Map<String, Value> {
        (0..count)
            .map(|index| {
                (format!("L{index}"), json!({"$ref": format!("#/components/schemas/L{}", index + 1)}))
            })
            .collect()
    };
    let mut good = links(200);
    good.insert("L200".into(), json!({"type": "string"}));
    let first = json!({"$ref": "#/components/schemas/L0"});
    let api = quickly(|| super::api(&with_schemas(good.into(), first.clone())));
    assert_eq!(api.problems, []);
    let mut long = links(400);
    long.insert("L400".into(), json!({"type": "string"}));
    let api = quickly(|| super::api(&with_schemas(long.into(), first)));
    assert_eq!(api.endpoints.len(), 1);
    assert!(api.problems[0].message.contains("anything is taken"), "{:?}", api.problems);
}

#[test]
fn a_schema_that_is_nothing_but_itself_may_be_anything() {
    let schemas = json!({"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}});
    let api = api(&with_schemas(schemas, json!({"$ref": "#/components/schemas/A"})));
    assert_eq!(api.endpoints[0].spec.input_schema["properties"]["x"], json!({}));
    assert_eq!(
        api.problems[0].to_string(),
        "operation `a`: `#/components/schemas/B` refers to itself: anything is taken \
         (at `/paths/~1a/post/requestBody/content/application~1json/schema/properties/x`)"
    );
}

#[test]
fn thousands_of_operations_are_bounded() {
    let paths: serde_json::Map<String, Value> =
        (0..6000).map(|index| (format!("/p{index}"), json!({"get": {}}))).collect();
    let api = quickly(|| api(&json!({"openapi": "3.1.0", "paths": paths}).to_string()));
    assert_eq!(api.endpoints.len(), 5000);
    assert_eq!(api.problems[0].message, "there are more than 5000 operations: the others are left out");
}

#[test]
fn a_wide_schema_is_bounded() {
    let properties: serde_json::Map<String, Value> =
        (0..80_000).map(|index| (format!("p{index}"), json!({"type": "string"}))).collect();
    let text = with_schemas(json!({}), json!({"type": "object", "properties": properties}));
    // Too large for any tool: it is left out by name.
    let api = quickly(|| api(&text));
    assert_eq!(api.endpoints.len(), 0);
    assert!(api.problems.iter().any(|problem| problem.left_out), "{:?}", api.problems);
}

#[test]
fn aliases_of_yaml_do_not_explode() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let before = format!("*a{}, ", level - 1).repeat(10);
        text += &format!("a{level}: &a{level} [{}]\n", before.trim_end_matches(", "));
    }
    let text = document(&text);
    assert!(quickly(|| try_read(&text)).is_err());
}

#[test]
fn schemas_are_bounded_together() {
    let values: Vec<u32> = (0..40_000).collect();
    let large = json!({"name": "x", "in": "query", "schema": {"$ref": "#/components/schemas/Large"}});
    let paths: serde_json::Map<String, Value> =
        (0..30).map(|index| (format!("/p{index}"), json!({"get": {"parameters": [large]}}))).collect();
    let document =
        json!({"openapi": "3.1.0", "paths": paths, "components": {"schemas": {"Large": {"enum": values}}}});
    let api = quickly(|| api(&document.to_string()));
    assert_eq!(api.endpoints.len(), 24);
    assert_eq!(
        api.problems[0].to_string(),
        "operation `get_p24` is left out: the schemas of all operations together are too large: pick fewer \
         (at `/paths/~1p24/get`)"
    );
}

#[test]
fn what_swagger_2_shares_is_not_copied() {
    let values: Vec<u32> = (0..40_000).collect();
    let paths: serde_json::Map<String, Value> = (0..2000)
        .map(|index| (format!("/p{index}"), json!({"post": {"parameters": [{"$ref": "#/parameters/a~1b"}]}})))
        .collect();
    let shared = json!({"name": "x", "in": "formData", "type": "integer", "enum": values});
    let document = json!({"swagger": "2.0", "paths": paths, "parameters": {"a/b": shared}});
    let api = quickly(|| api(&document.to_string()));
    assert_eq!((api.endpoints.len(), api.problems.len()), (24, 1976));
}

#[test]
fn names_that_are_all_the_same_are_told_apart_quickly() {
    let paths: serde_json::Map<String, Value> =
        (0..5000).map(|index| (format!("/p{index}"), json!({"get": {"operationId": "same"}}))).collect();
    let api = quickly(|| api(&json!({"openapi": "3.1.0", "paths": paths}).to_string()));
    assert_eq!(api.endpoints[4999].spec.name, "same_5000");
}

#[test]
fn parameters_are_bounded() {
    let parameters = |count: u32| -> Vec<Value> {
        (0..count).map(|index| json!({"name": format!("p{index}"), "in": "query"})).collect()
    };
    let paths = json!({"/a": {"get": {"parameters": parameters(500)}}, "/b": {"get": {"parameters": parameters(20_000)}}});
    let api = quickly(|| api(&json!({"openapi": "3.1.0", "paths": paths}).to_string()));
    assert_eq!(api.endpoints.len(), 1);
    let problems: Vec<String> = api.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        ["operation `get_b` is left out: it has more than 500 parameters (at `/paths/~1b/get`)"]
    );
}

#[test]
fn texts_that_are_too_deep_or_too_large_are_refused() {
    for depth in [500, 100_000] {
        let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for text in
            [document(&format!("x: {nested}")), format!("{{\"openapi\": \"3.1.0\", \"x\": {nested}}}")]
        {
            assert!(quickly(|| try_read(&text)).is_err(), "{depth}");
        }
    }
    let indented: String = (0..3000).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    assert!(quickly(|| try_read(&indented)).is_err());
    let large = " ".repeat(backstop_toolsets::openapi::DOCUMENT_CAP + 1);
    assert_eq!(try_read(&large).unwrap_err().to_string(), "the document is larger than 64 MiB");
}

#[test]
fn parts_of_a_body_are_bounded() {
    let level = |index: u32| {
        let next = json!({"$ref": format!("#/components/schemas/L{}", index + 1)});
        (format!("L{index}"), json!({"allOf": [next, next, next, next]}))
    };
    let mut schemas: serde_json::Map<String, Value> = (0..14).map(level).collect();
    schemas.insert("L14".into(), json!({"type": "object"}));
    let body = json!({"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/L0"}}}});
    let document = json!({"openapi": "3.1.0", "paths": {"/a": {"post": {"requestBody": body}}}, "components": {"schemas": schemas}});
    let api = quickly(|| api(&document.to_string()));
    assert_eq!(api.endpoints[0].parameters[0].name, "body");
}

/// A document in which every part is used.
fn whole() -> Value {
    json!({
        "openapi": "3.0.3", "info": {"title": "T"}, "servers": [{"url": "https://h.example/v1", "variables": {}}],
        "security": [{"key": []}], "tags": [{"name": "t"}],
        "paths": {
            "/a/{id}": {
                "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
                "get": {"operationId": "get", "tags": ["t"], "summary": "S", "parameters": [{"$ref": "#/components/parameters/P"}],
                    "responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}}}}},
                "post": {"operationId": "post", "requestBody": {"$ref": "#/components/requestBodies/B"}, "servers": [{"url": "https://h.example/v1/x"}]},
            },
            "/untouched": {"get": {"operationId": "untouched"}},
        },
        "components": {
            "parameters": {"P": {"name": "p", "in": "query", "style": "form", "explode": false, "content": {"application/json": {"schema": {}}}}},
            "requestBodies": {"B": {"required": true, "content": {"multipart/form-data": {"schema": {"$ref": "#/components/schemas/S"}, "encoding": {"f": {"contentType": "a/b"}}}}}},
            "schemas": {"S": {"type": "object", "required": ["f"], "nullable": false, "properties": {"f": {"type": "string", "format": "binary"}, "s": {"$ref": "#/components/schemas/S"},
                "o": {"oneOf": [{"$ref": "#/components/schemas/S"}], "discriminator": {"propertyName": "k", "mapping": {"x": "#/components/schemas/S"}}}}}},
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "k"}},
        },
    })
}

fn pointers(value: &Value, at: String, found: &mut Vec<String>) {
    found.push(at.clone());
    let token = |key: &str| key.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(object) => {
            object.iter().for_each(|(key, value)| pointers(value, format!("{at}/{}", token(key)), found));
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, value)| pointers(value, format!("{at}/{index}"), found));
        }
        _ => {}
    }
}

fn junk() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z#/{}$.~]{0,12}".prop_map(Value::from),
        Just(json!("#/components/schemas/S")),
        Just(json!({"$ref": "#/components/schemas/S"})),
        Just(json!({"$ref": 7})),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z$]{1,8}", inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_broken_the_rest_loads(places in prop::collection::vec((any::<prop::sample::Index>(), junk()), 1..4)) {
        let mut document = whole();
        let mut all = Vec::new();
        pointers(&document, String::new(), &mut all);
        // What all operations need stays.
        all.retain(|at| !matches!(at.as_str(), "" | "/openapi" | "/paths") && !at.starts_with("/paths/~1untouched"));
        for (index, value) in places {
            if let Some(place) = document.pointer_mut(index.get::<String>(&all)) {
                *place = value;
            }
        }
        let api = try_read(&document.to_string()).unwrap();
        prop_assert!(api.endpoints.iter().any(|endpoint| endpoint.spec.name == "untouched"));
        for endpoint in &api.endpoints {
            prop_assert!(endpoint.check().is_ok());
            prop_assert!(backstop_core::schema::CompiledSchema::compile(&endpoint.spec.input_schema).is_ok());
        }
    }
}
