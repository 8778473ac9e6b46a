//! `backstop call`.

use std::path::Path;

use backstop::{CallState, CancellationToken, Outcome, RunReport, ToolOutput};

use super::{Exit, agent, argument_or_stdin, complain, say, say_json, warn};
use crate::{
    args::ModelFlags,
    output::{
        report::{call_document, ending},
        stdout::plain,
    },
    signal::Signals,
};

pub(crate) async fn run(file: &Path, tool: &str, arguments: Option<&str>, json: bool) -> Result<Exit, Exit> {
    let agent = agent(file, &ModelFlags::default()).await?;
    let arguments = match arguments {
        None => "{}".to_owned(),
        Some(given) => argument_or_stdin(Some(given), "arguments")?,
    };
    let token = CancellationToken::new();
    let call = agent.call(tool, &arguments, Some(token.clone()));
    let report = Signals::listen().cancelling(&token, call).await.map_err(|error| Exit::error(&error))?;
    Ok(show(&report, json))
}

fn show(report: &RunReport, json: bool) -> Exit {
    let calls = report.calls();
    let call = calls.first();
    if json {
        say_json(&call_document(report, call));
    }
    let Some(call) = call.filter(|call| call.state == CallState::Settled) else {
        // Cancelled before the call, or it waits for a person.
        complain(&ending(report.outcome()));
        return Exit::of_outcome(report.outcome());
    };
    if !json {
        match &call.output {
            Some(ToolOutput::Json(value)) if !value.is_string() => say_json(value),
            Some(output) => say(&plain(&output.whole_text())),
            None => say(&plain(&call.view)),
        }
    }
    if let Some(kind) = call.kind.filter(|_| call.ok) {
        warn(&format!("`{}` failed ({kind}), and a value of the manifest takes its place", call.tool));
    }
    match report.outcome() {
        Outcome::Cancelled => Exit::with(130),
        _ => Exit::with(u8::from(!call.ok)),
    }
}
