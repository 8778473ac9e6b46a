//! C18: half of a surrogate pair costs one character or one call, never the conversation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::{Lines, Scene, calls, chunk, done, events};
use crate::tables::{
    server::Answer,
    surface::{Surface, Tool},
};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Ask {
    t: String,
}

/// A streamed call whose arguments come in these fragments, as they stand on the wire.
fn streamed(fragments: &[&str]) -> Answer {
    let begun = r#"{"tool_calls":[{"index":0,"id":"k1","function":{"name":"ask","arguments":""}}]}"#;
    let mut chunks = vec![chunk(begun, "null")];
    for fragment in fragments {
        let delta = format!(r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":"{fragment}"}}}}]}}"#);
        chunks.push(chunk(&delta, "null"));
    }
    chunks.push(chunk("{}", "\"tool_calls\""));
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    events(&chunks)
}

/// What is sent after such a call, and what ran.
async fn after(surface: Surface, fragments: &[&str]) -> (Lines, Lines) {
    let scene = Scene::new(vec![Tool::new::<Ask>("ask")], vec![streamed(fragments), done()]).streamed();
    let ran = scene.on(surface).await;
    assert_eq!(ran.ended(), "answered: done");
    (ran.sent(1)[2..].to_vec(), ran.log())
}

#[tokio::test]
async fn a_pair_that_is_split_over_fragments_is_one_character() {
    for surface in Surface::ALL {
        let cases = [
            // The escape stands in the arguments: cut inside of it, and between the halves.
            [r#"{\"t\":\"\\ud8"#, r#"3d\\ude00\"}"#],
            [r#"{\"t\":\"\\ud83d"#, r#"\\ude00\"}"#],
            // The escape is the server's own, cut between the halves.
            [r#"{\"t\":\"\ud83d"#, r#"\ude00\"}"#],
        ];
        for fragments in cases {
            let (sent, log) = after(surface, &fragments).await;
            assert_eq!(log, [r#"ran ask {"t":"😀"}"#], "{surface:?} {fragments:?}");
            let replayed = r#"  k1 ask {"t":"\ud83d\ude00"}"#;
            assert_eq!(sent, [replayed, r#"tool k1: {"t":"😀"}"#], "{surface:?} {fragments:?}");
        }
    }
}

#[tokio::test]
async fn a_lone_half_in_arguments_runs_nothing() {
    for surface in Surface::ALL {
        let told = [
            r#"  k1 ask {"_invalid_arguments":"{\"t\":\"\\ud83d\"}"}"#,
            r#"tool k1: The arguments of tool "ask" are not valid JSON: unexpected end of hex escape at column 13; got {"t":"\\ud83d"}"#,
            "Send all arguments again as one JSON object.",
        ];
        for fragments in [[r#"{\"t\":\"\\ud83d"#, r#"\"}"#], [r#"{\"t\":\"\ud83d"#, r#"\"}"#]] {
            let (sent, log) = after(surface, &fragments).await;
            assert_eq!(log, ["ran nothing"], "{surface:?} {fragments:?}");
            assert_eq!(sent, told, "{surface:?} {fragments:?}");
        }
    }
}

/// Only a service can answer so: no text of Rust holds half a pair.
#[tokio::test]
async fn a_lone_half_in_an_answer_fails_its_call_and_the_next_one_works() {
    let tool = Tool::new::<Ask>("ask").does(
        |_| Ok("".into()),
        |arguments| match arguments["t"].as_str() {
            Some("bad") => Answer::json("200 OK", r#"{"text":"done \ud83d"}"#),
            _ => Answer::json("200 OK", r#"{"text":"done \ud83d\ude00"}"#),
        },
    );
    let turns =
        vec![calls(&[("c1", "ask", r#"{"t":"bad"}"#)]), calls(&[("c2", "ask", r#"{"t":"good"}"#)]), done()];
    let ran = Scene::new(vec![tool], turns).on(Surface::Http).await;
    assert_eq!(
        ran.sent(2),
        [
            "user: go",
            "assistant: -",
            r#"  c1 ask {"t":"bad"}"#,
            r#"tool c1: Tool "ask" answered in a form that can't be used. (status 200) (error reference: REF)"#,
            "There is no result: use another tool or tell the user, and do not make one up.",
            "assistant: -",
            r#"  c2 ask {"t":"good"}"#,
            r#"tool c2: {"text":"done 😀"}"#,
        ]
    );
}

#[tokio::test]
async fn a_lone_half_in_the_models_own_text_is_replaced_and_the_next_turn_is_taken() {
    let text = r#"{"content":"done \ud83d"}"#;
    let whole = Answer::json(
        "200 OK",
        format!(r#"{{"choices":[{{"index":0,"message":{text},"finish_reason":"stop"}}]}}"#),
    );
    for answer in [whole, events(&[&chunk(text, "null"), &chunk("{}", "\"stop\"")])] {
        let ran = Scene::new(Vec::new(), vec![answer, done()]).streamed().on(Surface::Plain).await;
        assert_eq!(ran.ended(), "answered: done \u{fffd}");
        assert_eq!(ran.next_turn().await, ["user: go", "assistant: done \u{fffd}", "user: go on"]);
    }
}
