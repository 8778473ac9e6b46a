//! The facade from the outside, and the guards of the architecture.

mod invariants;
mod load;
