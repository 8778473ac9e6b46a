//! `backstop tools`.

use std::path::Path;

use anstyle::Style;
use backstop::{Overrides, manifest::ProcessEnvironment};
use serde_json::{Value, json};

use super::{Exit, built, manifest, say, say_json, schema_warnings, warn};

pub(crate) async fn run(file: &Path, json: bool) -> Result<Exit, Exit> {
    const BOLD: Style = Style::new().bold();
    const DIM: Style = Style::new().dimmed();
    let manifest = manifest(file, &ProcessEnvironment)?;
    let agent = built(&manifest, &Overrides::default()).await?;
    schema_warnings(&manifest, &agent).iter().for_each(|warning| warn(warning));
    let catalog = agent.catalog();
    let entries = catalog.entries();
    if json {
        let tools: Vec<Value> = entries
            .iter()
            .map(|entry| {
                json!({
                    "name": entry.name,
                    "toolset": entry.toolset_name,
                    "description": entry.spec.description,
                    "parameters": entry.spec.input_schema,
                    "effect": entry.spec.effect,
                    "find_with": entry.spec.find_with,
                    "check_with": entry.spec.check_with,
                })
            })
            .collect();
        say_json(&Value::from(tools));
        return Ok(Exit::with(0));
    }
    for (index, entry) in entries.iter().enumerate() {
        if index > 0 {
            say("");
        }
        let effect = entry.spec.effect.as_str().replace('_', "-");
        say(&format!("{BOLD}{}{BOLD:#} {DIM}{effect}, of {}{DIM:#}", entry.name, entry.toolset_name));
        if !entry.spec.description.is_empty() {
            say(&format!("  {}", entry.spec.description.trim().replace('\n', "\n  ")));
        }
        let schema = serde_json::to_string_pretty(&entry.spec.input_schema).unwrap_or_default();
        say(&format!("  {}", schema.replace('\n', "\n  ")));
    }
    if entries.is_empty() {
        say("no tools");
    }
    Ok(Exit::with(0))
}
