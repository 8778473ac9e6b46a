//! The memory store keeps the contract.

use backstop_core::{Event, Record, RunId, RunStore, Timestamp};
use backstop_runtime::MemoryStore;

backstop_test::run_store_conformance!(|| async { MemoryStore::default() });

#[tokio::test]
async fn the_oldest_run_makes_room() {
    let store = MemoryStore::with_capacity(2);
    for run in ["a", "b", "c"] {
        let record = Record::new(0, Timestamp::from_millis(0), Event::Cancelled);
        store.append(&RunId::new(run), &record).await.unwrap();
    }
    assert_eq!(store.list().await.unwrap(), [RunId::new("b"), RunId::new("c")]);
    assert_eq!(store.load(&RunId::new("a")).await.unwrap(), []);
}
