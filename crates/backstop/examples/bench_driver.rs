//! Measures Backstop on the work that agent runtimes are compared by: a chat-completions server without a model
//! behind it, tools that only add, so what is left is the runtime.
//!
//! `--base-url URL --scenario S --runs R --concurrency C [--warmup W] [--errors default|tuned]`; prints one JSON
//! line. Public API only, with everything on that is on by default.

#![expect(clippy::print_stdout, clippy::expect_used, reason = "a program that reports to a script")]

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use backstop::{
    Agent, CallContext, Effect, Limits, Message, RunReport, ToolError,
    deployment::{OpenAiConfig, OpenAiModel},
    function::{FnTool, FnToolset},
    text,
};
use nix::sys::resource::{UsageWho, getrusage};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::task::JoinSet;

static RETURNED: AtomicU64 = AtomicU64::new(0);
static RAISED: AtomicU64 = AtomicU64::new(0);

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Blob {
    kb: usize,
}

struct Args {
    base_url: String,
    scenario: String,
    runs: u64,
    concurrency: u64,
    warmup: u64,
    errors: String,
}

fn args() -> Args {
    let mut words = std::env::args().skip(1);
    let mut found = std::collections::HashMap::new();
    while let (Some(key), Some(value)) = (words.next(), words.next()) {
        found.insert(key, value);
    }
    let text = |key: &str, default: &str| found.get(key).cloned().unwrap_or_else(|| default.to_owned());
    let number =
        |key: &str, default: u64| found.get(key).map_or(default, |value| value.parse().expect("a number"));
    let (runs, concurrency) = (number("--runs", 1), number("--concurrency", 1));
    Args {
        base_url: text("--base-url", "http://127.0.0.1:8080"),
        scenario: text("--scenario", "chain-1"),
        runs,
        concurrency,
        warmup: number("--warmup", concurrency.max(runs / 10)),
        errors: text("--errors", "default"),
    }
}

async fn agent(args: &Args) -> Agent {
    let add = FnTool::new("add", |args: Add, _: CallContext| async move {
        if args.a < 0 {
            RAISED.fetch_add(1, Relaxed);
            return Err(
                ToolError::rejected("a is negative").say(format!("a must not be negative, got {}", args.a))
            );
        }
        RETURNED.fetch_add(1, Relaxed);
        Ok(args.a + args.b)
    });
    let mut tools =
        FnToolset::new("bench").tool(add.description("Add two integers.").effect(Effect::ReadOnly));
    if args.scenario.starts_with("big") {
        let blob = FnTool::new("blob", |args: Blob, _: CallContext| async move {
            RETURNED.fetch_add(1, Relaxed);
            Ok::<_, ToolError>("x".repeat(args.kb * 1024))
        });
        tools = tools.tool(blob.description("Return a blob of kb KiB.").effect(Effect::ReadOnly));
    }
    let base_url = format!("{}/v1", args.base_url).parse().expect("a URL");
    let client = backstop::http_client().expect("a client");
    let config = OpenAiConfig::new(base_url, args.scenario.clone(), client).api_key("sk-mock");
    let mut limits = Limits::default();
    limits.turns = 100;
    let (agent, problems) = Agent::builder(OpenAiModel::new(config).expect("a model"))
        .instructions("You are a calculator. Use the tools.")
        .toolset(tools)
        .limits(limits)
        .build()
        .await;
    assert!(problems.is_empty(), "{problems:?}");
    agent
}

/// The messages before the task in history-N: user and assistant in turn.
fn conversation(scenario: &str) -> Vec<Message> {
    let earlier: usize =
        scenario.strip_prefix("history-").map_or(0, |count| count.parse().expect("a number"));
    let filler = "The quick brown fox jumps over the lazy dog. ".repeat(4);
    let mut messages = Vec::with_capacity(earlier + 2);
    messages.extend((0..earlier).map(|index| {
        let text = format!("{index}: {filler}");
        if index % 2 == 0 { Message::user(text) } else { Message::assistant(text) }
    }));
    messages.push(Message::user(format!("TASK: {scenario}")));
    messages
}

