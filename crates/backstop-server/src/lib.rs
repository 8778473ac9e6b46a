//! Serves what Backstop runs: [`mcp`] gives an agent's tools to whoever speaks the Model Context Protocol, with all
//! that Backstop does about their failures.

pub mod mcp;
