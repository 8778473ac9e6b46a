//! Many calls of many servers that are wrong at random: each has one result, in its time, and nothing is left behind.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use backstop_core::{Applied, ToolError, ToolErrorKind, Toolset};
use backstop_test::mcp::Behaviour;
use backstop_toolsets::mcp::McpToolset;
use futures_util::future::join_all;
use serde_json::json;
use tokio::time::timeout;

use crate::kit::{Fake, call, lives, within};

/// Schedules in all.
const SCHEDULES: u64 = 1000;
/// Servers that run at the same time.
const AT_ONCE: u64 = 25;
/// Schedules that one server goes through.
const EACH: u64 = 20;
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

const WRONG: [Behaviour; 25] = [
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
    Behaviour::TextId,
    Behaviour::StopsReading,
    Behaviour::IgnoresEnd,
    Behaviour::Grandchild,
    Behaviour::AsksPerson,
];

fn handles() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Of a call: how it is known again, and its error where it failed.
type Made = (String, Option<ToolError>);

/// One schedule: some calls at the same time, some of which are dropped, by whoever drives them or from outside.
async fn schedule(toolset: &Arc<McpToolset>, behaviour: Behaviour, seed: u64) -> Vec<Made> {
    let mut random = Random(seed);
    let calls = (0..1 + random.next(4)).map(|index| {
        let acts = random.next(3) > 0;
        let limit = Duration::from_millis(1 + random.next(LONGEST.as_millis() as u64));
        let aborted = (random.next(8) == 0).then(|| Duration::from_millis(random.next(50)));
        let toolset = Arc::clone(toolset);
        let tag = format!("{seed}-{index}");
        async move {
            let begun = Instant::now();
            let tool = if acts { "act" } else { "echo" };
            let arguments = json!({"text": tag});
            let call = call(&toolset, tool, arguments, limit);
            let result = match aborted {
                None => call.await,
                Some(after) => timeout(after, call).await.unwrap_or_else(|_| Err(aborted_outside())),
            };
            assert!(begun.elapsed() < limit + SLACK, "seed {seed}: {:?} of {limit:?}", begun.elapsed());
            let error = match result {
                Ok(output) => {
                    let expected = expected(behaviour, acts, &tag);
                    assert_eq!(output.model_text(), expected, "{}, call {tag}", behaviour.as_str());
                    None
                }
                Err(error) => Some(error),
            };
            (tag, error)
        }
    });
    join_all(calls).await
}

/// What whoever drops a call knows of it.
fn aborted_outside() -> ToolError {
    ToolError::new(ToolErrorKind::Cancelled, "aborted").with_applied(Applied::Unknown)
}

/// The answer to this call and to no other.
fn expected(behaviour: Behaviour, acts: bool, tag: &str) -> String {
    match (acts, behaviour) {
        (false, _) => tag.to_owned(),
        (true, Behaviour::AsksPerson) => "{\"action\":\"decline\"}".to_owned(),
        (true, _) => "acted".to_owned(),
    }
}

/// What must be true of all calls of a server, given what it received.
fn judge(behaviour: Behaviour, fake: &Fake, made: &[Made]) {
    let received: Vec<String> = fake
        .log()
        .iter()
        .filter(|message| message["method"] == "tools/call")
        .map(|message| message["params"]["arguments"]["text"].as_str().unwrap_or_default().to_owned())
        .collect();
    for (tag, error) in made {
        let times = received.iter().filter(|seen| *seen == tag).count();
        assert!(times <= 1, "{}, call {tag} was sent {times} times", behaviour.as_str());
        let Some(error) = error else { continue };
        // That nothing was done is only said of what did not arrive, and of what the server itself refused.
        let refused = error.kind() == ToolErrorKind::Rejected && behaviour == Behaviour::EmptyError;
        assert!(
            times == 0 || refused || error.applied() != Applied::No,
            "{}, call {tag} arrived: {error:?}",
            behaviour.as_str()
        );
        let kinds = [
            ToolErrorKind::Timeout,
            ToolErrorKind::Cancelled,
            ToolErrorKind::Unavailable,
            ToolErrorKind::InvalidOutput,
        ];
        assert!(refused || kinds.contains(&error.kind()), "{}, call {tag}: {error:?}", behaviour.as_str());
    }
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
            let behaviour = WRONG[(number % WRONG.len() as u64) as usize];
            let fake = Fake::new(behaviour);
            let toolset = Arc::new(fake.toolset());
            toolset.list().await.unwrap();
            let mut made = Vec::new();
            for step in 0..EACH {
                made.extend(schedule(&toolset, behaviour, number * EACH + step).await);
            }
            judge(behaviour, &fake, &made);
            (made.len(), fake.pids())
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
