use reqwest::header::{CONTENT_TYPE, HeaderMap};

use super::*;

fn said(content_type: &str, text: &str, status: u16) -> Said {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, content_type.parse().unwrap());
    said_in(&Media::of(&headers), text, false, status)
}

fn json_words(text: &str) -> Option<String> {
    said("application/json", text, 400).words
}

#[test]
fn messages_are_found_in_the_usual_places() {
    for (body, words) in [
        (r#"{"message":"no such order"}"#, "no such order"),
        (r#"{"error":"name taken"}"#, "name taken"),
        (r#"{"error":{"message":"quota is spent","code":"quota"}}"#, "quota is spent"),
        (r#"{"error":"invalid_grant","error_description":"the grant is too old"}"#, "the grant is too old"),
        (r#"{"type":"about:blank","title":"Gone","detail":"order 7 was deleted"}"#, "order 7 was deleted"),
        (r#"{"title":"Gone"}"#, "Gone"),
        (
            r#"{"detail":[{"loc":["body","qty"],"msg":"must be >= 1"},{"loc":["query","a",0],"msg":"no"}]}"#,
            "qty: must be >= 1; a.0: no",
        ),
        (
            r#"{"title":"invalid","errors":[{"loc":["body","qty"],"msg":"must be >= 1"}]}"#,
            "invalid: qty: must be >= 1",
        ),
        (r#"{"errors":["a is bad","b is bad"]}"#, "a is bad; b is bad"),
        (
            r#"{"errors":{"name":["is too short","is taken"],"age":"is no number"}}"#,
            "name: is too short, is taken; age: is no number",
        ),
        (r#"{"errors":[{"source":{"pointer":"/data/name"},"title":"too short"}]}"#, "data.name: too short"),
        (
            r#"{"message":"Validation failed.","errors":[{"field":"q","code":"missing"}]}"#,
            "Validation failed. q: missing",
        ),
        (r#""plain words""#, "plain words"),
    ] {
        assert_eq!(json_words(body).as_deref(), Some(words), "{body}");
    }
}

#[test]
fn json_of_another_form_is_shown_of_client_errors_only() {
    assert_eq!(json_words(r#"{ "ok": true }"#).as_deref(), Some(r#"{"ok":true}"#));
    assert_eq!(said("application/json", r#"{"ok":true}"#, 500).words, None);
    assert_eq!(json_words(r#"{"trace":"x.java:12","ok":false}"#).as_deref(), Some(r#"{"ok":false}"#));
    assert_eq!(json_words(r#"{"stackTrace":"x.java:12"}"#), None);
    assert!(json_words(&format!(r#"{{"x":"{}"}}"#, "y".repeat(2000))).unwrap().len() <= JSON_CAP);
}

#[test]
fn pages_and_traces_are_never_said() {
    assert_eq!(said("text/html", "<p>no</p>", 404).words, None);
    assert_eq!(said("text/plain", "<!DOCTYPE html><p>no</p>", 404).words, None);
    assert_eq!(json_words(r#"{"message":"<html><body>502</body></html>"}"#), None);
    assert_eq!(
        json_words(r#"{"message":"boom\n    at a.b.C.d(C.java:12)\n    at e"}"#).as_deref(),
        Some("boom")
    );
    assert_eq!(
        said("text/plain", "Traceback (most recent call last):\n  File \"a.py\", line 1", 500).words,
        None
    );
    assert_eq!(said("text/plain", &"x".repeat(501), 500).words, None);
    assert_eq!(said("text/plain", "try again later", 503).words.as_deref(), Some("try again later"));
    assert_eq!(said("application/json", "{\"message\":", 400).words, None);
}

#[test]
fn codes_are_kept_unless_they_repeat_the_status() {
    let code = |body: &str| said("application/json", body, 404).code;
    assert_eq!(code(r#"{"code":"E17","message":"x"}"#).as_deref(), Some("E17"));
    assert_eq!(code(r#"{"code":404,"message":"x"}"#), None);
    assert_eq!(code(r#"{"code":1017}"#).as_deref(), Some("1017"));
    assert_eq!(code(r#"{"error":{"code":404,"status":"NOT_FOUND"}}"#).as_deref(), Some("NOT_FOUND"));
    assert_eq!(
        code(r#"{"error":"invalid_grant","error_description":"x"}"#).as_deref(),
        Some("invalid_grant")
    );
    assert_eq!(code(r#"{"type":"https://shop.example/gone"}"#).as_deref(), Some("https://shop.example/gone"));
    assert_eq!(code(r#"{"type":"about:blank"}"#), None);
}
