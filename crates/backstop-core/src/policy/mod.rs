//! What happens with a failure: one pure decision, and the data it is taken from.

mod backoff;
mod decide;
mod explain;
mod strategy;
mod words;

pub use backoff::Backoff;
pub use decide::{Budget, Decision, Failure, decide, is_safe_to_retry};
pub use explain::{Explanation, NoRetry, Verdict, explain};
pub use strategy::{Action, Strategy, TextMatch, When, WhenTest};
pub use words::{reconciled_note, served_by_note, stop_message, substitute_note};
