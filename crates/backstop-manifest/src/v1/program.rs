//! A program that is started: its command, its environment, its place.

use std::path::PathBuf;

use backstop_core::text;

use crate::{
    context::Secrets,
    diagnostic::{Diagnostic, code},
    reader::{At, Fields, secret_text},
    secret::SecretText,
};

/// Ends of the names of variables whose values are credentials.
const CREDENTIALS: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIALS"];

/// An MCP server that is started as a program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct McpProgram {
    /// The program: a name, or a path that is joined to the directory of the manifest.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables of its environment.
    pub env: Vec<(String, SecretText)>,
    /// Where it runs, joined to the directory of the manifest.
    pub cwd: Option<PathBuf>,
}

/// Reads a program. `fields` are those beside its command.
pub(super) fn program(command: &At<'_>, fields: &Fields<'_>) -> Option<McpProgram> {
    let words = words(command);
    let env = fields.get("env").map(env).unwrap_or_default();
    let cwd = fields.get("cwd").and_then(At::some_text);
    let (program, args) = words?;
    // A name is looked up where programs are.
    let program = match program.contains(['/', std::path::MAIN_SEPARATOR]) {
        true => command.cx.base_dir.join(program),
        false => PathBuf::from(program),
    };
    let cwd = cwd.map(|cwd| command.cx.base_dir.join(cwd));
    Some(McpProgram { program, args, env, cwd })
}

/// The program and its arguments.
fn words(at: &At<'_>) -> Option<(String, Vec<String>)> {
    if at.is_scalar() {
        let program = word(at, true)?;
        if program.trim().contains(char::is_whitespace) {
            let problem = Diagnostic::error(code::INVALID_VALUE, "a program and its arguments are a list");
            at.report(problem.hint(as_list(at, &program)));
            return None;
        }
        return Some((program, Vec::new()));
    }
    let items = at.items("a list of a program and its arguments")?;
    let Some((first, rest)) = items.split_first() else {
        at.error(code::INVALID_VALUE, "it is empty");
        return None;
    };
    // Read all of them, so that every problem is reported.
    let (program, args) = (word(first, true), rest.iter().map(|at| word(at, false)).collect::<Vec<_>>());
    Some((program?, args.into_iter().collect::<Option<_>>()?))
}

fn word(at: &At<'_>, is_program: bool) -> Option<String> {
    let word = if is_program { at.some_text() } else { at.text() }?;
    if word.contains('\0') {
        at.error(code::INVALID_VALUE, "no program takes a NUL character");
        return None;
    }
    Some(word)
}

/// What was surely meant by one text.
fn as_list(at: &At<'_>, command: &str) -> String {
    if at.is_reference() || command.contains(['"', '\'', '\\']) {
        return "write `command: [PROGRAM, ARGUMENT]`".to_owned();
    }
    let is_plain = |word: &str| {
        let plain =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'=');
        word.bytes().all(plain)
    };
    let quoted = |word: &str| if is_plain(word) { word.to_owned() } else { format!("\"{word}\"") };
    let words: Vec<String> = command.split_whitespace().map(quoted).collect();
    text::escaped(
        &format!("write `command: [{}]`; a name with blanks is a list of one", words.join(", ")),
        200,
    )
}

fn env(at: &At<'_>) -> Vec<(String, SecretText)> {
    let entries = at.entries("a mapping of variables to values").unwrap_or_default();
    entries.iter().filter_map(variable).collect()
}

fn variable(at: &At<'_>) -> Option<(String, SecretText)> {
    let name = at.key().value;
    let value = at.secret(Secrets::Required);
    let shown = text::escaped(&name, 80);
    if name.is_empty() || name.contains(|c: char| c == '=' || c.is_whitespace() || c.is_control()) {
        let problem =
            Diagnostic::error(code::INVALID_NAME, format!("`{shown}` is not the name of a variable"));
        at.report_key(problem.hint("it has no `=`, no blanks and no control characters"));
        return None;
    }
    let value = value?;
    if value.text.contains('\0') {
        at.error(code::INVALID_VALUE, "the value of a variable has no NUL character");
        return None;
    }
    let upper = name.to_ascii_uppercase();
    if CREDENTIALS.iter().any(|end| upper.ends_with(end)) && !value.text.is_empty() {
        if !value.referenced {
            let hint = "keep it out of the file: `${secret:NAME}` reads the variable NAME";
            let message = format!("the value of `{shown}` is written out");
            at.report(Diagnostic::warning(code::PLAIN_SECRET, message).hint(hint));
        }
        at.cx.keep_secret(&value.text);
    }
    Some((name, secret_text(value)))
}
