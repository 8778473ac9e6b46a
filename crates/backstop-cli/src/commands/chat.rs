//! `backstop chat`.

use std::{
    io::{IsTerminal, Write},
    path::Path,
    sync::Arc,
};

use anstyle::{AnsiColor, Style};
use backstop::{CancellationToken, Message, Observer};

use super::{Exit, agent, run::conclude};
use crate::{
    args::{Approval, ModelFlags, Output},
    input,
    output::progress::{Progress, Shown},
    person::Person,
    signal::Signals,
};

pub(crate) async fn run(
    file: &Path,
    model: &ModelFlags,
    approval: Approval,
    verbose: bool,
) -> Result<Exit, Exit> {
    let agent = agent(file, model).await?;
    let terminal = std::io::stdin().is_terminal();
    let watched = std::io::stdout().is_terminal();
    if terminal {
        let _ = writeln!(
            anstream::stderr(),
            "{} with {}. An empty line ends it.",
            agent.name(),
            agent.model_name()
        );
    }
    let mut signals = Signals::listen();
    let mut messages: Vec<Message> = Vec::new();
    loop {
        let line = tokio::select! {
            line = read_line(terminal) => line?,
            () = signals.next() => return Ok(Exit::with(130)),
        };
        let Some(line) = line.filter(|line| !line.trim().is_empty()) else { return Ok(Exit::with(0)) };
        messages.push(Message::user(line));
        let shown = Shown { answer: watched, events: false, verbose };
        let progress = Arc::new(Progress::new(shown));
        let token = CancellationToken::new();
        let turn = agent
            .start(messages.clone())
            .observer(Arc::clone(&progress) as Arc<dyn Observer>)
            .answerer(Person::new(approval, Arc::clone(&progress)))
            .stream(true)
            .cancel(token.clone())
            .drive();
        let report = signals.cancelling(&token, turn).await;
        let streamed = progress.has_streamed();
        progress.finish();
        let report = report.map_err(|error| Exit::error(&error))?;
        conclude(&report, Output::default(), streamed);
        // Balanced whatever happened, so the conversation goes on.
        messages = report.messages();
    }
}

async fn read_line(terminal: bool) -> Result<Option<String>, Exit> {
    const PROMPT: Style = AnsiColor::Cyan.on_default().bold();
    let line = if terminal { input::line_after_prompt(PROMPT).await } else { input::line().await };
    line.map_err(|error| Exit::usage(format!("stdin can't be read: {error}")))
}
