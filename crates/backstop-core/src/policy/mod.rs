//! What happens with a failure: one pure decision, and the data it is taken from.

mod backoff;
mod decide;
mod strategy;

pub use backoff::Backoff;
pub use decide::{Budget, Decision, Failure, decide, is_safe_to_retry};
pub use strategy::{Action, Strategy, TextMatch, When};
