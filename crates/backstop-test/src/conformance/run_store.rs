//! What every [`RunStore`] does.

use backstop_core::{Event, Record, RunId, RunStore, Timestamp};

fn record(seq: u64) -> Record {
    Record::new(seq, Timestamp::from_millis(seq), Event::TimerFired)
}

/// Records come back in the order in which they were appended.
pub async fn records_come_back_in_order(store: impl RunStore) {
    let run = RunId::new("r1");
    for seq in 0..3 {
        store.append(&run, &record(seq)).await.expect("append");
    }
    assert_eq!(store.load(&run).await.expect("load"), [record(0), record(1), record(2)]);
}

/// A run that it does not know is empty, not an error.
pub async fn an_unknown_run_is_empty(store: impl RunStore) {
    assert_eq!(store.load(&RunId::new("nobody")).await.expect("load"), []);
}

/// A record that does not follow the last one is refused, and the journal stays as it was.
pub async fn a_gap_is_refused(store: impl RunStore) {
    let run = RunId::new("r1");
    store.append(&run, &record(0)).await.expect("append");
    assert!(store.append(&run, &record(2)).await.is_err(), "record 2 after record 0");
    assert!(store.append(&run, &record(0)).await.is_err(), "record 0 twice");
    assert_eq!(store.load(&run).await.expect("load"), [record(0)]);
}

/// Runs don't mix.
pub async fn runs_are_kept_apart(store: impl RunStore) {
    let (a, b) = (RunId::new("a"), RunId::new("b"));
    store.append(&a, &record(0)).await.expect("append");
    store.append(&b, &record(0)).await.expect("append");
    store.append(&a, &record(1)).await.expect("append");
    assert_eq!(store.load(&a).await.expect("load").len(), 2);
    assert_eq!(store.load(&b).await.expect("load").len(), 1);
}

/// Runs are listed oldest first.
pub async fn runs_are_listed_oldest_first(store: impl RunStore) {
    for run in ["z", "a", "m"] {
        store.append(&RunId::new(run), &record(0)).await.expect("append");
    }
    let runs: Vec<String> = store.list().await.expect("list").iter().map(ToString::to_string).collect();
    assert_eq!(runs, ["z", "a", "m"]);
}

/// The suite for a [`RunStore`]; takes an async closure that makes an empty store.
#[macro_export]
macro_rules! run_store_conformance {
    ($fixture:expr) => {
        $crate::run_store_conformance! { $fixture;
            records_come_back_in_order
            an_unknown_run_is_empty
            a_gap_is_refused
            runs_are_kept_apart
            runs_are_listed_oldest_first
        }
    };
    ($fixture:expr; $($behaviour:ident)*) => {$(
        #[tokio::test]
        async fn $behaviour() {
            $crate::conformance::run_store::$behaviour(($fixture)().await).await;
        }
    )*};
}
