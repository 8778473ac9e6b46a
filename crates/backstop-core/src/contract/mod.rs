//! What adapters implement: the only async signatures of this crate, all of them object-safe.

mod caller;
mod model;
mod store;
mod toolset;

pub use caller::CallerHeaders;
pub use model::{Delta, DeltaSink, Model, ModelRequest};
pub use store::{RunStore, StoreError};
pub use toolset::{CallContext, Toolset};
