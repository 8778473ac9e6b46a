//! Many calls of many servers that are wrong at random: each has one result, in its time, and nothing is left behind.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use backstop_core::Toolset;
use backstop_test::mcp::Behaviour;
use backstop_toolsets::mcp::McpToolset;
use futures_util::future::join_all;
use serde_json::json;

use crate::kit::{Fake, call, lives, within};

/// Calls in all.
const SCHEDULES: u64 = 1000;
/// Servers that run at the same time.
const AT_ONCE: u64 = 20;
/// Schedules that one server goes through.
const EACH: u64 = 25;
/// The longest time of one call, and what is put on top of it by a machine that is busy.
const LONGEST: Duration = Duration::from_millis(200);
const SLACK: Duration = Duration::from_secs(8);

/// A sequence of numbers from a seed (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }
}

const WRONG: [Behaviour; 20] = [
    Behaviour::Good,
    Behaviour::Stateless,
    Behaviour::NeverAnswers,
    Behaviour::AnswersTwice,
    Behaviour::WrongId,
    Behaviour::NoId,
    Behaviour::AnswersLate,
    Behaviour::HugeAnswer,
    Behaviour::HugeNoise,
    Behaviour::HalfAnswer,
    Behaviour::NoUtf8,
    Behaviour::Noise,
    Behaviour::Exits,
    Behaviour::ExitsAfter,
    Behaviour::Panics,
    Behaviour::ListChanged,
    Behaviour::EmptyError,
    Behaviour::NoResult,
    Behaviour::ClosesOutput,
    Behaviour::Progress,
];

fn handles() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// One schedule: some calls at the same time, some of which are dropped.
async fn schedule(toolset: &McpToolset, seed: u64) -> usize {
    let mut random = Random(seed);
    let calls = (0..1 + random.next(4)).map(|_| {
        let acts = random.next(3) > 0;
        let limit = Duration::from_millis(1 + random.next(LONGEST.as_millis() as u64));
        async move {
            let begun = Instant::now();
            let (tool, arguments) = if acts { ("act", json!({})) } else { ("echo", json!({"text": "x"})) };
            let result = call(toolset, tool, arguments, limit).await;
            assert!(begun.elapsed() < limit + SLACK, "seed {seed}: {:?} of {limit:?}", begun.elapsed());
            if let Ok(output) = result {
                let text = output.model_text();
                assert!(
                    ["acted", "x", "The tool finished and gave no output."].contains(&text.as_str()),
                    "seed {seed}: {text}"
                );
            }
        }
    });
    join_all(calls).await.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_schedules_end_in_time_and_leave_nothing() {
    let before = handles();
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let mut pids = Vec::new();
    let mut results = 0;
    for round in 0..SCHEDULES / (AT_ONCE * EACH) {
        let servers = (0..AT_ONCE).map(|index| async move {
            let number = round * AT_ONCE + index;
            let fake = Fake::new(WRONG[(number % WRONG.len() as u64) as usize]);
            let toolset = Arc::new(fake.toolset());
            toolset.list().await.unwrap();
            let mut results = 0;
            for step in 0..EACH {
                results += schedule(&toolset, number * EACH + step).await;
            }
            (results, fake.pids())
        });
        for (count, started) in join_all(servers).await {
            results += count;
            pids.extend(started);
        }
    }
    assert!(results > SCHEDULES as usize, "{results}");
    within("all servers end", || pids.iter().all(|pid| !lives(*pid))).await;
    within("all tasks end", || tokio::runtime::Handle::current().metrics().num_alive_tasks() <= tasks).await;
    within("all handles are closed", || handles() <= before + 1).await;
}
