//! Backstop's adapters: typed functions ([`function`]), HTTP endpoints ([`http`], [`openapi`]), MCP servers (`mcp`,
//! with the feature of that name) and model deployments ([`deployment`]).
//!
//! Adapters translate; they decide nothing. None of them knows the runtime, retries by itself or writes text for
//! a model, other than the words that a service meant for its callers.

pub mod client;
pub mod deployment;
mod events;
pub mod function;
pub mod guard;
pub mod http;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod openapi;
mod pointer;
