//! A runtime for LLM agents and the tools they call, built around the moment a tool call fails.
//!
//! The model is told what went wrong and what it can change, the operator gets the whole cause, and the loop
//! retries, continues or stops because a *type* says so.
//!
//! # Example
//!
//! ```no_run
//! use backstop::{Agent, CallContext, Effect, ToolError, function::{FnTool, FnToolset}};
//! use backstop::deployment::{OpenAiConfig, OpenAiModel};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Add { a: i64, b: i64 }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let add = FnTool::new("add", |args: Add, _: CallContext| async move {
//!     args.a.checked_add(args.b).ok_or_else(|| ToolError::rejected("overflow").say("The sum is too large."))
//! })
//! .description("Adds two integers.")
//! .effect(Effect::ReadOnly);
//!
//! let base_url = "http://127.0.0.1:11434/v1".parse()?;
//! let model = OpenAiModel::new(OpenAiConfig::new(base_url, "qwen3:8b", backstop::http_client()?))?;
//! let (agent, problems) = Agent::builder(model).toolset(FnToolset::new("math").tool(add)).build().await;
//! assert!(problems.is_empty());
//!
//! let report = agent.run("What is 2 + 3?").await?;
//! println!("{:?}", report.outcome());
//! # Ok(())
//! # }
//! ```

mod load;

pub use async_trait::async_trait;
pub use backstop_core::*;
pub use backstop_manifest as manifest;
pub use backstop_runtime::*;
#[cfg(feature = "mcp")]
pub use backstop_toolsets::mcp;
pub use backstop_toolsets::{client::http_client, deployment, function, http, openapi};
pub use load::{
    LoadError, ManifestFile, Overrides, agent_from_manifest, failure_of_status, read_manifest_text,
    schema_notes,
};
#[cfg(feature = "mcp")]
pub use load::{LoginServer, login_servers};

/// The README and the book are compiled, and run where they can be, with the documentation examples.
#[cfg(doctest)]
mod book {
    macro_rules! pages {
        ($($name:ident $path:literal)*) => {$(
            #[doc = include_str!($path)]
            struct $name;
        )*};
    }
    pages! {
        Readme "../../../README.md"
        FirstTool "../../../book/first-tool.md"
        Failures "../../../book/failures.md"
        ErrorsForToolAuthors "../../../book/errors-for-tool-authors.md"
        Runs "../../../book/runs.md"
        Testing "../../../book/testing.md"
    }
}
