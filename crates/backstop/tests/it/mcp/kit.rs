//! Servers as scripts of the shell, which every machine has: what they say stands in the test.

use std::{fs, path::Path};

use backstop::{
    Agent, BuildProblem, LoadError, Overrides, agent_from_manifest,
    manifest::{Manifest, MapEnvironment},
};

/// The method of a case for whatever comes.
pub(super) const ANYTHING: &str = "";

/// A server that answers each method as its case says; `$id` is that of the request. What has no case is answered
/// as a method that is not known, and what has an empty one is not answered.
pub(super) fn server(folder: &Path, name: &str, cases: &[(&str, &str)]) -> String {
    let mut script = String::from(
        "while IFS= read -r line; do\n\
         id=$(printf '%s' \"$line\" | sed -n 's/^{\"jsonrpc\":\"2.0\",\"id\":\\([0-9]*\\),.*/\\1/p')\n\
         case $line in\n",
    );
    for (method, answer) in cases {
        let pattern = match *method {
            ANYTHING => "*".to_owned(),
            method => format!("*'\"method\":\"{method}\"'*"),
        };
        script += &format!("{pattern}) {answer} ;;\n");
    }
    script += "*'\"method\":\"notifications/'*) ;;\n\
               *) printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}\\n' \"$id\" ;;\n\
               esac\ndone\n";
    let path = folder.join(name);
    fs::write(&path, script).unwrap();
    format!("[/bin/sh, '{}']", path.display())
}

/// The case that answers with this result.
pub(super) fn result(json: &str) -> String {
    format!("printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}}\\n' \"$id\" '{json}'")
}

/// The answer to a handshake.
pub(super) fn initialized() -> String {
    result(
        r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"test","version":"1"}}"#,
    )
}

/// The answer that lists tools of these names without parameters.
pub(super) fn tools(names: &[&str]) -> String {
    let tools = names.iter().map(|name| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#));
    result(&format!(r#"{{"tools":[{}]}}"#, tools.collect::<Vec<_>>().join(",")))
}

/// The answer to a call.
pub(super) fn text(text: &str) -> String {
    result(&format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#))
}

/// A server that lists tools of these names, each of which says `done`.
pub(super) fn good(folder: &Path, name: &str, names: &[&str]) -> String {
    let cases = [("initialize", initialized()), ("tools/list", tools(names)), ("tools/call", text("done"))];
    server(folder, name, &cases.each_ref().map(|(method, answer)| (*method, answer.as_str())))
}

/// The agent of a manifest with these toolsets, whose model answers by `script`.
pub(super) async fn load(
    folder: &Path,
    toolsets: &str,
    script: &str,
) -> Result<(Agent, Vec<BuildProblem>), LoadError> {
    let text = format!(
        "version: 1\nname: a\nmodel: {{ provider: scripted, script: script.yaml }}\ntoolsets:\n{toolsets}\n"
    );
    let environment = MapEnvironment::new().with_var("KEY", "sesame-sesame");
    let (manifest, problems) = Manifest::load(&text, "a.yaml", folder, &environment);
    let manifest = manifest.unwrap_or_else(|| panic!("{problems:#?}"));
    let mut overrides = Overrides::default();
    overrides.script = Some(script.to_owned());
    agent_from_manifest(&manifest, &overrides).await
}

/// An error and its causes in one line.
pub(super) fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |cause| (*cause).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// The names that the model knows.
pub(super) fn names(agent: &Agent) -> Vec<String> {
    agent.catalog().entries().iter().map(|entry| entry.name.clone()).collect()
}

/// What is missing, a line each.
pub(super) fn shown(problems: &[BuildProblem]) -> String {
    problems.iter().map(|problem| with_causes(problem)).collect::<Vec<_>>().join("\n")
}
