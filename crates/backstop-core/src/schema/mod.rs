//! How arguments become a [`ValidCall`](crate::ValidCall): decoded strictly, checked against the tool's schema,
//! and, where they don't fit, explained so that a model can mend all of it at once.
//!
//! The only place that knows `jsonschema`, whose releases change its API often.

mod coerce;
mod compiled;
mod decode;
mod expected;
mod mend;
mod problem;
mod report;
mod strict;
mod violation;

pub use coerce::ArgumentRules;
pub use compiled::{CompiledSchema, SchemaError};
pub use violation::{Violation, place_in_words};

pub(crate) use compiled::PROBLEM_CAP;
pub(crate) use decode::decode;
pub(crate) use report::{Subject, did_you_mean, invalid_arguments};
pub(crate) use strict::object;
