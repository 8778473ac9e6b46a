//! What the model reads about a failure: *what is wrong*, then *the next step as an order*.
//!
//! The words are fixed: existing agents and tests rely on some of them, and their form was measured (see
//! `DESIGN.md`, "Why does a failure end in an order?").

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use super::{Applied, ErrorClass, ToolError, ToolErrorKind, tool_error::Parts};
use crate::{id::Reference, schema::PROBLEM_CAP, spec::Effect, text};

/// Bytes of one model view at most.
pub const VIEW_CAP: usize = 2 * 1024;

/// What the model is told of one failed call: short plain text, never empty, at most [`VIEW_CAP`] bytes.
///
/// Only this crate makes one, so a text that was not meant for a model can't be taken for it:
///
/// ```compile_fail
/// let view = backstop_core::ModelView(String::from("password=hunter2"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelView(String);

impl ModelView {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ModelView {
    /// This view, and what the model reads about the arguments of the call.
    pub(crate) fn with_note(self, note: &str) -> Self {
        let note = text::head(note, VIEW_CAP / 2);
        Self(format!("{}\n{note}", text::head(&self.0, VIEW_CAP - note.len() - 1)))
    }
}

impl fmt::Display for ModelView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the view needs to know beside the error.
///
/// # Example
///
/// ```
/// use backstop_core::{Effect, Reference, ToolError, error::ViewFacts};
/// use std::time::Duration;
///
/// let error = ToolError::timeout(Duration::from_secs(30), "no answer");
/// let facts = ViewFacts::new("transfer", Effect::Mutating, Reference::new(0)).check_with("list_transfers");
/// assert_eq!(
///     facts.view(&error, None).as_str(),
///     "Tool call \"transfer\" timed out after 30 seconds.\n\
///      The call may have taken effect: check with list_transfers before repeating it."
/// );
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ViewFacts<'a> {
    tool: &'a str,
    effect: Effect,
    reference: Reference,
    find_with: Option<&'a str>,
    check_with: Option<&'a str>,
}

impl<'a> ViewFacts<'a> {
    /// A failure of `tool`, by the name that the model knows.
    pub fn new(tool: &'a str, effect: Effect, reference: Reference) -> Self {
        Self { tool, effect, reference, find_with: None, check_with: None }
    }

    /// Names the tool that finds a valid argument.
    #[must_use]
    pub fn find_with(mut self, tool: impl Into<Option<&'a str>>) -> Self {
        self.find_with = tool.into();
        self
    }

    /// Names the tool that shows whether a call took effect.
    #[must_use]
    pub fn check_with(mut self, tool: impl Into<Option<&'a str>>) -> Self {
        self.check_with = tool.into();
        self
    }

    /// The model's reading of `error`. The `instructions` of a strategy take the place of the next step, after a
    /// blank line.
    pub fn view(&self, error: &ToolError, instructions: Option<&str>) -> ModelView {
        let what = self.what(error);
        let text = match instructions.map(str::trim).filter(|text| !text.is_empty()) {
            // The head of what is wrong and all of the instructions, as far as they fit.
            Some(instructions) => {
                let instructions = text::head(instructions, VIEW_CAP / 2);
                let what = text::head(&what, VIEW_CAP - instructions.len() - 2);
                format!("{what}\n\n{instructions}")
            }
            None => {
                let step = self.next_step(error);
                if step.is_empty() {
                    text::head(&what, VIEW_CAP)
                } else {
                    let step = text::head(&step, VIEW_CAP / 2);
                    format!("{}\n{step}", text::head(&what, VIEW_CAP - step.len() - 1))
                }
            }
        };
        ModelView(text)
    }

