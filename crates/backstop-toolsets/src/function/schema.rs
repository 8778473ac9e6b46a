//! From the type of the arguments to the schema that the model gets.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The schema of `A`, and how its values are written.
pub(super) struct ArgumentSchema {
    pub(super) schema: Value,
    /// `A` is `()` or a unit struct: it is written as null, but a model always sends an object.
    pub(super) unit: bool,
    /// Why `A` can't be the arguments of a tool.
    pub(super) problem: Option<&'static str>,
}

pub(super) fn schema_of<A: JsonSchema>() -> ArgumentSchema {
    // Inlined: small models and strict provider modes follow a `$ref` badly. Recursive types keep theirs.
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>().to_value();
    let Some(object) = schema.as_object_mut() else {
        // `true`: a type that takes anything, such as `serde_json::Value`.
        return ArgumentSchema { schema: no_parameters(), unit: false, problem: None };
    };
    object.shift_remove("title");
    if object.get("type").is_some_and(|kind| kind == "null") {
        return ArgumentSchema { schema: no_parameters(), unit: true, problem: None };
    }
    let problem = match object.get("type") {
        Some(kind) if kind == "object" => None,
        // A union of objects, or a `$ref` to one: providers want the type said all the same.
        None => {
            put_type_first(object);
            None
        }
        Some(_) => Some("its arguments are not an object"),
    };
    if problem.is_none() && !["oneOf", "anyOf", "allOf", "$ref"].iter().any(|key| object.contains_key(*key)) {
        object.entry("properties").or_insert_with(|| json!({}));
    }
    ArgumentSchema { schema, unit: false, problem }
}

fn no_parameters() -> Value {
    json!({"type": "object", "properties": {}})
}

fn put_type_first(object: &mut Map<String, Value>) {
    let rest = std::mem::take(object);
    object.insert("type".into(), "object".into());
    object.extend(rest);
}

/// Whether the schema says of the value at this place that it is a secret, which is never echoed.
pub(super) fn is_secret(schema: &Value, pointer: &str) -> bool {
    let step = |schema: &Value, token: &str| {
        let properties = schema.get("properties").and_then(|properties| properties.get(token));
        properties.or_else(|| schema.get("items")).cloned()
    };
    let tokens = pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~"));
    let mut place = schema.clone();
    for token in tokens {
        match step(&place, &token) {
            Some(next) => place = next,
            None => return false,
        }
    }
    place.get("format").is_some_and(|format| format == "password")
        || place.get("writeOnly").is_some_and(|flag| flag == true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema)]
    struct NoArgs {}

    #[derive(JsonSchema)]
    struct Unit;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Nested {
        inner: Inner,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Inner {
        #[schemars(extend("writeOnly" = true))]
        pin: String,
        name: String,
    }

    #[test]
    fn types_without_parameters_give_the_empty_object_schema() {
        let empty = json!({"type": "object", "properties": {}});
        assert_eq!(schema_of::<NoArgs>().schema, empty);
        assert_eq!(schema_of::<Unit>().schema, empty);
        assert_eq!(schema_of::<()>().schema, empty);
        assert_eq!(schema_of::<Value>().schema, empty);
    }

    #[test]
    fn arguments_that_are_not_an_object_are_a_problem() {
        assert!(schema_of::<i32>().problem.is_some());
        assert!(schema_of::<Vec<i32>>().problem.is_some());
    }

    #[test]
    fn nested_types_are_inlined_and_their_secrets_are_found() {
        let schema = schema_of::<Nested>().schema;
        assert!(schema.get("$defs").is_none() && schema.get("title").is_none(), "{schema}");
        assert!(is_secret(&schema, "/inner/pin"));
        assert!(!is_secret(&schema, "/inner/name"));
        assert!(!is_secret(&schema, "/nowhere"));
    }
}
