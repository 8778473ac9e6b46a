//! A reply put together from the pieces of a stream, as real servers send them.
//!
//! The protocol says that a piece of a call carries an `index`, and its id and name once. Servers leave the index
//! out or start it at one, give every call the same index, repeat the name in each piece, or send whole calls one
//! after the other. What tells two calls apart is, in this order: a new id, a new index, a new place in one piece,
//! and arguments that go on although they were complete.

use backstop_core::{Delta, DeltaSink, ModelReply, Usage};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::{
    merge::{merge, settle},
    surrogates::{Joiner, joined},
    whole::parts,
    wire::{Call, Function, Reply, Said, finish},
};

/// Where servers put the reasoning of a model; some send the same text in both.
const REASONING: [&str; 2] = ["reasoning_content", "reasoning"];

/// What has come of a reply.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    text: String,
    half: Joiner,
    calls: Vec<Piece>,
    function_call: Option<Function>,
    extra: Map<String, Value>,
    /// The choice that is followed: the first one that came.
    choice: Option<i64>,
    finish: String,
    usage: Usage,
    marked: bool,
}

/// What has come of one call.
#[derive(Debug, Default)]
struct Piece {
    call: Call,
    /// The name came once more after complete arguments: either the server repeats itself, or a call of the same
    /// tool begins. Arguments to come decide it.
    named_again: bool,
}

impl Assembler {
    /// Adds one chunk and shows `sink` what is new.
    pub(super) fn add(&mut self, chunk: Reply, marked: bool, sink: &dyn DeltaSink) {
        self.marked |= marked;
        if let Some(usage) = chunk.usage {
            self.usage = usage.into();
        }
        for choice in chunk.choices.into_iter().flatten() {
            let index = choice.index.unwrap_or(0);
            if *self.choice.get_or_insert(index) != index {
                continue;
            }
            // A whole message counts only where the server sends no pieces at all.
            let whole = choice.message.filter(|_| self.is_blank());
            if let Some(said) = choice.delta.or(whole) {
                self.say(said, marked, sink);
            }
            if !choice.finish_reason.is_empty() {
                self.finish = choice.finish_reason;
            }
        }
    }

    /// What has been said.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the server said that it is done.
    pub(super) fn is_finished(&self) -> bool {
        !self.finish.is_empty()
    }

    /// The whole reply; `None` where the server said that it failed.
    pub(super) fn reply(&mut self) -> Option<ModelReply> {
        let finish = finish(&self.finish)?;
        let mut heard = std::mem::take(self);
        heard.text.push_str(heard.half.end());
        settle(&mut heard.extra);
        let calls =
            heard.calls.into_iter().map(|piece| piece.call).filter(|call| !is_nothing(call)).collect();
        let said = Said {
            tool_calls: Some(calls),
            function_call: heard.function_call,
            extra: heard.extra,
            ..Said::default()
        };
        let (_, calls, extra) = parts(said, heard.marked);
        let text = Some(heard.text).filter(|text| !text.is_empty());
        Some(ModelReply { text, calls, finish, usage: heard.usage, extra })
    }

    fn is_blank(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty() && self.function_call.is_none()
    }

    fn say(&mut self, said: Said, marked: bool, sink: &dyn DeltaSink) {
        let reasoning = REASONING.iter().find_map(|field| said.extra.get(*field)?.as_str());
        if let Some(reasoning) = reasoning.filter(|reasoning| !reasoning.is_empty()) {
            if marked {
                sink.delta(Delta::Reasoning(&joined(reasoning)));
            } else {
                sink.delta(Delta::Reasoning(reasoning));
            }
        }
        if !said.content.is_empty() {
            let text = if marked || self.half.waits() { self.half.push(&said.content) } else { said.content };
            if !text.is_empty() {
                sink.delta(Delta::Text(&text));
                self.text.push_str(&text);
            }
        }
        if !said.extra.is_empty() {
            merge(&mut self.extra, said.extra);
        }
        for (place, call) in said.tool_calls.into_iter().flatten().enumerate() {
            self.call(place, call, sink);
        }
        if let Some(piece) = said.function_call {
            if self.function_call.is_none() && !piece.name.is_empty() {
                sink.delta(Delta::CallStarted { name: &piece.name });
            }
            let function = self.function_call.get_or_insert_default();
            add_name(&mut function.name, piece.name);
            function.arguments.push_str(&piece.arguments);
        }
    }

