//! The tokio driver, from the outside.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests may panic")]

mod approval;
mod breaker;
mod build;
mod caller;
mod cancel;
mod failures;
mod kit;
mod offer;
mod overflow;
mod parallel;
mod resume;
mod store;
mod telemetry;
