//! `fallback_configuration` of every generation: one meaning, whatever the age of the text.
//!
//! An error always reaches the model; instructions follow it. `stop` and `hard_stop` end the run. As in QuickApps,
//! a strategy without `trigger_on` is not for timeouts: these reach a trigger that matches `timed out`, wherever it
//! stands, and else the model is told. It is not for calls that the model got wrong either.

use super::{
    draft::Draft,
    report::{changed, deprecated, unsupported},
};
use crate::{
    diagnostic::{Diagnostic, code},
    reader::At,
};

const KEYS: &[&str] = &["strategies", "display_error_in_stage"];
const STRATEGY_KEYS: &[&str] = &["type", "trigger_on", "instructions", "forward_tool_error_message"];
const TRIGGER_KEYS: &[&str] = &["type", "value", "case_sensitive"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Continue,
    Retry,
    Ignore,
    Stop,
    HardStop,
}

const KINDS: [(&str, Kind); 5] = [
    ("continue", Kind::Continue),
    ("retry", Kind::Retry),
    ("ignore", Kind::Ignore),
    ("stop", Kind::Stop),
    ("hard_stop", Kind::HardStop),
];

#[derive(Clone, Copy)]
enum Matcher {
    Contains,
    Equals,
}

/// What a strategy is for.
enum Trigger {
    /// No `trigger_on`.
    All,
    /// A condition that matches every text, timeouts too.
    AnyText,
    /// A text.
    Text { key: &'static str, value: String, case_sensitive: Option<bool> },
}

struct Strategy<'c> {
    at: At<'c>,
    trigger: Trigger,
    instructions: Option<String>,
    stops: bool,
}

/// The strategies as a native list; `None` where nothing is declared.
pub(super) fn fallback(at: &At<'_>) -> Option<Draft> {
    let fields = at.fields_leniently(KEYS)?;
    if let Some(at) = fields.get("display_error_in_stage") {
        unsupported(at, "has no counterpart: errors are shown where the run is watched");
    }
    let list = fields.get("strategies")?;
    let items = list.items("a list of strategies")?;
    let read: Vec<Strategy<'_>> = items.iter().filter_map(strategy).collect();
    let all = read.iter().position(|strategy| matches!(strategy.trigger, Trigger::All));
    let mut out: Vec<Draft> = Vec::new();
    let (before, behind) = match all {
        Some(all) => (read.get(..all).unwrap_or_default(), read.get(all..).unwrap_or_default()),
        None => (read.as_slice(), [].as_slice()),
    };
    out.extend(before.iter().map(|strategy| strategy.draft(false)));
    let Some((last, later)) = behind.split_first() else {
        changed(
            list,
            "no strategy is without `trigger_on`: a failure that none of them matches ends the turn in QuickApps, \
             here the model is told",
            "put `{\"type\": \"hard_stop\"}` at the end to end the run",
        );
        return Some(Draft::list(list, out));
    };
    for strategy in later {
        let message = "a strategy before this one takes every failure but a timeout";
        let hint = "a strategy without `trigger_on` belongs at the end";
        strategy.at.report(Diagnostic::warning(code::UNREACHABLE_STRATEGY, message).hint(hint));
    }
    out.extend(
        later.iter().filter(|strategy| strategy.may_match_timeout()).map(|strategy| strategy.draft(true)),
    );
    if last.stops || last.instructions.is_some() {
        out.push(told(&last.at, "kind", "timeout"));
        out.push(told(&last.at, "class", "model"));
    }
    out.push(last.draft(false));
    Some(Draft::list(list, out))
}

/// The model is told of these failures, in the usual words.
fn told(at: &At<'_>, key: &str, value: &str) -> Draft {
    let when = Draft::map(at, [(key, Draft::text(at, value))]);
    Draft::map(at, [("when", when), ("continue", Draft::map::<&str>(at, []))])
}

impl Strategy<'_> {
    fn draft(&self, timeouts_only: bool) -> Draft {
        let at = &self.at;
        let mut when = Vec::new();
        if timeouts_only {
            when.push(("kind", Draft::text(at, "timeout")));
        }
        if let Trigger::Text { key, value, case_sensitive } = &self.trigger {
            when.push((key, Draft::text(at, value)));
            when.extend(case_sensitive.map(|flag| ("case_sensitive", Draft::plain(at, flag))));
        }
        let action = if self.stops {
            ("stop", Draft::map::<&str>(at, []))
        } else {
            let instructions = self.instructions.iter().map(|text| ("instructions", Draft::text(at, text)));
            ("continue", Draft::map(at, instructions))
        };
        let when = (!when.is_empty()).then(|| ("when", Draft::map(at, when)));
        Draft::map(at, when.into_iter().chain([action]))
    }

    /// Whether it can be meant for a timeout, whose text holds `timed out`.
    fn may_match_timeout(&self) -> bool {
        match &self.trigger {
            Trigger::All => false,
            Trigger::AnyText => true,
            Trigger::Text { value, .. } => {
                let value = value.to_lowercase();
                value.contains("time") || "tool call timed out after seconds".contains(value.trim())
            }
        }
    }
}

