//! The tokio driver, from the outside.

mod cancel;
mod failures;
mod kit;
mod parallel;
mod resume;
mod store;
mod telemetry;
