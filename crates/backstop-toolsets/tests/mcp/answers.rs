//! What becomes of each thing that a server can answer.

use std::time::Duration;

use backstop_core::{Applied, ToolErrorKind, Toolset};
use backstop_test::mcp::Behaviour;
use backstop_toolsets::http::{AnswerTest, FailWhen};
use serde_json::json;

use crate::kit::{Fake, act, call, echo, lives, shown, within};

/// What ends the server: what is written to it meanwhile may still be read.
const EXIT: [Behaviour; 4] =
    [Behaviour::HalfAnswer, Behaviour::Exits, Behaviour::ExitsAfter, Behaviour::Panics];

/// Each behaviour that shows itself in one call, and the next call after it.
#[tokio::test]
async fn every_answer_has_one_reading_and_the_next_call_works() {
    let mut table = String::new();
    for behaviour in [
        Behaviour::Good,
        Behaviour::Stateless,
        Behaviour::AnswersTwice,
        Behaviour::TextId,
        Behaviour::HugeAnswer,
        Behaviour::HalfAnswer,
        Behaviour::NoUtf8,
        Behaviour::Noise,
        Behaviour::Exits,
        Behaviour::ExitsAfter,
        Behaviour::Panics,
        Behaviour::Floods,
        Behaviour::ListChanged,
        Behaviour::EmptyError,
        Behaviour::CodeInText,
        Behaviour::HiddenFailure,
        Behaviour::NoResult,
        Behaviour::EmptyResult,
        Behaviour::Progress,
        Behaviour::ClosesOutput,
    ] {
        let fake = Fake::new(behaviour);
        let toolset = fake.toolset();
        toolset.list().await.unwrap();
        let first = act(&toolset).await;
        if EXIT.contains(&behaviour) {
            let pid = fake.pids()[0];
            within("the server is gone", || !lives(pid)).await;
        }
        let mut next = echo(&toolset).await;
        if next.as_ref().is_err_and(|error| error.applied() == Applied::No) {
            // It was about to end: a driver makes a call again that was surely not made.
            next = echo(&toolset).await;
        }
        assert!(next.is_ok(), "{}: {next:?}", behaviour.as_str());
        table += &format!("## {}\n{}\n  next: {}\n\n", behaviour.as_str(), shown(&first), shown(&next));
        // Whatever came of it, it was sent once.
        let calls = fake.log().iter().filter(|message| message["params"]["name"] == "act").count();
        assert_eq!(calls, 1, "{}", behaviour.as_str());
    }
    insta::assert_snapshot!(table);
}

/// Answers that nobody can match with a call are none: the call ends with its time.
#[tokio::test]
async fn answers_to_nothing_end_no_call() {
    let calls = [Behaviour::NeverAnswers, Behaviour::WrongId, Behaviour::NoId, Behaviour::AnswersLate].map(
        |behaviour| async move {
            let fake = Fake::new(behaviour);
            let toolset = fake.toolset();
            toolset.list().await.unwrap();
            let first = call(&toolset, "act", json!({}), Duration::from_millis(300)).await.unwrap_err();
            assert_eq!(first.kind(), ToolErrorKind::Timeout, "{}", behaviour.as_str());
            // The server is told, and what it says later is nobody's answer.
            fake.until("the server is told", |log| {
                log.iter().any(|m| m["method"] == "notifications/cancelled")
            })
            .await;
            assert_eq!(echo(&toolset).await.unwrap().model_text(), "still here", "{}", behaviour.as_str());
            assert_eq!(echo(&toolset).await.unwrap().model_text(), "still here", "{}", behaviour.as_str());
            assert_eq!(fake.pids().len(), 1, "{}", behaviour.as_str());
        },
    );
    futures_util::future::join_all(calls).await;
}

#[tokio::test]
async fn errors_of_the_protocol_are_typed_by_their_code() {
    let fake = Fake::new(Behaviour::ProtocolError);
    let toolset = fake.toolset();
    toolset.list().await.unwrap();
    let mut table = String::new();
    for (code, message) in [
        (-32602, "Unknown tool: act"),
        (-32602, "n must be a number"),
        (-32602, ""),
        (-32601, "Method not found"),
        (-32600, "Invalid request"),
        (-32700, "Parse error"),
        (-32603, "Internal error: division by zero"),
        (-32603, "[{\"code\": \"invalid_type\", \"path\": [\"params\"]}]"),
        (-32603, "Traceback (most recent call last):\n  File \"x.py\""),
        (-32002, "Resource not found: note://two"),
        (-32001, "Request timed out"),
        (-32000, "Connection closed"),
        (-32042, "Sign in first"),
        (-32020, "Header mismatch"),
        (-31000, "The account is closed"),
        (42, "The shop is closed"),
    ] {
        let result =
            call(&toolset, "act", json!({"code": code, "message": message}), Duration::from_secs(5)).await;
        table += &format!("## {code} {message:?}\n{}\n\n", shown(&result));
    }
    insta::assert_snapshot!(table);
}

#[tokio::test]
async fn what_is_declared_to_be_a_failure_is_one() {
    let fake = Fake::new(Behaviour::HiddenFailure);
    let mut config = fake.config();
    let mut test = AnswerTest::default();
    test.contains = Some("Error: ".into());
    config.answer.fail_when.push(FailWhen { test, kind: ToolErrorKind::UpstreamFailure });
    let toolset = backstop_toolsets::mcp::McpToolset::new(config).unwrap();
    toolset.list().await.unwrap();
    insta::assert_snapshot!(shown(&act(&toolset).await));
}

#[tokio::test]
async fn a_result_that_is_not_what_was_promised_is_told_unless_that_is_meant() {
    let fake = Fake::new(Behaviour::WrongOutput);
    let strict = fake.toolset();
    strict.list().await.unwrap();
    let sum = || json!({"a": 1, "b": 2});
    insta::assert_snapshot!(shown(&call(&strict, "add", sum(), Duration::from_secs(5)).await));

    let mut config = fake.config();
    config.answer.lenient = true;
    let lenient = backstop_toolsets::mcp::McpToolset::new(config).unwrap();
    lenient.list().await.unwrap();
    let output = call(&lenient, "add", sum(), Duration::from_secs(5)).await.unwrap();
    assert_eq!(output.to_value(), json!({"sum": "3"}));
}
