//! The notation of scenario files: one line of a header or one event, read.

use std::time::Duration;

use backstop_core::{
    Action, Applied, Approve, Backoff, Catalog, Definition, Effect, Limits, Reconcile, Strategy, ToolCall,
    ToolError, ToolErrorKind, ToolPolicy, ToolSpec, When, catalog::CatalogSource, policy::TextMatch,
};
use serde_json::{Map, Value, json};

/// `500ms`, `5s` or `10m`.
pub(crate) fn duration(text: &str) -> Duration {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let number: u64 = digits.parse().unwrap_or_else(|_| panic!("not a duration: {text}"));
    match &text[digits.len()..] {
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        "m" => Duration::from_secs(number * 60),
        unit => panic!("no unit of time: {unit}"),
    }
}

/// A name of the core, such as a kind, as its type.
pub(crate) fn named<T: serde::de::DeserializeOwned>(name: &str) -> T {
    serde_json::from_value(Value::from(name)).unwrap_or_else(|_| panic!("no such name: {name}"))
}

/// A JSON string at the start of a text, and the rest.
pub(crate) fn quoted(text: &str) -> (String, &str) {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let value = values.next().and_then(Result::ok).unwrap_or_else(|| panic!("not a quoted text: {text}"));
    let end = values.byte_offset();
    (value, text[end..].trim_start())
}

/// What a scenario is made from: the lines before its first event.
pub(crate) fn definition(header: &str) -> Definition {
    let (mut tools, mut limits, mut strategies) = (Vec::new(), Limits::default(), Vec::new());
    for line in header.lines().map(str::trim) {
        match line.split_once(' ') {
            _ if line.is_empty() || line.starts_with('#') => {}
            Some(("tool", rest)) => tools.push(tool(rest)),
            Some(("limit", rest)) => rest.split(' ').for_each(|setting| limit(&mut limits, setting)),
            Some(("when", rest)) => strategies.push(strategy(rest)),
            _ => panic!("neither a tool nor a limit nor a strategy: {line}"),
        }
    }
    let (catalog, problems) = Catalog::build(vec![CatalogSource::new("kit", tools)]);
    assert_eq!(problems, []);
    Definition::new(catalog).limits(limits).fallback(strategies)
}

/// `pay(amount: integer, note?: string) mutating keyed check_with=list_payments`.
fn tool(text: &str) -> (ToolSpec, ToolPolicy) {
    let (name, rest) = text.split_once('(').unwrap_or_else(|| panic!("a tool without `(`: {text}"));
    let (parameters, flags) = rest.split_once(')').unwrap_or_else(|| panic!("a tool without `)`: {text}"));
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for parameter in parameters.split(", ").filter(|parameter| !parameter.is_empty()) {
        let (name, kind) = parameter.split_once(": ").unwrap_or_else(|| panic!("no type: {parameter}"));
        let schema = match kind.contains('|') {
            true => json!({"enum": kind.split('|').collect::<Vec<_>>()}),
            false => json!({"type": kind}),
        };
        match name.strip_suffix('?') {
            Some(optional) => properties.insert(optional.into(), schema),
            None => {
                required.push(name);
                properties.insert(name.into(), schema)
            }
        };
    }
    let mut spec =
        ToolSpec::new(name, json!({"type": "object", "properties": properties, "required": required}));
    let mut policy = ToolPolicy::default();
    for flag in flags.split(' ').filter(|flag| !flag.is_empty()) {
        spec = match flag.split_once('=') {
            None if flag == "exclusive" => spec.exclusive(),
            None if flag == "approved" => {
                policy.approve = Approve::Always;
                spec
            }
            None if flag == "keyed" => spec.honours_idempotency_key(),
            None => spec.effect(named::<Effect>(flag)),
            Some(("reconcile", tool)) => {
                policy.reconcile = Some(Reconcile { tool: tool.into(), ..Reconcile::default() });
                spec
            }
            Some(("check_with", tool)) => spec.check_with(tool),
            Some(("find_with", tool)) => spec.find_with(tool),
            Some(("timeout", limit)) => {
                policy.timeout = Some(duration(limit));
                spec
            }
            Some(_) => panic!("no such flag: {flag}"),
        };
    }
    (spec, policy)
}

