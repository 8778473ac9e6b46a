//! The person at the terminal, who is asked what a run needs to know.

use std::{
    io::{IsTerminal, Write},
    sync::Arc,
};

use anstyle::{AnsiColor, Style};
use backstop::{
    Answer, Answerer, async_trait,
    run::{Question, QuestionKind},
};

use crate::{
    args::Approval,
    input,
    output::{progress::Progress, report::asked_about, stdout::plain},
    terminal,
};

const BOLD: Style = AnsiColor::Yellow.on_default().bold();

/// Answers with what the flags say, or asks at the terminal; without either nobody answers.
pub(crate) struct Person {
    approval: Approval,
    progress: Arc<Progress>,
}

impl Person {
    pub(crate) fn new(approval: Approval, progress: Arc<Progress>) -> Arc<Self> {
        terminal::shows(&progress);
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
        let line = input::line_after_prompt(BOLD).await.ok().flatten()?;
        Some(match (question.kind, line.trim()) {
            (QuestionKind::Answer, answer) => Answer::Text(answer.to_owned()),
            (QuestionKind::Approval, "y" | "Y" | "yes") => Answer::Approve,
            (QuestionKind::Approval, "" | "n" | "N" | "no") => Answer::Refuse { reason: None },
            (QuestionKind::Approval, reason) => Answer::Refuse { reason: Some(reason.to_owned()) },
        })
    }
}

fn write_question(question: &Question) {
    const DIM: Style = Style::new().dimmed();
    let mut stderr = anstream::stderr();
    let (asked, call) = (plain(&question.text), asked_about(question));
    let how = match question.kind {
        QuestionKind::Approval => "y makes it; anything else refuses it and is told to the model",
        QuestionKind::Answer => "your answer takes the place of the tool's result",
    };
    let _ = writeln!(stderr, "{BOLD}?{BOLD:#} {asked}\n  {call}\n  {DIM}{how}{DIM:#}");
}
