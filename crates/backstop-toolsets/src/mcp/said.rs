//! What a server's own words say about a failure, where they surely say more than that there was one.
//!
//! Servers mark failures with a flag and a text. The texts of the usual SDKs have fixed forms, from which the kind can
//! be read; of all others nothing is concluded.

use std::sync::LazyLock;

use backstop_core::{ToolErrorKind, text::head};
use regex::Regex;
use serde_json::{Map, Value};

use crate::{http::fit, pointer};

/// Bytes of a text that are looked at.
const LOOKED_AT: usize = 16 * 1024;
/// Bytes of an argument that is looked for in a text, at least: shorter ones are there by chance.
const NAMED: usize = 3;

/// What a text says.
#[derive(Debug, PartialEq)]
pub(super) struct Said {
    pub(super) kind: ToolErrorKind,
    /// The words for the model; none where the text was not meant for a caller.
    pub(super) words: Option<String>,
    /// The code that stands in the text.
    pub(super) code: Option<String>,
}

/// A pattern that is known to be one.
fn pattern(pattern: &str) -> Option<Regex> {
    Regex::new(pattern).ok()
}

/// What SDKs put in front of a tool's own words.
static PREFIX: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r#"^(?:MCP error (?P<code>-?\d+): |Error (?:executing|calling) tool '?[\w./-]+'?: |Error: (?P<rest>E[A-Z]+: )?)"#,
    )
});
static UNKNOWN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r#"^(?:Unknown tool:? ["'`]?(?P<a>[^"'`]+?)["'`]?|Tool ["'`]?(?P<b>[^"'`]+?)["'`]? (?:was )?not found)\.?$"#,
    )
});
static INVALID: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^(?:(?:Input validation error|Invalid (?:arguments|params|parameters)(?: for tool [\w./-]+)?): )+",
    )
});
static PYDANTIC: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\d+ validation errors? for [^\n]+\n"));
static ERRNO: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(?P<code>E[A-Z]{3,12}): "));
/// The end of a line of pydantic, which is for its own developers.
static DETAILS: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r" \[type=[^\n]*\]$"));

/// Reads the words of a failure of `tool`.
pub(super) fn said(text: &str, tool: &str) -> Said {
    let mut rest = head(text.trim(), LOOKED_AT);
    let mut code = None;
    // SDKs put their words in front of each other's.
    while let Some(found) = PREFIX.as_ref().and_then(|prefix| prefix.captures(&rest)) {
        code = code.or_else(|| found.name("code").map(|code| code.as_str().to_owned()));
        let end =
            found.get(0).map_or(0, |whole| whole.end()) - found.name("rest").map_or(0, |rest| rest.len());
        rest = rest.get(end..).unwrap_or_default().to_owned();
        if end == 0 {
            break;
        }
    }
    let (kind, words) = kind(&rest, tool);
    let errno = || Some(ERRNO.as_ref()?.captures(&rest)?.name("code")?.as_str().to_owned());
    Said { kind, words: words.or_else(|| fit(&rest)), code: code.or_else(errno) }
}

fn kind(text: &str, tool: &str) -> (ToolErrorKind, Option<String>) {
    if let Some(found) = UNKNOWN.as_ref().and_then(|unknown| unknown.captures(text)) {
        let named = found.name("a").or_else(|| found.name("b")).map(|name| name.as_str());
        if named == Some(tool) {
            return (ToolErrorKind::UnknownTool, None);
        }
    }
    if let Some(found) = PYDANTIC.as_ref().and_then(|pydantic| pydantic.find(text)) {
        let lines = pydantic(text.get(found.end()..).unwrap_or_default());
        return (ToolErrorKind::InvalidArguments, Some(lines).filter(|lines| !lines.is_empty()));
    }
    if let Some(found) = INVALID.as_ref().and_then(|invalid| invalid.find(text)) {
        return (ToolErrorKind::InvalidArguments, text.get(found.end()..).and_then(fit));
    }
    let errno = ERRNO.as_ref().and_then(|errno| errno.captures(text)).and_then(|found| found.name("code"));
    let kind = match errno.map(|errno| errno.as_str()) {
        Some("ENOENT") => ToolErrorKind::NotFound,
        Some("EACCES" | "EPERM" | "EROFS") => ToolErrorKind::AccessDenied,
        Some("EEXIST" | "ENOTEMPTY") => ToolErrorKind::Conflict,
        Some("ECONNREFUSED" | "ENOTFOUND" | "EHOSTUNREACH" | "ENETUNREACH") => ToolErrorKind::Unavailable,
        Some("ETIMEDOUT" | "ECONNRESET" | "EPIPE") => ToolErrorKind::UpstreamFailure,
        None if text.starts_with("Access denied") => ToolErrorKind::AccessDenied,
        _ => ToolErrorKind::Rejected,
    };
    (kind, None)
}

