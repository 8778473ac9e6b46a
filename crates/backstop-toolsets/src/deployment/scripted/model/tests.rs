use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use backstop_core::{
    CallId, Catalog, FinishReason, Message, ToolOutput, Transcript,
    message::{PastCall, ResultContent},
};

use super::*;

/// A conversation, and the model's next word in it.
struct Talk(Vec<Message>);

impl Talk {
    fn new() -> Self {
        Self(vec![Message::system("s"), Message::user("u")])
    }

    async fn next(&self, model: &ScriptedModel) -> Result<ModelReply, ModelError> {
        let transcript = Transcript::new(Arc::new(self.0.clone()));
        model
            .respond(ModelRequest::new(&transcript, &Catalog::default(), Duration::from_secs(60)), None)
            .await
    }

    /// Takes the next reply into the conversation, with a result for each call.
    async fn go_on(&mut self, model: &ScriptedModel, results: &[&str]) {
        let reply = self.next(model).await.unwrap();
        let calls = reply.calls.iter().map(|call| PastCall {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.0.clone(),
        });
        self.0.push(Message::Assistant { text: reply.text, calls: calls.collect(), extra: Map::new() });
        let ids = reply.calls.into_iter().map(|call| call.id).chain(std::iter::repeat(CallId::new("x")));
        for (id, result) in ids.zip(results) {
            let content = ResultContent::Output(ToolOutput::text(*result));
            self.0.push(Message::Tool { call: id, content });
        }
    }
}

fn model(script: &str) -> ScriptedModel {
    ScriptedModel::parse(script).unwrap()
}

#[tokio::test]
async fn a_script_is_followed_by_the_messages_there_are() {
    let model = model(
        "- text: Let me see.\n  calls: [{tool: a, arguments: {n: 1}}, {tool: b, raw: '{oops', id: own}]\n- text: 'Found: {{last_result}}'\n",
    );
    let mut talk = Talk::new();
    let first = talk.next(&model).await.unwrap();
    let calls = vec![ToolCall::new("call_1_1", "a", r#"{"n":1}"#), ToolCall::new("own", "b", "{oops")];
    assert_eq!(first, ModelReply { text: Some("Let me see.".into()), ..ModelReply::calls(calls) });
    assert_eq!(talk.next(&model).await.unwrap(), first, "asking again changes nothing");

    talk.go_on(&model, &["one", "two"]).await;
    assert_eq!(talk.next(&model).await, Ok(ModelReply::text("Found: one\ntwo")));
    talk.go_on(&model, &[]).await;
    let error = talk.next(&model).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Misconfigured);
    assert_eq!(error.detail(), "the script has no further reply");

    let other = Talk::new();
    assert_eq!(other.next(&model).await.unwrap(), first, "another conversation begins at the beginning");
}

#[tokio::test]
async fn a_reply_can_depend_on_the_last_result() {
    let model = model(
        "- calls: [{tool: a}]\n- {when_contains: not found, text: Nothing there.}\n- text: 'There is {{last_result}}.'\n- text: Bye.\n",
    );
    let (mut good, mut bad) = (Talk::new(), Talk::new());
    good.go_on(&model, &["gold"]).await;
    bad.go_on(&model, &["it was not found"]).await;
    assert_eq!(good.next(&model).await, Ok(ModelReply::text("There is gold.")));
    assert_eq!(bad.next(&model).await, Ok(ModelReply::text("Nothing there.")));

    good.go_on(&model, &[]).await;
    good.0.push(Message::user("more"));
    assert_eq!(good.next(&model).await, Ok(ModelReply::text("Bye.")));
    bad.go_on(&model, &[]).await;
    assert_eq!(bad.next(&model).await, Ok(ModelReply::text("There is it was not found.")));
}

#[tokio::test]
async fn a_failure_happens_as_often_as_it_should() {
    let model = model(
        "- fail: {kind: rate_limited, status: 429, message: slow down, retry_after: 2s, times: 2}\n- text: a\n- fail: {kind: timeout}\n- text: b\n",
    );
    let expected = ModelError::new(ModelErrorKind::RateLimited, "the script says so")
        .say("slow down")
        .with_status(429)
        .with_retry_after(Duration::from_secs(2));
    let mut talk = Talk::new();
    assert_eq!(talk.next(&model).await, Err(expected.clone()));
    assert_eq!(talk.next(&model).await, Err(expected));
    talk.go_on(&model, &[]).await;
    assert_eq!(talk.next(&model).await.unwrap_err().kind(), ModelErrorKind::Timeout);
    assert_eq!(talk.next(&model).await, Ok(ModelReply::text("b")));
}

#[tokio::test]
async fn the_last_entry_can_go_on_for_ever() {
    let model = model("- text: a\n- {calls: [{tool: t}], finish: length}\n- repeat: last\n");
    let mut talk = Talk::new();
    talk.go_on(&model, &[]).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let reply = talk.next(&model).await.unwrap();
        assert_eq!(reply.finish, FinishReason::Length);
        ids.push(reply.calls[0].id.clone());
        talk.go_on(&model, &["r"]).await;
    }
    assert_eq!(ids, ["call_2_1", "call_3_1", "call_4_1"].map(CallId::new));

    let failing = ScriptedModel::parse("- fail: {kind: unavailable}\n- repeat: last\n").unwrap();
    for _ in 0..3 {
        assert_eq!(Talk::new().next(&failing).await.unwrap_err().kind(), ModelErrorKind::Unavailable);
    }
}

#[tokio::test]
async fn a_reply_takes_its_time_and_no_more_than_there_is() {
    let model = model("- {text: a, delay: 30ms}\n");
    let before = std::time::Instant::now();
    assert_eq!(Talk::new().next(&model).await, Ok(ModelReply::text("a")));
    assert!(before.elapsed() >= Duration::from_millis(30));

    let slow = ScriptedModel::parse("- {text: a, delay: 1m}\n").unwrap();
    let transcript = Transcript::default();
    let request = Catalog::default();
    let request = ModelRequest::new(&transcript, &request, Duration::from_millis(10));
    assert_eq!(slow.respond(request, None).await.unwrap_err().kind(), ModelErrorKind::Timeout);
}

#[tokio::test]
async fn a_reply_is_streamed_word_by_word() {
    #[derive(Default)]
    struct Sink(Mutex<Vec<String>>);
    impl DeltaSink for Sink {
        fn delta(&self, delta: Delta<'_>) {
            self.0.lock().unwrap().push(format!("{delta:?}"));
        }
    }
    let model = model("- {text: 'one two', calls: [{tool: t}]}\n");
    let (sink, transcript, tools) = (Sink::default(), Transcript::default(), Catalog::default());
    let request = ModelRequest::new(&transcript, &tools, Duration::from_secs(1));
    model.respond(request, Some(&sink)).await.unwrap();
    assert_eq!(
        *sink.0.lock().unwrap(),
        [r#"Text("one ")"#, r#"Text("two")"#, r#"CallStarted { name: "t" }"#]
    );
}
