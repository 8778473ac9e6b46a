//! Progress of a run on stderr: spinners on a terminal, plain lines otherwise.

use std::{
    io::Write,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use anstyle::{AnsiColor, Style};
use backstop::{Delta, Event, Observer, OperatorView, Record, text};

use super::{spinner::Spinner, stdout};

const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const WAIT: Style = AnsiColor::Yellow.on_default();

/// What is shown of a run while it goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// The answer, piece by piece, on stdout.
    pub(crate) answer: bool,
    /// The journal, on stdout.
    pub(crate) events: bool,
    /// The operator's view of failures.
    pub(crate) verbose: bool,
}

/// Shows a run while it goes on.
pub(crate) struct Progress {
    shown: Shown,
    spinner: Spinner,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    turn: u32,
    calls: Vec<Call>,
    /// Why the model failed last, until it is known what comes next. At the end it is the outcome, told elsewhere.
    failed: Option<String>,
    /// Whether a piece of this turn's text is on stdout, and whether the last one ended a line.
    streamed: bool,
    line_open: bool,
}

struct Call {
    id: String,
    /// What is executed for it: at first the tool that the model called.
    tool: String,
}

impl Progress {
    pub(crate) fn new(shown: Shown) -> Self {
        Self { shown, spinner: Spinner::new(), state: Mutex::default() }
    }

    /// Makes room for a question to a person.
    pub(crate) fn make_room(&self) {
        self.spinner.hide();
        self.close_line(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Takes the spinner away.
    pub(crate) fn finish(&self) {
        self.spinner.hide();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.close_line(&mut state);
    }

    /// Whether the text of the last turn was streamed to stdout.
    pub(crate) fn has_streamed(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).streamed
    }

    fn line(&self, state: &mut State, style: Style, mark: &str, text: &str) {
        self.close_line(state);
        self.spinner.above(|| {
            let _ = writeln!(anstream::stderr(), "{style}{mark}{style:#} {text}");
        });
    }

    /// Shows what is waited for, unless a line of text is open.
    fn busy(&self, state: &State, message: String) {
        if !state.line_open {
            self.spinner.busy(message);
        }
    }

    fn close_line(&self, state: &mut State) {
        if std::mem::take(&mut state.line_open) {
            stdout::write("\n");
        }
    }
}

impl Observer for Progress {
    fn delta(&self, delta: Delta<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match delta {
            Delta::Text(piece) if self.shown.answer => {
                self.spinner.hide();
                stdout::write(&stdout::plain(piece));
                state.streamed = true;
                state.line_open = !piece.ends_with('\n');
            }
            Delta::CallStarted { name } => {
                self.busy(&state, format!("the model calls {}", text::escaped(name, 60)));
            }
            _ => {}
        }
    }

    fn record(&self, record: &Record) {
        if self.shown.events
            && let Ok(line) = serde_json::to_string(record)
        {
            stdout::write(&format!("{line}\n"));
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = state.failed.take() {
            self.line(&mut state, WAIT, "↻", &format!("{why}: asking again"));
        }
        match &record.event {
            Event::Started(_) => self.busy(&state, "waiting for the model".into()),
            Event::ModelReplied { reply } => {
                state.turn += 1;
                if !reply.calls.is_empty() {
                    self.close_line(&mut state);
                    state.streamed = false;
                }
                state.calls = reply
                    .calls
                    .iter()
                    .map(|call| Call { id: call.id.to_string(), tool: call.name.clone() })
                    .collect();
                for call in &reply.calls {
                    let shown = format!(
                        "{DIM}turn {}{DIM:#} {} {}",
                        state.turn,
                        text::escaped(&call.name, 80),
                        text::escaped(&call.arguments.0, 160)
                    );
                    self.line(&mut state, DIM, "→", &shown);
                }
            }
            Event::ModelFailed { error } => {
                self.close_line(&mut state);
                self.busy(&state, text::escaped(&error.to_string(), 160));
                state.failed = Some(text::escaped(&error.to_string(), 300));
            }
            Event::ToolStarted { call, tool, .. } => {
                if let Some(known) = state.calls.iter_mut().find(|known| known.id == call.as_str()) {
                    known.tool.clone_from(tool);
                }
                self.busy(&state, format!("running {tool}"));
            }
            Event::ToolFinished { call, result: Ok(output), elapsed_ms } => {
                let known = state.calls.iter().find(|known| known.id == call.as_str());
                let tool = known.map_or_else(|| call.to_string(), |known| known.tool.clone());
                let shown = text::escaped(&output.model_text(), 160);
                self.line(&mut state, GOOD, "✓", &format!("{tool} {DIM}{elapsed_ms} ms{DIM:#} {shown}"));
                self.busy(&state, "waiting for the model".into());
            }
            Event::Cancelled => self.line(&mut state, WAIT, "■", "cancelled"),
            _ => {}
        }
    }

    fn failure(&self, failure: &OperatorView) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let status = failure.status.map(|status| format!(", status {status}")).unwrap_or_default();
        let next = match (failure.decision.as_str(), failure.wait_ms) {
            ("retry", Some(wait)) => {
                let next = failure.attempt + 1;
                format!("attempt {next} in {}", text::duration(Duration::from_millis(wait)))
            }
            ("continue", _) => "the model is told".to_owned(),
            ("substitute", _) => "a value of the manifest takes its place".to_owned(),
            ("reconcile", _) => "finding out whether it took effect".to_owned(),
            ("use_tool", _) => "another tool serves it".to_owned(),
            ("ask", _) => "a person is asked".to_owned(),
            ("stop", _) => "the run stops".to_owned(),
            ("abort", _) => "the run ends".to_owned(),
            (other, _) => other.to_owned(),
        };
        let (style, mark) = if failure.wait_ms.is_some() { (WAIT, "↻") } else { (BAD, "✗") };
        let shown = format!(
            "{} {}{status}: {next} {DIM}(error reference: {}){DIM:#}",
            text::escaped(&failure.tool, 80),
            failure.kind,
            failure.reference
        );
        self.line(&mut state, style, mark, &shown);
        if self.shown.verbose {
            let mut lines = vec![format!("applied: {}, {}", failure.applied, failure.message)];
            lines.extend(
                failure
                    .said
                    .iter()
                    .map(|said| format!("in words for the model: {}", text::escaped(said, 300))),
            );
            lines.extend(
                failure.causes.iter().map(|cause| format!("caused by: {}", text::escaped(cause, 300))),
            );
            for line in lines {
                self.line(&mut state, DIM, " ", &format!("{DIM}  {line}{DIM:#}"));
            }
        }
        self.busy(&state, "waiting for the model".into());
    }
}
