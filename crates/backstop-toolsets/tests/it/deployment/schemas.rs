//! C34, C35: what becomes of a schema for servers that each refuse something else.

use std::{
    fmt::Write,
    time::{Duration, Instant},
};

use backstop_toolsets::deployment::SchemaProfile;
use serde_json::{Value, json};

pub(super) const PROFILES: [SchemaProfile; 4] =
    [SchemaProfile::openai(), SchemaProfile::gemini(), SchemaProfile::llama_cpp(), SchemaProfile::portable()];

/// The six tools of C34.
pub(super) fn six() -> Vec<(&'static str, Value)> {
    vec![
        (
            "formats",
            json!({"type": "object", "properties": {"formats": {"type": "array", "default": ["md"]}}}),
        ),
        (
            "mail",
            json!({"type": "object", "properties": {"to": {"type": "string", "pattern": "^(?!\\.)(?=.{3,}@)[^@]+@x$"}}}),
        ),
        ("bare", json!({"type": "object"})),
        ("none", Value::Null),
        ("plain", json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]})),
        (
            "loose",
            json!({"type": "object", "properties": {"data": true, "on": {"type": ["null", "boolean"]}}}),
        ),
    ]
}

/// The schema of C35.
pub(super) fn recursive() -> Value {
    json!({
        "type": "object",
        "properties": {
            "task": {"$ref": "#/$defs/Task"},
            "also": {"$ref": "#/properties/task"},
            "gone": {"$ref": "#/$defs/Missing"},
        },
        "required": ["task"],
        "$defs": {"Task": {
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "a~b/c": {"type": "integer"},
                "sub": {"type": "array", "items": {"$ref": "#/$defs/Task"}},
            },
            "required": ["title"],
        }},
    })
}

/// Each schema through every profile, with what is lost.
fn converted(schemas: &[(&str, Value)]) -> String {
    let mut shown = String::new();
    for (name, schema) in schemas {
        writeln!(shown, "{name}: {schema}").unwrap();
        for profile in PROFILES {
            let converted = profile.convert(schema);
            writeln!(shown, "  {}: {}", profile.name(), converted.schema).unwrap();
            for note in converted.notes {
                writeln!(shown, "    - {note}").unwrap();
            }
        }
    }
    shown
}

#[test]
fn the_six_tools_through_every_profile() {
    insta::assert_snapshot!(converted(&six()));
}

#[test]
fn references_through_every_profile() {
    let mutual = json!({
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A", "description": "Where to begin."}},
        "$defs": {
            "A": {"type": "object", "description": "An A.", "properties": {"b": {"$ref": "#/$defs/B"}}},
            "B": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}, "n": {"type": "integer"}}},
        },
    });
    let parent = json!({
        "type": "object",
        "properties": {"node": {"$ref": "#/$defs/Node"}},
        "$defs": {"Node": {
            "allOf": [{"$ref": "#/$defs/Node"}, {"type": "object", "properties": {"id": {"type": "string"}}}],
        }},
    });
    let root = json!({
        "$ref": "#/$defs/Order",
        "$defs": {"Order": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
    });
    let escapes = json!({
        "type": "object",
        "properties": {
            "slash": {"$ref": "#/$defs/a~1b"},
            "tilde": {"$ref": "#/$defs/c~0d"},
            "space": {"$ref": "#/$defs/e%20f"},
            "inside": {"$ref": "#/$defs/a~1b/properties/deep"},
        },
        "$defs": {
            "a/b": {"type": "object", "properties": {"deep": {"type": "string", "description": "Deep."}}},
            "c~d": {"type": "integer"},
            "e f": {"enum": ["x", "y"]},
        },
    });
    let nowhere = json!({
        "type": "object",
        "properties": {
            "remote": {"$ref": "https://example.test/schema.json", "description": "Elsewhere."},
            "circle": {"$ref": "#/$defs/One"},
            "itself": {"$ref": "#/properties/itself"},
            "anchor": {"$ref": "#name"},
            "whole": {"$ref": "#"},
        },
        "$defs": {"One": {"$ref": "#/$defs/Two"}, "Two": {"$ref": "#/$defs/One"}},
    });
    insta::assert_snapshot!(converted(&[
        ("C35", recursive()),
        ("mutual", mutual),
        ("own parent", parent),
        ("root", root),
        ("escapes", escapes),
        ("nowhere", nowhere),
    ]));
}

