//! Journals in memory.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use async_trait::async_trait;
use backstop_core::{Record, RunId, RunStore, StoreError};

/// Keeps the journals of the latest runs in memory: for tests, and for runs that may be resumed in the same
/// process. The oldest run is dropped when there are more than its capacity.
#[derive(Debug)]
pub struct MemoryStore {
    capacity: usize,
    runs: Mutex<Runs>,
}

#[derive(Debug, Default)]
struct Runs {
    journals: HashMap<RunId, Vec<Record>>,
    order: VecDeque<RunId>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::with_capacity(1000)
    }
}

impl MemoryStore {
    /// A store of at most this many runs.
    pub fn with_capacity(runs: usize) -> Self {
        Self { capacity: runs.max(1), runs: Mutex::default() }
    }
}

#[async_trait]
impl RunStore for MemoryStore {
    async fn append(&self, run: &RunId, record: &Record) -> Result<(), StoreError> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if !runs.journals.contains_key(run) {
            if runs.order.len() >= self.capacity
                && let Some(oldest) = runs.order.pop_front()
            {
                runs.journals.remove(&oldest);
            }
            runs.order.push_back(run.clone());
        }
        let journal = runs.journals.entry(run.clone()).or_default();
        if record.seq != journal.len() as u64 {
            return Err(StoreError::new(format!(
                "run `{run}` has {} records; a record numbered {} can't follow",
                journal.len(),
                record.seq
            )));
        }
        journal.push(record.clone());
        Ok(())
    }

    async fn load(&self, run: &RunId) -> Result<Vec<Record>, StoreError> {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(runs.journals.get(run).cloned().unwrap_or_default())
    }

    async fn list(&self) -> Result<Vec<RunId>, StoreError> {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(runs.order.iter().cloned().collect())
    }
}
