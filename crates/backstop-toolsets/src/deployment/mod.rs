//! What answers a turn: model servers and scripts.
//!
//! [`OpenAiModel`] speaks the chat completions protocol to any server that offers it; [`ScriptedModel`] answers
//! from a file. Both translate only: neither retries nor decides what a failure means for a run. [`SchemaProfile`]
//! says what a server takes in a tool's schema.

pub mod openai;
pub mod profile;
pub mod scripted;

pub use openai::{OpenAiConfig, OpenAiModel};
pub use profile::SchemaProfile;
pub use scripted::{ScriptError, ScriptedModel};
