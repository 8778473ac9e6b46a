//! What people and programs read.

pub(crate) mod diagnostics;
pub(crate) mod explanation;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod spinner;
pub(crate) mod stdout;
