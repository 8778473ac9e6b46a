//! The person at the terminal, who is asked what a run needs to know.

use std::{
    io::{IsTerminal, Write},
    sync::Arc,
};

use anstyle::{AnsiColor, Style};
use backstop::{
    Answer, Answerer, async_trait,
    run::{Question, QuestionKind},
    text,
};

use crate::{
    args::Approval,
    output::{progress::Progress, stdout::plain},
};

/// Bytes of the arguments that are shown.
const ARGUMENTS_CAP: usize = 2000;

/// Answers with what the flags say, or asks at the terminal; without either nobody answers.
pub(crate) struct Person {
    approval: Approval,
    progress: Arc<Progress>,
}

impl Person {
    pub(crate) fn new(approval: Approval, progress: Arc<Progress>) -> Arc<Self> {
        Arc::new(Self { approval, progress })
    }
}

#[async_trait]
impl Answerer for Person {
    async fn ask(&self, question: &Question) -> Option<Answer> {
        let approval = question.kind == QuestionKind::Approval;
        if approval && self.approval.yes {
            return Some(Answer::Approve);
        }
        if approval && self.approval.no {
            return Some(Answer::Refuse { reason: None });
        }
        if !std::io::stdin().is_terminal() {
            return None;
        }
        self.progress.make_room();
        write_question(question);
        let line = read_line().await?;
        Some(match (question.kind, line.trim()) {
            (QuestionKind::Answer, answer) => Answer::Text(answer.to_owned()),
            (QuestionKind::Approval, "y" | "Y" | "yes") => Answer::Approve,
            (QuestionKind::Approval, "" | "n" | "N" | "no") => Answer::Refuse { reason: None },
            (QuestionKind::Approval, reason) => Answer::Refuse { reason: Some(reason.to_owned()) },
        })
    }
}

fn write_question(question: &Question) {
    const BOLD: Style = AnsiColor::Yellow.on_default().bold();
    const DIM: Style = Style::new().dimmed();
    let mut stderr = anstream::stderr();
    let arguments = text::head(&plain(&question.arguments), ARGUMENTS_CAP);
    let asked = plain(&question.text);
    let how = match question.kind {
        QuestionKind::Approval => "y makes it; anything else refuses it and is told to the model",
        QuestionKind::Answer => "your answer takes the place of the tool's result",
    };
    let _ = writeln!(stderr, "{BOLD}?{BOLD:#} {asked}\n  {} {arguments}\n  {DIM}{how}{DIM:#}", question.tool);
    let _ = write!(stderr, "{BOLD}>{BOLD:#} ").and_then(|()| stderr.flush());
}

/// A line from stdin; `None` at its end.
async fn read_line() -> Option<String> {
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).ok().filter(|bytes| *bytes > 0).map(|_| line)
    });
    read.await.ok().flatten()
}
