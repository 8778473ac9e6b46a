//! The model that answers from a script.

use async_trait::async_trait;
use backstop_core::{
    Delta, DeltaSink, Model, ModelError, ModelErrorKind, ModelReply, ModelRequest, ToolCall, Usage, text,
};
use serde_json::Map;

use super::{
    parse::{ScriptError, parse},
    script::{Next, Script, What},
};

/// What a text may hold in place of the last tool results.
const LAST_RESULT: &str = "{{last_result}}";

/// A model that answers from a script.
///
/// Where a conversation stands in the script follows from its messages, so one model serves concurrent runs, and a
/// run that is resumed goes on where it was. Only how often an entry has failed is counted in the model itself, for
/// all conversations together.
///
/// # Example
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use backstop_core::{Catalog, Message, Model, ModelRequest, Transcript};
/// use backstop_toolsets::deployment::ScriptedModel;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedModel::parse("- text: Good morning.")?;
/// let transcript = Transcript::new(Arc::new(vec![Message::user("Hello")]));
/// let tools = Catalog::default();
/// let request = ModelRequest::new(&transcript, &tools, Duration::from_secs(1));
/// assert_eq!(model.respond(request, None).await?.text.as_deref(), Some("Good morning."));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ScriptedModel {
    script: Script,
}

impl ScriptedModel {
    /// The model of a script in YAML or JSON: see [the form](super).
    ///
    /// # Errors
    ///
    /// The first problem, with its place.
    pub fn parse(script: &str) -> Result<Self, ScriptError> {
        Ok(Self { script: parse(script)? })
    }
}

#[async_trait]
impl Model for ScriptedModel {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn respond(
        &self,
        request: ModelRequest<'_>,
        sink: Option<&dyn DeltaSink>,
    ) -> Result<ModelReply, ModelError> {
        let Some(next) = self.script.next(request.transcript) else {
            return Err(ModelError::new(ModelErrorKind::Misconfigured, "the script has no further reply"));
        };
        let delay = next.entry.delay;
        if !delay.is_zero() {
            tokio::time::sleep(delay.min(request.timeout)).await;
        }
        if delay > request.timeout {
            let detail = format!("the script did not answer within {}", text::duration(request.timeout));
            return Err(ModelError::new(ModelErrorKind::Timeout, detail));
        }
        let reply = answer(&next)?;
        if let Some(sink) = sink {
            show(&reply, sink).await;
        }
        Ok(reply)
    }
}

fn answer(next: &Next<'_>) -> Result<ModelReply, ModelError> {
    let (text, calls, finish) = match &next.entry.what {
        What::Reply { text, calls, finish } => (text, calls, *finish),
        What::Fail { error, .. } => return Err(error.clone()),
    };
    let text = text.as_ref().map(|text| {
        if text.contains(LAST_RESULT) { text.replace(LAST_RESULT, &next.last_result()) } else { text.clone() }
    });
    let calls = calls.iter().enumerate().map(|(index, call)| {
        let id = call.id.clone().unwrap_or_else(|| format!("call_{}_{}", next.turn + 1, index + 1));
        ToolCall::new(id, &call.tool, &call.arguments)
    });
    Ok(ModelReply { text, calls: calls.collect(), finish, usage: Usage::default(), extra: Map::new() })
}

/// Streams word by word, and lets others run between the words.
async fn show(reply: &ModelReply, sink: &dyn DeltaSink) {
    for word in reply.text.iter().flat_map(|text| text.split_inclusive(' ')) {
        sink.delta(Delta::Text(word));
        tokio::task::yield_now().await;
    }
    for call in &reply.calls {
        sink.delta(Delta::CallStarted { name: &call.name });
    }
}

#[cfg(test)]
mod tests;
