//! Typed Rust functions as tools.
//!
//! A [`FnTool`] takes its argument schema from the type of its arguments, so what the model is told and what the
//! function gets can't drift apart. An [`FnToolset`] is a [`Toolset`](backstop_core::Toolset) of them.
//!
//! Errors are private by default: an untyped one becomes `internal`, whose cause only operators read. A function
//! that wants to tell the model something returns a [`ToolError`](backstop_core::ToolError).

mod arguments;
mod explain;
mod output;
mod schema;
mod tool;
mod toolset;

pub use output::{IntoOutput, Json};
pub use tool::FnTool;
pub use toolset::FnToolset;
