//! The files in which MCP hosts keep the servers that they start, and how a gateway gets into one.
//!
//! A file is somebody's own: it is changed as text, in one place, so that nothing else of it moves, not even a blank.

use std::{collections::HashMap, ops::Range, path::Path};

use serde::Serialize;
use serde_json::{Map, Value, json, value::RawValue};

/// How a host writes down its servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostForm {
    /// Under `mcpServers`, as Claude Desktop, Cursor and most others do.
    McpServers,
    /// Under `servers` and with a `type`, as the `mcp.json` of VS Code has it.
    Servers,
}

/// A server that a host starts, or reaches.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HostEntry {
    /// What the host calls it.
    pub(super) name: String,
    /// How it is started or reached: what stands beside it, such as `env`, is kept.
    pub(super) way: Way,
}

/// How a server is started or reached.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Way {
    /// A program and its arguments.
    Program(String, Vec<String>),
    /// An address.
    Url(String),
}

/// Why a host's file is left as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum HostFileError {
    /// It is no plain JSON.
    #[error(
        "it is not plain JSON (line {line}, column {column}): files with comments or trailing commas are left to you"
    )]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// Somebody else's server has the name.
    #[error("it has another server named `{0}`")]
    Taken(String),
    /// Something in it is not what hosts write there.
    #[error("{0} is no JSON object")]
    NoObject(String),
}

type Members<'a> = HashMap<String, &'a RawValue>;

impl HostForm {
    /// The key under which the servers are.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::McpServers => "mcpServers",
            Self::Servers => "servers",
        }
    }

    /// The form of a file that has no servers yet: an `mcp.json` of VS Code is known by its folder.
    pub(super) fn of_path(path: &Path) -> Self {
        let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let is_named = path.file_name().is_some_and(|name| name == "mcp.json");
        if is_named && matches!(folder, Some(".vscode" | "User")) { Self::Servers } else { Self::McpServers }
    }
}

impl HostEntry {
    /// The whole block, as it stands in a file that has nothing else.
    pub(super) fn block(&self, form: HostForm) -> String {
        pretty(&json!({form.key(): {self.name.as_str(): self.value(form, Map::new())}}), "  ")
    }

    /// The text of a host's file with this server in it. An entry of its name is brought up to date, and keeps what
    /// else stands in it, such as `env`. `form` is that of a file without servers; one that has some keeps its own.
    ///
    /// # Errors
    ///
    /// [`HostFileError`] where the file can't be changed without losing something of it.
    pub(super) fn added_to(&self, text: &str, form: HostForm) -> Result<String, HostFileError> {
        if text.trim().is_empty() {
            return Ok(format!("{}\n", self.block(form)));
        }
        let all = members(text, "the file")?;
        let known = [HostForm::McpServers, HostForm::Servers];
        let Some(form) = known.into_iter().find(|form| all.contains_key(form.key())) else {
            let servers = json!({self.name.as_str(): self.value(form, Map::new())});
            return Ok(Page::new(text).with_member(0..text.len(), 1, all.is_empty(), form.key(), &servers));
        };
        let Some(raw) = all.get(form.key()) else { return Ok(text.to_owned()) };
        let servers = members(raw.get(), &format!("`{}`", form.key()))?;
        let page = Page::new(text);
        let Some(own) = servers.get(&self.name) else {
            let entry = self.value(form, Map::new());
            return Ok(page.with_member(span(text, raw), 2, servers.is_empty(), &self.name, &entry));
        };
        let before: Map<String, Value> = serde_json::from_str(own.get())
            .map_err(|_| HostFileError::NoObject(format!("`{}` of `{}`", self.name, form.key())))?;
        if !is_ours(&before) {
            return Err(HostFileError::Taken(self.name.clone()));
        }
        let entry = self.value(form, before.clone());
        if entry == Value::Object(before) {
            return Ok(text.to_owned());
        }
        Ok(page.replaced(span(text, own), &page.indented(&entry, 2)))
    }

    fn value(&self, form: HostForm, mut entry: Map<String, Value>) -> Value {
        let (kind, fields) = match &self.way {
            Way::Program(command, arguments) => {
                ("stdio", vec![("command", json!(command)), ("args", json!(arguments))])
            }
            Way::Url(url) => ("http", vec![("url", json!(url))]),
        };
        // What belongs to the other way would be taken for it.
        for (key, program) in [("command", true), ("args", true), ("url", false)] {
            if program != matches!(self.way, Way::Program(..)) {
                entry.shift_remove(key);
            }
        }
        if form == HostForm::Servers {
            entry.insert("type".into(), kind.into());
        }
        entry.extend(fields.into_iter().map(|(key, value)| (key.to_owned(), value)));
        Value::Object(entry)
    }
}

/// Whether an entry was made by this command, in one of its forms.
fn is_ours(entry: &Map<String, Value>) -> bool {
    let starts = entry.get("args").and_then(|args| args.get(0)).is_some_and(|first| first == "mcp");
    starts || entry.contains_key("url")
}

/// The members of an object, each with its text as it stands.
fn members<'a>(text: &'a str, what: &str) -> Result<Members<'a>, HostFileError> {
    serde_json::from_str(text).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => HostFileError::NoObject(what.to_owned()),
        _ => HostFileError::NotJson { line: error.line(), column: error.column() },
    })
}

/// Where `part`, which was read from `text`, stands in it.
fn span(text: &str, part: &RawValue) -> Range<usize> {
    let start = (part.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    start..start + part.get().len()
}

/// A text, and how it is laid out.
struct Page<'a> {
    text: &'a str,
    unit: &'a str,
    newline: &'static str,
}

