//! C03, C18, C26: replies in one piece.

use std::time::Duration;

use backstop_core::{FinishReason, ModelErrorKind, ModelReply, ToolCall, Usage};
use backstop_test::server::{Reply, Server};
use serde_json::{Value, json};

use super::{ask, ask_streamed, ask_within, choice, config, model};

/// The reply that this message gives, as the last of a choice with this finish reason in JSON.
async fn reply(message: &str, finish: &str) -> ModelReply {
    let server = Server::start([choice(message, finish)]);
    ask(&model(&server.url)).await.unwrap()
}

const CALL: &str = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"k1","type":"function","function":{"name":"add","arguments":"{\"a\": 1}"}}]}"#;

#[tokio::test]
async fn a_whole_reply_is_read_with_its_usage_and_unknown_fields() {
    let body = r#"{"id":"r","object":"chat.completion","created":1,"model":"m","timings":{"a":1},"choices":[
        {"index":0,"logprobs":null,"finish_reason":"stop","message":{"role":"assistant","content":"Hi","refusal":null,"annotations":[],
         "reasoning_content":"hm","custom_content":{"state":{"n":1}}}}],
        "usage":{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30,"prompt_tokens_details":{"cached_tokens":4,"audio_tokens":0},
         "completion_tokens_details":{"reasoning_tokens":5}}}"#;
    let server = Server::start([Reply::json("200 OK", body)]);
    let extra = json!({"reasoning_content": "hm", "custom_content": {"state": {"n": 1}}});
    assert_eq!(
        ask(&model(&server.url)).await.unwrap(),
        ModelReply {
            text: Some("Hi".into()),
            usage: Usage { input_tokens: 10, output_tokens: 20, cached_tokens: 4, reasoning_tokens: 5 },
            extra: extra.as_object().unwrap().clone(),
            ..ModelReply::default()
        }
    );
}

