//! Programs end with the toolset, with this process, and with all that they started.

use std::{
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};

use backstop_core::Toolset;
use backstop_test::mcp::Behaviour;
use backstop_toolsets::mcp::{McpConfig, McpToolset, Protocol, Server, StdioServer};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::kit::{Fake, act, call, lives, within};

#[tokio::test]
async fn programs_end_with_the_toolset_whatever_they_make_of_it() {
    let ends =
        [Behaviour::Good, Behaviour::IgnoresEnd, Behaviour::StopsReading].map(|behaviour| async move {
            let fake = Fake::new(behaviour);
            let toolset = fake.toolset();
            toolset.list().await.unwrap();
            if behaviour == Behaviour::StopsReading {
                let _ = call(&toolset, "act", serde_json::json!({}), Duration::from_millis(100)).await;
            }
            let pid = fake.pids()[0];
            assert!(lives(pid), "{}", behaviour.as_str());
            drop(toolset);
            within(behaviour.as_str(), || !lives(pid)).await;
        });
    futures_util::future::join_all(ends).await;
}

#[tokio::test]
async fn what_a_program_started_ends_with_it() {
    let fake = Fake::new(Behaviour::Grandchild);
    let toolset = fake.toolset();
    toolset.list().await.unwrap();
    act(&toolset).await.unwrap();
    let left = fake.log().iter().find_map(|message| message["grandchild"].as_u64()).unwrap();
    assert!(lives(left));
    drop(toolset);
    within("the grandchild ends", || !lives(left)).await;
}

/// A runtime that is dropped with all its tasks ends them as well.
#[test]
fn programs_end_with_the_runtime() {
    let fake = Fake::new(Behaviour::IgnoresEnd);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let toolset = fake.toolset();
    runtime.block_on(toolset.list()).unwrap();
    let pid = fake.pids()[0];
    assert!(lives(pid));
    drop(runtime);
    drop(toolset);
    let ended = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        !lives(pid)
    });
    assert!(ended);
}

const HOLDER: &str = "BACKSTOP_TEST_HOLDS_A_SERVER";

/// Not a test of its own: it is what the next one starts and kills.
#[tokio::test]
async fn a_process_that_holds_a_server() {
    if std::env::var_os(HOLDER).is_none() {
        return;
    }
    let fake = Fake::new(Behaviour::IgnoresEnd);
    let toolset = fake.toolset();
    toolset.list().await.unwrap();
    let grandchild = Fake::new(Behaviour::Grandchild);
    let other = grandchild.toolset();
    other.list().await.unwrap();
    let left = grandchild.log().iter().find_map(|message| message["grandchild"].as_u64()).unwrap();
    println!("PIDS {} {} {left}", fake.pids()[0], grandchild.pids()[0]);
    tokio::time::sleep(Duration::from_secs(60)).await;
}

#[tokio::test]
async fn no_program_outlives_a_process_that_is_killed() {
    let mut holder = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process::a_process_that_holds_a_server", "--nocapture"])
        .env(HOLDER, "1")
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    let pids: Vec<u64> = loop {
        let line =
            tokio::time::timeout(Duration::from_secs(30), lines.next_line()).await.unwrap().unwrap().unwrap();
        if let Some((_, pids)) = line.split_once("PIDS ") {
            break pids
                .split_whitespace()
                .map(|pid| serde_json::from_str::<Value>(pid).unwrap().as_u64().unwrap())
                .collect();
        }
    };
    assert_eq!(pids.len(), 3);
    assert!(pids.iter().all(|pid| lives(*pid)), "{pids:?}");
    holder.start_kill().unwrap();
    holder.wait().await.unwrap();
    within("they end with it", || pids.iter().all(|pid| !lives(*pid))).await;
}

/// What a server is given in confidence is in no record of what it says.
#[test]
fn what_a_server_is_given_in_confidence_is_not_logged() {
    let script = "echo \"my key is $KEY\"; echo \"key=$KEY\" >&2; sleep 1";
    let mut server = StdioServer::new("sh");
    server.args = vec!["-c".into(), script.into()];
    server.env = vec![("KEY".into(), "sesame-sesame".to_owned().into())];
    let mut config = McpConfig::new("fake", Server::Stdio(server));
    config.protocol = Protocol::Handshake;
    let log = Log::default();
    let subscriber =
        tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false).without_time().finish();
    let error = tracing::subscriber::with_default(subscriber, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(McpToolset::new(config).unwrap().list()).unwrap_err()
    });
    let log = log.text();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("backstop::mcp")).collect();
    assert_eq!(
        lines,
        [
            " WARN backstop::mcp: the server wrote a line that is no message: `my key is [secret]` to its standard output toolset=\"fake\"",
            " INFO backstop::mcp: key=[secret] toolset=\"fake\"",
        ]
    );
    assert_eq!(error.detail(), "the server exited with code 0; its last lines on stderr: `key=[secret]`");
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> tracing_subscriber::fmt::MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
