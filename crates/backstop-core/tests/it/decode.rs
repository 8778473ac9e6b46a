//! Arguments that are not one JSON object, and those that stand for none.

use backstop_core::{Effect, ToolErrorKind};
use serde_json::{Value, json};

use crate::kit::{mutating, object, reading, received, refusal, told};

fn grep() -> backstop_core::ToolSpec {
    reading("grep", object(json!({"pattern": {"type": "string"}, "root": {"type": "string"}}), &["pattern"]))
}

#[test]
fn bad_escapes_are_malformed_and_the_echo_shows_them() {
    // As the model wrote it: a Windows path and a regular expression without escapes.
    let raw = r#"{"pattern":"\d+\.rs","root":"C:\proj"}"#;
    assert_eq!(refusal(grep(), raw).kind(), ToolErrorKind::MalformedArguments);
    assert_eq!(
        told(grep(), raw),
        "The arguments of tool \"grep\" are not valid JSON: invalid escape at column 14; \
         got {\"pattern\":\"\\\\d+\\\\.rs\",\"root\":\"C:\\\\proj\"}\n\
         Send all arguments again as one JSON object."
    );
}

#[test]
fn an_escaped_line_break_outside_of_strings_looks_different_from_a_real_one() {
    let schema = || object(json!({"path": {"type": "string"}, "range": {"type": "array"}}), &["path"]);
    let literal = told(reading("read", schema()), "{\"path\": \"/w/q.py\", \"range\": \\n[10, 20]\\n}");
    assert_eq!(
        literal,
        "The arguments of tool \"read\" are not valid JSON: expected value at column 30; \
         got {\"path\": \"/w/q.py\", \"range\": \\\\n[10, 20]\\\\n}\n\
         Send all arguments again as one JSON object."
    );
    let real = told(reading("read", schema()), "{\"path\":\n\"/w/q.py\",\n\"range\": [10,\n}");
    assert_eq!(
        real,
        "The arguments of tool \"read\" are not valid JSON: expected value at line 4 column 1; \
         got {\"path\":\\n\"/w/q.py\",\\n\"range\": [10,\\n}\n\
         Send all arguments again as one JSON object."
    );
}

#[test]
fn a_cut_object_never_becomes_an_empty_one_even_where_all_is_optional() {
    let spec =
        || reading("weather", object(json!({"lat": {"type": "number"}, "lon": {"type": "number"}}), &[]));
    assert_eq!(refusal(spec(), "{lat: 48.2, lon:").kind(), ToolErrorKind::MalformedArguments);
    assert_eq!(
        told(spec(), "{lat: 48.2, lon:"),
        "The arguments of tool \"weather\" are not valid JSON: key must be a string at column 2; \
         got {lat: 48.2, lon:\n\
         Send all arguments again as one JSON object."
    );
}

