//! The text of a script, read.

use std::{sync::atomic::AtomicU32, time::Duration};

use backstop_core::{FinishReason, ModelError, ModelErrorKind};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value};
use serde_saphyr::{Location, Options, Spanned, UserMessageFormatter};

use super::script::{Entry, Script, ScriptedCall, What};

/// Why a text is no script, and where.
///
/// # Example
///
/// ```
/// use backstop_toolsets::deployment::ScriptedModel;
///
/// let error = ScriptedModel::parse("- text: hello\n- txt: oops").unwrap_err();
/// assert_eq!((error.line(), error.column()), (2, 3));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("script line {line}, column {column}: {reason}")]
pub struct ScriptError {
    line: u64,
    column: u64,
    reason: String,
}

impl ScriptError {
    fn new(at: Location, reason: impl Into<String>) -> Self {
        // A place that is not known is the beginning.
        Self { line: at.line().max(1), column: at.column().max(1), reason: reason.into() }
    }

    /// The line, counted from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The column, counted from 1.
    pub fn column(&self) -> u64 {
        self.column
    }

    /// What is wrong there.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

pub(super) fn parse(text: &str) -> Result<Script, ScriptError> {
    let mut options = Options::default();
    options.with_snippet = false;
    let entries: Vec<Spanned<Written>> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| refused(&error))?;
    let mut script = Script { entries: Vec::with_capacity(entries.len()), repeat_last: false };
    for Spanned { value, referenced: at, .. } in entries {
        if script.repeat_last {
            return Err(ScriptError::new(at, "nothing can follow `repeat: last`"));
        }
        if value.repeat.is_some() {
            if script.entries.is_empty() {
                return Err(ScriptError::new(
                    at,
                    "there is nothing before it that `repeat: last` could repeat",
                ));
            }
            if value.says_more_than_repeat() {
                return Err(ScriptError::new(at, "`repeat` stands alone"));
            }
            script.repeat_last = true;
        } else {
            script.entries.push(entry(value, at)?);
        }
    }
    if script.entries.is_empty() {
        return Err(ScriptError::new(Location::UNKNOWN, "a script is a list of at least one reply"));
    }
    Ok(script)
}

fn refused(error: &serde_saphyr::Error) -> ScriptError {
    let at = error.location().unwrap_or(Location::UNKNOWN);
    let text = error.without_snippet().render_with_formatter(&UserMessageFormatter);
    // The place is told apart from the reason.
    let place = format!("line {} column {}: ", at.line(), at.column());
    let reason =
        text.replace(&place, "").replace(&format!(" at line {}, column {}", at.line(), at.column()), "");
    ScriptError::new(at, reason.trim())
}

fn entry(written: Written, at: Location) -> Result<Entry, ScriptError> {
    let Written { text, calls, fail, delay, finish, when_contains, repeat: _ } = written;
    let what = match fail {
        Some(fail) => {
            if text.is_some() || calls.is_some() || finish.is_some() {
                return Err(ScriptError::new(at, "`fail` can't stand beside `text`, `calls` or `finish`"));
            }
            What::Fail { error: fail.error(), times: fail.times, failed: AtomicU32::new(0) }
        }
        None => {
            if text.is_none() && calls.is_none() {
                return Err(ScriptError::new(at, "one of `text`, `calls`, `fail` or `repeat` is missing"));
            }
            let calls = calls.unwrap_or_default().into_iter().map(call).collect::<Result<Vec<_>, _>>()?;
            let usual = if calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
            What::Reply { text, calls, finish: finish.unwrap_or(usual) }
        }
    };
    Ok(Entry { what, delay, when_contains })
}

