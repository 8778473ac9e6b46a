//! Writes a draft as YAML. Text is quoted as in JSON, which YAML reads alike; nothing else needs care.

use std::collections::{BTreeMap, HashSet};

use backstop_core::text;

use super::draft::{Data, Draft};
use crate::diagnostic::Diagnostic;

/// Words that look like something else to a reader who is not this program.
const WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];

/// Letters of a mapping on one line at most.
const FLOW_CAP: usize = 72;

/// The draft as YAML, with what was found as comments: at what it is about where that is written, else on top.
pub(super) fn written(draft: &Draft, found: &[Diagnostic], head: &[&str]) -> String {
    let mut paths = HashSet::new();
    draft.walk(&mut |draft| {
        paths.insert(draft.path.clone());
    });
    let mut notes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for found in found {
        let mut path = found.path.as_str();
        while !path.is_empty() && !paths.contains(path) {
            path = path.rfind(['.', '[']).and_then(|at| path.get(..at)).unwrap_or_default();
        }
        notes.entry(path.to_owned()).or_default().push(note(found));
    }
    let mut out = String::new();
    head.iter().for_each(|line| out.push_str(&format!("# {line}\n")));
    let mut writer = Writer { out, notes };
    writer.comment("", "");
    match &draft.data {
        Data::Map(members) => writer.members(members, 0),
        Data::Text(_) | Data::Plain(_) | Data::List(_) => writer.value(draft, 0),
    }
    writer.out
}

fn note(found: &Diagnostic) -> String {
    let line = found.span.map(|span| format!("line {}: ", span.line)).unwrap_or_default();
    text::escaped(&format!("{line}{}: {}", found.path, found.message), 500)
}

struct Writer {
    out: String,
    /// What is not said yet, by what it is about.
    notes: BTreeMap<String, Vec<String>>,
}

impl Writer {
    fn members(&mut self, members: &[(String, Draft)], indent: usize) {
        let blank = " ".repeat(indent);
        for (key, value) in members {
            self.comment(&value.path, &blank);
            self.out.push_str(&format!("{blank}{}:", spelled(key)));
            self.value(value, indent);
        }
    }

    /// A value behind its key or its dash.
    fn value(&mut self, value: &Draft, indent: usize) {
        match &value.data {
            Data::Text(text) => self.out.push_str(&format!(" {}\n", quoted(text))),
            Data::Plain(text) => self.out.push_str(&format!(" {text}\n")),
            Data::List(items) if items.is_empty() => self.out.push_str(" []\n"),
            Data::Map(members) if members.is_empty() => self.out.push_str(" {}\n"),
            Data::Map(members) => match self.flow(members) {
                Some(flow) => self.out.push_str(&format!(" {flow}\n")),
                None => {
                    self.out.push('\n');
                    self.members(members, indent + 2);
                }
            },
            Data::List(items) => {
                self.out.push('\n');
                for item in items {
                    let blank = " ".repeat(indent + 2);
                    self.comment(&item.path, &blank);
                    self.out.push_str(&format!("{blank}-"));
                    self.item(item, indent + 2);
                }
            }
        }
    }

    /// A value behind its dash: the first member of a mapping stands there, too.
    fn item(&mut self, item: &Draft, indent: usize) {
        let start = self.out.len();
        self.value(item, indent);
        let below = format!("\n{}", " ".repeat(indent + 2));
        let rest = self.out.get(start..).and_then(|text| text.strip_prefix(&below));
        if let Some(rest) = rest.filter(|rest| !rest.starts_with('#')) {
            let rest = format!(" {rest}");
            self.out.truncate(start);
            self.out.push_str(&rest);
        }
    }

    /// A few scalars on one line, where nothing is to be said about them.
    fn flow(&self, members: &[(String, Draft)]) -> Option<String> {
        let mut shown = Vec::new();
        for (key, value) in members {
            let scalar = match &value.data {
                Data::Text(text) => quoted(text),
                Data::Plain(text) => text.clone(),
                Data::List(_) | Data::Map(_) => return None,
            };
            if self.notes.contains_key(&value.path) {
                return None;
            }
            shown.push(format!("{}: {scalar}", spelled(key)));
        }
        let flow = format!("{{ {} }}", shown.join(", "));
        (flow.len() <= FLOW_CAP).then_some(flow)
    }

    fn comment(&mut self, path: &str, blank: &str) {
        for note in self.notes.remove(path).unwrap_or_default() {
            self.out.push_str(&format!("{blank}# {note}\n"));
        }
    }
}

fn spelled(key: &str) -> String {
    let starts = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let fit = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if starts && fit && !WORDS.contains(&key.to_ascii_lowercase().as_str()) {
        key.to_owned()
    } else {
        quoted(key)
    }
}

/// Text between quotes. What YAML does not take as it is, is spelled out.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control()
                || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}') =>
            {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_yaml_would_misread_is_quoted() {
        assert_eq!(
            ["a_b-1", "no", "1", "", "a b"].map(spelled),
            ["a_b-1", "\"no\"", "\"1\"", "\"\"", "\"a b\""]
        );
        assert_eq!(quoted("\"\\\n\u{1}ä\u{2028}"), "\"\\\"\\\\\\n\\u0001ä\\u2028\"");
    }
}