#[test]
fn keywords_through_every_profile() {
    let cases = [
        ("not a schema", json!("text")),
        ("anything", json!(true)),
        ("no type", json!({"properties": {"a": {"type": "string"}}})),
        (
            "choice at the top",
            json!({
                "oneOf": [
                    {"properties": {"kind": {"const": "cat"}, "age": {"type": "integer"}}, "required": ["kind", "age"]},
                    {"properties": {"kind": {"const": "dog"}, "age": {"type": "string"}}, "required": ["kind"]},
                ],
            }),
        ),
        (
            "choice of what is required",
            json!({
                "type": "object",
                "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
                "anyOf": [{"required": ["id"]}, {"required": ["name"]}],
            }),
        ),
        (
            "parts",
            json!({"type": "object", "properties": {"x": {
                "description": "An x.",
                "allOf": [
                    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                    {"properties": {"a": {"minLength": 1}, "b": {"type": "number"}}, "required": ["b"]},
                ],
            }}}),
        ),
        (
            "choices",
            json!({"type": "object", "properties": {
                "when": {"type": "string", "description": "When.", "anyOf": [{"format": "date-time"}, {"format": "date"}]},
                "maybe": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}], "default": null},
                "mixed": {"type": ["string", "integer", "null"], "minLength": 2, "maximum": 9, "description": "Mixed."},
                "pet": {"type": "object", "properties": {"name": {"type": "string"}}, "oneOf": [
                    {"properties": {"paws": {"type": "integer"}}},
                    {"properties": {"wings": {"type": "integer"}}},
                ]},
            }}),
        ),
        (
            "values",
            json!({"type": "object", "properties": {
                "level": {"enum": ["low", "high"]},
                "rpe": {"type": "number", "enum": [6, 7.5]},
                "flag": {"const": true},
                "or_null": {"type": ["string", "null"], "enum": ["a", null]},
                "none": {"type": "string", "enum": []},
            }}),
        ),
        (
            "patterns",
            json!({"type": "object", "properties": {
                "plain": {"type": "string", "pattern": "^[a-z]{1,8}$"},
                "digits": {"type": "string", "pattern": "^\\d+$"},
                "somewhere": {"type": "string", "pattern": "x"},
                "ahead": {"type": "string", "pattern": "^(?=x)"},
                "by_name": {"type": "object", "patternProperties": {"^(?!x)": {"type": "string"}, "^y$": {"type": "string"}}},
            }}),
        ),
        (
            "older drafts",
            json!({"type": "object", "properties": {
                "nullable": {"type": "string", "nullable": true, "enum": ["a"]},
                "not_nullable": {"type": "string", "nullable": false},
                "exclusive": {"type": "number", "minimum": 1, "exclusiveMinimum": true, "maximum": 5, "exclusiveMaximum": false},
                "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
                "required": {"type": "string", "required": true},
            }}),
        ),
        (
            "words and bounds",
            json!({"type": "object", "title": "T", "description": "Words.", "properties": {
            "text": {"type": "string", "description": "Long.", "maxLength": 5000, "minLength": 1, "format": "uri"},
            "when": {"type": "string", "format": "date-time", "default": null},
            "map": {"type": "object", "additionalProperties": {"type": ["string", "null"]}, "minProperties": 1},
            "never": false,
            "description": {"type": "string", "description": "A property of that name."},
            "rows": {"type": "array", "description": "Rows.", "items": {"type": "array"}},
            "open": {"description": "Anything."},
            "logic": {"if": {"type": "string"}, "then": {"minLength": 1}, "not": {"type": "null"}},
        }, "required": ["text", "never", "unknown"], "additionalProperties": false}),
        ),
    ];
    insta::assert_snapshot!(converted(&cases));
}

/// A definition that leads to the next one, `links` times.
fn chain(links: usize, link: impl Fn(Value) -> Value) -> Value {
    let mut definitions = serde_json::Map::new();
    for index in 0..links {
        definitions.insert(format!("D{index}"), link(json!({"$ref": format!("#/$defs/D{}", index + 1)})));
    }
    definitions
        .insert(format!("D{links}"), json!({"type": "object", "properties": {"end": {"type": "string"}}}));
    json!({"type": "object", "properties": {"start": {"$ref": "#/$defs/D0"}}, "$defs": definitions})
}

