//! Arguments against schemas: what a tool receives, and what the model reads where they do not fit.

use std::fmt::Write as _;

use backstop_core::{Effect, ToolErrorKind, ToolSpec};
use serde_json::{Value, json};

use crate::kit::{call, catalog, mutating, object, reading, received, refusal, told};

#[test]
fn numbers_as_strings_are_told_apart_from_strings_that_look_like_numbers() {
    let schema = || {
        object(
            json!({"a": {"type": "integer"}, "b": {"type": "integer"}, "id": {"type": "string"}}),
            &["a", "b"],
        )
    };
    let raw = r#"{"a":"3","b":"1","id":"12345678901234567890"}"#;
    let expected = "Invalid value for parameter \"a\" of tool \"add\": must be an integer; got \"3\" (a string)\n\
                    Invalid value for parameter \"b\" of tool \"add\": must be an integer; got \"1\" (a string)\n\
                    Call it again with: add {\"a\":3,\"b\":1,\"id\":\"12345678901234567890\"}";
    assert_eq!(told(reading("add", schema()), raw), expected);
    // A lossless type change is no guess.
    assert_eq!(told(mutating("add", schema()), raw), expected);
    let error = refusal(reading("add", schema()), raw);
    let places: Vec<_> =
        error.violations().iter().map(|v| (v.pointer.as_str(), v.keyword.as_str())).collect();
    assert_eq!(places, [("/a", "type"), ("/b", "type")]);
}

#[test]
fn strings_that_are_no_integer_get_no_mended_call() {
    for text in ["3.0", "0x3", "three", "3e2", "03", "", "true", "null"] {
        let spec = reading("add", object(json!({"a": {"type": "integer"}}), &["a"]));
        assert_eq!(
            told(spec, &json!({"a": text}).to_string()),
            format!(
                "Invalid value for parameter \"a\" of tool \"add\": must be an integer; got \"{text}\" (a string)\n\
                 Call add again with \"a\" corrected."
            )
        );
    }
}

#[test]
fn large_integers_arrive_unrounded() {
    let spec = reading("add", object(json!({"a": {"type": "integer"}}), &["a"]));
    assert_eq!(received(spec, r#"{"a":9007199254740993}"#)["a"].to_string(), "9007199254740993");
}

fn edit() -> ToolSpec {
    let schema = json!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "path": {"type": "string"},
            "old_string": {"type": "string"},
            "unit": {"enum": ["line", "char"]},
            "edits": {"type": "array", "items": {
                "type": "object", "properties": {"new_text": {"type": "string"}}, "required": ["new_text"],
            }},
        },
        "required": ["path", "old_string"],
    });
    reading("edit", schema)
}

#[test]
fn four_problems_are_told_in_one_go() {
    let raw = r#"{"path":"a.rs","old-string":"x","unit":"lines","edits":[{"newText":"y"}]}"#;
    assert_eq!(
        told(edit(), raw),
        "Parameter \"old_string\" is mandatory for tool \"edit\".\n\
         Invalid value for parameter \"unit\" of tool \"edit\": must be one of \"line\", \"char\"; got \"lines\". \
         Did you mean \"line\"?\n\
         Parameter \"edits[0].new_text\" is mandatory for tool \"edit\".\n\
         Parameter \"old-string\" does not exist for tool \"edit\", please use one of these: path, old_string, unit, \
         edits. Did you mean \"old_string\"?\n\
         Call edit again with \"old-string\" renamed to \"old_string\", \"unit\" corrected and \"edits[0].new_text\" \
         added."
    );
    let error = refusal(edit(), raw);
    assert_eq!(error.pointer(), None);
    let places: Vec<_> =
        error.violations().iter().map(|v| (v.pointer.as_str(), v.keyword.as_str())).collect();
    assert_eq!(
        places,
        [
            ("/old_string", "required"),
            ("/unit", "enum"),
            ("/edits/0/new_text", "required"),
            ("/old-string", "additionalProperties"),
        ]
    );
}

