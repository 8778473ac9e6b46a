//! C23 to C25 over a connection: replies in pieces.

use std::time::Duration;

use backstop_core::{ModelErrorKind, ModelReply, ToolCall};
use backstop_test::server::{Reply, Server};
use backstop_toolsets::deployment::OpenAiModel;

use super::{Heard, ask, ask_streamed, ask_within, choice, config, model};

const HELLO: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hello\"}}]}\n\n";
const CALL: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":null,\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"wipe\",\"arguments\":\"{}\"}}]}}]}\n\n";
const STOP: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

#[tokio::test]
async fn a_stream_is_shown_while_it_comes_and_returned_whole() {
    let server = Server::start([Reply::events([HELLO, CALL, STOP, DONE])]);
    let (reply, heard) = ask_streamed(&model(&server.url)).await;
    assert_eq!(heard, ["text Hello", "call wipe"]);
    assert_eq!(
        reply,
        Ok(ModelReply {
            text: Some("Hello".into()),
            calls: vec![ToolCall::new("c1", "wipe", "{}")],
            ..ModelReply::default()
        })
    );
}

#[tokio::test]
async fn the_next_turn_uses_the_same_connection() {
    let server = Server::start([Reply::events([HELLO, STOP, DONE])]);
    let model = model(&server.url);
    for _ in 0..3 {
        ask_streamed(&model).await.0.unwrap();
    }
    assert_eq!((server.seen().len(), server.connections()), (3, 1));
}

#[tokio::test]
async fn a_stream_that_breaks_off_keeps_what_was_said_and_returns_no_call() {
    let whole = Reply::events([HELLO, CALL, STOP, DONE]);
    let without_end = format!("{:x}\r\n{STOP}\r\n{:x}\r\n{DONE}\r\n0\r\n\r\n", STOP.len(), DONE.len()).len();
    let cases = [
        (whole.clone().cut(without_end), "broke off in the middle of its reply"),
        (whole.cut(without_end + 30), "broke off in the middle of its reply"),
        (Reply::events([HELLO, CALL]), "ended before the reply was complete"),
    ];
    for (reply, detail) in cases {
        let server = Server::start([reply]);
        let (reply, heard) = ask_streamed(&model(&server.url)).await;
        let error = reply.unwrap_err();
        assert_eq!((error.kind(), error.partial()), (ModelErrorKind::UpstreamFailure, Some("Hello")));
        assert!(error.detail().ends_with(detail), "{error:?}");
        assert_eq!(heard[0], "text Hello");
    }
}

#[tokio::test]
async fn a_stream_that_stalls_is_a_timeout_unless_it_was_finished() {
    let end = format!("{:x}\r\n{DONE}\r\n0\r\n\r\n", DONE.len()).len();
    let server = Server::start([Reply::events([HELLO, CALL, DONE]).stall(end)]);
    let heard = Heard::default();
    let reply = ask_within(&model(&server.url), Some(&heard), Duration::from_millis(200)).await;
    let error = reply.unwrap_err();
    assert_eq!((error.kind(), error.partial()), (ModelErrorKind::Timeout, Some("Hello")));

    let server = Server::start([Reply::events([HELLO, STOP, DONE]).stall(end)]);
    let reply = ask_within(&model(&server.url), Some(&heard), Duration::from_millis(200)).await;
    assert_eq!(reply, Ok(ModelReply::text("Hello")));
}

#[tokio::test]
async fn an_error_after_the_headers_is_an_error() {
    let error = "data: {\"error\":{\"message\":\"queue full\",\"type\":\"overloaded\",\"code\":503}}\n\n";
    let server = Server::start([Reply::events([HELLO, CALL, error, DONE])]);
    let error = ask_streamed(&model(&server.url)).await.0.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Unavailable);
    assert_eq!(error.to_string(), "the model server can't be reached: queue full (status 503)");
    assert_eq!((error.code(), error.partial()), (Some("overloaded"), Some("Hello")));
}

#[tokio::test]
async fn nothing_is_streamed_where_nobody_listens_or_the_config_forbids_it() {
    let server = Server::start([choice("{\"content\":\"Hello\"}", "\"stop\"")]);
    ask(&model(&server.url)).await.unwrap();
    let quiet = OpenAiModel::new(config(&server.url).stream(false)).unwrap();
    let (_, heard) = ask_streamed(&quiet).await;
    assert_eq!(heard, [""; 0]);
    assert!(server.seen().iter().all(|seen| !seen.body.contains("stream")));
}

#[tokio::test]
async fn a_server_that_streams_unasked_is_read_all_the_same() {
    let server = Server::start([Reply::events([HELLO, STOP, DONE])]);
    assert_eq!(ask(&model(&server.url)).await, Ok(ModelReply::text("Hello")));
}
