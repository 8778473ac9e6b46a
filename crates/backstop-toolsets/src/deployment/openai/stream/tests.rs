use std::time::Duration;

use backstop_core::{FinishReason, ToolCall, Usage};
use futures_util::stream::iter;

use super::{super::assemble::tests::Heard, *};

async fn read_chunks(
    chunks: Vec<Result<Bytes, ModelError>>,
) -> (Result<ModelReply, ModelError>, Vec<String>) {
    let (mut assembler, heard) = (Assembler::default(), Heard::default());
    let reply = read(iter(chunks), 8 * 1024 * 1024, "h:1", &mut assembler, &heard).await;
    (reply, heard.lines())
}

async fn read_text(body: impl AsRef<[u8]>) -> Result<ModelReply, ModelError> {
    read_chunks(vec![Ok(Bytes::copy_from_slice(body.as_ref()))]).await.0
}

fn broken() -> ModelError {
    ModelError::new(ModelErrorKind::UpstreamFailure, "broke off")
}

fn text_chunk(text: &str) -> String {
    format!("data: {}\n\n", serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}}]}))
}

const STOP: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

/// A character of each length in UTF-8, and line ends of both kinds.
const UNICODE: &str = concat!(
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"ü-那-🙂\"}}]}\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"read\",",
    "\"arguments\":\"{\\\"path\\\":\\\"/data/那个/übersicht-🙂.md\\\"}\"}}]}}]}\n\n",
    ": keep-alive\r\n\r\n",
    "data:{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\r\n\r\n",
    "data: [DONE]\n\n",
);

