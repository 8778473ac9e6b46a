//! What would happen with a failure, for people and for programs.

use std::{fmt::Write as _, path::Path, time::Duration};

use anstyle::{AnsiColor, Style};
use backstop::{
    Action, Decision, Effect, ErrorClass, Strategy, ToolErrorKind, When,
    policy::{TextMatch, Verdict, WhenTest},
    text::{duration, escaped},
};
use serde_json::{Value, json};

use super::stdout::plain;
use crate::commands::explain::{Attempt, Explained, Reading};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const WAIT: Style = AnsiColor::Yellow.on_default();

/// The whole of it for a person.
pub(crate) fn rendered(explained: &Explained<'_>, file: &Path) -> String {
    let mut out = String::new();
    head(&mut out, explained, file);
    if let Some(first) = explained.attempts.first() {
        path(&mut out, explained, first);
    }
    if let [_, .., last] = explained.attempts.as_slice() {
        path(&mut out, explained, last);
    }
    title(&mut out, "Every attempt");
    for attempt in &explained.attempts {
        let (style, next) = (style(&attempt.explained.decision), next(attempt));
        let by = decided_by(explained, attempt);
        let _ = writeln!(out, "  {:<3} {style}{next:<44}{style:#} {DIM}{by}{DIM:#}", attempt.number);
    }
    reading(&mut out, "The model reads", &explained.model);
    reading(&mut out, "The user reads", &explained.user);
    out
}

fn title(out: &mut String, text: &str) {
    let _ = writeln!(out, "\n{BOLD}{text}{BOLD:#}");
}

fn head(out: &mut String, explained: &Explained<'_>, file: &Path) {
    let error = explained.error;
    let of = match explained.toolset {
        "" => "is not on offer".to_owned(),
        toolset => {
            let effect = explained.effect.as_str().replace('_', "-");
            let key = if explained.keyed { ", with an idempotency key" } else { "" };
            format!("of {toolset}: {effect}{key}")
        }
    };
    let _ = writeln!(out, "{BOLD}{}{BOLD:#} {of}", escaped(explained.tool, 100));
    let status = error.status().map(|status| format!(", status {status}")).unwrap_or_default();
    let class = error.class();
    let _ = writeln!(out, "  failure  {}{status}; class {class}: {}", error.kind(), meaning(class));
    let _ = writeln!(out, "  applied  {}: {}", error.applied(), applied(error.applied()));
    let safe = match &explained.unsafe_because {
        Some(why) => format!("no: {why}"),
        None => format!("yes: {}", why_safe(explained)),
    };
    let _ = writeln!(out, "  a retry is safe  {safe}");
    let strategies = match &explained.declared {
        Some(list) if !list.strategies.is_empty() => {
            format!("`{}` of {}", list.path(), file.display())
        }
        _ => "none".into(),
    };
    let _ = writeln!(out, "  strategies  {strategies}");
    if error.kind() == ToolErrorKind::LimitReached {
        let note = "a call that the runtime refuses because of a limit is told to the model; strategies are for \
                    tools that say so themselves";
        let _ = writeln!(out, "  note  {note}");
    }
}

fn path(out: &mut String, explained: &Explained<'_>, attempt: &Attempt) {
    title(out, &format!("Attempt {} failed", attempt.number));
    for (place, (strategy, verdict)) in
        explained.strategies.iter().zip(&attempt.explained.strategies).enumerate()
    {
        let (mark, what) = verdict_in_words(explained, Some(strategy), *verdict);
        let _ = writeln!(
            out,
            "  {mark} {}: {} {DIM}{}{DIM:#}\n      {what}",
            label(explained, place),
            action(&strategy.action),
            when(&strategy.when)
        );
    }
    let rest =
        explained.strategies.len() - attempt.explained.strategies.len().min(explained.strategies.len());
    if rest > 0 {
        let plural = if rest == 1 { "y is" } else { "ies are" };
        let _ = writeln!(out, "  {DIM}{rest} more strateg{plural} not looked at{DIM:#}");
    }
    if let Some(verdict) = attempt.explained.usual {
        let (mark, what) = verdict_in_words(explained, None, verdict);
        let _ =
            writeln!(out, "  {mark} the usual rule: retry what may pass, where that is safe\n      {what}");
    }
    let style = style(&attempt.explained.decision);
    let _ = writeln!(out, "  → {style}{}{style:#}", next(attempt));
}

fn reading(out: &mut String, who: &str, reading: &Reading) {
    match reading {
        Reading::Text(text) => {
            title(out, who);
            for line in plain(text).lines() {
                let _ = writeln!(out, "{}", format!("  {line}").trim_end());
            }
        }
        Reading::Open(about) => {
            title(out, who);
            let _ = writeln!(out, "  {DIM}({}){DIM:#}", plain(about));
        }
    }
}

