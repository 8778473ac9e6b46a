//! C06: an array that a model wrote as one arrives as one, and a string that looks like one stays a string.

use backstop::schema::ArgumentRules;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::{Scene, calls, done};
use crate::tables::surface::{Surface, Tool};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Plan {
    tasks: Vec<Task>,
    either: Either,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Task {
    title: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Either {
    List(Vec<i64>),
    Text(String),
}

/// With and without the declared mend of such strings.
#[tokio::test]
async fn arrays_are_sent_on_as_arrays_and_a_union_keeps_its_string() {
    const ARGUMENTS: &str = r#"{"tasks":[{"title":"A"}],"either":"[1,2]"}"#;
    for surface in Surface::ALL {
        for coerces in [false, true] {
            let turn = calls(&[("c1", "plan", ARGUMENTS)]);
            let mut scene = Scene::new(vec![Tool::new::<Plan>("plan")], vec![turn, done()]);
            if coerces {
                scene = scene.adjust(|_, policy| policy.arguments = ArgumentRules::default().coerce());
            }
            let ran = scene.on(surface).await;
            assert_eq!(ran.log(), [format!("ran plan {ARGUMENTS}")], "{surface:?}, coerces: {coerces}");
            assert_eq!(
                ran.sent(1)[3..],
                [format!("tool c1: {ARGUMENTS}")],
                "{surface:?}, coerces: {coerces}"
            );
        }
    }
}
