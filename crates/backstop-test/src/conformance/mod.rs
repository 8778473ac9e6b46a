//! Suites that every implementation of a contract runs: one `#[test]` per behaviour, so a failure has a name.
//!
//! A suite is a macro that takes a fixture and expands to the tests:
//!
//! ```ignore
//! backstop_test::run_store_conformance!(|| async { MemoryStore::default() });
//! ```

pub mod model;
pub mod run_store;
pub mod toolset;
