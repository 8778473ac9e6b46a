//! The pure heart of Backstop: what a tool call is, how it fails, and what happens next.
//!
//! Nothing in this crate waits, reads a clock, draws a random number or opens a file. Time, ids and jitter come
//! in as data, so every decision can be tested as a table and every run can be replayed from its journal.
//!
//! Read in this order: [`error`] (the contract), [`schema`] (how arguments become a [`ValidCall`]), [`policy`]
//! (the one decision), [`run`] (the state machine), [`contract`] (what adapters implement).

pub mod call;
pub mod catalog;
pub mod contract;
pub mod error;
pub mod id;
pub mod message;
pub mod model;
mod output;
pub mod policy;
pub mod redact;
pub mod run;
pub mod schema;
pub mod spec;
pub mod text;

pub use call::{RawArguments, ToolCall, ValidCall};
pub use catalog::{Catalog, CatalogEntry, CatalogProblem, Reconcile, ToolPolicy};
pub use contract::{
    CallContext, CallerHeaders, Delta, DeltaSink, Model, ModelRequest, RunStore, StoreError, Toolset,
};
pub use error::{Applied, ErrorClass, ModelView, OperatorView, ToolError, ToolErrorKind};
pub use id::{CallId, Reference, RunId, Timestamp};
pub use message::{Message, Transcript};
pub use model::{FinishReason, ModelError, ModelErrorKind, ModelReply, Usage};
pub use output::{Part, ToolOutput};
pub use policy::{Action, Backoff, Budget, Decision, Failure, Strategy, When, decide, explain};
pub use redact::Redactor;
pub use run::{Definition, Event, Limit, Limits, Outcome, ProtocolError, Question, Record, Run, Step};
pub use spec::{Approve, Effect, ToolSpec};
