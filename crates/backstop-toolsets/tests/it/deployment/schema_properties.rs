//! Whatever is declared, what is sent is a schema that its server takes, and allows every call that is right.

use backstop_core::{
    Catalog, ToolCall, ToolPolicy, ToolSpec, catalog::CatalogSource, schema::CompiledSchema,
};
use backstop_toolsets::deployment::SchemaProfile;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{schemas::PROFILES, strict::accepted};

const NAMES: [&str; 4] = ["a", "b", "c/d", "e~f"];

fn any_name() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(&NAMES[..])
}

fn any_scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..4_i32).prop_map(Value::from),
        Just(json!(0.5)),
        proptest::sample::select(&["", "x", "xyz", "2020-01-01"][..]).prop_map(Value::from),
    ]
}

/// Values without lists in lists, for which "any value" has no word in some servers.
fn any_value() -> impl Strategy<Value = Value> {
    any_scalar().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(any_scalar(), 0..3).prop_map(Value::from),
            named(inner).prop_map(Value::from),
        ]
    })
}

fn named(each: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    proptest::collection::btree_map(any_name(), each, 0..4)
        .prop_map(|map| map.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn any_reference() -> impl Strategy<Value = Value> {
    let to = [
        "#",
        "#/$defs/a",
        "#/$defs/b",
        "#/$defs/c~1d",
        "#/properties/a",
        "#/properties/b",
        "#/$defs/a/properties/b",
    ];
    proptest::sample::select(to.to_vec()).prop_map(|to| json!({ "$ref": to }))
}

fn any_leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => any_reference(),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(json!({})),
        2 => (0..9_u32).prop_map(|bound| json!({"type": "string", "minLength": bound % 3, "maxLength": bound * 1000})),
        1 => proptest::sample::select(&["^[a-z]*$", "x", "^\\d+$", "^(?!x)"][..])
            .prop_map(|pattern| json!({"type": ["string", "null"], "pattern": pattern, "default": null})),
        2 => (-2..3_i32).prop_map(|bound| json!({"type": "integer", "minimum": bound, "description": "A number."})),
        1 => proptest::collection::vec(any_scalar(), 1..4).prop_map(|values| json!({ "enum": values })),
        1 => any_scalar().prop_map(|value| json!({ "const": value })),
        1 => Just(json!({"type": "array"})),
        1 => Just(json!({"type": ["string", "integer", "array", "object", "null"], "minItems": 1, "maximum": 2})),
        1 => Just(json!({"not": {"type": "null"}})),
    ]
}

fn any_object(inner: impl Strategy<Value = Value> + Clone) -> impl Strategy<Value = Value> {
    let required = proptest::sample::subsequence(NAMES.to_vec(), 0..3);
    (named(inner.clone()), required, proptest::option::of(inner)).prop_map(|(properties, required, more)| {
        let mut object = json!({"type": "object", "properties": properties, "required": required});
        if let Some(more) = more {
            object["additionalProperties"] = more;
        }
        object
    })
}

fn any_schema() -> impl Strategy<Value = Value> + Clone {
    any_leaf().prop_recursive(4, 32, 4, |inner| {
        let some = proptest::collection::vec(inner.clone(), 1..4);
        let choice = proptest::sample::select(&["anyOf", "oneOf", "allOf"][..]);
        prop_oneof![
            3 => any_object(inner.clone()),
            1 => inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            1 => some.clone().prop_map(|items| json!({"type": "array", "prefixItems": items})),
            2 => (choice.clone(), some.clone()).prop_map(|(choice, some)| json!({ choice: some })),
            2 => (any_object(inner.clone()), choice, some).prop_map(|(mut object, choice, some)| {
                object[choice] = some.into();
                object
            }),
            1 => (any_reference(), inner).prop_map(|(mut reference, beside)| {
                if let Some(beside) = beside.as_object() {
                    reference.as_object_mut().unwrap().extend(beside.clone());
                }
                reference
            }),
        ]
    })
}

fn any_root() -> impl Strategy<Value = Value> {
    (any_object(any_schema()), named(any_schema()), proptest::option::of(any_schema())).prop_map(
        |(mut root, definitions, more)| {
            if let Some(Value::Object(more)) = more {
                root.as_object_mut().unwrap().extend(more);
            }
            root["$defs"] = definitions.into();
            root
        },
    )
}

fn cases(usual: u32) -> ProptestConfig {
    ProptestConfig {
        cases: usual,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    }
}

fn mentions(value: &Value, keyword: &str) -> bool {
    match value {
        Value::Object(object) => {
            object.contains_key(keyword) || object.values().any(|value| mentions(value, keyword))
        }
        Value::Array(values) => values.iter().any(|value| mentions(value, keyword)),
        _ => false,
    }
}

/// Whether there is a choice between objects: it is sent as one object, in which a property that only one alternative
/// declares is what that one says it is.
fn has_choice_of_objects(schema: &Value) -> bool {
    let parts = ["properties", "$ref", "allOf", "anyOf", "oneOf"];
    match schema {
        Value::Object(object) => object.iter().any(|(keyword, value)| {
            let is_choice = keyword == "anyOf" || keyword == "oneOf";
            is_choice && parts.iter().any(|part| mentions(value, part)) || has_choice_of_objects(value)
        }),
        Value::Array(schemas) => schemas.iter().any(has_choice_of_objects),
        _ => false,
    }
}

/// The arguments that a tool of this schema is called with, where it takes these.
fn taken(schema: &Value, arguments: &Map<String, Value>) -> Option<Map<String, Value>> {
    let tool = (ToolSpec::new("t", schema.clone()), ToolPolicy::default());
    let (tools, _) = Catalog::build(vec![CatalogSource::new("t", vec![tool])]);
    let call = ToolCall::new("c", "t", Value::from(arguments.clone()).to_string());
    Some(tools.validate(&call).ok()?.arguments().clone())
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn what_is_sent_is_a_schema_that_its_server_takes(schema in any_root()) {
        for profile in PROFILES {
            let converted = profile.convert(&schema).schema;
            prop_assert_eq!(accepted(profile, &converted), Ok(()), "{}", profile.name());
            prop_assert_eq!(CompiledSchema::compile(&converted).map(|_| ()), Ok(()), "{}", profile.name());
            prop_assert_eq!(&profile.convert(&converted).schema, &converted, "{}", profile.name());
            let cap = if profile == SchemaProfile::openai() { 1024 * 1024 } else { 64 * 1024 };
            prop_assert!(converted.to_string().len() <= cap);
            prop_assert!(profile == SchemaProfile::openai() || !mentions(&converted, "$ref"));
        }
    }

    #[test]
    fn no_call_that_is_right_is_ruled_out(schema in any_root(), arguments in named(any_value())) {
        let arguments = taken(&schema, &arguments).filter(|_| !has_choice_of_objects(&schema));
        let Some(arguments) = arguments else { return Ok(()) };
        for profile in PROFILES {
            let converted = profile.convert(&schema).schema;
            prop_assert!(self::taken(&converted, &arguments).is_some(), "{} {}", profile.name(), converted);
        }
    }
}
