//! Places are bytes for programs and characters for people.

use backstop_manifest::Span;

use crate::{good, load};

#[test]
fn places_are_right_behind_multi_byte_characters() {
    let text = "version: 1\nname: a\ndescription: \"äöü 😀\" # ünï\nmodel: {name: \"mödel 😀\", strem: true, base_url: \"http://ä/${NOPE}\"}\n";
    let (_, problems) = load(text);
    let places: Vec<_> = problems.iter().map(|problem| (problem.code, problem.span.unwrap())).collect();
    let at = |word: &str, column| {
        let start = text.find(word).unwrap();
        Span { start, end: start + word.len(), line: 4, column }
    };
    assert_eq!(places, [("unknown-key", at("strem", 26)), ("not-set", at("${NOPE}", 59))]);
}

#[test]
fn a_byte_order_mark_is_no_column() {
    let text = "\u{feff}nmae: a\r\nversion: 1\r\n";
    let (_, problems) = load(text);
    let unknown = problems.iter().find(|problem| problem.code == "unknown-key").unwrap();
    assert_eq!(unknown.span, Some(Span { start: 3, end: 7, line: 1, column: 1 }));
    let manifest = good("\u{feff}version: 1\r\nname: \"a\"\r\nmodel: {name: m}\r\n");
    assert_eq!(manifest.name.span, Span { start: 21, end: 24, line: 2, column: 7 });
}

#[test]
fn values_keep_their_places() {
    let text = "version: 1\nname: a\nmodel: {name: m}\ntoolsets:\n  shop:\n    http:\n      base_url: http://h\n      endpoints:\n        get:\n          path: /a/{id}\n          parameters: {id: {}}\n";
    let manifest = good(text);
    let toolset = &manifest.toolsets[0];
    let slice = |span: Span| &text[span.start..span.end];
    assert_eq!((slice(toolset.name.span), toolset.name.span.line), ("shop", 5));
    let http = crate::http(&manifest);
    assert_eq!(slice(http.base_url.span), "http://h");
    assert_eq!(slice(http.endpoints[0].path.span), "/a/{id}");
    assert_eq!(slice(http.endpoints[0].parameters[0].name.span), "id");
}

#[test]
fn diagnostics_are_data() {
    let (_, problems) = load("version: 1\nname: a\nmodel: {name: m}\nlimits: {turn: 5}\n");
    insta::assert_snapshot!(serde_json::to_string_pretty(&problems).unwrap());
}