/// The problems of a pydantic error: a line for the place, an indented one for what is wrong with it, and an address.
fn pydantic(text: &str) -> String {
    let mut problems: Vec<String> = Vec::new();
    let mut place = None;
    for line in text.lines() {
        match line.strip_prefix("  ") {
            None => place = Some(line.trim()),
            Some(line) if line.trim_start().starts_with("For further information") => {}
            Some(line) => {
                let line = DETAILS.as_ref().map_or(line.into(), |details| details.replace(line, ""));
                problems.push(match place.take() {
                    Some(place) => format!("{place}: {}", line.trim()),
                    None => line.trim().to_owned(),
                });
            }
        }
    }
    problems.join("; ")
}

/// The one argument whose value stands in the words.
pub(super) fn named_by(words: &str, arguments: &Map<String, Value>) -> Option<String> {
    let is_named =
        |value: &Value| value.as_str().is_some_and(|text| text.len() >= NAMED && words.contains(text));
    let mut named = arguments.iter().filter(|(_, value)| is_named(value));
    match (named.next(), named.next()) {
        (Some((name, _)), None) => Some(pointer::child("", name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_of_the_usual_servers_are_read() {
        let texts = [
            "MCP error -32602: Tool nope not found",
            "MCP error -32602: Input validation error: Invalid arguments for tool echo: Invalid input: expected string, received undefined at message",
            "Unknown tool: nope",
            "Unknown tool: other",
            "Input validation error: 'query' is a required property",
            "Error executing tool add: 2 validation errors for addArguments\na\n  Input should be a valid integer, unable to parse string as an integer [type=int_parsing, input_value='seven', input_type=str]\n    For further information visit https://errors.pydantic.dev/2.12/v/int_parsing\nb\n  Field required [type=missing, input_value={'a': 'seven'}, input_type=dict]\n    For further information visit https://errors.pydantic.dev/2.12/v/missing",
            "Error executing tool get_current_time: Invalid timezone: 'No time zone found with key Mars/Base'",
            "Error executing tool fail",
            "Error calling tool 'crash': boo",
            "ENOENT: no such file or directory, open '/data/missing.txt'",
            "Error: EACCES: permission denied, open '/etc/shadow'",
            "Access denied - path outside allowed directories: /etc/passwd not in /data",
            "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: x",
            "Error: it broke",
            "",
        ];
        let read: Vec<String> = texts
            .iter()
            .map(|text| {
                let said = said(text, "nope");
                format!("{} {:?} {:?}", said.kind, said.words.unwrap_or_default(), said.code)
            })
            .collect();
        assert_eq!(
            read,
            [
                r#"unknown_tool "Tool nope not found" Some("-32602")"#,
                r#"invalid_arguments "Invalid input: expected string, received undefined at message" Some("-32602")"#,
                r#"unknown_tool "Unknown tool: nope" None"#,
                r#"rejected "Unknown tool: other" None"#,
                r#"invalid_arguments "'query' is a required property" None"#,
                r#"invalid_arguments "a: Input should be a valid integer, unable to parse string as an integer; b: Field required" None"#,
                r#"rejected "Invalid timezone: 'No time zone found with key Mars/Base'" None"#,
                r#"rejected "Error executing tool fail" None"#,
                r#"rejected "boo" None"#,
                r#"not_found "ENOENT: no such file or directory, open '/data/missing.txt'" Some("ENOENT")"#,
                r#"access_denied "EACCES: permission denied, open '/etc/shadow'" Some("EACCES")"#,
                r#"access_denied "Access denied - path outside allowed directories: /etc/passwd not in /data" None"#,
                r#"rejected "" None"#,
                r#"rejected "it broke" None"#,
                r#"rejected "" None"#,
            ]
        );
    }

    #[test]
    fn an_argument_is_named_where_it_is_the_only_one() {
        let arguments = json!({"path": "/data/a.txt", "mode": "rw", "other": "nothing"});
        let arguments = arguments.as_object().unwrap();
        assert_eq!(named_by("ENOENT: open '/data/a.txt'", arguments), Some("/path".into()));
        assert_eq!(named_by("nothing at '/data/a.txt'", arguments), None);
        assert_eq!(named_by("rw", arguments), None);
    }
}
