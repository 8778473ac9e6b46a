//! C05: what is said about arguments that don't fit is enough to mend the call, and not more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::kit::{Scene, calls, done};
use crate::tables::surface::{Surface, Tool};

/// Takes less than its schema says.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Edits {
    edits: Vec<Edit>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Edit {
    #[schemars(with = "String")]
    unit: Unit,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Unit {
    Known(Known),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Known {
    Line,
    Char,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Numbers {
    numbers: Vec<i64>,
}

/// Only a typed function can be stricter than its schema.
#[tokio::test]
async fn a_type_that_is_stricter_than_its_schema_names_the_place_and_nothing_of_ours() {
    let turn = calls(&[("c1", "edit", r#"{"edits":[{"unit":"line"},{"unit":"lines"}]}"#)]);
    let ran = Scene::new(vec![Tool::new::<Edits>("edit")], vec![turn, done()]).on(Surface::Function).await;
    assert_eq!(
        ran.sent(1)[3..],
        [
            r#"tool c1: Invalid value for parameter "edits[1].unit" of tool "edit": is not of the form that the tool takes; got "lines""#,
            r#"Call edit again with "edits[1].unit" corrected."#,
        ]
    );
    assert_eq!(ran.log(), ["ran nothing"]);
}

#[tokio::test]
async fn a_long_list_of_problems_is_cut_and_says_how_many_are_left_out() {
    let arguments = json!({"numbers": vec!["x".repeat(40); 200]}).to_string();
    for surface in Surface::ALL {
        let turn = calls(&[("c1", "sum", &arguments)]);
        let ran = Scene::new(vec![Tool::new::<Numbers>("sum")], vec![turn, done()]).on(surface).await;
        let told = ran.sent(1)[3..].join("\n");
        assert!(told.len() <= 2048 + "tool c1: ".len(), "{} bytes", told.len());
        insta::assert_snapshot!("c05_two_hundred_problems", told);
        assert_eq!(ran.log(), ["ran nothing"], "{surface:?}");
    }
}