impl<'a> Page<'a> {
    fn new(text: &'a str) -> Self {
        let indents = text.lines().filter_map(|line| {
            let indent = line.get(..line.len() - line.trim_start().len())?;
            (!indent.is_empty() && line.trim_start().starts_with('"')).then_some(indent)
        });
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self { text, unit: indents.min_by_key(|indent| indent.len()).unwrap_or("  "), newline }
    }

    fn replaced(&self, place: Range<usize>, by: &str) -> String {
        let (before, after) = (self.text.get(..place.start), self.text.get(place.end..));
        [before.unwrap_or_default(), by, after.unwrap_or_default()].concat()
    }

    /// A value as it stands at this depth, but for its first line.
    fn indented(&self, value: &Value, depth: usize) -> String {
        pretty(value, self.unit).replace('\n', &format!("{}{}", self.newline, self.unit.repeat(depth)))
    }

    /// The text with one more member behind all others of the object at `place`, whose members are at this depth.
    fn with_member(
        &self,
        place: Range<usize>,
        depth: usize,
        is_empty: bool,
        key: &str,
        value: &Value,
    ) -> String {
        let member = format!("{}: {}", Value::from(key), self.indented(value, depth));
        let object = self.text.get(place.clone()).unwrap_or_default();
        let inner = object.trim_end().strip_suffix('}').unwrap_or_default().trim_end();
        // What stands between the last member and the end of the object goes behind the new one.
        let rest = object.get(inner.len()..).unwrap_or_default();
        let (newline, indent) = (self.newline, self.unit.repeat(depth));
        let changed = match is_empty {
            true => {
                let end = rest.trim_start();
                format!("{inner}{newline}{indent}{member}{newline}{}{end}", self.unit.repeat(depth - 1))
            }
            false => format!("{inner},{newline}{indent}{member}{rest}"),
        };
        self.replaced(place, &changed)
    }
}

fn pretty(value: &Value, unit: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
    // Values always serialise.
    let _ = value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter));
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> HostEntry {
        let arguments = vec!["mcp".into(), "/a.yaml".into()];
        HostEntry { name: "orders".into(), way: Way::Program("/bin/backstop".into(), arguments) }
    }

    #[test]
    fn one_place_is_changed_and_nothing_else() {
        let mut table = String::new();
        for text in [
            "",
            "{ }\n",
            "{\"mcpServers\": {}}",
            "{\"mcpServers\":{\"x\":{\"command\":\"y\"}}}",
            "{\r\n\t\"z\": 1.50,\r\n\t\"mcpServers\": {\r\n\t\t\"x\": { \"command\": \"y\" }\r\n\t},\r\n\t\"a\": [1,  2]\r\n}\r\n",
            "{\n    \"servers\": {\n        \"orders\": {\n            \"command\": \"old\",\n            \"args\": [\"mcp\", \"x\"],\n            \"env\": { \"TOKEN\": \"t\" }\n        },\n        \"b\": {}\n    },\n    \"big\": 123456789012345678901234567890\n}\n",
            "{\n  \"theme\": \"dark\"\n}",
        ] {
            let after = entry().added_to(text, HostForm::McpServers).unwrap();
            assert_eq!(entry().added_to(&after, HostForm::McpServers).unwrap(), after);
            serde_json::from_str::<Value>(&after).unwrap();
            let shown = |text: &str| text.replace('\r', "<CR>").replace('\t', "<TAB>");
            table += &format!("## {:?}\n{}\n\n", text, shown(&after));
        }
        insta::assert_snapshot!(table);
    }

    #[test]
    fn a_way_takes_the_place_of_another() {
        let url = HostEntry { name: "orders".into(), way: Way::Url("http://127.0.0.1:1/mcp".into()) };
        let text = entry().added_to("", HostForm::Servers).unwrap();
        let changed: Value = serde_json::from_str(&url.added_to(&text, HostForm::Servers).unwrap()).unwrap();
        assert_eq!(
            changed,
            json!({"servers": {"orders": {"type": "http", "url": "http://127.0.0.1:1/mcp"}}})
        );
    }

    #[test]
    fn what_would_be_lost_is_left() {
        let told = [
            "{ // x\n}",
            "{\"a\":1,}",
            "[]",
            "{\"mcpServers\": []}",
            "{\"mcpServers\": {\"orders\": 7}}",
            "{\"mcpServers\": {\"orders\": {\"command\": \"x\"}}}",
            "{} x",
        ]
        .map(|text| entry().added_to(text, HostForm::McpServers).unwrap_err().to_string());
        assert_eq!(
            told,
            [
                "it is not plain JSON (line 1, column 3): files with comments or trailing commas are left to you",
                "it is not plain JSON (line 1, column 8): files with comments or trailing commas are left to you",
                "the file is no JSON object",
                "`mcpServers` is no JSON object",
                "`orders` of `mcpServers` is no JSON object",
                "it has another server named `orders`",
                "it is not plain JSON (line 1, column 4): files with comments or trailing commas are left to you",
            ]
        );
    }

    #[test]
    fn the_form_is_that_of_the_host() {
        let form = |path: &str| HostForm::of_path(Path::new(path));
        assert_eq!(form("claude_desktop_config.json"), HostForm::McpServers);
        assert_eq!(form(".cursor/mcp.json"), HostForm::McpServers);
        assert_eq!(form(".vscode/mcp.json"), HostForm::Servers);
    }
}
