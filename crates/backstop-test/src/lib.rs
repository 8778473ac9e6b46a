//! Test kit for Backstop: models, toolsets and servers under a test's control, and the conformance suites that every
//! implementation of a contract runs, wrappers and third parties' too.
//!
//! Nothing here is for production: it panics where an assertion fails.

#![expect(clippy::panic, clippy::expect_used, reason = "a test kit fails by panicking")]

pub mod conformance;
#[cfg(unix)]
#[expect(clippy::indexing_slicing, clippy::print_stderr, reason = "it is a program of tests")]
pub mod mcp;
mod model;
#[cfg(unix)]
#[expect(clippy::indexing_slicing, reason = "it is a server of tests")]
pub mod oauth;
pub mod server;
mod toolset;

pub use model::{Reply, TestModel};
pub use toolset::TestToolset;
