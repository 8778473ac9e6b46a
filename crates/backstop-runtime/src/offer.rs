//! The tools that an agent offers, and how they become others.

use std::sync::{Arc, PoisonError, RwLock};

use backstop_core::{
    Catalog, CatalogProblem, Definition, Redactor, ToolError, ToolPolicy, ToolSpec, Toolset,
    catalog::CatalogSource, text,
};
use futures_util::future::join_all;
use tokio::sync::Mutex;

use crate::{agent::ToolsetOptions, driver::LIST_TIMEOUT, overflow::LargeResults};

/// A toolset, and what is declared for it.
pub(crate) struct Source {
    pub(crate) toolset: Arc<dyn Toolset>,
    pub(crate) options: ToolsetOptions,
}

/// What a source listed last.
struct Listed {
    /// The toolset's [count of changes](Toolset::changes) before it was asked: a change in between is seen next time.
    changes: u64,
    specs: Vec<ToolSpec>,
}

/// The tools on offer.
pub(crate) struct Offer {
    sources: Vec<Source>,
    listed: Mutex<Vec<Listed>>,
    /// The counts of the lists that the definition is made of.
    seen: RwLock<Vec<u64>>,
    definition: RwLock<Arc<Definition>>,
    redactor: Redactor,
}

/// What a source did not list, in the order of the sources.
pub(crate) type ListResult = Result<(), ToolError>;

impl Offer {
    /// Asks all sources for their tools, at the same time and each with its deadline. `results` are those that the
    /// last source reads, where there is such a one.
    pub(crate) async fn build(
        sources: Vec<Source>,
        bare: Definition,
        redactor: Redactor,
        results: Option<LargeResults>,
    ) -> (Self, Vec<(ListResult, Vec<ToolSpec>)>, Vec<CatalogProblem>) {
        let lists = join_all(sources.iter().map(|source| async {
            let changes = source.toolset.changes();
            (changes, source.list().await)
        }))
        .await;
        let mut listed = Vec::new();
        let mut told = Vec::new();
        for (changes, list) in lists {
            let (specs, result) = match list {
                Ok(specs) => (specs, Ok(())),
                Err(error) => (Vec::new(), Err(redactor.tool_error(error))),
            };
            told.push((result, specs.clone()));
            listed.push(Listed { changes, specs });
        }
        let (catalog, problems) = catalog(&sources, &listed);
        if let (Some(results), Some(reader)) = (results, catalog.entries().last()) {
            results.read_with(&reader.name);
        }
        let definition = Definition::new(catalog).limits(bare.limits).fallback(bare.fallback);
        let offer = Self {
            seen: RwLock::new(listed.iter().map(|listed| listed.changes).collect()),
            sources,
            listed: Mutex::new(listed),
            definition: RwLock::new(Arc::new(definition)),
            redactor,
        };
        (offer, told, problems)
    }

    /// What runs are made from.
    pub(crate) fn definition(&self) -> Arc<Definition> {
        Arc::clone(&self.definition.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The toolset at this place of the catalog.
    pub(crate) fn toolset(&self, index: usize) -> Option<Arc<dyn Toolset>> {
        self.sources.get(index).map(|source| Arc::clone(&source.toolset))
    }

    /// Whether a source is known to have other tools by now.
    pub(crate) fn has_changed(&self) -> bool {
        let seen = self.seen.read().unwrap_or_else(PoisonError::into_inner);
        self.sources.iter().zip(seen.iter()).any(|(source, seen)| source.toolset.changes() != *seen)
    }

    /// Asks the sources again that are known to have other tools by now. One that does not answer keeps those that it
    /// had, until it tells of the next change.
    pub(crate) async fn refresh(&self) {
        if !self.has_changed() {
            return;
        }
        // Held while they are asked: whoever comes meanwhile waits for the same answers.
        let mut listed = self.listed.lock().await;
        let asked = join_all(self.sources.iter().zip(listed.iter_mut()).map(|(source, listed)| async {
            let changes = source.toolset.changes();
            if changes == listed.changes {
                return false;
            }
            listed.changes = changes;
            let toolset = source.toolset.name();
            match source.list().await {
                Ok(specs) if specs == listed.specs => false,
                Ok(specs) => {
                    let (before, now) = (listed.specs.len(), specs.len());
                    tracing::info!(target: "backstop::offer", toolset, before, now, "the tools have changed");
                    listed.specs = specs;
                    true
                }
                Err(error) => {
                    let error = self.redactor.tool_error(error);
                    tracing::warn!(
                        target: "backstop::offer", toolset, %error, causes = error.causes().join(": "),
                        "the tools have changed and can't be listed: those known stay on offer"
                    );
                    false
                }
            }
        }))
        .await;
        if asked.contains(&true) {
            let (catalog, problems) = catalog(&self.sources, &listed);
            for problem in problems {
                tracing::warn!(target: "backstop::offer", "{problem}");
            }
            let before = self.definition();
            let definition =
                Definition::new(catalog).limits(before.limits.clone()).fallback(before.fallback.clone());
            *self.definition.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(definition);
        }
        let counts = listed.iter().map(|listed| listed.changes).collect();
        *self.seen.write().unwrap_or_else(PoisonError::into_inner) = counts;
    }
}

impl Source {
    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        let limit = self.options.list_timeout.unwrap_or(LIST_TIMEOUT);
        tokio::time::timeout(limit, self.toolset.list()).await.unwrap_or_else(|_| {
            let detail = format!("the toolset did not list its tools within {}", text::duration(limit));
            Err(ToolError::timeout(limit, detail))
        })
    }
}

/// The tools of all sources, with what is declared for them.
fn catalog(sources: &[Source], listed: &[Listed]) -> (Catalog, Vec<CatalogProblem>) {
    let mut keeps = false;
    let sources = sources.iter().zip(listed).map(|(Source { toolset, options }, Listed { specs, .. })| {
        // The tool that reads results comes last, and not where no tool can give one.
        keeps |= options.keep_large_results && !specs.is_empty();
        let is_offered = !options.reads_results || keeps;
        let tools = specs.iter().filter(|_| is_offered).cloned().map(|mut spec| {
            let mut policy = ToolPolicy::default();
            if let Some(adjust) = &options.adjust {
                adjust(&mut spec, &mut policy);
            }
            (spec, policy)
        });
        CatalogSource::new(toolset.name(), tools.collect()).prefix(options.prefix.clone())
    });
    Catalog::build(sources.collect())
}
