//! `backstop check`.

use std::{io::Write, path::PathBuf};

use backstop::{
    ManifestFile, Overrides, agent_from_manifest,
    manifest::{ProcessEnvironment, Severity},
};
use serde_json::{Value, json};

use super::{Exit, complain, say, say_json, warn, with_causes};
use crate::output::diagnostics;

pub(crate) async fn run(files: &[PathBuf], json: bool, strict: bool) -> Result<Exit, Exit> {
    let (mut errors, mut warnings) = (0, 0);
    let mut documents = Vec::new();
    for file in files {
        let read = match ManifestFile::read(file, &ProcessEnvironment) {
            Ok(read) => read,
            Err(error) => {
                errors += 1;
                let problem = with_causes(&error);
                if json {
                    documents.push(json!({"file": file.display().to_string(), "errors": 1, "warnings": 0,
                        "diagnostics": [], "problems": [problem]}));
                } else {
                    complain(&problem);
                }
                continue;
            }
        };
        let count = |severity| read.diagnostics.iter().filter(|found| found.severity == severity).count();
        errors += count(Severity::Error);
        warnings += count(Severity::Warning);
        if !json {
            let _ =
                write!(anstream::stderr(), "{}", diagnostics::rendered(file, &read.text, &read.diagnostics));
        }
        // What only shows when the agent is put together: schemas, a script.
        let mut fatal = Vec::new();
        let mut left_out = Vec::new();
        if let Some(manifest) = &read.manifest {
            match agent_from_manifest(manifest, &Overrides::default()).await {
                Ok((agent, problems)) => {
                    left_out.extend(problems.iter().map(|problem| with_causes(problem)));
                    if !json && errors == 0 {
                        let tools = agent.catalog().entries().len();
                        say(&format!("{}: fine, {tools} tools", file.display()));
                    }
                }
                Err(error) => fatal.push(with_causes(&error)),
            }
        }
        errors += fatal.len();
        warnings += left_out.len();
        if json {
            let mut document = diagnostics::document(file, &read.diagnostics);
            if let Value::Object(fields) = &mut document {
                fields.insert("problems".into(), fatal.iter().chain(&left_out).cloned().collect());
            }
            documents.push(document);
        } else {
            fatal.iter().for_each(|problem| complain(&format!("{}: {problem}", file.display())));
            left_out.iter().for_each(|problem| warn(&format!("{}: {problem}", file.display())));
        }
    }
    if json {
        say_json(&json!({"errors": errors, "warnings": warnings, "files": documents}));
    }
    Ok(Exit::with(match (errors, warnings) {
        (0, 0) => 0,
        (0, _) => u8::from(strict),
        _ => 2,
    }))
}
