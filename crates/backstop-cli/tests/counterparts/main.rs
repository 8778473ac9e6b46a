//! The `backstop` command against real programs: a small language model behind llama.cpp's server, httpbin, the types
//! of the `openai` package, applications of the DIAL SDK, published OpenAPI documents, Prism, MCP
//! servers and hosts. `scripts/counterparts` installs them.
//!
//! Each program is started once, by the one test that needs it; what is checked there has a name in its assertions.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests are tests; clippy only exempts the functions themselves"
)]

mod dial;
mod documents;
mod httpbin;
mod llama;
mod mcp;
mod mcp_hosts;
mod mcp_suite;
mod prism;
mod server;
mod shell;
mod strict_openai;