fn strategy<'c>(at: &At<'c>) -> Option<Strategy<'c>> {
    let fields = at.fields_leniently(STRATEGY_KEYS)?;
    let kind_at = fields.required("type")?;
    let kind = kind_at.one_of(&KINDS)?;
    let trigger = match fields.get("trigger_on") {
        None => Trigger::All,
        Some(at) => trigger(at)?,
    };
    let stops = matches!(kind, Kind::Stop | Kind::HardStop);
    match kind {
        Kind::Continue | Kind::HardStop => {}
        Kind::Retry => deprecated(
            kind_at,
            "`retry` is deprecated and the same as `continue`: the model is told, nothing is called again by itself",
            "write `continue`; a native manifest has a `retry` that makes the call again",
        ),
        Kind::Ignore => deprecated(
            kind_at,
            "`ignore` is deprecated and the same as `continue`: the model is told",
            "write `continue`",
        ),
        Kind::Stop => deprecated(
            kind_at,
            "`stop` is deprecated and the same as `hard_stop`: the run ends, and the model is not asked again",
            "write `hard_stop`, or `continue` with instructions for a model that shall say goodbye itself",
        ),
    }
    let instructions_at = fields.get("instructions");
    let instructions = instructions_at.and_then(At::text).filter(|text| !text.trim().is_empty());
    if let (Some(at), true) = (instructions_at, stops) {
        unsupported(at, "changes nothing: the model is not asked again");
    } else if let (Some(at), Some(_), Trigger::All) = (instructions_at, &instructions, &trigger) {
        deprecated(
            at,
            "instructions without `trigger_on` are deprecated: the model reads them behind every error but a timeout \
             and the problems of its own call",
            "say with `trigger_on` which errors they are for",
        );
    }
    if let Some(at) = fields.get("forward_tool_error_message") {
        match at.boolean() {
            Some(true) => deprecated(
                at,
                "`forward_tool_error_message` is deprecated and changes nothing: errors are always forwarded",
                "take it away",
            ),
            Some(false) => changed(
                at,
                "`forward_tool_error_message: false` does not hide errors any more: the model reads them",
                "take it away; a tool decides itself which of its words are for the model",
            ),
            None => {}
        }
    }
    Some(Strategy { at: at.clone(), trigger, instructions, stops })
}

fn trigger(at: &At<'_>) -> Option<Trigger> {
    let fields = at.fields_leniently(TRIGGER_KEYS)?;
    let matcher = fields.required("type");
    let matcher =
        matcher.and_then(|at| at.one_of(&[("contains", Matcher::Contains), ("equals", Matcher::Equals)]));
    let value_at = fields.required("value");
    let value = value_at.and_then(At::text);
    let case_sensitive = fields.boolean("case_sensitive");
    let (matcher, value_at, value) = (matcher?, value_at?, value?);
    let key = match matcher {
        Matcher::Contains => "contains",
        Matcher::Equals => "equals",
    };
    if value.is_empty() {
        return match matcher {
            Matcher::Contains => {
                let message = "an empty text is part of every error, so this matches every failure";
                value_at.warn(code::EMPTY_MATCHER, message);
                Some(Trigger::AnyText)
            }
            Matcher::Equals => {
                let message = "no error is an empty text: the strategy is left out";
                value_at.warn(code::NEVER_MATCHES, message);
                None
            }
        };
    }
    if value.trim().is_empty() {
        let value = value.chars().map(|c| format!("\\x{{{:x}}}", u32::from(c))).collect();
        return Some(Trigger::Text { key: "matches", value, case_sensitive: None });
    }
    if key == "equals" && value.trim_start().starts_with(['{', '[']) {
        changed(
            value_at,
            "QuickApps holds this against the whole answer; here it is what the answer says, so this may not match",
            "match a part of it with `contains`: that looks at the whole answer, too",
        );
    }
    if key == "equals" && value.to_lowercase().contains("timed out") {
        changed(
            value_at,
            "the text of a timeout is not the same here, so this may not match",
            "match with `contains` and `timed out`, which every timeout has",
        );
    }
    Some(Trigger::Text { key, value, case_sensitive })
}
