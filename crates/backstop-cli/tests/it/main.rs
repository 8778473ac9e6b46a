//! The `backstop` command as its users meet it: exit codes, what it prints, and what happens when things break.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests are tests; clippy only exempts the functions themselves"
)]

mod approval;
mod call;
mod chat;
mod check;
mod explain;
mod fixture;
mod help;
mod init;
mod interrupt;
#[cfg(unix)]
mod login;
mod mcp;
mod migrate;
mod model_server;
#[cfg(unix)]
mod pty;
mod quickstart;
mod replies;
mod run;
mod secrets;
mod shell;
mod streams;
#[cfg(unix)]
mod terminal;
mod tools;

/// MCP servers that tests start are this executable, run once more with this test alone.
#[cfg(unix)]
#[test]
fn the_fake_server_serves_if_it_is_asked() {
    backstop_test::mcp::serve_if_asked();
}