/// The whole of it as one document.
pub(crate) fn document(explained: &Explained<'_>) -> Value {
    let error = explained.error;
    let text = |reading: &Reading| match reading {
        Reading::Text(text) => Some(text.clone()),
        Reading::Open(_) => None,
    };
    let last = explained.attempts.last();
    json!({
        "tool": explained.tool,
        "toolset": explained.toolset,
        "effect": explained.effect,
        "idempotency_key": explained.keyed,
        "failure": {
            "kind": error.kind(),
            "class": error.class(),
            "applied": error.applied(),
            "status": error.status(),
            "pointer": error.pointer(),
            "words": error.words(),
        },
        "safe_to_retry": explained.unsafe_because.is_none(),
        "unsafe_because": explained.unsafe_because,
        "fallback": explained.declared.as_ref().map(|list| list.path()),
        "attempts": explained.attempts.iter().map(|attempt| attempt_document(explained, attempt)).collect::<Vec<_>>(),
        "decision": last.map(|last| last.explained.decision.as_str()),
        "model_view": text(&explained.model),
        "user_message": text(&explained.user),
    })
}

fn attempt_document(explained: &Explained<'_>, attempt: &Attempt) -> Value {
    let step = |place: Option<usize>, strategy: Option<&Strategy>, verdict: Verdict| {
        let (result, why) = match verdict {
            Verdict::NotMatched(test) => {
                ("not_matched", strategy.map(|strategy| failed(explained, &strategy.when, test)))
            }
            Verdict::NotRetried(why) => ("fell_through", Some(why.to_string())),
            Verdict::Decides => ("decided", None),
        };
        json!({
            "strategy": place.map(|place| place + 1),
            "line": place.and_then(|place| line(explained, place)),
            "action": strategy.map_or("usual", |strategy| action_name(&strategy.action)),
            "result": result,
            "why": why,
        })
    };
    let looked_at = explained.strategies.iter().zip(&attempt.explained.strategies).enumerate();
    let mut steps: Vec<Value> =
        looked_at.map(|(place, (strategy, verdict))| step(Some(place), Some(strategy), *verdict)).collect();
    steps.extend(attempt.explained.usual.map(|verdict| step(None, None, verdict)));
    let millis = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    json!({
        "attempt": attempt.number,
        "steps": steps,
        "decision": attempt.explained.decision.as_str(),
        "wait_ms": attempt.waits.map(|(least, most)| json!({"least": millis(least), "most": millis(most)})),
    })
}

fn style(decision: &Decision) -> Style {
    match decision {
        Decision::Retry { .. } => WAIT,
        Decision::Continue { .. } | Decision::Substitute { .. } | Decision::UseTool { .. } => GOOD,
        Decision::Ask { .. } | Decision::Stop { .. } | Decision::Abort => AnsiColor::Red.on_default(),
    }
}

/// What happens next.
fn next(attempt: &Attempt) -> String {
    match &attempt.explained.decision {
        Decision::Retry { after } => match attempt.waits {
            Some((least, most)) if least != most => {
                format!("retry after {} to {}", duration(round(least)), duration(round(most)))
            }
            _ => format!("retry after {}", duration(*after)),
        },
        Decision::Continue { .. } => "continue: the model is told".into(),
        Decision::Substitute { .. } => "use_value: the declared value is served".into(),
        Decision::UseTool { tool, .. } => format!("use_tool: {} serves the call", escaped(tool, 80)),
        Decision::Ask { .. } => "ask_human: a person is asked".into(),
        Decision::Stop { .. } => "stop: the run ends".into(),
        Decision::Abort => "abort: the run ends".into(),
    }
}

/// Jitter is not known to the millisecond.
fn round(wait: Duration) -> Duration {
    let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(millis.saturating_add(5) / 10 * 10)
}

fn decided_by(explained: &Explained<'_>, attempt: &Attempt) -> String {
    match (attempt.explained.decided_by(), attempt.explained.usual) {
        (Some(place), _) => label(explained, place),
        (None, Some(Verdict::NotRetried(why))) => format!("the usual rule: {why}"),
        (None, Some(_)) => "the usual rule".into(),
        (None, None) => "a cancelled call is not decided about".into(),
    }
}

fn label(explained: &Explained<'_>, place: usize) -> String {
    match line(explained, place) {
        Some(line) => format!("strategy {} on line {line}", place + 1),
        None => format!("strategy {}", place + 1),
    }
}

fn line(explained: &Explained<'_>, place: usize) -> Option<usize> {
    explained.declared.as_ref().and_then(|list| list.spans.get(place)).map(|span| span.line)
}