    fn call(&mut self, place: usize, mut call: Call, sink: &dyn DeltaSink) {
        let known = match self.place(place, &call) {
            Place::Known(known) => self.calls.get_mut(known),
            Place::Again(known) => {
                if let Some(known) = self.calls.get(known) {
                    call.index = call.index.or(known.call.index);
                    name(&known.call).clone_into(&mut call.function.get_or_insert_default().name);
                }
                None
            }
            Place::New => None,
        };
        let Some(piece) = known else {
            if !name(&call).is_empty() {
                sink.delta(Delta::CallStarted { name: name(&call) });
            }
            self.calls.push(Piece { call, named_again: false });
            return;
        };
        if piece.call.id.is_empty() {
            piece.call.id = call.id;
        }
        merge(&mut piece.call.extra, call.extra);
        if let Some(more) = call.function {
            let function = piece.call.function.get_or_insert_default();
            if function.name.is_empty() && !more.name.is_empty() {
                sink.delta(Delta::CallStarted { name: &more.name });
            }
            piece.named_again = !more.name.is_empty() && more.arguments.is_empty() && is_complete(function);
            add_name(&mut function.name, more.name);
            function.arguments.push_str(&more.arguments);
        }
    }

    /// Where this piece belongs, which stands at `place` in its list.
    fn place(&self, place: usize, piece: &Call) -> Place {
        let last = self.calls.len().checked_sub(1);
        let named = !name(piece).is_empty();
        let position = match piece.index {
            None => last,
            Some(_) => self.calls.iter().rposition(|known| known.call.index == piece.index).or_else(|| {
                // A call that began without an index goes on with one.
                let nameless = piece.id.is_empty() && !named;
                last.filter(|last| {
                    nameless && self.calls.get(*last).is_some_and(|last| last.call.index.is_none())
                })
            }),
        };
        let Some((position, known)) =
            position.and_then(|position| Some((position, self.calls.get(position)?)))
        else {
            return Place::New;
        };
        let complete = || known.call.function.as_ref().is_some_and(is_complete);
        let more = piece.function.as_ref().is_some_and(|function| !function.arguments.trim().is_empty());
        if !piece.id.is_empty() && piece.id == known.call.id {
            return Place::Known(position);
        }
        let new_id = !piece.id.is_empty() && !known.call.id.is_empty();
        let new_place = piece.index.is_none() && place > 0;
        if (new_id && (named || complete())) || (new_place && named) {
            return Place::New;
        }
        // Nothing can follow a complete object, so more arguments are those of the next call. Without any, another
        // name is another call, and the same one may be a mere repetition.
        let other_name = name(piece) != name(&known.call) && piece.index.is_none();
        if named && (more || other_name) && complete() {
            return Place::New;
        }
        if known.named_again && more { Place::Again(position) } else { Place::Known(position) }
    }
}

/// Where a piece of a call belongs.
enum Place {
    /// To this call.
    Known(usize),
    /// To a new call.
    New,
    /// To a new call of the tool that this call is of: its name came before.
    Again(usize),
}

fn name(call: &Call) -> &str {
    call.function.as_ref().map_or("", |function| &function.name)
}

/// Adds to a name. Most servers that send one twice repeat it whole; a few send it in pieces.
fn add_name(name: &mut String, more: String) {
    if *name != more {
        name.push_str(&more);
    }
}

fn is_complete(function: &Function) -> bool {
    function.arguments.trim_end().ends_with('}')
        && serde_json::from_str::<IgnoredAny>(&function.arguments).is_ok()
}

/// An empty element of a list of calls, as some servers send beside text.
fn is_nothing(call: &Call) -> bool {
    let empty = |function: &Function| function.name.is_empty() && function.arguments.is_empty();
    call.id.is_empty() && call.function.as_ref().is_none_or(empty)
}

#[cfg(test)]
pub(super) mod tests;
