//! The gateway, from the outside: clients of the protocol on both of its ways.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests are tests; clippy only exempts the functions themselves"
)]

mod calls;
mod http;
mod kit;
mod limits;
