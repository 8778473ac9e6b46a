//! The facade from the outside, and the guards of the architecture.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests may panic")]

mod answers;
mod cases;
mod invariants;
mod load;
mod mcp;
mod services;
mod tables;