#[test]
fn legal_escapes_reach_the_tool_as_they_are() {
    let spec = reading("write", object(json!({"path": {"type": "string"}}), &["path"]));
    let arguments = received(spec, r#"{"path":"C:\new\report.txt"}"#);
    assert_eq!(arguments["path"], "C:\new\report.txt");
}

#[test]
fn nothing_in_four_shapes_is_the_empty_object() {
    let list = || reading("list_windows", json!({"type": "object"}));
    for raw in ["", " \n\t", "null", " null ", "{}"] {
        assert_eq!(Value::from(received(list(), raw)), json!({}), "{raw:?}");
    }
}

#[test]
fn nothing_in_four_shapes_misses_a_required_argument_and_is_not_malformed() {
    let open = || reading("open", object(json!({"path": {"type": "string"}}), &["path"]));
    for raw in ["", " \n\t", "null", "{}"] {
        let error = refusal(open(), raw);
        assert_eq!(error.kind(), ToolErrorKind::InvalidArguments, "{raw:?}");
        assert_eq!(error.pointer(), Some("/path"));
        assert_eq!(
            told(open(), raw),
            "Parameter \"path\" is mandatory for tool \"open\".\nCall open again with \"path\" added."
        );
    }
    assert_eq!(received(open(), r#"{"path":"a"}"#)["path"], "a");
}

#[test]
fn json_that_is_not_an_object_is_malformed_not_invalid() {
    for (raw, got) in [
        ("[]", "[] (an array)"),
        ("7", "7 (an integer)"),
        ("1.5", "1.5 (a number)"),
        ("true", "true (true or false)"),
        (r#""a""#, "\"a\" (a string)"),
    ] {
        assert_eq!(
            told(grep(), raw),
            format!(
                "The arguments of tool \"grep\" are not a JSON object: got {got}\n\
                 Send all arguments again as one JSON object."
            )
        );
    }
}

#[test]
fn numbers_that_are_none_and_too_deep_nesting_are_malformed() {
    for raw in [r#"{"pattern":1e400}"#.to_owned(), format!("{}{}", "{\"a\":".repeat(300), "}".repeat(300))] {
        assert_eq!(refusal(grep(), &raw).kind(), ToolErrorKind::MalformedArguments, "{raw}");
    }
}

#[test]
fn an_object_in_a_string_is_mended_by_the_call_spelled_out() {
    let raw = Value::from(r#"{"pattern":"x"}"#).to_string();
    assert_eq!(
        told(grep(), &raw),
        "The arguments of tool \"grep\" are not a JSON object: got \"{\\\"pattern\\\":\\\"x\\\"}\" (a string)\n\
         Send all arguments again as one JSON object. Call it again with: grep {\"pattern\":\"x\"}"
    );
}

/// Text that is almost JSON, and the one object it stands for, if there is one.
const READINGS: &[(&str, Option<&str>)] = &[
    (r#"{"pattern":"x",}"#, Some(r#"{"pattern":"x"}"#)),
    ("```json\n{\"pattern\":\"x\"}\n```", Some(r#"{"pattern":"x"}"#)),
    ("```\n{\"pattern\":\"x\",\n}\n```", Some(r#"{"pattern":"x"}"#)),
    ("{'pattern':'x','root':'/'}", Some(r#"{"pattern":"x","root":"/"}"#)),
    // A comma inside a string is text.
    (r#"{"pattern":",}",}"#, Some(r#"{"pattern":",}"}"#)),
    (r#"{"pattern":"\",}",}"#, Some(r#"{"pattern":"\",}"}"#)),
    // More than one reading, or none.
    ("{'pattern':'it's'}", None),
    (r#"{'pattern':"x"}"#, None),
    ("{pattern:x}", None),
    (r#"{"pattern":"x""#, None),
    (r#"{"pattern":"x"} {"pattern":"y"}"#, None),
    (r#"{"pattern" "x"}"#, None),
    // One reading, but it does not fit the schema.
    (r#"{"root":"x",}"#, None),
    (r#"{"pattern":1,}"#, None),
];

#[test]
fn only_syntax_with_one_reading_is_mended() {
    for (raw, mended) in READINGS {
        let view = told(grep(), raw);
        let step = view.lines().last().unwrap();
        let expected = match mended {
            Some(mended) => {
                format!("Send all arguments again as one JSON object. Call it again with: grep {mended}")
            }
            None => "Send all arguments again as one JSON object.".to_owned(),
        };
        assert_eq!(step, expected, "{raw}");
    }
}

#[test]
fn syntax_is_mended_for_mutating_tools_too_since_no_value_is_guessed() {
    let spec = mutating("pay", object(json!({"amount": {"type": "integer"}}), &["amount"]));
    assert_eq!(spec.effect, Effect::Mutating);
    let view = told(spec, r#"{"amount":3,}"#);
    assert!(
        view.ends_with(
            "\nSend all arguments again as one JSON object. Call it again with: pay {\"amount\":3}"
        )
    );
}

#[test]
fn a_huge_text_is_echoed_in_part() {
    let view = told(grep(), &format!("{{\"pattern\":{}", "x".repeat(100_000)));
    assert_eq!(
        view,
        format!(
            "The arguments of tool \"grep\" are not valid JSON: expected value at column 12; got {{\"pattern\":{}…\n\
             Send all arguments again as one JSON object.",
            "x".repeat(189)
        )
    );
}
