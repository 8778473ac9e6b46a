//! One binary for all integration tests of the crate: linking is what costs.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what the lints let pass in a test, its fixtures may do too"
)]

mod deployment;
mod function;
mod http;
mod openapi;
mod support;
