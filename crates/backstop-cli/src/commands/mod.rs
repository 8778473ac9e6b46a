//! One file a command, and what they share.

pub(crate) mod call;
pub(crate) mod chat;
pub(crate) mod check;
pub(crate) mod explain;
pub(crate) mod init;
pub(crate) mod login;
pub(crate) mod mcp;
pub(crate) mod migrate;
pub(crate) mod quickstart;
pub(crate) mod run;
pub(crate) mod tools;

use std::{
    io::{IsTerminal, Read, Write},
    path::Path,
    process::ExitCode,
};

use anstyle::{AnsiColor, Style};
use backstop::{
    Agent, BuildProblem, ManifestFile, Outcome, Overrides, agent_from_manifest,
    manifest::{Environment, Manifest, ProcessEnvironment, SecretText},
    schema_notes,
};

use crate::{
    args::ModelFlags,
    output::{diagnostics, stdout},
    terminal::Terminal,
};

/// Bytes that are read from stdin at most.
const STDIN_CAP: u64 = 4 * 1024 * 1024;

/// How the program ends.
#[derive(Debug)]
pub(crate) struct Exit {
    code: u8,
    message: Option<String>,
}

impl Exit {
    pub(crate) const fn with(code: u8) -> Self {
        Self { code, message: None }
    }

    /// The person, or the manifest, must change something.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { code: 2, message: Some(message.into()) }
    }

    /// It ended otherwise than it should.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { code: 1, message: Some(message.into()) }
    }

    /// An error with all of its causes.
    pub(crate) fn error(error: &(dyn std::error::Error + 'static)) -> Self {
        let causes: Vec<String> =
            std::iter::successors(error.source(), |cause: &&(dyn std::error::Error + 'static)| {
                (*cause).source()
            })
            .map(|cause| format!("\n  caused by: {cause}"))
            .collect();
        Self::usage(format!("{error}{}", causes.concat()))
    }

    pub(crate) fn of_outcome(outcome: &Outcome) -> Self {
        Self::with(match outcome {
            Outcome::Answered { .. } => 0,
            Outcome::Cancelled => 130,
            Outcome::Stopped { .. }
            | Outcome::LimitReached { .. }
            | Outcome::ModelFailed { .. }
            | Outcome::NeedsAnswer { .. } => 1,
        })
    }

    /// Says what there is to say, and gives the code.
    pub(crate) fn code(self) -> ExitCode {
        if let Some(message) = self.message {
            complain(&message);
        }
        let Some(lost) = stdout::lost() else { return ExitCode::from(self.code) };
        complain(&format!("stdout can't be written: {lost}"));
        ExitCode::from(self.code.max(1))
    }
}

/// Writes an error to stderr.
pub(crate) fn complain(message: &str) {
    const RED: Style = AnsiColor::Red.on_default().bold();
    let _ = writeln!(anstream::stderr(), "{RED}error{RED:#}: {message}");
}

/// Writes a warning to stderr.
pub(crate) fn warn(message: &str) {
    const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
    let _ = writeln!(anstream::stderr(), "{YELLOW}warning{YELLOW:#}: {message}");
}

/// Writes a text to stdout, and ends its last line.
pub(crate) fn say(text: &str) {
    stdout::write(&format!("{}\n", text.strip_suffix('\n').unwrap_or(text)));
}

/// Writes a JSON document to stdout.
pub(crate) fn say_json(document: &serde_json::Value) {
    say(&serde_json::to_string_pretty(document).unwrap_or_default());
}

/// Reads a manifest, shows what is wrong with it, and gives it back if it can be used.
pub(crate) fn manifest(file: &Path, environment: &dyn Environment) -> Result<Manifest, Exit> {
    let read = ManifestFile::read(file, environment).map_err(|error| Exit::error(&error))?;
    if !read.diagnostics.is_empty() {
        let _ = write!(anstream::stderr(), "{}", diagnostics::rendered(file, &read.text, &read.diagnostics));
    }
    read.manifest.ok_or_else(|| Exit::usage(format!("`{}` can't be used", file.display())))
}

/// The agent of a manifest file, for a person at a terminal where there is one.
pub(crate) async fn agent(file: &Path, flags: &ModelFlags) -> Result<Agent, Exit> {
    let manifest = manifest(file, &ProcessEnvironment)?;
    let mut overrides = overrides(flags);
    overrides.person = Terminal::at();
    built(&manifest, &overrides).await
}

/// What flags and variables put in place of the manifest's own settings.
pub(crate) fn overrides(flags: &ModelFlags) -> Overrides {
    let mut overrides = Overrides::default();
    overrides.model.clone_from(&flags.name);
    overrides.base_url.clone_from(&flags.base_url);
    overrides.api_key =
        std::env::var("OPENAI_API_KEY").ok().filter(|key| !key.is_empty()).map(SecretText::new);
    overrides
}

/// The agent of a manifest; what is missing in it is a warning. `backstop check` says more.
pub(crate) async fn built(manifest: &Manifest, overrides: &Overrides) -> Result<Agent, Exit> {
    let (agent, problems) =
        agent_from_manifest(manifest, overrides).await.map_err(|error| Exit::error(&error))?;
    let is_missing =
        |problem: &BuildProblem| !matches!(problem, BuildProblem::Source { left_out: false, .. });
    for problem in problems.into_iter().filter(is_missing) {
        warn(&with_causes(&problem));
    }
    Ok(agent)
}

/// What the manifest's model server is not told of the tools, a line each.
pub(crate) fn schema_warnings(manifest: &Manifest, agent: &Agent) -> Vec<String> {
    // Without overrides there are none that don't fit.
    let notes = schema_notes(manifest, &Overrides::default(), agent).unwrap_or_default();
    notes.iter().map(|(tool, note)| format!("tool `{tool}`: {note}")).collect()
}

/// An error and its causes in one line.
pub(crate) fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let layers =
        std::iter::successors(Some(error), |layer: &&(dyn std::error::Error + 'static)| (*layer).source());
    layers.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Text that was given as an argument, or on stdin for `-` or nothing.
pub(crate) fn argument_or_stdin(argument: Option<&str>, what: &str) -> Result<String, Exit> {
    if let Some(text) = argument.filter(|text| *text != "-") {
        return Ok(text.to_owned());
    }
    if argument.is_none() && std::io::stdin().is_terminal() {
        return Err(Exit::usage(format!(
            "there is no {what}: give it as an argument, or `-` to read it from stdin"
        )));
    }
    let mut text = String::new();
    let read = std::io::stdin().take(STDIN_CAP + 1).read_to_string(&mut text);
    read.map_err(|error| Exit::usage(format!("the {what} can't be read from stdin: {error}")))?;
    if text.len() as u64 > STDIN_CAP {
        return Err(Exit::usage(format!("the {what} on stdin is larger than {STDIN_CAP} bytes")));
    }
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}