#[test]
fn a_renamed_argument_is_spelled_out_where_that_mends_the_whole() {
    let view = told(edit(), r#"{"path":"a.rs","old-string":"x"}"#);
    assert!(view.ends_with("\nCall it again with: edit {\"path\":\"a.rs\",\"old_string\":\"x\"}"), "{view}");
}

#[test]
fn a_name_that_was_given_as_well_is_not_what_another_one_meant() {
    let view = told(edit(), r#"{"path":"a.rs","old_string":"x","old-string":"y"}"#);
    assert_eq!(
        view,
        "Parameter \"old-string\" does not exist for tool \"edit\", please use one of these: path, old_string, unit, \
         edits.\n\
         Call edit again with \"old-string\" removed."
    );
}

fn plan(effect: Effect) -> ToolSpec {
    let schema = object(
        json!({"tasks": {"type": "array", "items": {"type": "object"}}, "note": {"type": "string"}}),
        &["tasks"],
    );
    reading("plan", schema).effect(effect)
}

#[test]
fn an_array_sent_as_a_string_is_mended_and_a_string_that_looks_like_one_is_left() {
    let raw = r#"{"tasks":"[{\"title\":\"A\",\"rank\":3}]","note":"[1,2]"}"#;
    let expected = "Invalid value for parameter \"tasks\" of tool \"plan\": must be an array; \
                    got \"[{\\\"title\\\":\\\"A\\\",\\\"rank\\\":3}]\" (a string)\n\
                    Call it again with: plan {\"tasks\":[{\"title\":\"A\",\"rank\":3}],\"note\":\"[1,2]\"}";
    assert_eq!(told(plan(Effect::ReadOnly), raw), expected);
    assert_eq!(told(plan(Effect::Mutating), raw), expected);
    assert!(
        told(plan(Effect::ReadOnly), r#"{"tasks":"A, B"}"#)
            .ends_with("\nCall plan again with \"tasks\" corrected.")
    );
    // It would be an array, but not one that fits.
    assert!(
        told(plan(Effect::ReadOnly), r#"{"tasks":"[1]"}"#)
            .ends_with("\nCall plan again with \"tasks\" corrected.")
    );
}

#[test]
fn a_union_with_a_string_keeps_the_string() {
    let schema = object(json!({"v": {"anyOf": [{"type": "array"}, {"type": "string"}]}}), &["v"]);
    assert_eq!(received(reading("t", schema), r#"{"v":"[1,2]"}"#)["v"], "[1,2]");
}

/// One schema of the property `v` (a whole one where it has a `type` of `object` and `properties`), and arguments.
fn cases() -> Vec<(&'static str, Value, &'static str)> {
    let v = |schema: Value| object(json!({"v": schema}), &[]);
    let address = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let recursive = json!({
        "type": "object",
        "properties": {"task": {"$ref": "#/$defs/Task"}},
        "required": ["task"],
        "$defs": {"Task": {
            "type": "object", "required": ["title"], "additionalProperties": false,
            "properties": {"title": {"type": "string"}, "sub": {"type": "array", "items": {"$ref": "#/$defs/Task"}}},
        }},
    });
    let shape = json!({"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}},
         "required": ["kind", "radius"]},
        {"type": "object", "properties": {"kind": {"const": "box"}, "width": {"type": "number"}},
         "required": ["kind", "width"]},
    ]});
    let options: Vec<String> = (0..30).map(|n| format!("option number {n}")).collect();
    vec![
        ("nested missing", v(address.clone()), r#"{"v":{}}"#),
        ("nested value", v(address), r#"{"v":{"city":7}}"#),
        ("item", v(json!({"type": "array", "items": {"type": "integer"}})), r#"{"v":[1,2,"x"]}"#),
        (
            "item of item",
            v(
                json!({"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}}),
            ),
            r#"{"v":[{"id":1},{"id":2},{"id":true}]}"#,
        ),
        ("strange names", object(json!({"a/b~c": {"type": "integer"}}), &[]), r#"{"a/b~c":"x"}"#),
        ("reference", recursive.clone(), r#"{"task":{"title":1}}"#),
        ("recursion", recursive.clone(), r#"{"task":{"title":"t","sub":[{"title":"u","sub":[{}]}]}}"#),
        ("forbidden behind a reference", recursive, r#"{"task":{"title":"t","sub":[{"titel":"u"}]}}"#),
        ("anyOf of types", v(json!({"anyOf": [{"type": "integer"}, {"type": "null"}]})), r#"{"v":"x"}"#),
        (
            "anyOf of types, mended",
            v(json!({"anyOf": [{"type": "integer"}, {"type": "null"}]})),
            r#"{"v":"5"}"#,
        ),
        ("type list", v(json!({"type": ["integer", "null"]})), r#"{"v":"5"}"#),
        ("oneOf, told apart by a constant", v(shape.clone()), r#"{"v":{"kind":"box","radius":1}}"#),
        ("oneOf, no branch meant", v(shape.clone()), r#"{"v":{"kind":"cube"}}"#),
        ("oneOf, other type", v(shape), r#"{"v":3}"#),
        ("oneOf, two fit", v(json!({"oneOf": [{"minimum": 1}, {"minimum": 2}]})), r#"{"v":3}"#),
        ("near value", v(json!({"enum": ["celsius", "fahrenheit"]})), r#"{"v":"Celsius"}"#),
        ("two near values", v(json!({"enum": ["left", "lift", "right"]})), r#"{"v":"loft"}"#),
        ("value of another type", v(json!({"enum": [5, 10]})), r#"{"v":"5"}"#),
        ("many values", v(json!({"enum": options})), r#"{"v":"none of them"}"#),
        ("constant", v(json!({"const": "v2"})), r#"{"v":"v1"}"#),
        ("minimum", v(json!({"type": "integer", "minimum": 1})), r#"{"v":0}"#),
        ("maximum", v(json!({"maximum": 1.5})), r#"{"v":2}"#),
        ("exclusive minimum", v(json!({"exclusiveMinimum": 1})), r#"{"v":1}"#),
        ("exclusive maximum", v(json!({"exclusiveMaximum": 1})), r#"{"v":1}"#),
        ("multiple", v(json!({"multipleOf": 5})), r#"{"v":7}"#),
        ("too short", v(json!({"minLength": 1})), r#"{"v":""}"#),
        ("too long", v(json!({"maxLength": 2})), r#"{"v":"abc"}"#),
        ("too few items", v(json!({"minItems": 2})), r#"{"v":[1]}"#),
        ("too many items", v(json!({"maxItems": 1})), r#"{"v":[1,2]}"#),
        ("same items", v(json!({"uniqueItems": true})), r#"{"v":[1,1]}"#),
        ("no item of the form", v(json!({"contains": {"const": 1}})), r#"{"v":[2]}"#),
        ("pattern", v(json!({"pattern": "^[A-Z]{2}\\d+$"})), r#"{"v":"ab1"}"#),
        (
            "pattern with an example",
            v(json!({"pattern": "^[A-Z]{2}\\d+$", "examples": ["AB12"]})),
            r#"{"v":"ab1"}"#,
        ),
        ("date", v(json!({"format": "date"})), r#"{"v":"31.1.2026"}"#),
        ("date-time", v(json!({"format": "date-time"})), r#"{"v":"2026-01-31 13:45"}"#),
        ("email", v(json!({"format": "email"})), r#"{"v":"name"}"#),
        ("uri", v(json!({"format": "uri"})), r#"{"v":"example"}"#),
        ("uuid", v(json!({"format": "uuid"})), r#"{"v":"17"}"#),
        ("ipv4", v(json!({"format": "ipv4"})), r#"{"v":"1.2.3"}"#),
        ("not", v(json!({"not": {"type": "string"}})), r#"{"v":"x"}"#),
        ("forbidden value", object(json!({"v": false}), &[]), r#"{"v":1}"#),
        ("names", v(json!({"propertyNames": {"pattern": "^[a-z]+$"}})), r#"{"v":{"A":1}}"#),
        ("no arguments at all", json!({"type": "object", "additionalProperties": false}), r#"{"v":1}"#),
        ("root, too few", json!({"type": "object", "minProperties": 1}), "{}"),
        (
            "no arguments at all, nested",
            v(json!({"type": "object", "additionalProperties": false})),
            r#"{"v":{"a":1,"b":2}}"#,
        ),
        (
            "root, one of two",
            json!({"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
                   "anyOf": [{"required": ["id"]}, {"required": ["name"]}]}),
            "{}",
        ),
        (
            "needed by another",
            json!({"type": "object", "properties": {"card": {}, "cvc": {}}, "dependentRequired": {"card": ["cvc"]}}),
            r#"{"card":"4111"}"#,
        ),
        ("null", v(json!({"type": "string"})), r#"{"v":null}"#),
        ("number for a string", v(json!({"type": "string"})), r#"{"v":17}"#),
        ("secret", v(json!({"type": "string", "format": "password", "minLength": 9})), r#"{"v":"hunter2"}"#),
        ("secret of another type", v(json!({"type": "string", "format": "password"})), r#"{"v":31415926}"#),
        (
            "secret beside",
            object(json!({"v": {"writeOnly": true}, "n": {"type": "integer"}}), &[]),
            r#"{"v":"hunter2","n":"3"}"#,
        ),
        (
            "draft 7",
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
            "properties": {"v": {"type": "array", "items": [{"type": "integer"}], "additionalItems": false}}}),
            r#"{"v":[1,2]}"#,
        ),
    ]
}

#[test]
fn what_the_model_reads_of_arguments_that_do_not_fit() {
    let mut out = String::new();
    for (name, schema, raw) in cases() {
        let error = refusal(reading("t", schema.clone()), raw);
        let places: Vec<_> =
            error.violations().iter().map(|v| format!("{}:{}", v.pointer, v.keyword)).collect();
        let told = told(reading("t", schema), raw).replace('\n', "\n    ");
        writeln!(out, "{name}: {raw}\n    [{}]\n    {told}\n", places.join(", ")).unwrap();
    }
    insta::assert_snapshot!(out);
}

#[test]
fn a_secret_is_echoed_nowhere() {
    let secret = |schema: Value| object(json!({"v": schema, "n": {"type": "integer"}}), &["v"]);
    let password = json!({"type": "string", "format": "password", "minLength": 9});
    let nested = json!({"type": "object", "properties": {"token": {"writeOnly": true, "type": "string"}}});
    for (schema, raw) in [
        (secret(password.clone()), r#"{"v":"hunter2"}"#),
        (secret(password.clone()), r#"{"v":"hunter2hunter2","n":"3"}"#),
        (secret(json!({"writeOnly": true, "enum": ["hunter1", "x"]})), r#"{"v":"hunter2"}"#),
        (secret(nested), r#"{"v":{"token":"hunter2"},"n":"3"}"#),
    ] {
        let view = told(reading("login", schema), raw);
        assert!(!view.contains("hunter2"), "{view}");
    }
}

#[test]
fn a_huge_value_is_echoed_in_part() {
    let spec = reading("t", object(json!({"v": {"type": "integer"}}), &[]));
    let view = told(spec, &json!({"v": "x".repeat(100_000)}).to_string());
    assert_eq!(
        view,
        format!(
            "Invalid value for parameter \"v\" of tool \"t\": must be an integer; got \"{}… (a string)\n\
             Call t again with \"v\" corrected.",
            "x".repeat(76)
        )
    );
}

#[test]
fn a_mended_call_that_is_too_long_is_not_spelled_out() {
    let spec = reading("t", object(json!({"n": {"type": "integer"}, "text": {"type": "string"}}), &[]));
    let view = told(spec, &json!({"n": "3", "text": "x".repeat(1_000)}).to_string());
    assert!(view.ends_with("\nCall t again with \"n\" corrected."), "{view}");
}

#[test]
fn a_value_of_another_type_that_is_none_of_those_allowed_is_one_problem() {
    let level = json!({"type": "integer", "enum": [1, 5, 10]});
    let spec = || reading("t", object(json!({"level": level}), &["level"]));
    let line = "Invalid value for parameter \"level\" of tool \"t\": must be one of 1, 5, 10; got";
    assert_eq!(
        told(spec(), r#"{"level":"high"}"#),
        format!("{line} \"high\"\nCall t again with \"level\" corrected.")
    );
    assert_eq!(
        told(spec(), r#"{"level":"5"}"#),
        format!("{line} \"5\"\nCall it again with: t {{\"level\":5}}")
    );
    // What only the type mends is kept as well.
    let on = json!({"enum": [true], "type": "boolean"});
    assert_eq!(
        told(reading("t", object(json!({"on": on}), &["on"])), r#"{"on":"true"}"#),
        "Invalid value for parameter \"on\" of tool \"t\": must be true; got \"true\"\n\
         Call it again with: t {\"on\":true}"
    );
}

#[test]
fn a_value_with_several_problems_is_named_once_in_the_order() {
    let code = json!({"type": "string", "minLength": 4, "pattern": "^[A-Z]+$"});
    assert_eq!(
        told(reading("t", object(json!({"code": code}), &["code"])), r#"{"code":"ab"}"#),
        "Invalid value for parameter \"code\" of tool \"t\": must have at least 4 characters; got \"ab\"\n\
         Invalid value for parameter \"code\" of tool \"t\": must match the pattern ^[A-Z]+$; got \"ab\"\n\
         Call t again with \"code\" corrected."
    );
}

#[test]
fn defaults_and_required_constants_are_put_in_where_nothing_was_said() {
    let schema = || {
        json!({
            "type": "object",
            "properties": {
                "unit": {"enum": ["c", "f"], "default": "c"},
                "version": {"const": 2},
                "optional": {"const": "x"},
                "nothing": {"type": "string", "default": null},
                "page": {"type": "object", "properties": {"size": {"type": "integer", "default": 10}}},
            },
            "required": ["unit", "version"],
        })
    };
    let of = |raw| Value::from(received(reading("t", schema()), raw));
    assert_eq!(of("{}"), json!({"unit": "c", "version": 2}));
    assert_eq!(of(r#"{"unit":"f","page":{}}"#), json!({"unit": "f", "page": {"size": 10}, "version": 2}));
    // What was said counts, also where it is wrong.
    assert!(
        told(reading("t", schema()), r#"{"unit":null}"#).contains("must be one of \"c\", \"f\"; got null")
    );
}

#[test]
fn draft_07_is_taken_by_its_schema_and_2020_12_otherwise() {
    let tuple = |schema: &str| json!({"$schema": schema, "type": "object", "properties": {"v": {"items": [{"type": "integer"}]}}});
    let draft7 = reading("t", tuple("http://json-schema.org/draft-07/schema#"));
    assert_eq!(refusal(draft7, r#"{"v":["x"]}"#).kind(), ToolErrorKind::InvalidArguments);
    let prefix = object(json!({"v": {"prefixItems": [{"type": "integer"}]}}), &[]);
    assert_eq!(refusal(reading("t", prefix), r#"{"v":["x"]}"#).kind(), ToolErrorKind::InvalidArguments);
}

#[test]
fn a_bare_true_accepts_anything() {
    let schema = object(json!({"data": true, "on": {"type": ["null", "boolean"]}}), &[]);
    let catalog = catalog(vec![reading("t", schema)]);
    for raw in [r#"{"data":[1],"on":null}"#, r#"{"data":"x","on":true}"#] {
        assert!(call(&catalog, "t", raw).is_ok(), "{raw}");
    }
}
