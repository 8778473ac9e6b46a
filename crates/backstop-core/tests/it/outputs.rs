//! What a tool gave, as the model reads it, as a value, and in a journal.

use backstop_core::{Part, Redactor, ToolError, ToolOutput};
use serde_json::{Value, json};

fn parts() -> ToolOutput {
    ToolOutput::Parts(vec![
        Part::Text { text: "Two pictures:".into() },
        Part::Json { value: json!({"count": 2}) },
        Part::blob("image/png", &[7; 1500], Some("shot\n1.png".into())),
        Part::blob("audio/wav", b"x", None),
        Part::Link {
            uri: "file:///a.csv".into(),
            name: Some("a.csv".into()),
            media_type: Some("text/csv".into()),
            size: Some(3),
        },
        Part::Link { uri: "https://h/?key=sesame-1".into(), name: None, media_type: None, size: None },
    ])
}

#[test]
fn parts_are_read_in_order_and_bytes_are_never_text() {
    assert_eq!(
        parts().model_text(),
        "Two pictures:\n{\"count\":2}\n[shot\\n1.png: image/png, 1.4 KiB, not shown]\n\
         [audio/wav, 1 byte, not shown]\n[a.csv: file:///a.csv, text/csv, 3 bytes]\n[https://h/?key=sesame-1]"
    );
    assert_eq!(ToolOutput::Parts(Vec::new()).model_text(), "The tool finished and gave no output.");
    let blank = ToolOutput::Parts(vec![Part::Text { text: " \n".into() }]);
    assert_eq!(blank.model_text(), "The tool finished and gave no output.");
}

#[test]
fn many_parts_together_are_capped() {
    let part = Part::Text { text: "é".repeat(20_000) };
    let text = ToolOutput::Parts(vec![part.clone(), part]).model_text();
    assert!(text.len() <= 64 * 1024, "{}", text.len());
    assert!(text.contains(" of 80001 bytes left out …]"), "{text}");
}

#[test]
fn parts_are_the_same_after_a_journal() {
    let written = serde_json::to_string(&parts()).unwrap();
    assert_eq!(serde_json::from_str::<ToolOutput>(&written).unwrap(), parts());
    let value = ToolOutput::Parts(vec![Part::blob("a/b", b"hi", None)]).to_value();
    assert_eq!(value, json!([{"type": "blob", "media_type": "a/b", "data": "aGk="}]));
}

#[test]
fn secrets_leave_parts_too() {
    let redactor = Redactor::new(["sesame-1"]);
    let shown = redactor
        .result(Ok(ToolOutput::Parts(vec![
            Part::Text { text: "sesame-1".into() },
            Part::Json { value: json!(["sesame-1"]) },
            Part::blob("a/b", b"x", Some("sesame-1".into())),
            Part::Link {
                uri: "http://h/sesame-1".into(),
                name: Some("sesame-1".into()),
                media_type: None,
                size: None,
            },
        ])))
        .unwrap();
    assert_eq!(
        shown.to_value(),
        json!([
            {"type": "text", "text": "[secret]"},
            {"type": "json", "value": ["[secret]"]},
            {"type": "blob", "media_type": "a/b", "data": "eA==", "name": "[secret]"},
            {"type": "link", "uri": "http://h/[secret]", "name": "[secret]"},
        ])
    );
    assert_ne!(shown.to_value(), Value::Null);
}

#[test]
fn a_secret_that_a_cap_cuts_in_two_is_taken_out_all_the_same() {
    let redactor = Redactor::new(["sesame-open-now"]);
    let told = |before: usize| {
        let words = format!("{}sesame-open-now, and more", "x".repeat(before));
        let error = redactor.tool_error(ToolError::rejected("").say(words));
        error.words().unwrap().trim_start_matches('x').to_owned()
    };
    assert_eq!(told(1000), "[secret], and …");
    assert_eq!(told(1010), "[secret]…");
    assert_eq!(told(1016), "[secret]…");
    // What is left is too short to be told from a word.
    assert_eq!(told(1018), "ses…");
    let error = ToolError::rejected("a sesame-… b … sesame… c").say("…");
    assert_eq!(redactor.tool_error(error).detail(), "a [secret]… b … [secret]… c");
}
