//! The client of MCP servers, against one that can be wrong in every way.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests are tests; clippy only exempts the functions themselves"
)]
#![cfg(unix)]

mod answers;
mod asks;
mod calls;
mod conformance;
mod http;
mod kit;
mod login;
mod process;
mod schedules;
mod startup;

/// The servers that the tests start are this executable, run once more with this test alone.
#[test]
fn the_fake_server_serves_if_it_is_asked() {
    backstop_test::mcp::serve_if_asked();
}
