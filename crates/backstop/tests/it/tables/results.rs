//! Symfony AI: from what a tool gives to what the model reads.

use std::collections::BTreeMap;

use backstop::{
    ToolOutput,
    function::{IntoOutput, Json},
};
use serde::Serialize;
use serde_json::Value;

use super::{
    kit::{Row, check},
    server::Answer,
    shapes::Date,
    surface::{Case, Failure, Surface, Tool},
};

/// A tool that gives this, and a service that answers so.
fn gives(code: fn(&Value) -> Result<ToolOutput, Failure>, answer: fn(&Value) -> Answer) -> Case {
    Case::one(Tool::new::<()>("give").does(code, answer), "{}")
}

fn json(body: &str) -> Answer {
    Answer::json("200 OK", body)
}

fn output(value: impl IntoOutput) -> Result<ToolOutput, Failure> {
    Ok(value.into_output()?)
}

fn date() -> Result<Date, Failure> {
    Ok(Date::try_from("2026-01-31".to_owned())?)
}

#[derive(Serialize)]
struct Order {
    id: u32,
    placed: Date,
}

/// Is written as an object of its one entry.
struct Pair(&'static str, i64);

impl Serialize for Pair {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.0, self.1)])
    }
}

/// Knows how it is written as text.
struct Money(u32);

impl std::fmt::Display for Money {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EUR {}.{:02}", self.0 / 100, self.0 % 100)
    }
}

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row::on_surfaces(
            "C1",
            "nothing at all",
            || gives(|_| output(()), |_| Answer::text("")),
            &["give ok", "The tool finished and gave no output.", "ran give {}"],
        )
        .differs("the model never reads an empty result, which it takes for a failure")
        .except(
            Surface::Http,
            "an answer without a body is told with its status",
            &["give ok", "200 OK, no content", "ran give {}"],
        ),
        Row::on_surfaces(
            "C1",
            "null",
            || gives(|_| output(Value::Null), |_| json("null")),
            &["give ok", "null", "ran give {}"],
        ),
        Row::on_surfaces(
            "C2",
            "an integer",
            || gives(|_| output(42), |_| json("42")),
            &["give ok", "42", "ran give {}"],
        ),
        Row::on_surfaces(
            "C3",
            "a float",
            || gives(|_| output(42.42), |_| json("42.42")),
            &["give ok", "42.42", "ran give {}"],
        ),
        Row::on_surfaces(
            "C4",
            "a map",
            || {
                let code = |_: &Value| output(Json(BTreeMap::from([("a", vec![1, 2]), ("b", vec![])])));
                gives(code, |_| json(r#"{"a": [1, 2], "b": []}"#))
            },
            &["give ok", r#"{"a":[1,2],"b":[]}"#, "ran give {}"],
        ),
        Row::on_surfaces(
            "C5",
            "a string",
            || gives(|_| output("Plain text."), |_| Answer::text("Plain text.")),
            &["give ok", "Plain text.", "ran give {}"],
        ),
        Row::on_surfaces(
            "C6",
            "a date",
            || gives(|_| output(Json(date()?)), |_| json(r#""2026-01-31""#)),
            &["give ok", "2026-01-31", "ran give {}"],
        )
        .differs("a string is read without quotes, wherever it comes from"),
        Row::on_surfaces(
            "C7",
            "something that is written as text",
            || {
                let code = |_: &Value| output(Money(1250).to_string());
                gives(code, |_| Answer::text(Money(1250).to_string()))
            },
            &["give ok", "EUR 12.50", "ran give {}"],
        ),
        Row::on_surfaces(
            "C8",
            "something that says itself how it is JSON",
            || gives(|_| output(Json(Pair("a", 1))), |_| json(r#"{"a":1}"#)),
            &["give ok", r#"{"a":1}"#, "ran give {}"],
        ),
        Row::on_surfaces(
            "C8",
            "an object with a date in it",
            || {
                let code = |_: &Value| output(Json(Order { id: 7, placed: date()? }));
                gives(code, |_| json(r#"{"id":7,"placed":"2026-01-31"}"#))
            },
            &["give ok", r#"{"id":7,"placed":"2026-01-31"}"#, "ran give {}"],
        ),
        Row::on_surfaces(
            "C9",
            "something that can't be written",
            || {
                // A list can't be a key in JSON.
                let code = |_: &Value| output(Json(BTreeMap::from([(vec![1], 2)])));
                gives(code, |_| json("{[1]: 2}"))
            },
            &[
                "give invalid_output",
                r#"Tool "give" answered in a form that can't be used. (error reference: REF)"#,
                "There is no result: use another tool or tell the user, and do not make one up.",
                "ran give {}",
            ],
        )
        .differs("the model is told, and the run goes on")
        .except(
            Surface::Http,
            "the status of a service is told",
            &[
                "give invalid_output",
                r#"Tool "give" answered in a form that can't be used. (status 200) (error reference: REF)"#,
                "There is no result: use another tool or tell the user, and do not make one up.",
                "ran give {}",
            ],
        ),
    ]
}

#[tokio::test]
async fn symfony_result_cases() {
    check(rows()).await;
}
