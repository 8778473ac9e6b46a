//! Where journals are kept.

use async_trait::async_trait;

use crate::{id::RunId, run::Record};

/// Where the journals of runs are kept. Records of one run are appended by one writer, in order.
#[async_trait]
pub trait RunStore: Send + Sync + 'static {
    /// Appends a record to the journal of a run. When it returns, the record is kept.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when it could not be kept; the run must not go on then.
    async fn append(&self, run: &RunId, record: &Record) -> Result<(), StoreError>;

    /// All records of a run, in order; empty for one that it does not know.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the journal can't be read.
    async fn load(&self, run: &RunId) -> Result<Vec<Record>, StoreError>;

    /// The runs it knows, oldest first.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the list can't be read.
    async fn list(&self) -> Result<Vec<RunId>, StoreError>;
}

/// A store that failed.
#[derive(Debug, thiserror::Error)]
#[error("the run store failed: {detail}")]
pub struct StoreError {
    detail: String,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl StoreError {
    /// What failed, for an operator.
    pub fn new(detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), source: None }
    }

    /// Keeps the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }
}
