//! The tests of the core, as one binary.
//!
//! `views`, `decision_table`, `arguments` and `names` hold the contract as tables and snapshots; `scenarios` runs
//! the files of `tests/scenarios`; `golden` replays the journals of `tests/golden`; `properties` drives runs at
//! random. Start with a scenario file.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets something unexpected fails"
)]

mod arguments;
mod decision_table;
mod decode;
mod events;
mod explained;
mod golden;
mod kit;
mod names;
mod outputs;
mod properties;
mod ride;
mod rules;
mod scenario;
mod scenarios;
mod strategies;
mod values;
mod views;
