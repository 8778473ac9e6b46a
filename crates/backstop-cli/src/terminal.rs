//! The person at the terminal, whom an MCP server asks something in the middle of a call.

use std::{
    io::{IsTerminal as _, Write as _},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use anstyle::{AnsiColor, Style};
use backstop::{
    async_trait,
    mcp::{AskPerson, Asked},
};
use serde_json::{Map, Value};

use crate::{
    input,
    output::{progress::Progress, stdout::plain},
};

const BOLD: Style = AnsiColor::Yellow.on_default().bold();
const DIM: Style = Style::new().dimmed();
/// Times that a field is asked for.
const TRIES: usize = 3;

/// What is shown at the moment: a question needs room.
static SHOWN: Mutex<Weak<Progress>> = Mutex::new(Weak::new());

/// From now on this is what is shown.
pub(crate) fn shows(progress: &Arc<Progress>) {
    *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(progress);
}

/// Fills in what servers ask for.
pub(crate) struct Terminal;

impl Terminal {
    /// Somebody to ask, where a person sits at the terminal.
    pub(crate) fn at() -> Option<Arc<dyn AskPerson>> {
        std::io::stdin().is_terminal().then(|| Arc::new(Self) as Arc<dyn AskPerson>)
    }
}

#[async_trait]
impl AskPerson for Terminal {
    async fn ask(&self, asked: &Asked) -> Option<Map<String, Value>> {
        let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        if let Some(progress) = shown {
            progress.make_room();
        }
        tell(&format!("{BOLD}?{BOLD:#} the server of `{}` asks: {}", asked.toolset, plain(&asked.message)));
        if let Some(url) = &asked.url {
            tell(&format!(
                "  it wants you to visit {}\n  {DIM}y if you will; anything else refuses{DIM:#}",
                plain(url)
            ));
            let line = line().await?;
            return matches!(line.trim(), "y" | "Y" | "yes").then(Map::new);
        }
        let schema = asked.schema.as_ref()?;
        let required: Vec<&str> =
            schema.get("required")?.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut filled = Map::new();
        for (name, field) in schema.get("properties")?.as_object()? {
            if let Some(value) = fill(name, field, required.contains(&name.as_str())).await? {
                filled.insert(name.clone(), value);
            }
        }
        Some(filled)
    }
}

/// One field: `None` where the person refuses, `Some(None)` where they leave it out.
async fn fill(name: &str, field: &Value, required: bool) -> Option<Option<Value>> {
    let text = |key: &str| field.get(key).and_then(Value::as_str).map(plain);
    let label = text("title").unwrap_or_else(|| plain(name));
    let more = text("description").map(|more| format!(": {more}")).unwrap_or_default();
    let empty = match (field.get("default"), required) {
        (Some(default), _) => format!("nothing for {default}"),
        (None, true) => "nothing refuses".into(),
        (None, false) => "nothing leaves it out".into(),
    };
    tell(&format!("  {label}{more} {DIM}({}; {empty}){DIM:#}", kinds(field)));
    for _ in 0..TRIES {
        let line = line().await?;
        match line.trim() {
            "" if required && field.get("default").is_none() => return None,
            "" => return Some(None),
            line => match read(line, field) {
                Some(value) => return Some(Some(value)),
                None => tell(&format!("  that is none of it: {}", kinds(field))),
            },
        }
    }
    None
}

/// What may be written for a field.
fn kinds(field: &Value) -> String {
    let choices = choices(field).or_else(|| choices(field.get("items")?));
    match (choices, field.get("type").and_then(Value::as_str)) {
        (Some(choices), Some("array")) => format!("some of {}, with commas", choices.join(", ")),
        (Some(choices), _) => format!("one of {}", choices.join(", ")),
        (None, Some("boolean")) => "y or n".into(),
        (None, Some("integer")) => "a whole number".into(),
        (None, Some("number")) => "a number".into(),
        (None, _) => "a text".into(),
    }
}

fn choices(field: &Value) -> Option<Vec<String>> {
    let titled = ["oneOf", "anyOf"].iter().find_map(|key| field.get(*key)?.as_array());
    let of = |choice: &Value| choice.get("const").unwrap_or(choice).as_str().map(plain);
    Some(field.get("enum").and_then(Value::as_array).or(titled)?.iter().filter_map(of).collect())
}

fn read(line: &str, field: &Value) -> Option<Value> {
    let one = |text: &str, field: &Value| match choices(field) {
        Some(choices) => choices.iter().any(|choice| choice == text).then(|| Value::from(text)),
        None => Some(Value::from(text)),
    };
    match field.get("type").and_then(Value::as_str) {
        Some("boolean") => match line {
            "y" | "Y" | "yes" | "true" => Some(Value::Bool(true)),
            "n" | "N" | "no" | "false" => Some(Value::Bool(false)),
            _ => None,
        },
        Some("integer") => line.parse::<i64>().ok().map(Value::from),
        Some("number") => line.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from),
        Some("array") => {
            let items = field.get("items").unwrap_or(&Value::Null);
            line.split(',').map(|item| one(item.trim(), items)).collect::<Option<Vec<_>>>().map(Value::Array)
        }
        _ => one(line, field),
    }
}

fn tell(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

async fn line() -> Option<String> {
    input::line_after_prompt(BOLD).await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_typed_is_read_as_its_field_wants() {
        for (field, line, value) in [
            (json!({"type": "string"}), "a b", Some(json!("a b"))),
            (json!({"type": "string", "enum": ["S", "L"]}), "L", Some(json!("L"))),
            (json!({"type": "string", "enum": ["S", "L"]}), "XL", None),
            (json!({"type": "string", "oneOf": [{"const": "s", "title": "Small"}]}), "s", Some(json!("s"))),
            (json!({"type": "boolean"}), "y", Some(json!(true))),
            (json!({"type": "boolean"}), "maybe", None),
            (json!({"type": "integer"}), "7", Some(json!(7))),
            (json!({"type": "integer"}), "7.5", None),
            (json!({"type": "number"}), "7.5", Some(json!(7.5))),
            (json!({"type": "number"}), "NaN", None),
            (json!({"type": "array", "items": {"enum": ["a", "b"]}}), "a, b", Some(json!(["a", "b"]))),
            (json!({"type": "array", "items": {"enum": ["a", "b"]}}), "a,c", None),
        ] {
            assert_eq!(read(line, &field), value, "{field} {line}");
        }
        assert_eq!(
            kinds(&json!({"type": "array", "items": {"enum": ["a", "b"]}})),
            "some of a, b, with commas"
        );
    }
}
