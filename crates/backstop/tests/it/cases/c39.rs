//! C39: bad arguments don't poison later requests, and results stand where providers want them.

// A compaction that cuts between a call and its result has no counterpart: histories are not compacted.

use std::time::Duration;

use backstop::{
    CallId, Message,
    message::{PastCall, ResultContent},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::kit::{Scene, builder, built, calls, done};
use crate::tables::{
    provider::strict,
    surface::{Body, Surface, Tool},
};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Search {
    q: String,
}

#[tokio::test]
async fn cut_arguments_stand_in_every_later_request_as_an_object_that_shows_them() {
    for surface in Surface::ALL {
        let turns = vec![
            calls(&[("m1", "search", r#"{"q": "a", "#)]),
            calls(&[("m2", "search", r#"{ "q" : "a" }"#)]),
            done(),
        ];
        let ran = Scene::new(vec![Tool::new::<Search>("search")], turns).on(surface).await;
        assert_eq!(
            ran.sent(2),
            [
                "user: go",
                "assistant: -",
                r#"  m1 search {"_invalid_arguments":"{\"q\": \"a\", "}"#,
                r#"tool m1: The arguments of tool "search" are not valid JSON: EOF while parsing a value at column 11; got {"q": "a", "#,
                "Send all arguments again as one JSON object.",
                "assistant: -",
                r#"  m2 search { "q" : "a" }"#,
                r#"tool m2: {"q":"a"}"#,
            ],
            "{surface:?}"
        );
        assert_eq!(ran.log(), [r#"ran search {"q":"a"}"#], "{surface:?}");
    }
}

#[tokio::test]
async fn results_stand_in_call_order_whatever_ends_first() {
    let late = |name, millis| Tool::new::<()>(name).body(Body::Late(Duration::from_millis(millis)));
    for surface in Surface::ALL {
        let tools = vec![late("second", 150), late("third", 300), late("first", 0)];
        let turn = calls(&[("p1", "second", "{}"), ("p2", "third", "{}"), ("p3", "first", "{}")]);
        let ran = Scene::new(tools, vec![turn, done()]).on(surface).await;
        assert_eq!(ran.finished(), ["p3", "p1", "p2"], "{surface:?}");
        assert_eq!(
            ran.sent(1),
            [
                "user: go",
                "assistant: -",
                "  p1 second {}",
                "  p2 third {}",
                "  p3 first {}",
                "tool p1: {}",
                "tool p2: {}",
                "tool p3: {}",
            ],
            "{surface:?}"
        );
    }
}

fn asked(ids: &[&str]) -> Message {
    let call = |id: &&str| PastCall { id: CallId::new(*id), name: "search".into(), arguments: "{}".into() };
    Message::Assistant { text: None, calls: ids.iter().map(call).collect(), extra: Map::new() }
}

fn result(id: &str) -> Message {
    Message::Tool { call: CallId::new(id), content: ResultContent::Output("x".into()) }
}

#[tokio::test]
async fn a_saved_history_that_is_not_balanced_is_refused_with_the_ids_and_not_sent() {
    let histories = [
        (vec![Message::user("go"), result("o1")], "result `o1` without a call"),
        (vec![Message::user("go"), asked(&["a"]), result("a"), result("a")], "result `a` without a call"),
        (
            vec![Message::user("go"), asked(&["a", "b"]), result("b"), Message::user("and?")],
            "result `b` where that of call `a` should be, call `b` without a result",
        ),
        (vec![Message::user("go"), asked(&["a", "b"]), result("a")], "call `b` without a result"),
        (vec![Message::user("go"), asked(&["a", "a"]), result("a"), result("a")], "call `a` twice"),
    ];
    let server = strict(Vec::new()).await;
    let agent = built(builder(&server)).await;
    for (history, wrong) in histories {
        let refused = agent.run(history).await.unwrap_err();
        assert_eq!(refused.to_string(), format!("the conversation is not balanced: {wrong}"));
    }
    assert_eq!(server.bodies(), Vec::<Value>::new());
}
