//! A script, and which of its entries comes next.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use backstop_core::{
    FinishReason, ModelError, Transcript,
    message::{Message, ResultContent},
};

#[derive(Debug)]
pub(super) struct Script {
    pub(super) entries: Vec<Entry>,
    /// Whether the last entry goes on for ever.
    pub(super) repeat_last: bool,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) what: What,
    pub(super) delay: Duration,
    pub(super) when_contains: Option<String>,
}

#[derive(Debug)]
pub(super) enum What {
    Reply { text: Option<String>, calls: Vec<ScriptedCall>, finish: FinishReason },
    Fail { error: ModelError, times: u32, failed: AtomicU32 },
}

#[derive(Debug)]
pub(super) struct ScriptedCall {
    pub(super) id: Option<String>,
    pub(super) tool: String,
    pub(super) arguments: String,
}

/// An entry that comes next.
pub(super) struct Next<'a> {
    pub(super) entry: &'a Entry,
    /// Replies before it in the conversation.
    pub(super) turn: usize,
    results: Vec<&'a ResultContent>,
}

impl Next<'_> {
    /// What the model reads as the last results.
    pub(super) fn last_result(&self) -> String {
        joined(&self.results)
    }
}

impl Script {
    /// The entry that comes next in this conversation, or nothing at the end. All state but the count of failures
    /// is in the conversation: each reply in it has used up one entry, and those that were skipped on the way to it.
    pub(super) fn next<'a>(&'a self, conversation: &'a Transcript) -> Option<Next<'a>> {
        let mut position = 0;
        let mut turn = 0;
        let mut results: Vec<&ResultContent> = Vec::new();
        let mut in_results = false;
        for message in conversation.messages() {
            match message {
                Message::Tool { content, .. } => {
                    if !in_results {
                        results.clear();
                    }
                    results.push(content);
                }
                Message::Assistant { .. } => {
                    position =
                        self.reply_from(position, &results).map_or(self.entries.len(), |found| found + 1);
                    turn += 1;
                }
                Message::System { .. } | Message::User { .. } => {}
            }
            in_results = matches!(message, Message::Tool { .. });
        }
        let entry = self
            .entries
            .iter()
            .skip(position)
            .find(|entry| entry.fits(&results) && entry.is_left())
            .or_else(|| self.entries.last().filter(|entry| self.repeat_last && entry.fits(&results)))?;
        Some(Next { entry, turn, results })
    }

    /// The place of the entry that gave a reply.
    fn reply_from(&self, position: usize, results: &[&ResultContent]) -> Option<usize> {
        let gave = |entry: &&Entry| matches!(entry.what, What::Reply { .. }) && entry.fits(results);
        let found = self.entries.iter().skip(position).position(|entry| gave(&entry))?;
        Some(position + found)
    }
}

impl Entry {
    fn fits(&self, results: &[&ResultContent]) -> bool {
        self.when_contains.as_ref().is_none_or(|part| joined(results).contains(part))
    }

    /// Whether it is not used up: a failure is, after it has happened as often as it should.
    fn is_left(&self) -> bool {
        match &self.what {
            What::Reply { .. } => true,
            What::Fail { times, failed, .. } => {
                let more = |count: u32| (count < *times).then_some(count + 1);
                failed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
            }
        }
    }
}

fn joined(results: &[&ResultContent]) -> String {
    results.iter().map(|result| result.model_text()).collect::<Vec<_>>().join("\n")
}
