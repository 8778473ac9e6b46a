//! A model under a test's control.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use backstop_core::{
    Delta, DeltaSink, Message, Model, ModelError, ModelErrorKind, ModelReply, ModelRequest, ToolCall,
    message::check_pairing,
};

/// One thing that a [`TestModel`] does.
#[derive(Clone, Debug)]
pub enum Reply {
    /// It answers.
    With(ModelReply),
    /// It fails.
    Fail(ModelError),
    /// It takes this long, then does the next thing.
    After(Duration),
    /// It never answers.
    Hang,
    /// It panics.
    Panic,
}

impl Reply {
    /// An answer in words.
    pub fn text(text: &str) -> Self {
        Self::With(ModelReply::text(text))
    }

    /// Calls of tools: name and arguments text, with ids `c1`, `c2`, … in one reply.
    pub fn calls(calls: &[(&str, &str)]) -> Self {
        let calls = calls
            .iter()
            .enumerate()
            .map(|(index, (name, arguments))| ToolCall::new(format!("c{}", index + 1), *name, *arguments));
        Self::With(ModelReply::calls(calls.collect()))
    }
}

/// A model that does what a test says, in order, and keeps what it was sent. Each request must be balanced.
#[derive(Clone, Debug)]
pub struct TestModel {
    script: Arc<Vec<Reply>>,
    next: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<Vec<Message>>>>,
}

impl TestModel {
    /// A model that does these things, one after the other.
    pub fn new(script: impl IntoIterator<Item = Reply>) -> Self {
        Self {
            script: Arc::new(script.into_iter().collect()),
            next: Arc::default(),
            requests: Arc::default(),
        }
    }

    /// The conversations it was sent, one per request.
    pub fn requests(&self) -> Vec<Vec<Message>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What it read as the results of calls in its last request.
    pub fn last_results(&self) -> Vec<String> {
        let requests = self.requests();
        let last = requests.last().map(Vec::as_slice).unwrap_or_default();
        let results = last.iter().filter_map(|message| match message {
            Message::Tool { content, .. } => Some(content.model_text()),
            Message::System { .. } | Message::User { .. } | Message::Assistant { .. } => None,
        });
        results.collect()
    }
}

#[async_trait]
impl Model for TestModel {
    fn name(&self) -> &str {
        "test"
    }

    async fn respond(
        &self,
        request: ModelRequest<'_>,
        sink: Option<&dyn DeltaSink>,
    ) -> Result<ModelReply, ModelError> {
        let messages: Vec<Message> = request.transcript.messages().cloned().collect();
        if let Err(wrong) = check_pairing(&messages) {
            panic!("the request is not balanced: {wrong:?}\n{messages:#?}");
        }
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(messages);
        loop {
            match self.script.get(self.next.fetch_add(1, Ordering::Relaxed)) {
                Some(Reply::With(reply)) => {
                    if let (Some(sink), Some(text)) = (sink, &reply.text) {
                        sink.delta(Delta::Text(text));
                    }
                    return Ok(reply.clone());
                }
                Some(Reply::Fail(error)) => return Err(error.clone()),
                Some(Reply::After(wait)) => tokio::time::sleep(*wait).await,
                Some(Reply::Hang) => std::future::pending().await,
                Some(Reply::Panic) => panic!("the test model panics"),
                None => {
                    let detail = "the test's script is at its end";
                    return Err(ModelError::new(ModelErrorKind::Misconfigured, detail));
                }
            }
        }
    }
}