fn call(written: Spanned<WrittenCall>) -> Result<ScriptedCall, ScriptError> {
    let WrittenCall { tool, arguments, raw, id } = written.value;
    let arguments = match (arguments, raw) {
        (Some(_), Some(_)) => {
            return Err(ScriptError::new(
                written.referenced,
                "`arguments` and `raw` can't stand side by side",
            ));
        }
        (Some(arguments), None) => Value::Object(arguments).to_string(),
        (None, Some(raw)) => raw,
        (None, None) => "{}".into(),
    };
    Ok(ScriptedCall { id, tool, arguments })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    text: Option<String>,
    calls: Option<Vec<Spanned<WrittenCall>>>,
    fail: Option<WrittenFailure>,
    #[serde(default, deserialize_with = "duration")]
    delay: Duration,
    finish: Option<FinishReason>,
    when_contains: Option<String>,
    repeat: Option<Repeat>,
}

impl Written {
    fn says_more_than_repeat(&self) -> bool {
        self.text.is_some()
            || self.calls.is_some()
            || self.fail.is_some()
            || !self.delay.is_zero()
            || self.finish.is_some()
            || self.when_contains.is_some()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Repeat {
    Last,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCall {
    tool: String,
    arguments: Option<Map<String, Value>>,
    raw: Option<String>,
    id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFailure {
    kind: ModelErrorKind,
    status: Option<u16>,
    message: Option<String>,
    #[serde(default, deserialize_with = "some_duration")]
    retry_after: Option<Duration>,
    #[serde(default = "once")]
    times: u32,
}

impl WrittenFailure {
    fn error(&self) -> ModelError {
        let mut error = ModelError::new(self.kind, "the script says so");
        if let Some(message) = &self.message {
            error = error.say(message);
        }
        if let Some(status) = self.status {
            error = error.with_status(status);
        }
        if let Some(wait) = self.retry_after {
            error = error.with_retry_after(wait);
        }
        error
    }
}

const fn once() -> u32 {
    1
}

fn some_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    duration(deserializer).map(Some)
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = || D::Error::custom(format!("`{text}` is no time such as `300ms`, `2s` or `1m`"));
    let unit = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(unit);
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "ms" => number / 1000.0,
        "s" => number,
        "m" => number * 60.0,
        _ => return Err(wrong()),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_told_with_their_place() {
        let cases = [
            "- text: hello\n- txt: oops\n",
            "- text: [unclosed\n",
            "text: not a list\n",
            "[]",
            "- delay: 1s\n",
            "- text: a\n  delay: 5\n",
            "- text: a\n  delay: 5h\n",
            "- fail: { kind: broken }\n",
            "- fail: { kind: timeout }\n  text: a\n",
            "- calls:\n    - { tool: a, arguments: {}, raw: x }\n",
            "- calls:\n    - { tool: a, arguments: [1] }\n",
            "- calls: [{ arguments: {} }]\n",
            "- repeat: last\n",
            "- text: a\n- repeat: last\n- text: b\n",
            "- text: a\n- repeat: last\n  delay: 1s\n",
            "- text: a\n- repeat: first\n",
            "- text: a\n  text: b\n",
            "[{\"text\": \"a\"},\n {\"txt\": \"b\"}]",
        ];
        let told: String =
            cases.iter().map(|text| format!("{text:?}\n  {}\n", parse(text).unwrap_err())).collect();
        insta::assert_snapshot!(told);
    }

    #[test]
    fn json_is_read_like_yaml() {
        let yaml = "- calls: [{tool: add, arguments: {b: 2, a: [1, null, x]}}]\n  delay: 1.5s\n- fail: {kind: rate_limited, retry_after: 1m}\n- repeat: last";
        let json = r#"[{"calls": [{"tool": "add", "arguments": {"b": 2, "a": [1, null, "x"]}}], "delay": "1.5s"},
            {"fail": {"kind": "rate_limited", "retry_after": "1m"}}, {"repeat": "last"}]"#;
        let (yaml, json) = (parse(yaml).unwrap(), parse(json).unwrap());
        assert_eq!(format!("{yaml:?}"), format!("{json:?}"));
        assert_eq!(yaml.entries[0].delay, Duration::from_millis(1500));
        let What::Reply { calls, .. } = &yaml.entries[0].what else { panic!("a reply") };
        assert_eq!(calls[0].arguments, r#"{"b":2,"a":[1,null,"x"]}"#);
    }
}
