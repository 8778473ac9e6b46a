//! The conversation that is sent to the model.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{error::ModelView, id::CallId, output::ToolOutput, text};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// Instructions of the agent.
    System {
        /// The text.
        text: String,
    },
    /// What a person said.
    User {
        /// The text.
        text: String,
    },
    /// What the model said.
    Assistant {
        /// The text, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The calls it made, each with a unique id.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<PastCall>,
        /// What the provider sent along and expects back with this message.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        extra: Map<String, Value>,
    },
    /// The result of one call.
    Tool {
        /// The call.
        call: CallId,
        /// What came of it.
        content: ResultContent,
    },
}

impl Message {
    /// Instructions of the agent.
    pub fn system(text: impl Into<String>) -> Self {
        Self::System { text: text.into() }
    }

    /// What a person said.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into() }
    }

    /// What the model said, without calls.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant { text: Some(text.into()), calls: Vec::new(), extra: Map::new() }
    }
}

/// A call as it is replayed to the model: the name is one that providers take, the arguments are a JSON object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastCall {
    /// Unique in the conversation.
    pub id: CallId,
    /// 1 to 64 letters, digits, `_` or `-`.
    pub name: String,
    /// A JSON object: what the model wrote, byte for byte, where that was one; else a stand-in that holds it as
    /// text.
    pub arguments: String,
}

/// What the model reads as the result of a call: the only two kinds of text that reach it from a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultContent {
    /// The tool's output.
    Output(ToolOutput),
    /// The tool's output, of a call that was made with other arguments than the model wrote, with what it reads
    /// about that.
    Mended {
        /// The output.
        output: ToolOutput,
        /// What the model reads about the arguments.
        note: String,
    },
    /// The model view of a failure.
    Failure(ModelView),
    /// A declared value in place of the output, with what the model reads about it.
    Substitute {
        /// The value.
        output: ToolOutput,
        /// What the model reads about it.
        note: String,
    },
}

impl ResultContent {
    /// What the model reads: never empty.
    pub fn model_text(&self) -> String {
        match self {
            Self::Output(output) => output.model_text(),
            Self::Failure(view) => view.as_str().to_owned(),
            Self::Mended { output, note } | Self::Substitute { output, note } => {
                format!("{note}\n{}", output.model_text())
            }
        }
    }
}

/// A name as providers take it in a replayed call: 1 to 64 letters, digits, `_` or `-`.
pub(crate) fn replayable_name(name: &str) -> String {
    let kept: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .take(64)
        .collect();
    if kept.is_empty() { "unnamed".into() } else { kept }
}

/// A JSON object that stands for arguments which are none.
pub(crate) fn stand_in(raw: &str) -> String {
    let mut object = Map::new();
    object.insert("_invalid_arguments".into(), Value::String(text::head(raw, 512)));
    Value::Object(object).to_string()
}

/// Checks the pairing invariant: each assistant message with calls is directly followed by exactly one result per
/// call, in call order, and there is no other result. Ids differ within a message; several providers number them
/// anew in each.
///
/// # Errors
///
/// What is wrong, call by call.
pub fn check_pairing<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Result<(), Vec<String>> {
    let mut expected = std::collections::VecDeque::new();
    let mut wrong = Vec::new();
    for message in messages {
        match message {
            Message::Tool { call, .. } => match expected.pop_front() {
                Some(id) if id == call => {}
                Some(id) => wrong.push(format!("result `{call}` where that of call `{id}` should be")),
                None => wrong.push(format!("result `{call}` without a call")),
            },
            Message::System { .. } | Message::User { .. } | Message::Assistant { .. } => {
                wrong.extend(expected.drain(..).map(|id| format!("call `{id}` without a result")));
                if let Message::Assistant { calls, .. } = message {
                    let mut seen = std::collections::HashSet::new();
                    for call in calls {
                        if !seen.insert(&call.id) {
                            wrong.push(format!("call `{}` twice", call.id));
                        }
                        expected.push_back(&call.id);
                    }
                }
            }
        }
    }
    wrong.extend(expected.drain(..).map(|id| format!("call `{id}` without a result")));
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// The messages of a run, which only grow. Whatever is in it is balanced: each assistant message with calls is
/// directly followed by exactly one result per call, in call order.
///
/// A model client turns it into bytes with [`encoded`](Self::encoded), which encodes each message once in the
/// life of the transcript, however many turns send it.
#[derive(Debug, Default)]
pub struct Transcript {
    messages: Vec<Message>,
    /// Messages that came in one piece and are shared with the journal, before those in `messages`.
    input: Arc<Vec<Message>>,
    encoded: Mutex<Encoded>,
}

#[derive(Debug, Default)]
struct Encoded {
    by: &'static str,
    messages: usize,
    bytes: Vec<u8>,
}

impl Transcript {
    /// A conversation that begins with these messages.
    pub fn new(input: Arc<Vec<Message>>) -> Self {
        Self { input, ..Self::default() }
    }

    /// All messages in order.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.input.iter().chain(&self.messages)
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.input.len() + self.messages.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn extend(&mut self, messages: impl IntoIterator<Item = Message>) {
        self.messages.extend(messages);
    }

    /// Hands `read` the bytes of all messages in the wire form `form`: those of earlier turns as they were, the
    /// rest as `encode` appends them now. One form is kept; asking for another starts over.
    pub fn encoded<T>(
        &self,
        form: &'static str,
        mut encode: impl FnMut(&Message, &mut Vec<u8>),
        read: impl FnOnce(&[u8]) -> T,
    ) -> T {
        let mut encoded = self.encoded.lock().unwrap_or_else(PoisonError::into_inner);
        if encoded.by != form {
            *encoded = Encoded { by: form, ..Encoded::default() };
        }
        for message in self.messages().skip(encoded.messages) {
            encode(message, &mut encoded.bytes);
        }
        encoded.messages = self.len();
        read(&encoded.bytes)
    }
}
