//! C05.3: a type that is stricter than its schema explains itself as well as the schema does.

use std::collections::BTreeMap;

use backstop_core::{Applied, CallContext, ToolError, ToolErrorKind};
use backstop_toolsets::function::{FnTool, FnToolset, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{call, view};

/// What the schema of each of these says is less than what serde takes.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
struct Strict {
    #[schemars(with = "String")]
    mode: Mode,
    #[schemars(with = "Value")]
    day: Day,
    #[schemars(with = "f64")]
    small: u8,
    #[schemars(with = "Vec<Value>")]
    edits: Vec<Edit>,
    #[schemars(with = "Value")]
    shape: Option<Shape>,
    #[schemars(with = "Vec<f64>")]
    pair: (i32, i32),
    #[schemars(with = "BTreeMap<String, Value>")]
    by_name: BTreeMap<String, u16>,
    #[schemars(with = "f64")]
    ratio: f64,
    #[schemars(with = "Value", extend("writeOnly" = true))]
    pin: Option<Day>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Quick,
    Slow,
    InOrder,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(try_from = "String")]
struct Day(String);

impl Default for Day {
    fn default() -> Self {
        Self("2026-01-31".into())
    }
}

impl TryFrom<String> for Day {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.len() == 10 { Ok(Self(text)) } else { Err("secret::internals of Day".into()) }
    }
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    new_text: String,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64 },
}

fn strict() -> FnToolset {
    FnTool::new("strict", |args: Strict, _cx: CallContext| async move { Ok::<_, ToolError>(Json(args)) })
        .into()
}

async fn refused(arguments: Value) -> (Option<String>, String) {
    let toolset = strict();
    let error = call(&toolset, "strict", arguments).await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::InvalidArguments);
    assert_eq!(error.applied(), Applied::No);
    (error.pointer().map(str::to_owned), view(&toolset, "strict", &error).await)
}

#[tokio::test]
async fn each_misfit_is_named_at_its_place() {
    let mut seen = String::new();
    for arguments in [
        json!({"mode": "quik"}),
        json!({"mode": "zebra"}),
        json!({"day": "2026-1-1"}),
        json!({"day": 7}),
        json!({"small": 300}),
        json!({"small": 1.5}),
        json!({"edits": [{"new_text": "a"}, {}]}),
        json!({"edits": [{"newText": "a"}]}),
        json!({"edits": [{"new_text": 7}]}),
        json!({"edits": ["a"]}),
        json!({"shape": {"radius": "big"}}),
        json!({"pair": [1, 2, 3]}),
        json!({"pair": [1]}),
        json!({"by_name": {"a/b~c": 70000}}),
        json!({"pin": "1234"}),
    ] {
        let (pointer, view) = refused(arguments.clone()).await;
        for private in ["untagged", "Shape", "Mode", "Day", "Edit", "secret::", "struct ", "src/", "1234"] {
            assert!(!view.contains(private), "{view}");
        }
        seen.push_str(&format!(
            "{arguments}\n  at {}\n  {}\n",
            pointer.unwrap_or_default(),
            view.replace('\n', "\n  ")
        ));
    }
    insta::assert_snapshot!(seen);
}

#[tokio::test]
async fn whole_floats_are_integers() {
    let arguments = json!({"small": 7.0, "pair": [1.0, -2.0], "by_name": {"a": 3.0}, "ratio": 2.0});
    let back = call(&strict(), "strict", arguments).await.unwrap().to_value();
    assert_eq!(back["small"], 7);
    assert_eq!(back["pair"], json!([1, -2]));
    assert_eq!(back["by_name"], json!({"a": 3}));
    assert_eq!(back["ratio"], json!(2.0));
}

#[tokio::test]
async fn what_is_wrong_beside_a_whole_float_is_still_named() {
    let (pointer, _) = refused(json!({"small": 7.0, "mode": "zebra"})).await;
    assert_eq!(pointer.as_deref(), Some("/mode"));
}
