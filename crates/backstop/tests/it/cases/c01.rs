//! C01: arguments that a model wrote with bad escapes run nothing, least of all with an empty object.

use backstop::Event;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::{Scene, calls, done};
use crate::tables::surface::{Surface, Tool};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Grep {
    pattern: String,
    root: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Read {
    path: String,
    range: Vec<u32>,
}

/// Nothing of it is required.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Place {
    lat: Option<f64>,
    lon: Option<f64>,
}

const RAW: [&str; 4] = [
    r#"{"pattern":"\d+\.rs","root":"C:\proj"}"#,
    r#"{"path": "/w/q.py", "range": \n[10, 20]\n}"#,
    "{\"path\": \"/w/q.py\", \"range\": \n[10, 20]\n",
    "{lat: 48.2, lon:",
];

fn scene() -> Scene {
    let tools = vec![Tool::new::<Grep>("grep"), Tool::new::<Read>("read"), Tool::new::<Place>("weather")];
    let turn =
        [("a", "grep", RAW[0]), ("b", "read", RAW[1]), ("n", "read", RAW[2]), ("c", "weather", RAW[3])];
    Scene::new(tools, vec![calls(&turn), done()])
}

#[tokio::test]
async fn nothing_runs_and_the_model_is_told_the_reason_the_place_and_its_own_text() {
    for surface in Surface::ALL {
        let ran = scene().on(surface).await;
        assert_eq!(ran.log(), ["ran nothing"], "{surface:?}");
        assert_eq!(ran.ended(), "answered: done");
        insta::assert_snapshot!("c01_history", ran.sent(1).join("\n"));
    }
}

#[tokio::test]
async fn the_journal_keeps_the_text_as_it_came() {
    for surface in Surface::ALL {
        let ran = scene().on(surface).await;
        let records = ran.heard.records();
        let reply = records.iter().find_map(|record| match &record.event {
            Event::ModelReplied { reply } => Some(reply.clone()),
            _ => None,
        });
        let raw: Vec<String> = reply.unwrap().calls.iter().map(|call| call.arguments.0.clone()).collect();
        assert_eq!(raw, RAW, "{surface:?}");
    }
}
