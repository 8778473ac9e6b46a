//! `backstop run`.

use std::{io::IsTerminal, path::Path, sync::Arc};

use backstop::{Agent, CancellationToken, Observer, Outcome, RunReport};

use super::{Exit, agent, argument_or_stdin, complain, say, say_json};
use crate::{
    args::{Approval, ModelFlags, Output},
    output::{
        progress::{Progress, Shown},
        report::{ending, run_document},
        stdout::plain,
    },
    person::Person,
    signal::Signals,
};

pub(crate) async fn run(
    file: &Path,
    prompt: Option<&str>,
    output: Output,
    model: &ModelFlags,
    approval: Approval,
) -> Result<Exit, Exit> {
    let agent = agent(file, model).await?;
    let prompt = argument_or_stdin(prompt, "prompt")?;
    if prompt.trim().is_empty() {
        return Err(Exit::usage("the prompt is empty"));
    }
    drive(&agent, prompt, output, approval).await
}

/// Runs the agent on a prompt and shows what comes of it.
pub(crate) async fn drive(
    agent: &Agent,
    prompt: String,
    output: Output,
    approval: Approval,
) -> Result<Exit, Exit> {
    // Words that come before a call are for a person who watches, and no part of the answer.
    let watched = std::io::stdout().is_terminal() && !output.json && !output.events;
    let shown = Shown { answer: watched, events: output.events, verbose: output.verbose };
    let progress = Arc::new(Progress::new(shown));
    let token = CancellationToken::new();
    let run = agent
        .start(prompt)
        .observer(Arc::clone(&progress) as Arc<dyn Observer>)
        .answerer(Person::new(approval, Arc::clone(&progress)))
        .stream(true)
        .cancel(token.clone())
        .drive();
    let report = Signals::listen().cancelling(&token, run).await;
    let streamed = progress.has_streamed();
    progress.finish();
    let report = report.map_err(|error| Exit::error(&error))?;
    conclude(&report, output, streamed);
    Ok(Exit::of_outcome(report.outcome()))
}

/// Shows how a run ended: what was asked for on stdout, and what else there is to say on stderr.
pub(crate) fn conclude(report: &RunReport, output: Output, streamed: bool) {
    if output.json {
        say_json(&run_document(report));
    }
    let silent = output.json || output.events || streamed;
    match report.outcome() {
        Outcome::Answered { text } if !silent => say(&plain(text)),
        Outcome::Answered { .. } | Outcome::Cancelled => {}
        Outcome::ModelFailed { error } => {
            if let Some(partial) = error.partial().filter(|_| !silent) {
                say(&plain(partial));
            }
            complain(&ending(report.outcome()));
        }
        other => complain(&ending(other)),
    }
}
