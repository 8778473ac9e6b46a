//! C26: a complete call is made, whatever the provider says about why its reply ended.

use super::kit::{Scene, chunk, done, events};
use crate::tables::{
    server::Answer,
    surface::{Surface, Tool},
};

const CALL: &str =
    r#"{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"list","arguments":"{}"}}]}"#;

/// A reply in one piece; without a reason where there is none.
fn whole(message: &str, finish: Option<&str>) -> Answer {
    let finish = finish.map(|finish| format!(r#","finish_reason":{finish}"#)).unwrap_or_default();
    Answer::json("200 OK", format!(r#"{{"choices":[{{"index":0,"message":{message}{finish}}}]}}"#))
}

/// The same reply as a stream.
fn streamed(message: &str, finish: Option<&str>) -> Answer {
    events(&[&chunk(message, "null"), &chunk("{}", finish.unwrap_or("null"))])
}

type Form = fn(&str, Option<&str>) -> Answer;
const FORMS: [Form; 2] = [whole, streamed];

fn scene(answers: Vec<Answer>) -> Scene {
    Scene::new(vec![Tool::new::<()>("list")], answers).streamed()
}

#[tokio::test]
async fn a_complete_call_runs_for_every_reason_but_two() {
    let reasons = [r#""stop""#, r#""tool_calls""#, r#""function_call""#, "null", r#""""#, r#""eos""#];
    for surface in Surface::ALL {
        for finish in reasons.map(Some).into_iter().chain([None]) {
            for form in FORMS {
                let ran = scene(vec![form(CALL, finish), done()]).on(surface).await;
                let sent = ["user: go", "assistant: -", "  c1 list {}", "tool c1: {}"];
                assert_eq!(ran.sent(1), sent, "{surface:?} {finish:?}");
                assert_eq!(ran.log(), ["ran list {}"], "{surface:?} {finish:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_reply_that_a_filter_cut_runs_nothing_and_ends_the_run() {
    for form in FORMS {
        let ran = scene(vec![form(CALL, Some(r#""content_filter""#)), done()]).on(Surface::Plain).await;
        assert_eq!(
            ran.ended(),
            "model_failed: a content filter refused the conversation or cut the reply: the reply ended with \
             finish reason `content_filter`"
        );
        assert_eq!((ran.requests(), ran.log()), (1, vec!["ran nothing".to_owned()]));
        assert_eq!(ran.next_turn().await, ["user: go", "user: go on"]);
    }
}

#[tokio::test]
async fn a_reply_that_the_token_limit_cut_runs_nothing_and_says_so() {
    for surface in Surface::ALL {
        for form in FORMS {
            let ran = scene(vec![form(CALL, Some(r#""length""#)), done()]).on(surface).await;
            assert_eq!(
                ran.sent(1)[2..],
                [
                    "  c1 list {}",
                    r#"tool c1: The call of tool "list" was not made: the reply was cut off at the token limit."#,
                    "Send the call again, complete and shorter.",
                ],
                "{surface:?}"
            );
            assert_eq!(ran.log(), ["ran nothing"], "{surface:?}");
        }
    }
}

#[tokio::test]
async fn no_calls_under_tool_calls_are_an_answer_where_there_is_text() {
    for form in FORMS {
        let reply = form(r#"{"content":"done","tool_calls":[]}"#, Some(r#""tool_calls""#));
        let ran = scene(vec![reply]).on(Surface::Plain).await;
        assert_eq!((ran.ended().as_str(), ran.requests()), ("answered: done", 1));
    }
}

#[tokio::test]
async fn an_empty_reply_is_asked_for_once_more_and_then_is_an_error_of_its_own() {
    for form in FORMS {
        let empty = || form(r#"{"tool_calls":[]}"#, Some(r#""tool_calls""#));
        let ran = scene(vec![empty(), empty(), empty(), done()]).on(Surface::Plain).await;
        assert_eq!(
            ran.ended(),
            "model_failed: the model's reply is empty: the reply has no text and no calls"
        );
        assert_eq!(ran.requests(), 2);
    }
}
