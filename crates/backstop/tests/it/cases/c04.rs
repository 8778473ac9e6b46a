//! C04: a number in a string is an error that says so, and no number loses a digit on its way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::{Scene, calls, done};
use crate::tables::surface::{Surface, Tool};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Sum {
    a: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

#[tokio::test]
async fn what_is_no_whole_number_is_refused_and_never_guessed() {
    for surface in Surface::ALL {
        let turn = [
            ("c1", "sum", r#"{"a":"3.0"}"#),
            ("c2", "sum", r#"{"a":"0x3"}"#),
            ("c3", "sum", r#"{"a":"three"}"#),
            ("c4", "sum", r#"{"a":1e400}"#),
        ];
        let ran = Scene::new(vec![Tool::new::<Sum>("sum")], vec![calls(&turn), done()]).on(surface).await;
        assert_eq!(
            ran.sent(1)[2..],
            [
                r#"  c1 sum {"a":"3.0"}"#,
                r#"  c2 sum {"a":"0x3"}"#,
                r#"  c3 sum {"a":"three"}"#,
                r#"  c4 sum {"_invalid_arguments":"{\"a\":1e400}"}"#,
                r#"tool c1: Invalid value for parameter "a" of tool "sum": must be an integer; got "3.0" (a string)"#,
                r#"Call sum again with "a" corrected."#,
                r#"tool c2: Invalid value for parameter "a" of tool "sum": must be an integer; got "0x3" (a string)"#,
                r#"Call sum again with "a" corrected."#,
                r#"tool c3: Invalid value for parameter "a" of tool "sum": must be an integer; got "three" (a string)"#,
                r#"Call sum again with "a" corrected."#,
                r#"tool c4: The arguments of tool "sum" are not valid JSON: number out of range at column 10; got {"a":1e400}"#,
                "Send all arguments again as one JSON object.",
            ],
            "{surface:?}"
        );
        assert_eq!(ran.log(), ["ran nothing"], "{surface:?}");
    }
}

#[tokio::test]
async fn a_number_above_2_to_the_53_and_an_id_of_digits_arrive_and_are_replayed_as_they_are() {
    const ARGUMENTS: &str = r#"{ "a": 9007199254740993, "id":"12345678901234567890" }"#;
    const ECHO: &str = r#"{"a":9007199254740993,"id":"12345678901234567890"}"#;
    for surface in Surface::ALL {
        let scene =
            Scene::new(vec![Tool::new::<Sum>("sum")], vec![calls(&[("c1", "sum", ARGUMENTS)]), done()]);
        let ran = scene.on(surface).await;
        let replayed = format!("  c1 sum {ARGUMENTS}");
        let result = format!("tool c1: {ECHO}");
        assert_eq!(ran.sent(1), ["user: go", "assistant: -", &replayed, &result], "{surface:?}");
        assert_eq!(ran.log(), [format!("ran sum {ECHO}")], "{surface:?}");
    }
}