    fn what(&self, error: &ToolError) -> String {
        let parts = error.parts();
        let tool = self.tool;
        if !parts.violations.is_empty() {
            return violation_lines(error);
        }
        if let (Some(pointer), Some(fault)) = (error.pointer(), fault_of_an_argument(error.kind())) {
            let argument = crate::schema::place_in_words(pointer);
            let words = said(parts).unwrap_or_else(|| fault.into());
            return format!("Invalid value for parameter \"{argument}\" of tool \"{tool}\": {words}");
        }
        let mut what = match (said(parts), error.kind()) {
            // Never anybody's words: the reference is what leads an operator to them.
            (_, ToolErrorKind::Internal) => return self.sentence(ToolErrorKind::Internal),
            (_, ToolErrorKind::Timeout) => {
                return match parts.limit {
                    Some(limit) => format!("Tool call \"{tool}\" timed out after {}.", text::duration(limit)),
                    None => format!("Tool call \"{tool}\" timed out."),
                };
            }
            (Some(words), _) => words,
            (None, kind) => self.sentence(kind),
        };
        // Who answered says the number.
        if let (Some(status), None) = (parts.status, &parts.answered) {
            what.push_str(&format!(" (status {status})"));
        }
        if error.class() == ErrorClass::Operator {
            what.push_str(&format!(" (error reference: {})", self.reference));
        }
        what
    }

    /// The fixed sentence of a kind, for failures that come without words for the model.
    fn sentence(&self, kind: ToolErrorKind) -> String {
        let tool = self.tool;
        match kind {
            ToolErrorKind::UnknownTool => format!("Tool \"{tool}\" was not found."),
            ToolErrorKind::MalformedArguments => {
                format!("The arguments of tool \"{tool}\" are not one JSON object.")
            }
            ToolErrorKind::InvalidArguments => format!("The arguments of tool \"{tool}\" are not valid."),
            ToolErrorKind::NotFound => format!("Tool \"{tool}\" did not find what the call names."),
            ToolErrorKind::AccessDenied => format!("Tool \"{tool}\" has no access to what the call names."),
            ToolErrorKind::Conflict => {
                format!("What the call of tool \"{tool}\" names already exists or has changed meanwhile.")
            }
            ToolErrorKind::Rejected => format!("Tool \"{tool}\" refused the call."),
            ToolErrorKind::RateLimited => format!("Tool \"{tool}\" was called too often."),
            ToolErrorKind::Timeout => format!("Tool call \"{tool}\" timed out."),
            ToolErrorKind::Unavailable => format!("Tool \"{tool}\" is unavailable."),
            ToolErrorKind::UpstreamFailure => format!("The service behind tool \"{tool}\" failed."),
            ToolErrorKind::Interrupted => {
                format!("Tool call \"{tool}\" was interrupted before its result came.")
            }
            ToolErrorKind::Unauthenticated => {
                format!(
                    "The service behind tool \"{tool}\" did not accept the credentials it is set up with."
                )
            }
            ToolErrorKind::Misconfigured => format!("Tool \"{tool}\" is not set up correctly."),
            ToolErrorKind::InvalidOutput => format!("Tool \"{tool}\" answered in a form that can't be used."),
            ToolErrorKind::Internal => format!(
                "An error occurred while executing tool \"{tool}\". (error reference: {})",
                self.reference
            ),
            ToolErrorKind::Denied => format!("The call of tool \"{tool}\" was not allowed."),
            ToolErrorKind::LimitReached => {
                format!("The call of tool \"{tool}\" was not made: a limit is reached.")
            }
            ToolErrorKind::Cancelled => format!("The call of tool \"{tool}\" was cancelled."),
        }
    }

