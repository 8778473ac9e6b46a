//! What is read of a decision where nobody declared words for it.

use crate::id::Reference;

/// What the user reads when a strategy stops the run without words of its own.
const STOPPED: &str = "A tool encountered an error and the agent was stopped. Please try again or contact your \
                       administrator if the issue persists.";

/// What the user reads of a run that a strategy stopped: the strategy's own words, or the usual sentence with the
/// reference that leads an operator to the failure.
pub fn stop_message(message: Option<&str>, reference: Reference) -> String {
    message.map_or_else(|| format!("{STOPPED} (error reference: {reference})"), str::to_owned)
}

/// What the model reads above a result that another tool gave.
pub fn served_by_note(tool: &str, served_by: &str) -> String {
    format!("Tool \"{tool}\" failed; this result is served by \"{served_by}\":")
}

/// What the model reads above the proof that a call took effect whose reply was lost.
pub fn reconciled_note(tool: &str, checked_with: &str) -> String {
    format!("The reply of \"{tool}\" was lost, but the call took effect. \"{checked_with}\" says:")
}

/// What the model reads above a value that takes the place of a result.
pub fn substitute_note(note: Option<&str>, tool: &str) -> String {
    let usual = || format!("Tool \"{tool}\" failed; this value is served in its place:");
    note.map_or_else(usual, str::to_owned)
}
