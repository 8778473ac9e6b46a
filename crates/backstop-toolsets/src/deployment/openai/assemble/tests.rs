use std::sync::Mutex;

use backstop_core::{FinishReason, ToolCall};
use serde_json::json;

use super::*;

#[derive(Default)]
pub(in super::super) struct Heard(Mutex<Vec<String>>);

impl DeltaSink for Heard {
    fn delta(&self, delta: Delta<'_>) {
        let line = match delta {
            Delta::Text(text) => format!("text {text}"),
            Delta::Reasoning(text) => format!("reasoning {text}"),
            Delta::CallStarted { name } => format!("call {name}"),
            _ => "something new".into(),
        };
        self.0.lock().unwrap().push(line);
    }
}

impl Heard {
    pub(in super::super) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Puts together what the deltas hold; all of them end with `finish_reason: "tool_calls"`.
fn assembled(deltas: &[&str]) -> (ModelReply, Vec<String>) {
    let (mut assembler, heard) = (Assembler::default(), Heard::default());
    for delta in deltas {
        let chunk = format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#);
        let (chunk, marked) = Reply::read(chunk.as_bytes()).unwrap();
        assembler.add(chunk, marked, &heard);
    }
    let end = br#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
    assembler.add(Reply::read(end).unwrap().0, false, &heard);
    (assembler.reply().unwrap(), heard.lines())
}

/// The calls that come of pieces of `tool_calls`.
fn calls(pieces: &[&str]) -> Vec<ToolCall> {
    let deltas: Vec<String> = pieces.iter().map(|piece| format!(r#"{{"tool_calls":{piece}}}"#)).collect();
    let (reply, heard) = assembled(&deltas.iter().map(String::as_str).collect::<Vec<_>>());
    let named = reply.calls.iter().filter(|call| !call.name.is_empty());
    let started: Vec<String> = named.map(|call| format!("call {}", call.name)).collect();
    assert_eq!(heard, started, "each call is announced once");
    reply.calls
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall::new(id, name, arguments)
}

#[test]
fn pieces_of_one_call_give_one_call() {
    let oslo = r#"{"city":"Oslo"}"#;
    let cases: [(&str, &[&str]); 9] = [
        (
            "c1",
            &[
                r#"[{"index":0,"id":"c1","type":"function","function":{"name":"get_weather","arguments":""}}]"#,
                r#"[{"index":0,"function":{"arguments":"{\"city\":"}}]"#,
                r#"[{"index":0,"function":{"arguments":"\"Oslo\"}"}}]"#,
            ],
        ),
        // No index.
        (
            "c1",
            &[
                r#"[{"id":"c1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}]"#,
            ],
        ),
        // No id, and the name twice.
        (
            "",
            &[
                r#"[{"index":0,"function":{"name":"get_weather","arguments":"{\""}}]"#,
                r#"[{"index":0,"function":{"name":"get_weather","arguments":"city\":\"Oslo\"}"}}]"#,
            ],
        ),
        // The index starts at one.
        (
            "c1",
            &[
                r#"[{"index":1,"id":"c1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}]"#,
            ],
        ),
        // Id and name in every piece, no index, `null` for what is missing.
        (
            "c1",
            &[
                r#"[{"index":null,"id":"c1","function":{"name":"get_weather","arguments":null}}]"#,
                r#"[{"id":"c1","function":{"name":"get_weather","arguments":"{\"city\":"}}]"#,
                r#"[{"id":"c1","function":{"name":"get_weather","arguments":"\"Oslo\"}"}}]"#,
            ],
        ),
        // The id comes late, the name in pieces.
        (
            "c1",
            &[
                r#"[{"index":0,"function":{"name":"get_"}}]"#,
                r#"[{"index":0,"id":"c1","function":{"name":"weather","arguments":"{\"city\":"}}]"#,
                r#"[{"index":0,"id":null,"function":{"name":null,"arguments":"\"Oslo\"}"}}]"#,
            ],
        ),
        // The name is repeated after the end, and white space follows.
        (
            "",
            &[
                r#"[{"function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}]"#,
                r#"[{"function":{"name":"get_weather","arguments":""}}]"#,
                r#"[{"function":{"name":"get_weather"}}]"#,
                "[]",
            ],
        ),
        // The index comes late.
        (
            "c1",
            &[
                r#"[{"id":"c1","function":{"name":"get_weather","arguments":"{\"city\":"}}]"#,
                r#"[{"index":0,"function":{"arguments":"\"Oslo\"}"}}]"#,
            ],
        ),
        // Arguments as an object.
        (
            "c1",
            &[r#"[{"index":0,"id":"c1","function":{"name":"get_weather","arguments":{"city": "Oslo"}}}]"#],
        ),
    ];
    for (id, pieces) in cases {
        let (reply, _) = assembled(
            &pieces
                .iter()
                .map(|piece| format!(r#"{{"content":null,"tool_calls":{piece}}}"#))
                .collect::<Vec<_>>()
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>(),
        );
        assert_eq!(reply.calls, [call(id, "get_weather", oslo)], "{pieces:?}");
        assert_eq!((reply.text, reply.finish), (None, FinishReason::ToolCalls));
    }
}

#[test]
fn pieces_of_several_calls_are_kept_apart() {
    let two = [call("c1", "a", r#"{"n":1}"#), call("c2", "b", r#"{"n":2}"#)];
    let cases: [&[&str]; 5] = [
        // Interleaved.
        &[
            r#"[{"index":0,"id":"c1","function":{"name":"a","arguments":""}},{"index":1,"id":"c2","function":{"name":"b","arguments":"{"}}]"#,
            r#"[{"index":0,"function":{"arguments":"{\"n\":1}"}}]"#,
            r#"[{"index":1,"function":{"arguments":"\"n\":2}"}}]"#,
        ],
        // Every call at index zero.
        &[
            r#"[{"index":0,"id":"c1","function":{"name":"a","arguments":"{\"n\":1}"}}]"#,
            r#"[{"index":0,"id":"c2","function":{"name":"b","arguments":"{\"n\":"}}]"#,
            r#"[{"index":0,"function":{"arguments":"2}"}}]"#,
        ],
        // No index, in pieces.
        &[
            r#"[{"id":"c1","function":{"name":"a","arguments":"{\"n\":"}}]"#,
            r#"[{"function":{"arguments":"1}"}}]"#,
            r#"[{"id":"c2","function":{"name":"b","arguments":""}}]"#,
            r#"[{"function":{"arguments":"{\"n\":2}"}}]"#,
        ],
        // No index, all at once.
        &[
            r#"[{"id":"c1","function":{"name":"a","arguments":"{\"n\":1}"}},{"id":"c2","function":{"name":"b","arguments":"{\"n\":2}"}}]"#,
        ],
        // Odd indices.
        &[
            r#"[{"index":3,"id":"c1","function":{"name":"a","arguments":"{\"n\":1}"}}]"#,
            r#"[{"index":1,"id":"c2","function":{"name":"b","arguments":"{\"n\":2}"}}]"#,
        ],
    ];
    for pieces in cases {
        assert_eq!(calls(pieces), two, "{pieces:?}");
    }
}

#[test]
fn calls_without_ids_are_told_apart_by_complete_arguments() {
    let two = [call("", "a", r#"{"n":1}"#), call("", "a", r#"{"n":2}"#)];
    let cases: [&[&str]; 4] = [
        &[
            r#"[{"function":{"name":"a","arguments":"{\"n\":1}"}}]"#,
            r#"[{"function":{"name":"a","arguments":"{\"n\":2}"}}]"#,
        ],
        &[
            r#"[{"index":0,"function":{"name":"a","arguments":"{\"n\":1}"}}]"#,
            r#"[{"index":0,"function":{"name":"a","arguments":"{\"n\":2}"}}]"#,
        ],
        &[
            r#"[{"function":{"name":"a","arguments":"{\"n\":1}"}}]"#,
            r#"[{"function":{"name":"a","arguments":""}}]"#,
            r#"[{"function":{"arguments":"{\"n\":"}}]"#,
            r#"[{"function":{"arguments":"2}"}}]"#,
        ],
        &[
            r#"[{"function":{"name":"a","arguments":"{\"n\":1}"}},{"function":{"name":"a","arguments":"{\"n\":2}"}}]"#,
        ],
    ];
    for pieces in cases {
        assert_eq!(calls(pieces), two, "{pieces:?}");
    }
    let none = [r#"[{"function":{"name":"a"}},{"function":{"name":"b"}}]"#];
    assert_eq!(calls(&none), [call("", "a", ""), call("", "b", "")]);
}

#[test]
fn two_calls_with_one_id_stay_two() {
    let pieces = [
        r#"[{"index":0,"id":"a","function":{"name":"t","arguments":"{\"n\":1}"}}]"#,
        r#"[{"index":1,"id":"a","function":{"name":"t","arguments":"{\"n\":2}"}}]"#,
    ];
    assert_eq!(calls(&pieces), [call("a", "t", r#"{"n":1}"#), call("a", "t", r#"{"n":2}"#)]);
}

#[test]
fn an_empty_element_is_no_call() {
    assert_eq!(calls(&[r#"[{"index":0,"function":{"name":"","arguments":""}}]"#]), []);
    assert_eq!(calls(&[r#"[{"index":0,"id":"c1","function":{"name":null,"arguments":"{}"}}]"#]).len(), 1);
}

#[test]
fn text_reasoning_and_unknown_fields_are_put_together() {
    let (reply, heard) = assembled(&[
        r#"{"role":"assistant","content":"","reasoning_content":"Hm"}"#,
        r#"{"content":null,"reasoning_content":", so"}"#,
        r#"{"content":"Hel","tool_calls":[]}"#,
        r#"{"content":[{"type":"text","text":"lo"}],"custom_content":{"state":{"n":1}}}"#,
    ]);
    assert_eq!(heard, ["reasoning Hm", "reasoning , so", "text Hel", "text lo"]);
    assert_eq!(reply.text.as_deref(), Some("Hello"));
    assert_eq!(
        Value::Object(reply.extra),
        json!({"reasoning_content": "Hm, so", "custom_content": {"state": {"n": 1}}})
    );
}

#[test]
fn the_same_reasoning_in_two_fields_is_shown_once() {
    let (_, heard) = assembled(&[r#"{"reasoning":"Hm","reasoning_content":"Hm"}"#]);
    assert_eq!(heard, ["reasoning Hm"]);
}

#[test]
fn what_a_provider_sends_along_with_a_call_is_kept() {
    let (reply, _) = assembled(&[
        r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":"{}"},"extra_content":{"signature":"x"}}]}"#,
        r#"{"tool_calls":[{"index":1,"id":"c2","function":{"name":"b","arguments":"{}"}}]}"#,
    ]);
    assert_eq!(
        Value::Object(reply.extra),
        json!({"tool_call_extra": [{"extra_content": {"signature": "x"}}, {}]})
    );
}

#[test]
fn the_old_form_of_a_call_is_read() {
    let (reply, heard) = assembled(&[
        r#"{"function_call":{"name":"add","arguments":""}}"#,
        r#"{"function_call":{"arguments":"{\"a\":1}"}}"#,
    ]);
    assert_eq!(reply.calls, [call("", "add", r#"{"a":1}"#)]);
    assert_eq!(heard, ["call add"]);
}

#[test]
fn only_one_choice_is_followed() {
    let (mut assembler, heard) = (Assembler::default(), Heard::default());
    for (index, text) in [(1, "a"), (0, "x"), (1, "b")] {
        let chunk = json!({"choices": [{"index": index, "delta": {"content": text}}]}).to_string();
        assembler.add(Reply::read(chunk.as_bytes()).unwrap().0, false, &heard);
    }
    assert_eq!(assembler.text(), "ab");
}
