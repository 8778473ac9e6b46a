//! What answers a turn.

use std::time::Duration;

use async_trait::async_trait;

use crate::{
    catalog::Catalog,
    message::Transcript,
    model::{ModelError, ModelReply},
};

/// What answers a turn. Implementations are shared by concurrent runs.
#[async_trait]
pub trait Model: Send + Sync + 'static {
    /// The model's name, for logs.
    fn name(&self) -> &str;

    /// Answers one turn. With a `sink` the reply is streamed into it while it comes; the returned reply is whole
    /// either way. Never retries by itself.
    ///
    /// # Errors
    ///
    /// A [`ModelError`] of the kind that says what to do next.
    async fn respond(
        &self,
        request: ModelRequest<'_>,
        sink: Option<&dyn DeltaSink>,
    ) -> Result<ModelReply, ModelError>;
}

/// What is asked of a model.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ModelRequest<'a> {
    /// The conversation.
    pub transcript: &'a Transcript,
    /// The tools that the model may call.
    pub tools: &'a Catalog,
    /// Time the reply has.
    pub timeout: Duration,
}

impl<'a> ModelRequest<'a> {
    /// A request for the next turn.
    pub fn new(transcript: &'a Transcript, tools: &'a Catalog, timeout: Duration) -> Self {
        Self { transcript, tools, timeout }
    }
}

/// A piece of a reply while it is streamed. Only for show: the reply that counts is the whole one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta<'a> {
    /// More of the text.
    Text(&'a str),
    /// More of the model's reasoning.
    Reasoning(&'a str),
    /// A call has begun.
    CallStarted {
        /// The name, as far as it is known.
        name: &'a str,
    },
}

/// Takes the pieces of a streamed reply. Must return at once.
pub trait DeltaSink: Send + Sync {
    /// Takes one piece.
    fn delta(&self, delta: Delta<'_>);
}