#[tokio::test]
async fn the_shapes_of_no_arguments_are_all_read() {
    let reply = reply(
        r#"{"content":null,"tool_calls":[
            {"id":"k1","type":"function","function":{"name":"list_windows","arguments":""}},
            {"id":"k2","type":"function","function":{"name":"list_windows"}},
            {"id":"k3","type":"function","function":{"name":"list_windows","arguments":null}},
            {"id":"k4","type":"function","function":{"name":"list_windows","arguments":{}}},
            {"id":"k4","type":"function","function":{"name":null,"arguments":{"path": "a"}}},
            {"function":{"name":"list_windows","arguments":"{\"path\": \"a\"}"}}]}"#,
        "\"tool_calls\"",
    )
    .await;
    let call = |id: &str, name: &str, arguments: &str| ToolCall::new(id, name, arguments);
    assert_eq!(
        reply.calls,
        [
            call("k1", "list_windows", ""),
            call("k2", "list_windows", ""),
            call("k3", "list_windows", ""),
            call("k4", "list_windows", "{}"),
            call("k4", "", r#"{"path":"a"}"#),
            call("", "list_windows", r#"{"path": "a"}"#),
        ]
    );
}

#[tokio::test]
async fn a_call_is_returned_whatever_the_finish_reason_is() {
    use FinishReason::{ContentFilter, Length, Stop, ToolCalls};
    let cases = [
        ("\"stop\"", Stop),
        ("\"tool_calls\"", ToolCalls),
        ("\"function_call\"", ToolCalls),
        ("null", Stop),
        ("\"\"", Stop),
        ("\"eos\"", Stop),
        ("\"length\"", Length),
        ("\"content_filter\"", ContentFilter),
    ];
    for (finish, expected) in cases {
        let reply = reply(CALL, finish).await;
        assert_eq!((reply.finish, reply.calls.len()), (expected, 1), "{finish}");
    }
    let absent = format!(r#"{{"choices":[{{"message":{CALL}}}]}}"#);
    let server = Server::start([Reply::json("200 OK", &absent)]);
    assert_eq!(ask(&model(&server.url)).await.unwrap().finish, Stop);

    let done = reply(r#"{"content":"done","tool_calls":[]}"#, "\"tool_calls\"").await;
    assert_eq!(done, ModelReply { finish: ToolCalls, ..ModelReply::text("done") });
    let empty = reply(r#"{"content":"","tool_calls":[]}"#, "\"tool_calls\"").await;
    assert_eq!(empty, ModelReply { finish: ToolCalls, ..ModelReply::default() });
}

#[tokio::test]
async fn other_forms_of_a_message_are_read() {
    let parts =
        reply(r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#, "\"stop\"").await;
    assert_eq!(parts, ModelReply::text("ab"));
    let old =
        reply(r#"{"content":null,"function_call":{"name":"add","arguments":"{}"}}"#, "\"function_call\"")
            .await;
    assert_eq!(old, ModelReply::calls(vec![ToolCall::new("", "add", "{}")]));
    let signed = reply(
        r#"{"tool_calls":[{"id":"a","function":{"name":"t","arguments":"{}"}},{"id":"b","function":{"name":"t","arguments":"{}"},"signature":"s"}]}"#,
        "\"stop\"",
    )
    .await;
    assert_eq!(Value::Object(signed.extra), json!({"tool_call_extra": [{}, {"signature": "s"}]}));
}

#[tokio::test]
async fn half_a_character_costs_one_character() {
    let reply = reply(
        r#"{"content":"done \ud83d","reasoning":"\ude00","tool_calls":[{"id":"a","function":{"name":"t","arguments":"{\"a\":\"\ud83d\"}"}}]}"#,
        "\"stop\"",
    )
    .await;
    assert_eq!(reply.text.as_deref(), Some("done \u{fffd}"));
    assert_eq!(Value::Object(reply.extra), json!({"reasoning": "\u{fffd}"}));
    // Not JSON: such a call is not executed.
    assert_eq!(reply.calls[0].arguments.0, r#"{"a":"\ud83d"}"#);
}

#[tokio::test]
async fn what_is_no_reply_is_malformed() {
    let cases = [
        r#"{"choices":[]}"#,
        r#"{"choices":null}"#,
        r#"{"choices":[{"finish_reason":"stop"}]}"#,
        r#"{"choices":[{"message":null}]}"#,
        r#"{"choices":[{"message":{"content":7}}]}"#,
        "{}",
        "[]",
        "7",
        "",
        "{\"choices\":",
        "<html><body>login</body></html>",
        "{\"choices\":[{\"message\":{\"content\":\"\u{0}\"}}]}",
    ];
    for body in cases {
        let server = Server::start([Reply::json("200 OK", body)]);
        let error = ask(&model(&server.url)).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::MalformedReply, "{body}");
        assert!(!error.to_string().contains("login"), "{error}");
    }
}

#[tokio::test]
async fn an_error_in_a_good_reply_is_an_error() {
    use ModelErrorKind::{ContentFiltered, Rejected, Unavailable, UpstreamFailure};
    let cases = [
        (r#"{"error":{"message":"queue full","code":503}}"#, Unavailable, Some("queue full")),
        (r#"{"choices":null,"error":{"message":"bad","code":400}}"#, Rejected, Some("bad")),
        (r#"{"choices":[],"error":"bad"}"#, UpstreamFailure, Some("bad")),
        (
            r#"{"choices":[{"message":{"content":"x"}}],"error":{"message":"no","code":"content_filter"}}"#,
            ContentFiltered,
            Some("no"),
        ),
        (
            r#"{"choices":[{"message":{"content":"x"},"error":{"message":"no","code":502}}]}"#,
            Unavailable,
            Some("no"),
        ),
        (r#"{"choices":[{"message":{"content":"x"},"finish_reason":"error"}]}"#, UpstreamFailure, None),
    ];
    for (body, kind, words) in cases {
        let server = Server::start([Reply::json("200 OK", body)]);
        let error = ask(&model(&server.url)).await.unwrap_err();
        assert_eq!((error.kind(), error.words()), (kind, words), "{body}");
    }
    let fine = r#"{"choices":[{"message":{"content":"x"}}],"error":null}"#;
    let server = Server::start([Reply::json("200 OK", fine)]);
    assert_eq!(ask(&model(&server.url)).await, Ok(ModelReply::text("x")));
}

#[tokio::test]
async fn a_reply_larger_than_the_cap_is_refused() {
    let long = choice(&json!({"content": "x".repeat(300_000)}).to_string(), "\"stop\"");
    let server = Server::start([long]);
    let small =
        backstop_toolsets::deployment::OpenAiModel::new(config(&server.url).max_reply(200_000)).unwrap();
    let error = ask(&small).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::MalformedReply);
    assert!(error.detail().ends_with("is larger than 200000 bytes"), "{error}");
    assert_eq!(ask(&model(&server.url)).await.unwrap().text.unwrap().len(), 300_000);
}

#[tokio::test]
async fn a_listener_hears_a_reply_that_the_server_did_not_stream() {
    let server = Server::start([choice(CALL, "\"tool_calls\"")]);
    let (reply, heard) = ask_streamed(&model(&server.url)).await;
    assert_eq!(reply.unwrap().calls.len(), 1);
    assert_eq!(heard, ["call add"]);
}

#[tokio::test]
async fn silence_is_a_timeout() {
    for silence in [Reply::silence(), choice(CALL, "null").stall(10)] {
        let server = Server::start([silence]);
        let error = ask_within(&model(&server.url), None, Duration::from_millis(100)).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Timeout);
        assert!(error.detail().ends_with("did not answer within 100 milliseconds"), "{error}");
    }
}
