//! The failed calls of a run, and the limit that they come to.

use std::collections::HashMap;

use super::{Limit, Limits};
use crate::error::ErrorClass;

/// Counts the failed calls of a run.
#[derive(Debug, Default)]
pub(super) struct Failed {
    all: u32,
    in_row: u32,
    of: HashMap<ErrorClass, u32>,
}

impl Failed {
    /// A call failed for good: the model is told, or the run stops.
    pub(super) fn call(&mut self, class: ErrorClass) {
        self.all = self.all.saturating_add(1);
        let of = self.of.entry(class).or_default();
        *of = of.saturating_add(1);
    }

    /// A call of a turn is settled, with something the model can use or with nothing.
    pub(super) fn settled(&mut self, gave_nothing: bool) {
        self.in_row = if gave_nothing { self.in_row.saturating_add(1) } else { 0 };
    }

    /// The limit that is reached, if one is; the narrowest where there are several.
    pub(super) fn reached(&self, limits: &Limits) -> Option<Limit> {
        let of_class = self.of.iter().filter_map(|(class, count)| {
            let (most, limit) = limits.failures_of.of(*class)?;
            (*count >= most.max(1)).then_some(limit)
        });
        // The order of a hash map is no order to tell a user.
        let of_class = of_class.min_by_key(|limit| limit.as_str());
        of_class
            .or_else(|| (self.in_row >= limits.failures_in_row.max(1)).then_some(Limit::FailuresInRow))
            .or_else(|| (self.all >= limits.failures.max(1)).then_some(Limit::Failures))
    }
}
