//! What a model's reply leads to: an answer, or a turn of calls that are checked one by one.

use std::sync::Arc;

use super::{
    Limit, Outcome, Run,
    call_state::{Call, CallState, Turn},
    repeats::CallKey,
    state::Phase,
};
use crate::{
    call::ToolCall,
    error::{ToolError, ToolErrorKind},
    id::CallId,
    message::Message,
    model::{FinishReason, ModelError, ModelErrorKind, ModelReply},
    schema,
};

impl Run {
    pub(super) fn replied(&mut self, attempt: u32, reply: &ModelReply) -> Phase {
        self.turns += 1;
        self.usage += reply.usage;
        let text = reply.text.as_deref().filter(|text| !text.trim().is_empty());
        let fail = |kind: ModelErrorKind, detail: &str| {
            let error = ModelError::new(kind, detail).with_partial(text.unwrap_or_default());
            Phase::Done(Outcome::ModelFailed { error })
        };
        match (reply.finish, reply.calls.as_slice(), text) {
            (FinishReason::ContentFilter, _, _) => {
                return fail(
                    ModelErrorKind::ContentFiltered,
                    "the reply ended with finish reason `content_filter`",
                );
            }
            (FinishReason::Length, [], _) => {
                return fail(ModelErrorKind::CutAtTokenLimit, "the reply ended with finish reason `length`");
            }
            (_, [], Some(text)) => {
                let (text, extra) = (text.to_owned(), reply.extra.clone());
                self.transcript.extend([Message::Assistant {
                    text: Some(text.clone()),
                    calls: Vec::new(),
                    extra,
                }]);
                return Phase::Done(Outcome::Answered { text });
            }
            (_, [], None) => {
                let error = ModelError::new(ModelErrorKind::EmptyReply, "the reply has no text and no calls");
                return self.model_failed(attempt, error);
            }
            (_, [_, ..], _) => {}
        }
        let mut turn = Turn {
            text: reply.text.clone().filter(|text| !text.is_empty()),
            extra: reply.extra.clone(),
            calls: Vec::with_capacity(reply.calls.len()),
            end: None,
        };
        for (index, asked) in reply.calls.iter().enumerate() {
            let id = self.free_id(asked, index);
            self.take_call(&mut turn, id, asked, reply.finish == FinishReason::Length);
        }
        self.after(turn)
    }

    /// The id of a call: the model's own, unless it is missing or taken.
    fn free_id(&mut self, asked: &ToolCall, index: usize) -> CallId {
        let mut id = asked.id.clone();
        let mut tries = 0u32;
        while id.as_str().trim().is_empty() || self.call_ids.contains(&id) {
            let more = if tries == 0 { String::new() } else { format!("_{tries}") };
            id = CallId::new(format!("call_{}_{index}{more}", self.turns));
            tries += 1;
        }
        self.call_ids.insert(id.clone());
        id
    }

    fn take_call(&mut self, turn: &mut Turn, id: CallId, asked: &ToolCall, cut: bool) {
        let limits = &self.definition.limits;
        let over = self.tool_calls >= limits.tool_calls;
        self.tool_calls = self.tool_calls.saturating_add(1);
        let mut asked = asked.clone();
        asked.id = id.clone();
        let validated = if cut {
            Err(ToolError::new(
                ToolErrorKind::MalformedArguments,
                "the reply was cut at the model's token limit",
            )
            .with_words(format!(
                "The call of tool \"{}\" was not made: the reply was cut off at the token limit.",
                crate::text::escaped(&asked.name, 100)
            ))
            .with_next_step("Send the call again, complete and shorter.".into()))
        } else {
            self.definition.catalog.validate(&asked)
        };
        let key = match &validated {
            Ok(valid) => CallKey::of_valid(valid.tool(), valid.arguments()),
            Err(_) => CallKey::new(&asked.name, &asked.arguments),
        };
        let replayable = match &validated {
            Ok(_) => true,
            Err(error) if error.kind() == ToolErrorKind::InvalidArguments => true,
            Err(_) => is_object(&asked.arguments.0),
        };
        let (valid, error) = match validated {
            Ok(valid) => (Some(Arc::new(valid)), None),
            Err(error) => (None, Some(error)),
        };
        let shown = crate::text::escaped(&asked.name, 100);
        let index = turn.calls.len();
        turn.calls.push(Call {
            id,
            asked,
            replayable,
            valid,
            key,
            attempts: 0,
            standby: None,
            reconciling: None,
            side_attempts: 0,
            may_have_applied: false,
            state: CallState::Ready,
        });
        if over {
            let words = format!(
                "The call of tool \"{shown}\" was not made: the run's limit of tool calls is reached."
            );
            self.call_refused(turn, index, Limit::ToolCalls, words, "Answer with what you have.");
            turn.ends(Outcome::LimitReached { which: Limit::ToolCalls });
        } else if let Some(refusal) = self.repeats.refuse(key, &self.definition.limits) {
            let happened = if refusal.failing { "failed" } else { "gave the same result" };
            let words = format!(
                "The call of tool \"{shown}\" was not made: the same call with the same arguments {happened} {} {}.",
                refusal.times,
                if refusal.times == 1 { "time" } else { "times" }
            );
            self.call_refused(
                turn,
                index,
                Limit::Repeats,
                words,
                "Use other arguments or another tool, or answer with what you have.",
            );
            if refusal.ends_run {
                turn.ends(Outcome::LimitReached { which: Limit::Repeats });
            }
        } else if let Some(error) = error {
            self.call_failed(turn, index, &error, 0);
        } else if let Some(call) = turn.calls.get_mut(index) {
            let entry =
                call.valid.as_ref().and_then(|valid| self.definition.catalog.entries().get(valid.entry()));
            if entry.is_some_and(|entry| entry.policy.approve.is_needed(entry.spec.effect)) {
                call.state = CallState::Unapproved;
            }
        }
    }
}

/// Whether the text is a JSON object by the parser that calls are decoded with: skipping it instead would let
/// through numbers out of range, lone surrogates, names that stand twice and any depth.
fn is_object(raw: &str) -> bool {
    raw.trim().is_empty() || raw.trim() == "null" || schema::object(raw).is_some()
}
