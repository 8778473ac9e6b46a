//! Drives a Backstop run on tokio.
//!
//! An [`Agent`] is a model, toolsets and what was declared for them. It starts runs; each is the state machine of
//! `backstop-core`, whose steps are performed here: model turns, tool calls in parallel, waits, cancellation. No
//! decision is taken here, and no adapter is named here.

mod agent;
mod answerer;
mod breaker;
mod clock;
mod driver;
mod memory_store;
mod observer;
mod offer;
mod overflow;
mod report;
mod running;
mod sink;
mod start;
mod telemetry;

pub use agent::{Agent, AgentBuilder, BuildProblem, Input, ToolsetOptions};
pub use answerer::{Answer, Answerer};
pub use breaker::{Breaker, BreakerLimits, CIRCUIT_OPEN};
pub use driver::RunError;
pub use memory_store::MemoryStore;
pub use observer::Observer;
pub use overflow::{LargeResults, Overflow, READ_RESULT, ReadResult};
pub use report::{CallState, CallSummary, RunReport};
pub use start::{Resume, Start};
pub use tokio_util::sync::CancellationToken;
