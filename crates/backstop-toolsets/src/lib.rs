//! Backstop's adapters: typed functions ([`function`]), HTTP endpoints ([`http`]) and model deployments
//! ([`deployment`]).
//!
//! Adapters translate; they decide nothing. None of them knows the runtime, retries by itself or writes text for
//! a model, other than the words that a service meant for its callers.

pub mod client;
pub mod deployment;
pub mod function;
pub mod guard;
pub mod http;
pub mod openapi;
mod pointer;
