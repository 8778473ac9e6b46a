//! What a program may watch of a run.

use backstop_core::{Delta, OperatorView, Record};

/// Watches a run. Every method must return at once; none can change anything.
pub trait Observer: Send + Sync + 'static {
    /// A piece of a streamed reply. Only for show.
    fn delta(&self, _delta: Delta<'_>) {}

    /// A record was appended to the journal.
    fn record(&self, _record: &Record) {}

    /// An attempt of a call failed.
    fn failure(&self, _failure: &OperatorView) {}
}
