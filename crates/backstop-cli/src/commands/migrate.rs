//! `backstop migrate`.

use std::{fs::OpenOptions, io::Write, path::Path};

use backstop::manifest::{Migration, Severity, migrate};
use serde_json::json;

use super::{Exit, say, say_json};
use crate::output::diagnostics;

pub(crate) fn run(file: &Path, out: Option<&Path>, json: bool) -> Result<Exit, Exit> {
    let text = backstop::read_manifest_text(file).map_err(|error| Exit::error(&error))?;
    let migration = migrate(&text, &file.display().to_string());
    if let (Some(yaml), Some(out)) = (&migration.yaml, out) {
        write_new(out, yaml)?;
    }
    if json {
        say_json(&document(file, out, &migration));
    } else {
        if let (Some(yaml), None) = (&migration.yaml, out) {
            say(yaml);
        }
        report(file, &text, out, &migration);
    }
    Ok(Exit::with(if migration.failed() { 2 } else { 0 }))
}

fn write_new(out: &Path, yaml: &str) -> Result<(), Exit> {
    let written = OpenOptions::new().write(true).create_new(true).open(out);
    written.and_then(|mut file| file.write_all(yaml.as_bytes())).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Exit::usage(format!("`{}` is there already; it is left as it is", out.display()))
        }
        _ => Exit::usage(format!("can't write `{}`: {error}", out.display())),
    })
}

/// What was changed goes to stderr: stdout is the manifest.
fn report(file: &Path, text: &str, out: Option<&Path>, migration: &Migration) {
    let mut stderr = anstream::stderr();
    let _ = write!(stderr, "{}", diagnostics::rendered(file, text, &migration.report));
    let name = file.display();
    if migration.failed() {
        let _ = writeln!(stderr, "{name}: not migrated");
        return;
    }
    if migration.native {
        let _ = writeln!(stderr, "{name}: this is a native manifest already, it is written unchanged");
    }
    if !migration.secrets.is_empty() {
        let _ =
            writeln!(stderr, "{name}: before you use the new manifest, set {}", migration.secrets.join(", "));
    }
    if let Some(out) = out {
        let _ = writeln!(stderr, "{name}: wrote {}", out.display());
    }
}

fn document(file: &Path, out: Option<&Path>, migration: &Migration) -> serde_json::Value {
    let count = |severity| migration.report.iter().filter(|found| found.severity == severity).count();
    json!({
        "file": file.display().to_string(),
        "out": out.filter(|_| migration.yaml.is_some()).map(|out| out.display().to_string()),
        "errors": count(Severity::Error),
        "warnings": count(Severity::Warning),
        "native": migration.native,
        "secrets": migration.secrets,
        "diagnostics": migration.report,
        // Where it is not written to a file.
        "yaml": migration.yaml.as_ref().filter(|_| out.is_none()),
    })
}
