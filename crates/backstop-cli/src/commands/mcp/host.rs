//! `backstop mcp --add-to`: the block of configuration for the program that shall use the tools.

use std::{
    fs,
    io::{IsTerminal as _, Write as _},
    path::{Path, PathBuf},
};

use anstyle::{AnsiColor, Style};
use backstop::manifest::ProcessEnvironment;
use serde::Serialize as _;
use serde_json::{Map, Value, json, ser::PrettyFormatter};

use super::super::{Exit, complain, manifest, say, say_json};
use crate::{args::Gate, input};

const BOLD: Style = AnsiColor::Yellow.on_default().bold();
/// Bytes of a host's configuration at most.
const HOST_CAP: u64 = 4 * 1024 * 1024;

/// Adds the gateway to a host's configuration, after asking.
pub(super) async fn add(host: &Path, file: &Path, gate: &Gate) -> Result<Exit, Exit> {
    let name = manifest(file, &ProcessEnvironment)?.name.value;
    let text = read(host)?;
    let key = key(host, &text);
    let entry = entry(file, gate, key)?;
    let block = json!({ key: { name.as_str(): entry } });
    let merged = match merged(&text, key, &name, &entry) {
        Ok(merged) => merged,
        Err(why) => {
            say_json(&block);
            complain(&format!(
                "`{}` is left as it is: {why}\n  hint: add the block above by hand",
                host.display()
            ));
            return Ok(Exit::with(2));
        }
    };
    let Some(merged) = merged else {
        say(&format!("`{}` has it already", host.display()));
        return Ok(Exit::with(0));
    };
    say_json(&block);
    if !gate.yes && !allowed(host).await {
        let _ = writeln!(anstream::stderr(), "`{}` is left as it is", host.display());
        return Ok(Exit::with(0));
    }
    write(host, &merged)
        .map_err(|error| Exit::failed(format!("can't write `{}`: {error}", host.display())))?;
    let _ = writeln!(anstream::stderr(), "wrote `{}`", host.display());
    Ok(Exit::with(0))
}

fn read(host: &Path) -> Result<String, Exit> {
    let failed = |error: std::io::Error| Exit::usage(format!("can't read `{}`: {error}", host.display()));
    match fs::metadata(host) {
        Ok(known) if known.len() > HOST_CAP => {
            Err(Exit::usage(format!("`{}` is larger than {HOST_CAP} bytes", host.display())))
        }
        Ok(_) => fs::read_to_string(host).map_err(failed),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(failed(error)),
    }
}

/// Where a host keeps its servers: VS Code has a key of its own.
fn key(host: &Path, text: &str) -> &'static str {
    let known = serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
    let code = host.file_name().is_some_and(|name| name == "mcp.json")
        && host.parent().is_some_and(|folder| folder.ends_with(".vscode") || folder.ends_with("User"));
    if known.contains_key("mcpServers") || (!known.contains_key("servers") && !code) {
        "mcpServers"
    } else {
        "servers"
    }
}

/// How the host starts the gateway, or reaches it.
fn entry(file: &Path, gate: &Gate, key: &str) -> Result<Value, Exit> {
    let mut entry = match gate.http {
        Some(address) => json!({"type": "http", "url": format!("http://{address}/mcp")}),
        None => {
            let absolute = |path: PathBuf| path.canonicalize().unwrap_or(path).display().to_string();
            let program = std::env::current_exe().map(absolute).map_err(|error| Exit::error(&error))?;
            let mut args = vec!["mcp".to_owned(), absolute(file.to_owned())];
            if gate.host_approves {
                args.push("--host-approves".into());
            }
            json!({"type": "stdio", "command": program, "args": args})
        }
    };
    // Hosts with the other key know by what stands there.
    if let Some(entry) = entry.as_object_mut().filter(|_| key == "mcpServers") {
        entry.shift_remove("type");
    }
    Ok(entry)
}