fn verdict_in_words(
    explained: &Explained<'_>,
    strategy: Option<&Strategy>,
    verdict: Verdict,
) -> (&'static str, String) {
    match (verdict, strategy) {
        (Verdict::NotMatched(test), Some(strategy)) => {
            ("✗", format!("does not match: {}", failed(explained, &strategy.when, test)))
        }
        (Verdict::NotMatched(_), None) => ("✗", "does not match".into()),
        (Verdict::NotRetried(why), Some(_)) => ("↷", format!("matches, but falls through: {why}")),
        (Verdict::NotRetried(why), None) => ("✓", format!("no retry: {why}")),
        (Verdict::Decides, Some(_)) => ("✓", "matches and decides".into()),
        (Verdict::Decides, None) => ("✓", "it is safe, and the budget allows it".into()),
    }
}

/// Which test failed, and on what.
fn failed(explained: &Explained<'_>, when: &When, test: WhenTest) -> String {
    let error = explained.error;
    match test {
        WhenTest::Kind => format!("the kind is `{}`", error.kind()),
        WhenTest::Class => format!("the class is `{}`", error.class()),
        WhenTest::Status => match error.status() {
            Some(status) => format!("the status is {status}"),
            None => "there is no status".into(),
        },
        WhenTest::Applied => format!("applied is `{}`", error.applied()),
        WhenTest::Tool => format!("the tool is `{}`", escaped(explained.tool, 100)),
        WhenTest::Text(place) => match when.text.get(place) {
            Some(test) => format!("no message {}", text_test(test)),
            None => "no message fits".into(),
        },
    }
}

fn action_name(action: &Action) -> &'static str {
    match action {
        Action::Retry { .. } => "retry",
        Action::Continue { .. } => "continue",
        Action::Stop { .. } => "stop",
        Action::UseTool { .. } => "use_tool",
        Action::UseValue { .. } => "use_value",
        Action::AskHuman { .. } => "ask_human",
    }
}

fn action(action: &Action) -> String {
    match action {
        Action::Retry { max: 1, .. } => "retry once".into(),
        Action::Retry { max, .. } => format!("retry up to {max} times"),
        Action::UseTool { tool, .. } => format!("use_tool {}", escaped(tool, 80)),
        Action::Continue { .. } | Action::Stop { .. } | Action::UseValue { .. } | Action::AskHuman { .. } => {
            action_name(action).into()
        }
    }
}

fn when(when: &When) -> String {
    fn any<T: ToString>(name: &str, values: &[T]) -> Option<String> {
        let values: Vec<String> = values.iter().map(|value| escaped(&value.to_string(), 80)).collect();
        (!values.is_empty()).then(|| format!("{name} {}", values.join(" or ")))
    }
    let mut tests: Vec<String> = [
        any("kind", &when.kinds),
        any("class", &when.classes),
        any("status", &when.statuses),
        any("applied", &when.applied),
        any("tool", &when.tools),
    ]
    .into_iter()
    .flatten()
    .collect();
    tests.extend(when.text.iter().map(|test| format!("a message {}", text_test(test))));
    if tests.is_empty() { "always".into() } else { format!("when {}", tests.join(", and ")) }
}

fn text_test(test: &TextMatch) -> String {
    let case = |sensitive: &bool| if *sensitive { ", case-sensitive" } else { "" };
    match test {
        TextMatch::Contains { text, case_sensitive } => {
            format!("contains \"{}\"{}", escaped(text, 80), case(case_sensitive))
        }
        TextMatch::Equals { text, case_sensitive } => {
            format!("equals \"{}\"{}", escaped(text, 80), case(case_sensitive))
        }
        TextMatch::Matches(regex) => format!("matches /{}/", escaped(regex.as_str(), 80)),
    }
}

fn meaning(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Model => "the call was wrong",
        ErrorClass::Answer => "the tool worked and said no",
        ErrorClass::Transient => "it may pass by itself",
        ErrorClass::Operator => "someone must act on the set-up",
        ErrorClass::Policy => "it is forbidden here",
        ErrorClass::Stop => "the run was cancelled",
    }
}

fn applied(applied: backstop::Applied) -> &'static str {
    match applied {
        backstop::Applied::No => "the attempt surely changed nothing",
        backstop::Applied::Yes => "the attempt changed something",
        backstop::Applied::Unknown => "nobody knows whether the attempt changed something",
    }
}

fn why_safe(explained: &Explained<'_>) -> &'static str {
    match explained.effect {
        Effect::ReadOnly => "the tool only reads",
        Effect::Idempotent => "a second execution changes nothing more",
        Effect::Mutating if explained.error.applied() == backstop::Applied::No => {
            "the attempt surely changed nothing"
        }
        Effect::Mutating => "the service honours the call's idempotency key",
    }
}
