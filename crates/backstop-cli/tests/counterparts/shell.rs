//! The `backstop` command on a manifest, and what came of it.

use std::{
    fmt,
    io::{Read, Write},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::server::{Server, signal};

/// A program that does not end by itself within this time has failed.
const PATIENCE: Duration = Duration::from_secs(100);

/// The shop of the quickstart, on a free port.
pub(crate) fn shop() -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_backstop"));
    command.args(["quickstart", "--serve", "127.0.0.1:0"]);
    Server::start(command, "the shop is at ", Duration::from_secs(10))
}

/// A manifest in a folder of its own.
pub(crate) struct Manifest {
    folder: TempDir,
    secrets: Vec<(&'static str, &'static str)>,
}

impl Manifest {
    pub(crate) fn new(text: &str) -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("backstop.yaml"), text).unwrap();
        Self { folder, secrets: Vec::new() }
    }

    /// Sets a variable of the environment.
    pub(crate) fn secret(mut self, name: &'static str, value: &'static str) -> Self {
        self.secrets.push((name, value));
        self
    }

    /// `backstop COMMAND <the manifest> ARGUMENTS…`, to its end.
    pub(crate) fn ran(&self, command: &str, arguments: &[&str]) -> Ran {
        self.started(command, arguments, "").ended()
    }

    /// `backstop call <the manifest> TOOL ARGUMENTS --json`.
    pub(crate) fn call(&self, tool: &str, arguments: &str) -> Ran {
        self.ran("call", &[tool, arguments, "--json"])
    }

    /// Starts the command. `stdin` is all that it gets to read.
    pub(crate) fn started(&self, command: &str, arguments: &[&str], stdin: &str) -> Running {
        let mut program = Command::new(env!("CARGO_BIN_EXE_backstop"));
        for name in ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "BACKSTOP_LOG"] {
            program.env_remove(name);
        }
        program.env("NO_PROXY", "127.0.0.1").envs(self.secrets.iter().copied());
        let manifest: PathBuf = self.folder.path().join("backstop.yaml");
        program.arg(command).arg(manifest).args(arguments);
        let shown = format!("backstop {command} … {}", arguments.join(" "));
        let mut child =
            program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
        let stdout = collected(child.stdout.take().unwrap());
        let stderr = collected(child.stderr.take().unwrap());
        Running { child, stdout: Some(stdout), stderr: Some(stderr), since: Instant::now(), shown }
    }
}

fn collected(mut output: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut text = Vec::new();
        output.read_to_end(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    })
}

/// The command while it works. It ends when this is dropped.
pub(crate) struct Running {
    child: Child,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
    since: Instant,
    shown: String,
}

impl Running {
    /// The id of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Interrupts it as Ctrl-C does.
    pub(crate) fn interrupt(&mut self) {
        signal(&self.child, "INT");
        self.since = Instant::now();
    }

    /// Waits for its end. The time is counted from the start, or from the interruption.
    pub(crate) fn ended(mut self) -> Ran {
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "{} did not end within {PATIENCE:?}", self.shown);
            thread::sleep(Duration::from_millis(5));
        };
        let took = self.since.elapsed();
        Ran {
            code: status.code(),
            stdout: self.stdout.take().unwrap().join().unwrap(),
            stderr: self.stderr.take().unwrap().join().unwrap(),
            took,
            shown: std::mem::take(&mut self.shown),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// What came of a command. `Display` shows all of it.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
    shown: String,
}

impl Ran {
    /// The one JSON document on stdout.
    pub(crate) fn document(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("no JSON document ({error}): {self}"))
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, stdout, stderr, took, shown } = self;
        write!(f, "{shown}\nexit code {code:?} after {took:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}