#[test]
fn two_hundred_references_in_a_row_lead_to_their_end() {
    for profile in PROFILES {
        let converted = profile.convert(&chain(200, |next| next));
        assert_eq!(converted.notes, []);
        if profile != SchemaProfile::openai() {
            assert_eq!(
                converted.schema["properties"]["start"],
                json!({"type": "object", "properties": {"end": {"type": "string"}}})
            );
        }
    }
}

#[test]
fn what_would_grow_without_end_is_cut() {
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"type": "object", "properties": {"in": deep}});
    }
    let mut lists = json!({"type": "string", "minLength": 1});
    for _ in 0..50 {
        lists = json!({"type": ["object", "null"], "properties": {"in": lists}});
    }
    let mut wide = serde_json::Map::new();
    for index in 0..20_000 {
        wide.insert(format!("property_{index}"), json!({"type": "string"}));
    }
    let hostile = [
        ("nested chain", chain(200, |next| json!({"type": "object", "properties": {"next": next}}))),
        ("fan-out", chain(20, |next| json!({"type": "object", "properties": {"a": next, "b": next}}))),
        ("choices", chain(20, |next| json!({"anyOf": [next, {"type": "array", "items": next}]}))),
        ("all of it twice", chain(20, |next| json!({"allOf": [next, {"properties": {"more": next}}]}))),
        ("words", {
            let words = "word ".repeat(2_000);
            chain(
                10,
                |next| json!({"type": "object", "description": words, "properties": {"a": next, "b": next}}),
            )
        }),
        ("deep", deep),
        ("deep lists", lists),
        ("wide", json!({"type": "object", "required": wide.keys().collect::<Vec<_>>(), "properties": wide})),
        ("many alternatives", {
            let kinds = 0..10_000;
            let alternative =
                |kind| json!({"required": ["kind"], "properties": {"kind": {"const": format!("k{kind}")}}});
            json!({"type": "object", "oneOf": kinds.map(alternative).collect::<Vec<_>>()})
        }),
    ];
    for (name, schema) in &hostile {
        for profile in PROFILES {
            let begun = Instant::now();
            let converted = profile.convert(schema);
            assert!(
                begun.elapsed() < Duration::from_secs(5),
                "{name} for {}: {:?}",
                profile.name(),
                begun.elapsed()
            );
            let (size, declared) = (converted.schema.to_string().len(), schema.to_string().len());
            let cap = if profile == SchemaProfile::openai() { declared } else { 64 * 1024 };
            assert!(size <= cap, "{name} for {}: {size} bytes", profile.name());
            assert_eq!(converted.schema["type"], "object", "{name}");
            assert_eq!(
                profile.convert(&converted.schema).schema,
                converted.schema,
                "{name} for {}",
                profile.name()
            );
            let is_whole = match *name {
                "deep" | "many alternatives" => false,
                "deep lists" => [SchemaProfile::openai(), SchemaProfile::llama_cpp()].contains(&profile),
                _ => profile == SchemaProfile::openai(),
            };
            assert_eq!(converted.notes.is_empty(), is_whole, "{name} for {}", profile.name());
        }
    }
}

#[test]
fn a_tool_that_is_too_large_is_sent_as_any_object() {
    let text = "word ".repeat(20_000);
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "description": text}}});
    let converted = SchemaProfile::portable().convert(&schema);
    assert_eq!(converted.schema, json!({"type": "object", "properties": {}}));
    let notes: Vec<String> = converted.notes.iter().map(ToString::to_string).collect();
    assert_eq!(notes, ["the schema is too large and sent as any object"]);
}

#[test]
fn an_address_that_is_known_says_the_profile() {
    let of = |address: &str| SchemaProfile::of_address(&address.parse().unwrap()).name();
    assert_eq!(of("https://generativelanguage.googleapis.com/v1beta/openai"), "gemini");
    assert_eq!(of("https://api.openai.com/v1"), "openai");
    assert_eq!(of("http://127.0.0.1:8080/v1"), "openai");
}
