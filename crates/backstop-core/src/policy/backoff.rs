//! How long to wait before the next attempt.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Exponential backoff with jitter: `base`, doubled with each attempt up to `max`, of which a random half is
/// taken off so that callers don't come back together.
///
/// # Example
///
/// ```
/// use backstop_core::Backoff;
/// use std::time::Duration;
///
/// let backoff = Backoff { base: Duration::from_millis(100), max: Duration::from_secs(1), jitter: false };
/// assert_eq!(backoff.wait(1, 0), Duration::from_millis(100));
/// assert_eq!(backoff.wait(3, 0), Duration::from_millis(400));
/// assert_eq!(backoff.wait(30, 0), Duration::from_secs(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backoff {
    /// The wait after the first attempt.
    pub base: Duration,
    /// The longest wait.
    pub max: Duration,
    /// Whether up to half of the wait is taken off at random.
    pub jitter: bool,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { base: Duration::from_millis(500), max: Duration::from_secs(30), jitter: true }
    }
}

impl Backoff {
    /// The wait after attempt number `attempt` (from 1). `jitter` is the random part, 0 to 999 per mille.
    pub fn wait(&self, attempt: u32, jitter: u16) -> Duration {
        let doublings = attempt.saturating_sub(1).min(31);
        let full = self.base.saturating_mul(1 << doublings).min(self.max);
        if self.jitter { full - full / 2 * u32::from(jitter.min(999)) / 1000 } else { full }
    }
}
