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

/// Text that RFC 8259 leaves to the reader: what is wrong, and the next step.
const TWO_WAYS: &[(&str, &str, &str)] = &[
    (
        r#"{"pattern":"a","pattern":"b"}"#,
        "can be read in two ways: \"pattern\" is given twice at column 24",
        "Send all arguments again as one JSON object, each of them once.",
    ),
    // Also with the same value, and in an object inside.
    (
        r#"{"pattern":"a","root":{"x":1,"y":[{"x":1,"x":1}]}}"#,
        "can be read in two ways: \"x\" is given twice at column 44",
        "Send all arguments again as one JSON object, each of them once.",
    ),
    // The same name written in two ways.
    (
        "{\"pattern\":\"a\",\n\"p\\u0061ttern\":\"b\"}",
        "can be read in two ways: \"pattern\" is given twice at line 2 column 14",
        "Send all arguments again as one JSON object, each of them once.",
    ),
    (
        r#"{"pattern":"9,18446744073709551617","root":[-1.5, 18446744073709551617]}"#,
        "can't be taken without loss: a number has more digits than can be kept at column 51",
        "Send all arguments again as one JSON object, with this number in quotes or with fewer digits.",
    ),
    (
        "{\"pattern\":\n -9223372036854775809}",
        "can't be taken without loss: a number has more digits than can be kept at line 2 column 2",
        "Send all arguments again as one JSON object, with this number in quotes or with fewer digits.",
    ),
    (
        r#"{"pattern":1e400}"#,
        "are not valid JSON: number out of range at column 16",
        "Send all arguments again as one JSON object.",
    ),
    (
        r#"{"pattern":"half \ud83d"}"#,
        "are not valid JSON: unexpected end of hex escape at column 24",
        "Send all arguments again as one JSON object.",
    ),
    (
        r#"{"pattern":"half \ud83d here"}"#,
        "are not valid JSON: unexpected end of hex escape at column 24",
        "Send all arguments again as one JSON object.",
    ),
    (
        r#"{"pattern":"\ude00"}"#,
        "are not valid JSON: lone leading surrogate in hex escape at column 18",
        "Send all arguments again as one JSON object.",
    ),
];

#[test]
fn what_two_readers_take_differently_is_refused() {
    let mut wrong = Vec::new();
    for (raw, what, step) in TWO_WAYS {
        assert_eq!(refusal(grep(), raw).kind(), ToolErrorKind::MalformedArguments, "{raw}");
        let echo = raw.replace('\\', "\\\\").replace('\n', "\\n");
        let expected = format!("The arguments of tool \"grep\" {what}; got {echo}\n{step}");
        let view = told(grep(), raw);
        if view != expected {
            wrong.push(format!("{expected}\n-- got --\n{view}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn whole_surrogate_pairs_and_numbers_that_keep_their_value_are_taken() {
    let spec = || reading("take", json!({"type": "object"}));
    let arguments = r#"{"a":"\ud83d\ude00","b":9007199254740993,"c":18446744073709551615,"d":100000000000000000000,"e":-9223372036854775808,"f":1.25e3}"#;
    assert_eq!(
        Value::from(received(spec(), arguments)).to_string(),
        r#"{"a":"😀","b":9007199254740993,"c":18446744073709551615,"d":1e+20,"e":-9223372036854775808,"f":1250.0}"#
    );
}

#[test]
fn a_mend_is_never_read_where_a_name_stands_twice() {
    let twice = "Send all arguments again as one JSON object, each of them once.";
    let not_one = "Send all arguments again as one JSON object.";
    for (raw, step) in [
        (r#"{"pattern":"a","pattern":"b",}"#, twice),
        (r#"{"pattern":"a",,"pattern":"b"}"#, not_one),
        ("```json\n{\"pattern\":\"a\",\"pattern\":\"b\"}\n```", not_one),
        (r#""{\"pattern\":\"a\",\"pattern\":\"b\"}""#, not_one),
    ] {
        assert_eq!(told(grep(), raw).lines().last(), Some(step), "{raw}");
    }
}
