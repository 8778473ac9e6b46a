//! Tools of MCP servers.
//!
//! A server is a program that is started ([`StdioServer`]) or an address ([`HttpServer`]). Whatever it does, each call
//! ends with one output or one typed error, in the time that it has; nothing is sent twice but a call that a server
//! surely did not take.
//!
//! ```text
//! toolset ── connection ── stdio ── process, frames    a program, its life, its messages
//!         │             ├─ http ── login               an address, and who is known there
//!         │             └─ handler ── ask, sample      what a server asks back
//!         ├─ list, extras                              what it offers
//!         ├─ call ── errand                            one request and how far it got
//!         └─ output, error ── said                     what came of it
//! ```

mod ask;
mod call;
mod config;
mod connection;
mod errand;
mod error;
mod extras;
mod frames;
mod handler;
mod http;
mod list;
pub mod login;
mod output;
mod process;
mod said;
mod sample;
mod stdio;
mod toolset;

pub use ask::{AskPerson, Asked};
pub use config::{HttpServer, McpConfig, Protocol, Server, StdioServer};
pub use toolset::McpToolset;
