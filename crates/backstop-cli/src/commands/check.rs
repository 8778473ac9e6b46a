//! `backstop check`.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use backstop::{
    ManifestFile, Overrides, agent_from_manifest,
    manifest::{Diagnostic, ProcessEnvironment, Severity},
};
use serde_json::{Value, json};

use super::{Exit, complain, say, say_json, schema_warnings, warn, with_causes};
use crate::output::diagnostics;

pub(crate) async fn run(files: &[PathBuf], json: bool, strict: bool) -> Result<Exit, Exit> {
    let mut all = Vec::new();
    for file in files {
        let checked = check(file).await;
        if !json {
            checked.show();
        }
        all.push(checked);
    }
    let errors: usize = all.iter().map(Checked::errors).sum();
    let warnings: usize = all.iter().map(Checked::warnings).sum();
    if json {
        let files: Vec<Value> = all.iter().map(Checked::document).collect();
        say_json(&json!({"errors": errors, "warnings": warnings, "files": files}));
    }
    Ok(Exit::with(match (errors, warnings) {
        (0, 0) => 0,
        (0, _) => u8::from(strict),
        _ => 2,
    }))
}

/// What was found in one file.
struct Checked<'f> {
    file: &'f Path,
    /// What stands in it, where it could be read.
    text: Option<String>,
    diagnostics: Vec<Diagnostic>,
    /// What only shows when the file is read or the agent put together, and leaves no agent.
    fatal: Vec<String>,
    /// The same, where it only leaves something out of the agent, or of what its model is told.
    left_out: Vec<String>,
    tools: usize,
}

async fn check(file: &Path) -> Checked<'_> {
    let (text, diagnostics, fatal, left_out) = Default::default();
    let mut checked = Checked { file, text, diagnostics, fatal, left_out, tools: 0 };
    let read = match ManifestFile::read(file, &ProcessEnvironment) {
        Ok(read) => read,
        Err(error) => {
            checked.fatal.push(with_causes(&error));
            return checked;
        }
    };
    checked.text = Some(read.text);
    checked.diagnostics = read.diagnostics;
    if let Some(manifest) = &read.manifest {
        match agent_from_manifest(manifest, &Overrides::default()).await {
            Ok((agent, problems)) => {
                checked.tools = agent.catalog().entries().len();
                checked.left_out.extend(problems.iter().map(|problem| with_causes(problem)));
                checked.left_out.extend(schema_warnings(manifest, &agent));
            }
            Err(error) => checked.fatal.push(with_causes(&error)),
        }
    }
    checked
}

impl Checked<'_> {
    fn errors(&self) -> usize {
        self.count(Severity::Error) + self.fatal.len()
    }

    fn warnings(&self) -> usize {
        self.count(Severity::Warning) + self.left_out.len()
    }

    fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|found| found.severity == severity).count()
    }

    /// Problems go to stderr, what comes of them to stdout.
    fn show(&self) {
        let place = match &self.text {
            Some(text) => {
                let shown = diagnostics::rendered(self.file, text, &self.diagnostics);
                let _ = write!(anstream::stderr(), "{shown}");
                format!("{}: ", self.file.display())
            }
            // What is said about it names it.
            None => String::new(),
        };
        self.fatal.iter().for_each(|problem| complain(&format!("{place}{problem}")));
        self.left_out.iter().for_each(|problem| warn(&format!("{place}{problem}")));
        let found = match (self.errors(), self.warnings()) {
            (0, 0) => format!("fine, {}", counted(self.tools, "tool")),
            (0, warnings) => {
                format!("usable, {}, {}", counted(self.tools, "tool"), counted(warnings, "warning"))
            }
            (errors, 0) => counted(errors, "error"),
            (errors, warnings) => format!("{}, {}", counted(errors, "error"), counted(warnings, "warning")),
        };
        say(&format!("{}: {found}", self.file.display()));
    }

    fn document(&self) -> Value {
        json!({
            "file": self.file.display().to_string(),
            "errors": self.errors(),
            "warnings": self.warnings(),
            "diagnostics": self.diagnostics,
            "problems": self.fatal.iter().chain(&self.left_out).collect::<Vec<_>>(),
        })
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