    fn next_step(&self, error: &ToolError) -> String {
        let parts = error.parts();
        if let Some(order) = &parts.next_step {
            return order.clone();
        }
        if self.effect == Effect::Mutating && error.applied() != Applied::No {
            return self.verify(error.applied());
        }
        let tool = self.tool;
        match error.class() {
            ErrorClass::Model if error.kind() == ToolErrorKind::UnknownTool => {
                "Call another tool instead, or answer without a tool.".into()
            }
            ErrorClass::Model => match error.pointer() {
                Some(pointer) => format!(
                    "Call {tool} again with \"{}\" corrected.",
                    crate::schema::place_in_words(pointer)
                ),
                None => format!("Call {tool} again with corrected arguments."),
            },
            ErrorClass::Answer => match (error.pointer(), self.find_with) {
                // A refused value is there, and no list has a better one.
                (Some(_), Some(find)) if error.kind() != ToolErrorKind::Rejected => {
                    format!("Call {find} to find a valid one, then call {tool} again.")
                }
                // A small model that is told to try another id counts up from the one that it had.
                (Some(pointer), None) if error.kind() == ToolErrorKind::NotFound => format!(
                    "Do not guess another \"{}\": use one that you were given, or tell the user.",
                    crate::schema::place_in_words(pointer)
                ),
                (Some(pointer), _) => format!(
                    "Call {tool} again with another \"{}\", or tell the user.",
                    crate::schema::place_in_words(pointer)
                ),
                (None, _) => {
                    "Change the call accordingly, or tell the user: the same call fails again.".into()
                }
            },
            ErrorClass::Transient => match error.retry_after() {
                Some(wait) => {
                    let wait = Duration::from_secs(wait.as_millis().div_ceil(1000).max(1) as u64);
                    let have = if wait.as_secs() == 1 { "has" } else { "have" };
                    format!(
                        "There is no result, and none before {} {have} passed: use another tool or tell the \
                         user, and do not make one up.",
                        text::duration(wait)
                    )
                }
                None => {
                    "There is no result: use another tool or tell the user, and do not make one up.".into()
                }
            },
            ErrorClass::Operator if error.kind() == ToolErrorKind::Internal => String::new(),
            ErrorClass::Operator => {
                "There is no result: use another tool or tell the user, and do not make one up.".into()
            }
            ErrorClass::Policy => "Do not repeat the call: go on without it, or tell the user.".into(),
            ErrorClass::Stop => "There is no result: do not make one up.".into(),
        }
    }

    /// A mutating call that may have changed the world is checked before anything repeats it.
    fn verify(&self, applied: Applied) -> String {
        let said = match applied {
            Applied::Yes => "The call has taken effect, at least in part",
            Applied::No | Applied::Unknown => "The call may have taken effect",
        };
        match self.check_with {
            Some(check) => format!("{said}: check with {check} before repeating it."),
            None => format!("{said}: verify before repeating it, or tell the user."),
        }
    }
}

/// What the service said, behind who said it.
fn said(parts: &Parts) -> Option<String> {
    match (&parts.answered, &parts.words) {
        (Some(answered), Some(words)) => Some(format!("{answered}: {words}")),
        (answered, words) => answered.as_ref().or(words.as_ref()).cloned(),
    }
}

/// What is wrong with the argument that an error of this kind names, where nobody said it better; `None` where an
/// argument can't be at fault.
const fn fault_of_an_argument(kind: ToolErrorKind) -> Option<&'static str> {
    match kind {
        ToolErrorKind::MalformedArguments | ToolErrorKind::InvalidArguments => Some("not valid"),
        ToolErrorKind::NotFound => Some("not found"),
        ToolErrorKind::AccessDenied => Some("access denied"),
        ToolErrorKind::Conflict => Some("it already exists or has changed meanwhile"),
        ToolErrorKind::Rejected => Some("refused"),
        ToolErrorKind::UnknownTool
        | ToolErrorKind::RateLimited
        | ToolErrorKind::Timeout
        | ToolErrorKind::Unavailable
        | ToolErrorKind::UpstreamFailure
        | ToolErrorKind::Interrupted
        | ToolErrorKind::Unauthenticated
        | ToolErrorKind::Misconfigured
        | ToolErrorKind::InvalidOutput
        | ToolErrorKind::Internal
        | ToolErrorKind::Denied
        | ToolErrorKind::LimitReached
        | ToolErrorKind::Cancelled => None,
    }
}

/// All violations, one line each, as many as fit; the rest is counted.
fn violation_lines(error: &ToolError) -> String {
    const ROOM: usize = VIEW_CAP / 2 - 64;
    let mut lines = String::new();
    let violations = error.violations();
    for (index, violation) in violations.iter().enumerate() {
        let line = text::head(&violation.message, ROOM);
        if index > 0 && lines.len() + line.len() > ROOM {
            // No more were looked for.
            let least = if violations.len() < PROBLEM_CAP { "" } else { "at least " };
            lines.push_str(&format!("\nAnd {least}{} more problems.", violations.len() - index));
            return lines;
        }
        if index > 0 {
            lines.push('\n');
        }
        lines.push_str(&line);
    }
    lines
}