/// The right final text, executions that return and executions that raise, of one run.
fn expected(scenario: &str) -> (String, u64, u64) {
    let (name, count) = scenario.split_once('-').unwrap_or((scenario, "1"));
    let k: u64 = count.parse().unwrap_or(1);
    let total = |sum: u64| format!("DONE {scenario} total={sum}");
    match name {
        "chain" | "fan" => (total(k * k), k, 0),
        "faulty" => {
            let good: Vec<u64> = (0..k).filter(|index| index % 4 == 3).collect();
            let raised = (0..k).filter(|index| index % 4 == 2).count() as u64;
            (total(good.iter().map(|index| 2 * index + 1).sum()), good.len() as u64, raised)
        }
        "mixed" => (total(10), 2, 1),
        "repeat" => (total(0), 0, 0),
        "big" => (format!("DONE {scenario} kb={k}"), 1, 0),
        "history" => (format!("DONE {scenario} msgs={k}"), 0, 0),
        _ => (String::new(), 0, 0),
    }
}

/// CPU time of this process: in user code, in the kernel.
fn cpu_seconds() -> (f64, f64) {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("the kernel's figures");
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    (seconds(usage.user_time()), seconds(usage.system_time()))
}

fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|value| value.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

struct Bench {
    args: Args,
    agent: Agent,
    answer: String,
    failed: AtomicU64,
    error: Mutex<Option<String>>,
}

impl Bench {
    async fn one(&self) {
        let report = self.agent.run(conversation(&self.args.scenario)).await;
        let problem = match report.as_ref().map(RunReport::answer) {
            Ok(Some(answer)) if answer == self.answer => return,
            Ok(Some(answer)) => format!("answer: {answer}"),
            Ok(None) => format!("{:?}", report.as_ref().map(RunReport::outcome)),
            Err(error) => error.to_string(),
        };
        self.failed.fetch_add(1, Relaxed);
        let mut error = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        error.get_or_insert(text::head(&problem, 500));
    }

    /// Makes that many runs, as many at a time as asked for, each worker a task as in a server.
    async fn many(self: &Arc<Self>, runs: u64) {
        let left = Arc::new(AtomicU64::new(runs));
        let mut workers = JoinSet::new();
        for _ in 0..self.args.concurrency.min(runs.max(1)) {
            let (bench, left) = (Arc::clone(self), Arc::clone(&left));
            workers.spawn(async move {
                while left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
                    bench.one().await;
                }
            });
        }
        workers.join_all().await;
    }
}

#[tokio::main]
async fn main() {
    let args = args();
    let agent = agent(&args).await;
    let (answer, returned, raised) = expected(&args.scenario);
    let bench = Arc::new(Bench { agent, answer, args, failed: AtomicU64::new(0), error: Mutex::new(None) });
    let args = &bench.args;

    bench.one().await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let launched = std::env::var("BENCH_T0_NS").ok().and_then(|text| text.parse::<u128>().ok());
    let startup = launched.map(|launched| now.saturating_sub(launched) as f64 / 1e9);
    let startup_cpu = cpu_seconds();
    bench.many(args.warmup).await;
    for counter in [&RETURNED, &RAISED, &bench.failed] {
        counter.store(0, Relaxed);
    }
    let (cpu, begun) = (cpu_seconds(), Instant::now());
    bench.many(args.runs).await;
    let (wall, spent) = (begun.elapsed().as_secs_f64(), cpu_seconds());

    let (ok, bad, failed) = (RETURNED.load(Relaxed), RAISED.load(Relaxed), bench.failed.load(Relaxed));
    let micros = |seconds: f64| (seconds * 1e6).round() / 1e6;
    println!(
        "{}",
        json!({
            "peer": "ours", "scenario": args.scenario, "runs": args.runs, "concurrency": args.concurrency,
            "errors": args.errors, "wall_s": micros(wall), "cpu_user_s": micros(spent.0 - cpu.0),
            "cpu_sys_s": micros(spent.1 - cpu.1), "max_rss_kb": peak_kb(),
            "runs_per_s": micros(args.runs as f64 / wall), "startup_s": startup.map(micros),
            "startup_cpu_s": micros(startup_cpu.0 + startup_cpu.1), "tool_ok": ok, "tool_raised": bad,
            "failed": failed, "error": *bench.error.lock().unwrap_or_else(PoisonError::into_inner),
            "ok": failed == 0 && ok == args.runs * returned && bad == args.runs * raised
        })
    );
}
