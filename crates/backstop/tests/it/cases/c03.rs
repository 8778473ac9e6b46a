//! C03: providers write "no arguments" in four shapes, and each is the empty object.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::{Scene, chunk, done, events, raw_calls};
use crate::tables::{
    provider::call,
    surface::{Surface, Tool},
};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Open {
    path: String,
}

#[tokio::test]
async fn what_is_required_is_missing_in_all_shapes_and_none_is_bad_json() {
    for surface in Surface::ALL {
        let calls = [
            call("k1", r#"{"name":"open","arguments":""}"#),
            call("k2", r#"{"name":"open"}"#),
            call("k3", r#"{"name":"open","arguments":null}"#),
            call("k4", r#"{"name":"open","arguments":{}}"#),
            call("k5", r#"{"name":"open","arguments":" \n"}"#),
            call("k6", r#"{"name":"open","arguments":{"path":"a"}}"#),
        ];
        let scene = Scene::new(vec![Tool::new::<Open>("open")], vec![raw_calls(&calls), done()]);
        let ran = scene.limits(|limits| limits.repeats = 10).on(surface).await;
        assert_eq!(
            ran.sent(1),
            [
                "user: go",
                "assistant: -",
                "  k1 open {}",
                "  k2 open {}",
                "  k3 open {}",
                "  k4 open {}",
                "  k5 open {}",
                r#"  k6 open {"path":"a"}"#,
                r#"tool k1: Parameter "path" is mandatory for tool "open"."#,
                r#"Call open again with "path" added."#,
                r#"tool k2: Parameter "path" is mandatory for tool "open"."#,
                r#"Call open again with "path" added."#,
                r#"tool k3: Parameter "path" is mandatory for tool "open"."#,
                r#"Call open again with "path" added."#,
                r#"tool k4: Parameter "path" is mandatory for tool "open"."#,
                r#"Call open again with "path" added."#,
                r#"tool k5: Parameter "path" is mandatory for tool "open"."#,
                r#"Call open again with "path" added."#,
                r#"tool k6: {"path":"a"}"#,
            ],
            "{surface:?}"
        );
        assert_eq!(ran.log(), [r#"ran open {"path":"a"}"#], "{surface:?}");
    }
}

#[tokio::test]
async fn a_call_of_a_stream_without_fragments_runs_once_with_the_empty_object() {
    let begun = r#"{"tool_calls":[{"index":0,"id":"k1","function":{"name":"list","arguments":""}}]}"#;
    for surface in Surface::ALL {
        let stream = events(&[&chunk(begun, "null"), &chunk("{}", "\"tool_calls\"")]);
        let scene = Scene::new(vec![Tool::new::<()>("list")], vec![stream, done()]).streamed();
        let ran = scene.on(surface).await;
        assert_eq!(ran.sent(1), ["user: go", "assistant: -", "  k1 list {}", "tool k1: {}"], "{surface:?}");
        assert_eq!(ran.log(), ["ran list {}"], "{surface:?}");
    }
}

#[tokio::test]
async fn a_chunk_that_is_no_json_fails_the_turn_and_is_not_skipped() {
    let begun = r#"{"tool_calls":[{"index":0,"id":"k1","function":{"name":"list","arguments":""}}]}"#;
    let stream = || events(&[&chunk(begun, "null"), r#"{"choices":[{"#, &chunk("{}", "\"tool_calls\"")]);
    let scene = Scene::new(vec![Tool::new::<()>("list")], vec![stream(), stream(), done()]).streamed();
    let ran = scene.limits(|limits| limits.model_retries = 1).on(Surface::Plain).await;
    assert_eq!(
        ran.ended(),
        "model_failed: the model server's reply is not a chat completion: a chunk of HOST can't be read: EOF while \
         parsing an object at line 1 column 13"
    );
    assert_eq!((ran.requests(), ran.log()), (2, vec!["ran nothing".to_owned()]));
}
