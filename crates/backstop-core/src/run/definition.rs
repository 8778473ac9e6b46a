//! What a run is made from.

use std::sync::Arc;

use crate::{
    catalog::{Catalog, CatalogEntry},
    policy::Strategy,
    run::Limits,
};

/// What a run is made from: data that does not change while it runs.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Definition {
    /// What it may spend.
    pub limits: Limits,
    /// The tools on offer.
    pub catalog: Arc<Catalog>,
    /// What happens with the failures of tools that have no strategies of their own, and of names that are not
    /// on offer.
    pub fallback: Vec<Strategy>,
}

impl Definition {
    /// A run of these tools with default limits.
    pub fn new(catalog: impl Into<Arc<Catalog>>) -> Self {
        Self { catalog: catalog.into(), ..Self::default() }
    }

    /// Sets what it may spend.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets what happens with the failures of tools that have no strategies of their own.
    #[must_use]
    pub fn fallback(mut self, strategies: Vec<Strategy>) -> Self {
        self.fallback = strategies;
        self
    }

    /// What is declared for the failures of a tool, or of a name that is not on offer.
    pub fn strategies_for<'a>(&'a self, tool: Option<&'a CatalogEntry>) -> &'a [Strategy] {
        match tool.map(|entry| &entry.policy) {
            Some(own) if own.strategies_are_all || !own.strategies.is_empty() => &own.strategies,
            Some(_) | None => &self.fallback,
        }
    }
}
