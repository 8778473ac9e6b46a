//! An MCP server under a test's control, which can be wrong in every way that servers are.
//!
//! It writes its messages by itself, so that it can write them badly. As a program it is the test's own executable,
//! started once more: see [`serve_if_asked`].

mod answers;
mod behaviour;
mod stdio;

pub use answers::{TOOLS, answer, result};
pub use behaviour::Behaviour;
pub use stdio::{ACT, LOG, PROGRAM_TEST, program, serve_if_asked};