/// The text of the configuration with this entry; none where it has it already.
///
/// # Errors
///
/// Why it can't be added without losing something.
fn merged(text: &str, key: &str, name: &str, entry: &Value) -> Result<Option<String>, String> {
    let mut document: Map<String, Value> = match text.trim().is_empty() {
        true => Map::new(),
        false => {
            serde_json::from_str(text).map_err(|error| match text.contains("//") || text.contains("/*") {
                true => format!("it has comments, which would be lost ({error})"),
                false => format!("it is no JSON object ({error})"),
            })?
        }
    };
    let servers = document.entry(key).or_insert_with(|| Value::Object(Map::new()));
    let servers = servers.as_object_mut().ok_or_else(|| format!("`{key}` in it is no object"))?;
    match servers.get(name) {
        Some(known) if known == entry => return Ok(None),
        // What somebody else wrote under the name is not ours to replace.
        Some(known)
            if known.get("args").and_then(|args| args.get(0)) != Some(&json!("mcp"))
                && known.get("url").is_none() =>
        {
            return Err(format!("it has another server named `{name}`"));
        }
        _ => servers.insert(name.to_owned(), entry.clone()),
    };
    Ok(Some(written(&document, &indent(text))))
}

/// The indentation that the text has, two blanks where it has none.
fn indent(text: &str) -> String {
    let first = text.lines().find(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty());
    let indent =
        first.map_or("", |line| line.get(..line.len() - line.trim_start().len()).unwrap_or_default());
    if indent.is_empty() { "  ".into() } else { indent.into() }
}

fn written(document: &Map<String, Value>, indent: &str) -> String {
    let mut bytes = Vec::new();
    let format = PrettyFormatter::with_indent(indent.as_bytes());
    // Values always serialise.
    let _ = document.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, format));
    format!("{}\n", String::from_utf8_lossy(&bytes))
}

async fn allowed(host: &Path) -> bool {
    if !std::io::stdin().is_terminal() {
        let _ = writeln!(anstream::stderr(), "nobody can be asked: give `--yes` to write it");
        return false;
    }
    let _ = writeln!(anstream::stderr(), "{BOLD}?{BOLD:#} Add this to `{}`? (y/N)", host.display());
    let line = input::line_after_prompt(BOLD).await.ok().flatten().unwrap_or_default();
    matches!(line.trim(), "y" | "Y" | "yes")
}

/// Writes the whole file or nothing, through the link where it is one, with the rights that it has.
fn write(host: &Path, text: &str) -> std::io::Result<()> {
    let target = host.canonicalize().unwrap_or_else(|_| host.to_owned());
    let mut beside = target.clone().into_os_string();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = (|| {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&beside)?;
        if let Ok(known) = fs::metadata(&target) {
            file.set_permissions(known.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, &target)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(text: &str) -> Result<Option<String>, String> {
        merged(text, "mcpServers", "orders", &json!({"command": "backstop", "args": ["mcp", "a.yaml"]}))
    }

    #[test]
    fn an_entry_is_added_and_nothing_else_is_changed() {
        let before = "{\n    \"z\": 1,\n    \"mcpServers\": {\n        \"other\": {\n            \"command\": \"x\"\n        }\n    },\n    \"a\": [1.50, \"ü\"]\n}\n";
        let after = added(before).unwrap().unwrap();
        let expected = "{\n    \"z\": 1,\n    \"mcpServers\": {\n        \"other\": {\n            \"command\": \"x\"\n        },\n        \"orders\": {\n            \"command\": \"backstop\",\n            \"args\": [\n                \"mcp\",\n                \"a.yaml\"\n            ]\n        }\n    },\n    \"a\": [\n        1.5,\n        \"ü\"\n    ]\n}\n";
        assert_eq!(after, expected);
        assert_eq!(added(&after).unwrap(), None);
    }

    #[test]
    fn what_would_be_lost_is_left() {
        for (text, why) in [
            (
                "{ // mine\n}",
                "it has comments, which would be lost (key must be a string at line 1 column 3)",
            ),
            ("[]", "it is no JSON object (invalid type: sequence, expected a map at line 1 column 0)"),
            ("{\"mcpServers\": []}", "`mcpServers` in it is no object"),
            ("{\"mcpServers\": {\"orders\": {\"command\": \"x\"}}}", "it has another server named `orders`"),
        ] {
            assert_eq!(added(text).unwrap_err(), why);
        }
        assert!(added("").unwrap().unwrap().starts_with("{\n  \"mcpServers\""));
    }

    #[test]
    fn the_key_is_that_of_the_host() {
        for (path, text, expected) in [
            ("claude_desktop_config.json", "", "mcpServers"),
            (".cursor/mcp.json", "", "mcpServers"),
            (".vscode/mcp.json", "", "servers"),
            ("mcp.json", "{\"servers\": {}}", "servers"),
            (".vscode/mcp.json", "{\"mcpServers\": {}}", "mcpServers"),
        ] {
            assert_eq!(key(Path::new(path), text), expected, "{path}");
        }
    }
}
