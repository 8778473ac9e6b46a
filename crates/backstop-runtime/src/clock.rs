//! Time as the run sees it: wall clock at the start, the runtime's own clock from there on.

use std::time::{SystemTime, UNIX_EPOCH};

use backstop_core::Timestamp;
use tokio::time::Instant;

/// Maps the runtime's clock, which tests can pause, on timestamps that never go backwards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    base: Timestamp,
    start: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let base = Timestamp::from_millis(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX));
        Self { base, start: Instant::now() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.base.after(self.start.elapsed())
    }

    /// The instant at which [`now`](Self::now) reaches `at`, rounded up to the millisecond of timestamps.
    pub(crate) fn instant(&self, at: Timestamp) -> Instant {
        self.start + at.since(self.base)
    }
}
