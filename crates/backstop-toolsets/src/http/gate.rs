//! How many requests a service gets: at the same time, and in a time.

use std::{num::NonZeroU32, time::Duration};

use backstop_core::{ToolError, text};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, timeout_at},
};

/// So many requests in a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Requests.
    pub requests: NonZeroU32,
    /// In this time.
    pub per: Duration,
}

/// Lets requests through, so many at the same time and in a time.
pub(super) struct Gate {
    slots: Option<Semaphore>,
    limiter: Option<DefaultDirectRateLimiter>,
}

impl Gate {
    pub(super) fn new(concurrency: Option<NonZeroU32>, rate: Option<Rate>) -> Self {
        let slots =
            concurrency.map(|slots| Semaphore::new(usize::try_from(slots.get()).unwrap_or(usize::MAX)));
        let quota = rate.and_then(|rate| {
            let each = rate.per / rate.requests.get();
            Some(Quota::with_period(each.max(Duration::from_nanos(1)))?.allow_burst(rate.requests))
        });
        Self { slots, limiter: quota.map(RateLimiter::direct) }
    }

    /// Waits until a request may be made; it holds what it gets until its answer is read.
    ///
    /// # Errors
    ///
    /// `unavailable` and surely not applied where that is not before the end of `timeout`.
    pub(super) async fn pass(&self, timeout: Duration) -> Result<Option<SemaphorePermit<'_>>, ToolError> {
        let until = Instant::now() + timeout.saturating_sub(timeout / 20);
        let passed = timeout_at(until, async {
            let slot = match &self.slots {
                Some(slots) => slots.acquire().await.ok(),
                None => None,
            };
            if let Some(limiter) = &self.limiter {
                limiter.until_ready().await;
            }
            slot
        });
        passed.await.map_err(|_| {
            let detail =
                format!("no request could be made for {}: the toolset's own limit", text::duration(timeout));
            ToolError::unavailable(detail).not_applied()
        })
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").field("slots", &self.slots).finish_non_exhaustive()
    }
}
