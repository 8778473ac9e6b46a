//! Declared repair and coercion: what is changed, what never is, and what the model is told (C04, C06).

use backstop_core::{
    Catalog, ToolCall, ToolErrorKind, ToolPolicy, ToolSpec, catalog::CatalogSource, schema::ArgumentRules,
};
use serde_json::{Value, json};

fn catalog(rules: ArgumentRules) -> Catalog {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": "integer"},
            "on": {"type": "boolean"},
            "id": {"type": "string"},
            "note": {"type": ["string", "array"]},
            "tasks": {"type": "array", "items": {"type": "object", "properties": {"rank": {"type": "integer"}}}},
        },
    });
    let mut policy = ToolPolicy::default();
    policy.arguments = rules;
    let (catalog, problems) =
        Catalog::build(vec![CatalogSource::new("t", vec![(ToolSpec::new("t", schema), policy)])]);
    assert!(problems.is_empty(), "{problems:?}");
    catalog
}

/// The arguments that reach the tool, or the kind of the error.
fn read(rules: ArgumentRules, raw: &str) -> Result<Value, ToolErrorKind> {
    let call = catalog(rules).validate(&ToolCall::new("c1", "t", raw));
    call.map(|call| Value::Object(call.arguments().clone())).map_err(|error| error.kind())
}

#[test]
fn nothing_is_changed_unless_it_is_declared() {
    for (raw, kind) in [
        (r#"{"a":"3"}"#, ToolErrorKind::InvalidArguments),
        (r#"{"on":"true"}"#, ToolErrorKind::InvalidArguments),
        (r#"{"tasks":"[]"}"#, ToolErrorKind::InvalidArguments),
        (r#"{"a":3,}"#, ToolErrorKind::MalformedArguments),
        ("```json\n{\"a\":3}\n```", ToolErrorKind::MalformedArguments),
    ] {
        assert_eq!(read(ArgumentRules::default(), raw), Err(kind), "{raw}");
    }
}

#[test]
fn safe_coercion_takes_what_a_text_stands_for_and_never_touches_a_string() {
    let rules = ArgumentRules::default().coerce();
    for (raw, arguments) in [
        (
            r#"{"a":"3","b":"1","id":"12345678901234567890"}"#,
            json!({"a": 3, "b": 1, "id": "12345678901234567890"}),
        ),
        (r#"{"a":1.0}"#, json!({"a": 1})),
        (r#"{"on":"true"}"#, json!({"on": true})),
        (r#"{"tasks":"[{\"rank\":3.0}]","note":"[1,2]"}"#, json!({"tasks": [{"rank": 3}], "note": "[1,2]"})),
    ] {
        assert_eq!(read(rules, raw), Ok(arguments), "{raw}");
    }
    for raw in [
        r#"{"a":"3.0"}"#,
        r#"{"a":"0x3"}"#,
        r#"{"a":"three"}"#,
        r#"{"id":5}"#,
        r#"{"tasks":"[1"}"#,
        r#"{"on":"yes"}"#,
    ] {
        assert_eq!(read(rules, raw), Err(ToolErrorKind::InvalidArguments), "{raw}");
    }
    for raw in [r#"{"a":1e400}"#, r#"{"a":3,}"#] {
        assert_eq!(read(rules, raw), Err(ToolErrorKind::MalformedArguments), "{raw}");
    }
}

#[test]
fn syntax_is_repaired_only_where_it_has_one_reading() {
    let rules = ArgumentRules::default().repair();
    for raw in [r#"{"a":3,}"#, "```json\n{\"a\":3}\n```", "{'a':3}", r#""{\"a\":3}""#] {
        assert_eq!(read(rules, raw), Ok(json!({"a": 3})), "{raw}");
    }
    for raw in [
        r#"{"a":3"#,
        r#"{"a":"#,
        r#"{"a":3} {"a":4}"#,
        "{a:3}",
        "[3]",
        r#"{"id":"C:\proj"}"#,
        r#"{'id':'it's'}"#,
    ] {
        assert_eq!(read(rules, raw), Err(ToolErrorKind::MalformedArguments), "{raw}");
    }
    // What was repaired is checked like anything else.
    assert_eq!(read(rules, r#"{"a":"3",}"#), Err(ToolErrorKind::InvalidArguments));
    assert_eq!(read(rules.coerce(), r#"{"a":"3",}"#), Ok(json!({"a": 3})));
}

#[test]
fn the_model_is_told_what_was_changed() {
    let told = |raw: &str| {
        let rules = ArgumentRules::default().coerce().repair();
        catalog(rules).validate(&ToolCall::new("c1", "t", raw)).unwrap().mended().map(str::to_owned)
    };
    assert_eq!(
        told(r#"{"a":"3","on":"true",}"#).as_deref(),
        Some(r#"The call was made as: t {"a":3,"on":true} (changed: syntax, a, on)"#)
    );
    assert_eq!(told(r#"{"a":3}"#), None);
}