fn unicode_reply() -> ModelReply {
    ModelReply {
        text: Some("ü-那-🙂".into()),
        calls: vec![ToolCall::new("c1", "read", r#"{"path":"/data/那个/übersicht-🙂.md"}"#)],
        finish: FinishReason::ToolCalls,
        usage: Usage { input_tokens: 3, output_tokens: 2, ..Usage::default() },
        ..ModelReply::default()
    }
}

#[tokio::test]
async fn a_stream_reads_the_same_however_it_is_split_in_two() {
    for at in 0..=UNICODE.len() {
        let (head, tail) = UNICODE.as_bytes().split_at(at);
        let chunks = vec![Ok(Bytes::from_static(head)), Ok(Bytes::from_static(tail))];
        assert_eq!(read_chunks(chunks).await.0, Ok(unicode_reply()), "split at {at}");
    }
}

#[tokio::test]
async fn a_stream_reads_the_same_byte_by_byte() {
    let chunks = UNICODE.as_bytes().chunks(1).map(|byte| Ok(Bytes::from_static(byte))).collect();
    assert_eq!(read_chunks(chunks).await.0, Ok(unicode_reply()));
}

#[tokio::test]
async fn bytes_that_are_no_utf8_are_an_error_and_never_a_panic() {
    let mut body = text_chunk("good").into_bytes();
    body.extend(b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\xfe\xf0\x9f\"}}]}\n\n");
    body.extend(STOP.as_bytes());
    for size in 1..body.len() {
        let chunks = body.chunks(size).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
        let error = read_chunks(chunks).await.0.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::MalformedReply, "chunks of {size}");
    }
}

#[tokio::test]
async fn halves_of_a_character_are_joined_or_replaced() {
    let body = r#"data: {"choices":[{"delta":{"content":"a\ud83d","tool_calls":[{"index":0,"id":"c1","function":{"name":"t","arguments":"{\"t\":\"\ud83d"}}]}}]}

data: {"choices":[{"delta":{"content":"\ude00b\ud83d","tool_calls":[{"index":0,"function":{"arguments":"\ude00\",\"u\":\"\\ud8"}}]}}]}

data: {"choices":[{"delta":{"content":"c","tool_calls":[{"index":0,"function":{"arguments":"3d\\ude00\",\"v\":\"\ude00\"}"}}]},"finish_reason":"tool_calls"}]}

"#;
    let (reply, heard) = read_chunks(vec![Ok(Bytes::from_static(body.as_bytes()))]).await;
    let reply = reply.unwrap();
    assert_eq!(reply.text.as_deref(), Some("a😀b\u{fffd}c"));
    assert_eq!(heard, ["text a", "call t", "text 😀b", "text \u{fffd}c"]);
    // The joined ones are good JSON, and the lone one is none: such a call must not be executed.
    let arguments = &reply.calls[0].arguments.0;
    assert_eq!(arguments, r#"{"t":"\ud83d\ude00","u":"\ud83d\ude00","v":"\ude00"}"#);
    let joined = arguments.replace(r#","v":"\ude00""#, "");
    assert_eq!(serde_json::from_str::<Value>(&joined).unwrap(), serde_json::json!({"t": "😀", "u": "😀"}));
    assert!(serde_json::from_str::<Value>(arguments).is_err());
}

#[tokio::test]
async fn a_call_without_arguments_is_whole() {
    let body = concat!(
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"k1\",\"function\":{\"name\":\"list_windows\",\"arguments\":\"\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    );
    assert_eq!(read_text(body).await.unwrap().calls, [ToolCall::new("k1", "list_windows", "")]);
}

#[tokio::test]
async fn a_reply_is_whole_after_a_finish_reason_or_done() {
    let hello = text_chunk("hello");
    let whole = [
        format!("{hello}{STOP}data: [DONE]\n\n"),
        format!("{hello}{STOP}"),
        format!("{hello}data: [DONE]\n\n"),
        format!("{hello}data: [DONE]"),
        format!("{hello}{}", STOP.trim_end()),
        format!("{hello}{STOP}data: [DONE]\n\ndata: not read\n\n"),
        format!("\u{feff}{hello}{STOP}"),
        format!("event: message\nid: 1\n{hello}id: 2\n\ndata:\n\n{STOP}"),
        format!(
            "{hello}{STOP}data: {{\"choices\":[]}}\n\ndata: {{\"choices\":null,\"usage\":null,\"error\":null}}\n\n"
        ),
    ];
    for body in whole {
        assert_eq!(read_text(&body).await, Ok(ModelReply::text("hello")), "{body:?}");
    }
    let broken_after = vec![Ok(Bytes::from(format!("{hello}{STOP}"))), Err(broken())];
    assert_eq!(read_chunks(broken_after).await.0, Ok(ModelReply::text("hello")));
}

#[tokio::test]
async fn a_stream_that_ends_early_is_an_error_with_what_was_said_and_no_call() {
    let call = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"wipe\",\"arguments\":\"{}\"}}]}}]}\n\n";
    let hello = text_chunk("hello");
    for body in [
        format!("{hello}{call}"),
        format!("{hello}data: {{\"choices\":[{{\"delta\":{{\"cont"),
        format!("{hello}dat"),
        format!("{hello}\n"),
    ] {
        let error = read_text(&body).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::UpstreamFailure, "{body:?}");
        assert_eq!(error.partial(), Some("hello"));
        assert_eq!(error.words(), Some("the stream ended before the reply was complete"));
    }
    let error = read_text("").await.unwrap_err();
    assert_eq!((error.kind(), error.partial()), (ModelErrorKind::UpstreamFailure, None));
    let cut = read_chunks(vec![Ok(Bytes::from(hello)), Err(broken())]).await.0;
    assert_eq!(cut, Err(broken().with_partial("hello")));
}

#[tokio::test]
async fn an_error_in_the_stream_is_an_error_with_its_code() {
    use ModelErrorKind::{
        ContextTooLong, QuotaExhausted, RateLimited, Rejected, Unavailable, UpstreamFailure,
    };
    let start = "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"so\",\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"wipe\",\"arguments\":\"{\\\"all\\\":tr\"}}]}}]}\n\n";
    let cases = [
        (
            r#"{"error":{"message":"queue full","type":"overloaded","code":503}}"#,
            Unavailable,
            Some(503),
            "queue full",
        ),
        (r#"{"choices":null,"error":{"message":"bad","type":"x","code":400}}"#, Rejected, Some(400), "bad"),
        (
            r#"{"choices":[],"error":{"message":"upstream died","code":"503","display_message":"try later"}}"#,
            Unavailable,
            Some(503),
            "try later",
        ),
        (
            r#"{"choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"message":"a","code":429}}"#,
            RateLimited,
            Some(429),
            "a",
        ),
        (r#"{"choices":[{"delta":{},"error":{"message":"a","code":502}}]}"#, Unavailable, Some(502), "a"),
        (r#"{"error":{"message":"a","type":"overloaded_error"}}"#, Unavailable, None, "a"),
        (r#"{"error":{"message":"a","type":"rate_limit_error"}}"#, RateLimited, None, "a"),
        (r#"{"error":{"message":"a","type":"invalid_request_error"}}"#, Rejected, None, "a"),
        (r#"{"error":{"message":"a","code":"insufficient_quota"}}"#, QuotaExhausted, None, "a"),
        (
            r#"{"error":{"message":"Context size has been exceeded.","code":500}}"#,
            ContextTooLong,
            Some(500),
            "Context size has been exceeded.",
        ),
        (r#"{"error":"a"}"#, UpstreamFailure, None, "a"),
        (r#"{"error":{"message":"a","code":1}}"#, UpstreamFailure, None, "a"),
    ];
    for (event, kind, status, words) in cases {
        let error = read_text(format!("{start}data: {event}\n\ndata: [DONE]\n\n")).await.unwrap_err();
        assert_eq!((error.kind(), error.status(), error.words()), (kind, status, Some(words)), "{event}");
        assert_eq!(error.partial(), Some("so"), "{event}");
    }
    let named = read_text(format!("{start}event: error\ndata: {{\"message\":\"a\"}}\n\n")).await.unwrap_err();
    assert_eq!((named.kind(), named.words()), (UpstreamFailure, Some("a")));
    let finish = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}\n\ndata: [DONE]\n\n";
    let error = read_text(format!("{start}{finish}")).await.unwrap_err();
    assert_eq!((error.kind(), error.partial()), (UpstreamFailure, Some("so")));
}

#[tokio::test]
async fn a_chunk_that_does_not_parse_is_never_skipped() {
    let hello = text_chunk("hello");
    for bad in
        ["data: {nonsense}\n\n", "data: []\n\n", "data: 7\n\n", "data: {\"choices\":7}\n\n", "<html>\n\n"]
    {
        let error = read_text(format!("{hello}{bad}{STOP}")).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::MalformedReply, "{bad:?}");
    }
}

#[tokio::test]
async fn what_the_parser_keeps_is_bounded() {
    let line = Bytes::from(vec![b'x'; 64 * 1024]);
    let endless = stream::repeat_with(move || Ok(line.clone()));
    let (mut assembler, heard) = (Assembler::default(), Heard::default());
    let error = read(endless, usize::MAX, "h:1", &mut assembler, &heard).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::MalformedReply);
    assert_eq!(error.detail(), "an event of h:1 is larger than 4194304 bytes");

    let chunk = Bytes::from(text_chunk("x"));
    let endless = stream::repeat_with(move || Ok(chunk.clone()));
    let error = read(endless, 1000, "h:1", &mut assembler, &heard).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::MalformedReply);
    assert_eq!(error.detail(), "the reply of h:1 is larger than 1000 bytes");
}

#[tokio::test]
async fn a_server_that_does_not_hang_up_after_done_does_not_hold_the_reply() {
    let body = format!("{}data: [DONE]\n\n", text_chunk("hello"));
    let chunks = iter([Ok(Bytes::from(body))]).chain(stream::pending());
    let (mut assembler, heard) = (Assembler::default(), Heard::default());
    let reply =
        tokio::time::timeout(Duration::from_secs(5), read(chunks, 1000, "h:1", &mut assembler, &heard));
    assert_eq!(reply.await.unwrap(), Ok(ModelReply::text("hello")));
}