fn limit(limits: &mut Limits, setting: &str) {
    let (name, value) = setting.split_once('=').unwrap_or_else(|| panic!("a limit without `=`: {setting}"));
    let count = || value.parse().unwrap_or_else(|_| panic!("not a number: {setting}"));
    match name {
        "turns" => limits.turns = count(),
        "tool_calls" => limits.tool_calls = count(),
        "wall_clock" => limits.wall_clock = duration(value),
        "parallel" => limits.parallel = count(),
        "repeats" => limits.repeats = count(),
        "same_results" => limits.same_results = count(),
        "failures" => limits.failures = count(),
        "failures_in_row" => limits.failures_in_row = count(),
        "failures_of.model" => limits.failures_of.model = Some(count()),
        "failures_of.answer" => limits.failures_of.answer = Some(count()),
        "retries" => limits.retries = count(),
        "call_retries" => limits.call_retries = count(),
        "model_retries" => limits.model_retries = count(),
        _ => panic!("no such limit: {name}"),
    }
}

/// `kind=timeout tool=pay contains=quota -> stop "message"`.
fn strategy(text: &str) -> Strategy {
    let (conditions, action) = text.split_once("-> ").unwrap_or_else(|| panic!("no `->`: {text}"));
    let mut when = When::always();
    for condition in conditions.split(' ').filter(|condition| !matches!(*condition, "" | "always")) {
        match condition.split_once('=') {
            Some(("kind", kind)) => when.kinds.push(named(kind)),
            Some(("class", class)) => when.classes.push(named(class)),
            Some(("applied", applied)) => when.applied.push(named(applied)),
            Some(("status", status)) => when.statuses.push(status.parse().unwrap()),
            Some(("tool", tool)) => when.tools.push(tool.into()),
            Some(("contains", text)) => {
                when.text.push(TextMatch::Contains { text: text.into(), case_sensitive: true });
            }
            _ => panic!("no such condition: {condition}"),
        }
    }
    let (name, rest) = action.split_once(' ').unwrap_or((action, ""));
    let words = |text: &str| (!text.is_empty()).then(|| quoted(text).0);
    let action = match name {
        "retry" => {
            let backoff =
                Backoff { base: Duration::from_secs(1), max: Duration::from_secs(30), jitter: false };
            Action::Retry { max: rest.parse().unwrap(), backoff }
        }
        "continue" => Action::Continue { instructions: words(rest) },
        "stop" => Action::Stop { message: words(rest) },
        "use_tool" => {
            let (tool, arguments) = rest.split_once(' ').unwrap_or((rest, "{}"));
            Action::UseTool { tool: tool.into(), arguments: serde_json::from_str(arguments).unwrap() }
        }
        "ask_human" => Action::AskHuman { question: quoted(rest).0 },
        "use_value" => {
            let (value, note) = rest.split_once(" noting ").unwrap_or((rest, ""));
            Action::UseValue { value: serde_json::from_str(value).unwrap(), note: words(note) }
        }
        _ => panic!("no such action: {name}"),
    };
    Strategy { when, action }
}

/// `c1 add {"a":1}`: id, name and arguments as the model wrote them. `-` stands for no id; a name may be quoted.
pub(crate) fn tool_call(text: &str) -> ToolCall {
    let (id, rest) = text.split_once(' ').unwrap_or((text, ""));
    let (name, arguments) = match rest.starts_with('"') {
        true => quoted(rest),
        false => {
            let (name, arguments) = rest.split_once(' ').unwrap_or((rest, ""));
            (name.to_owned(), arguments)
        }
    };
    ToolCall::new(if id == "-" { "" } else { id }, name, arguments)
}

/// `timeout applied=no status=504 retry_after=5s at=/path says "words"`.
pub(crate) fn tool_error(text: &str) -> ToolError {
    let (facts, words) = text.split_once(" says ").unwrap_or((text, ""));
    let mut facts = facts.split(' ');
    let mut error = match named(facts.next().unwrap()) {
        ToolErrorKind::Timeout => ToolError::timeout(Duration::from_secs(60), "no answer"),
        kind => ToolError::new(kind, "as the scenario says"),
    };
    for fact in facts {
        error = match fact.split_once('=') {
            Some(("applied", applied)) => error.with_applied(named::<Applied>(applied)),
            Some(("status", status)) => error.with_status(status.parse().unwrap()),
            Some(("retry_after", wait)) => error.with_retry_after(duration(wait)),
            Some(("at", pointer)) => error.at(pointer),
            Some(("code", code)) => error.with_code(code),
            Some(("request_id", id)) => error.with_request_id(id),
            Some(("cause", cause)) => error.with_source(std::io::Error::other(cause.to_owned())),
            _ => panic!("no such fact: {fact}"),
        };
    }
    if words.is_empty() { error } else { error.say(quoted(words).0) }
}
