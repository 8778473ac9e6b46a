//! `fallback`: what happens with failures, as a list of strategies.

use std::time::Duration;

use backstop_core::{Action, Backoff, Strategy, When};
use serde_json::{Map, Value as Json};

use super::when;
use crate::{
    diagnostic::{Diagnostic, code},
    reader::{At, JsonType},
    span::Span,
};

const KEYS: &[&str] = &["when", "retry", "continue", "stop", "use_tool", "use_value", "ask_human"];
const ACTIONS: &[&str] = &["retry", "continue", "stop", "use_tool", "use_value", "ask_human"];
const DEFAULT_RETRIES: u32 = 2;
const MOST_RETRIES: u32 = 20;
const LONGEST_BACKOFF: Duration = Duration::from_secs(3600);

/// The strategies of one level: of a tool, a toolset or the agent. An empty list is a list, too: it takes the
/// place of what the level above declares.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Fallback {
    /// First match first.
    pub strategies: Vec<Strategy>,
    /// Where each of them stands.
    pub spans: Vec<Span>,
    pub(super) path: String,
}

impl Fallback {
    /// Where it stands in the data, like `toolsets.shop.fallback`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The strategies with their places.
    pub(super) fn placed(&self) -> impl Iterator<Item = (&Strategy, Span, String)> {
        let place = |(index, (strategy, span)): (usize, (_, &Span))| {
            (strategy, *span, format!("{}[{index}]", self.path))
        };
        self.strategies.iter().zip(&self.spans).enumerate().map(place)
    }
}

/// Reads a list of strategies.
pub(super) fn fallback(at: &At<'_>) -> Option<Fallback> {
    let items = at.items("a list of strategies")?;
    let mut fallback = Fallback { path: at.path(), ..Fallback::default() };
    for item in items {
        if let Some(strategy) = strategy(&item) {
            fallback.strategies.push(strategy);
            fallback.spans.push(item.span());
        }
    }
    Some(fallback)
}

fn strategy(at: &At<'_>) -> Option<Strategy> {
    let fields = at.fields(KEYS)?;
    let when = match fields.get("when") {
        Some(at) => when::when(at),
        None => Some(When::always()),
    };
    let given: Vec<(&str, &At<'_>)> =
        ACTIONS.iter().filter_map(|key| Some((*key, fields.has(key)?))).collect();
    let names = "`retry`, `continue`, `stop`, `use_tool`, `use_value` or `ask_human`";
    match given.as_slice() {
        [(key, at)] => {
            let action = action(key, at);
            Some(Strategy { when: when?, action: action? })
        }
        [] => {
            let message = format!("a strategy needs exactly one of {names}, got none");
            at.error(code::EXACTLY_ONE, message);
            None
        }
        [_, (key, second), ..] => {
            let message = format!("a strategy has exactly one of {names}; `{key}` is one too many");
            let hint = "make two strategies of it";
            second.report_key(Diagnostic::error(code::EXACTLY_ONE, message).hint(hint));
            // Their own problems are reported all the same.
            for (key, at) in given {
                action(key, at);
            }
            None
        }
    }
}

fn action(key: &str, at: &At<'_>) -> Option<Action> {
    match key {
        "retry" => retry(at),
        "continue" => {
            let fields = at.fields(&["instructions"])?;
            Some(Action::Continue { instructions: fields.get("instructions").and_then(At::some_text) })
        }
        "stop" => {
            let fields = at.fields(&["message"])?;
            Some(Action::Stop { message: fields.get("message").and_then(At::some_text) })
        }
        "use_tool" => {
            let (tool, arguments) = call_of(at)?;
            Some(Action::UseTool { tool, arguments })
        }
        "use_value" => {
            let fields = at.fields(&["value", "note"])?;
            let note = fields.get("note").and_then(At::some_text);
            // `null` is a value here.
            let value = match fields.has("value") {
                Some(at) => at.json(None),
                None => fields.required("value").and_then(|at| at.json(None)),
            };
            Some(Action::UseValue { value: value?, note })
        }
        _ => {
            let fields = at.fields(&["question"])?;
            Some(Action::AskHuman { question: fields.required("question")?.some_text()? })
        }
    }
}

fn retry(at: &At<'_>) -> Option<Action> {
    let fields = at.fields(&["max", "backoff", "max_backoff", "jitter"])?;
    let usual = Backoff::default();
    let max = match fields.get("max") {
        Some(at) => at.count(0, MOST_RETRIES),
        None => Some(DEFAULT_RETRIES),
    };
    let base = fields.duration("backoff", LONGEST_BACKOFF).unwrap_or(usual.base);
    let longest = fields.duration("max_backoff", LONGEST_BACKOFF);
    let jitter = fields.boolean("jitter").unwrap_or(usual.jitter);
    if let Some(longest) = longest.filter(|longest| *longest < base) {
        let (longest, base) = (backstop_core::text::duration(longest), backstop_core::text::duration(base));
        let message = format!("`max_backoff` of {longest} is less than `backoff` of {base}");
        fields.get("max_backoff")?.error(code::OUT_OF_RANGE, message);
    }
    let max_wait = longest.unwrap_or(usual.max).max(base);
    Some(Action::Retry { max: max?, backoff: Backoff { base, max: max_wait, jitter } })
}

/// Reads `{tool, arguments}`: another tool, and the arguments that it gets.
pub(super) fn call_of(at: &At<'_>) -> Option<(String, Map<String, Json>)> {
    let fields = at.fields(&["tool", "arguments"])?;
    let tool = fields.required("tool").and_then(At::some_text);
    let arguments = match fields.get("arguments").map(|at| at.json(Some(JsonType::Object))) {
        None => Some(Map::new()),
        Some(Some(Json::Object(arguments))) => Some(arguments),
        Some(_) => None,
    };
    Some((tool?, arguments?))
}
