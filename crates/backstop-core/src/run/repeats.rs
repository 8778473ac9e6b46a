//! The guard against the same call again and again.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use serde_json::Value;

use super::Limits;
use crate::{call::RawArguments, output::ToolOutput};

/// What a call is compared by: its name and its arguments, whatever the order of their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CallKey(u64);

impl CallKey {
    pub(super) fn new(name: &str, raw: &RawArguments) -> Self {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        match serde_json::from_str::<Value>(&raw.0) {
            Ok(value) => hash_value(&value, &mut hasher),
            Err(_) => raw.0.hash(&mut hasher),
        }
        Self(hasher.finish())
    }

    pub(super) fn of_valid(name: &str, arguments: &serde_json::Map<String, Value>) -> Self {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        hash_object(arguments, &mut hasher);
        Self(hasher.finish())
    }
}

fn hash_object(object: &serde_json::Map<String, Value>, hasher: &mut DefaultHasher) {
    let mut entries: Vec<(&String, &Value)> = object.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    (5u8, entries.len()).hash(hasher);
    for (key, value) in entries {
        key.hash(hasher);
        hash_value(value, hasher);
    }
}

fn hash_value(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Null => 0u8.hash(hasher),
        Value::Bool(flag) => (1u8, flag).hash(hasher),
        Value::Number(number) => (2u8, number).hash(hasher),
        Value::String(text) => (3u8, text).hash(hasher),
        Value::Array(items) => {
            (4u8, items.len()).hash(hasher);
            for item in items {
                hash_value(item, hasher);
            }
        }
        Value::Object(object) => hash_object(object, hasher),
    }
}

#[derive(Debug, Default)]
struct Seen {
    failures: u32,
    last_result: u64,
    same_results: u32,
}

/// Why a call is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Whether it failed each time, or gave the same result.
    pub(super) failing: bool,
    /// How often.
    pub(super) times: u32,
    /// Whether the run ends for it.
    pub(super) ends_run: bool,
}

/// Counts, per call, how often it failed or gave the same result in a row. Bounded by the calls of a run.
#[derive(Debug, Default)]
pub(super) struct Repeats(HashMap<CallKey, Seen>);

impl Repeats {
    /// Whether a call may be made; a refusal counts as one more.
    pub(super) fn refuse(&mut self, key: CallKey, limits: &Limits) -> Option<Refusal> {
        let seen = self.0.get_mut(&key)?;
        let check = |count: &mut u32, limit: u32, failing: bool| {
            let limit = limit.max(1);
            (*count >= limit).then(|| {
                *count = count.saturating_add(1);
                Refusal { failing, times: limit, ends_run: *count >= limit.saturating_mul(2) }
            })
        };
        check(&mut seen.failures, limits.repeats, true)
            .or_else(|| check(&mut seen.same_results, limits.same_results, false))
    }

    pub(super) fn failed(&mut self, key: CallKey) {
        let seen = self.0.entry(key).or_default();
        seen.failures = seen.failures.saturating_add(1);
        seen.same_results = 0;
    }

    pub(super) fn succeeded(&mut self, key: CallKey, output: &ToolOutput) {
        let mut hasher = DefaultHasher::new();
        match output {
            ToolOutput::Text(text) => (0u8, text).hash(&mut hasher),
            ToolOutput::Json(value) => hash_value(value, &mut hasher),
            ToolOutput::Parts(_) => hash_value(&output.to_value(), &mut hasher),
        }
        let result = hasher.finish();
        let seen = self.0.entry(key).or_default();
        seen.failures = 0;
        let same = seen.same_results > 0 && seen.last_result == result;
        seen.same_results = if same { seen.same_results.saturating_add(1) } else { 1 };
        seen.last_result = result;
    }
}
