//! The command as a shell sees it: arguments and variables in, an exit code and two streams out.
//!
//! A process sees nothing of the variables of whoever runs the tests, and none lives longer than [`DEADLINE`].

use std::{
    fmt,
    io::{BufRead, BufReader, Read, Write},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc, LazyLock,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use regex::Regex;
use serde_json::Value;
use tempfile::TempDir;

const DEADLINE: Duration = Duration::from_secs(20);

/// A folder of its own, in which commands run. It is there as long as one of its clones is.
#[derive(Clone)]
pub(crate) struct Folder(Arc<TempDir>);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(Arc::new(TempDir::new().unwrap()))
    }

    /// Adds a file.
    pub(crate) fn with(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        std::fs::write(self.path(name), content).unwrap();
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The command with these arguments, in this folder, with no variable but `PATH`.
    pub(crate) fn backstop(&self, arguments: &[&str]) -> Invocation {
        let mut command = Command::new(env!("CARGO_BIN_EXE_backstop"));
        command.args(arguments).current_dir(self.0.path()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let quoted = arguments.iter().map(|argument| match argument.contains([' ', '{', '"']) {
            true => format!(" '{argument}'"),
            false => format!(" {argument}"),
        });
        Invocation {
            command,
            shown: format!("backstop{}", quoted.collect::<String>()),
            stdin: None,
            folder: Arc::clone(&self.0),
        }
    }
}

/// A command that is not yet run.
#[must_use = "it is not yet run"]
pub(crate) struct Invocation {
    command: Command,
    shown: String,
    stdin: Option<Vec<u8>>,
    folder: Arc<TempDir>,
}

impl Invocation {
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn stdin(mut self, content: impl Into<Vec<u8>>) -> Self {
        self.command.stdin(Stdio::piped());
        self.stdin = Some(content.into());
        self
    }

    pub(crate) fn stdin_from(mut self, stdin: impl Into<Stdio>) -> Self {
        self.command.stdin(stdin);
        self
    }

    pub(crate) fn stdout(mut self, stdout: impl Into<Stdio>) -> Self {
        self.command.stdout(stdout);
        self
    }

    pub(crate) fn stderr(mut self, stderr: impl Into<Stdio>) -> Self {
        self.command.stderr(stderr);
        self
    }

    pub(crate) fn start(mut self) -> Running {
        let mut child = self.command.spawn().unwrap();
        // What it does not read by its end is not written.
        if let (Some(mut stdin), Some(content)) = (child.stdin.take(), self.stdin) {
            thread::spawn(move || stdin.write_all(&content));
        }
        let (to, lines) = channel();
        if let Some(stdout) = child.stdout.take() {
            forward(stdout, Stream::Stdout, to.clone());
        }
        if let Some(stderr) = child.stderr.take() {
            forward(stderr, Stream::Stderr, to);
        }
        let deadline = Instant::now() + DEADLINE;
        Running {
            _folder: self.folder,
            child,
            lines,
            deadline,
            ended: Ended { shown: self.shown, ..Ended::default() },
        }
    }

    pub(crate) fn run(self) -> Ended {
        self.start().wait()
    }
}

#[derive(Clone, Copy)]
enum Stream {
    Stdout,
    Stderr,
}

fn forward(from: impl Read + Send + 'static, stream: Stream, to: Sender<(Stream, String)>) {
    thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line).unwrap() > 0 {
            let text = String::from_utf8(std::mem::take(&mut line)).unwrap();
            if to.send((stream, text)).is_err() {
                return;
            }
        }
    });
}

/// A command that runs. It is killed when the test is done with it.
pub(crate) struct Running {
    /// It is there as long as the command runs.
    _folder: Arc<TempDir>,
    child: Child,
    lines: Receiver<(Stream, String)>,
    deadline: Instant,
    ended: Ended,
}

impl Running {
    /// Waits for a line on stderr that contains `part`.
    pub(crate) fn says(&mut self, part: &str) -> String {
        while self.next_line() {
            if let Some(line) = self.ended.stderr.lines().last().filter(|line| line.contains(part)) {
                return line.to_owned();
            }
        }
        panic!("it ended and never said `{part}`:\n{}", self.ended);
    }

    /// Presses Ctrl-C.
    pub(crate) fn interrupt(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    }

    pub(crate) fn wait(mut self) -> Ended {
        while self.next_line() {}
        let status = self.child.wait().unwrap();
        assert!(status.code().is_some(), "{status}:\n{}", self.ended);
        self.ended.code = status.code();
        std::mem::take(&mut self.ended)
    }

    /// Takes in one more line, unless there is none.
    fn next_line(&mut self) -> bool {
        use std::sync::mpsc::RecvTimeoutError::{Disconnected, Timeout};
        match self.lines.recv_timeout(self.deadline.saturating_duration_since(Instant::now())) {
            Ok((Stream::Stdout, line)) => self.ended.stdout.push_str(&line),
            Ok((Stream::Stderr, line)) => self.ended.stderr.push_str(&line),
            Err(Disconnected) => return false,
            Err(Timeout) => panic!("it did not end within {DEADLINE:?}:\n{}", self.ended),
        }
        true
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command that ended. It is shown as [`made_the_same`].
#[derive(Debug, Default)]
pub(crate) struct Ended {
    shown: String,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// The document on stdout.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}:\n{self}"))
    }

    /// The documents on stdout, one a line.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        let line = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}:\n{self}"));
        self.stdout.lines().map(line).collect()
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code.map_or("none".into(), |code| code.to_string());
        let mut text = format!("$ {}\nexit code: {code}\n", self.shown);
        for (name, content) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !content.is_empty() {
                let end = if content.ends_with('\n') { "" } else { "(no line end)\n" };
                text += &format!("----- {name} -----\n{content}{end}");
            }
        }
        f.write_str(&made_the_same(text))
    }
}

/// A text with everything that differs from run to run made the same.
pub(crate) fn made_the_same(mut text: String) -> String {
    static FILTERS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        let filters = [
            (r"error reference: [0-9a-f]{8}", "error reference: 1a2b3c4d"),
            (r#""reference": "[0-9a-f]{8}""#, r#""reference": "1a2b3c4d""#),
            (r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "RUN"),
            // The ports that the system gives out.
            (r"127\.0\.0\.1:[3-6][0-9]{4}", "127.0.0.1:PORT"),
            (r"\b[0-9]+ ms\b", "N ms"),
            (r"in [0-9.]+ (milliseconds|seconds?)", "in TIME"),
            (r#""(at|seed|elapsed_ms|wait_ms)": ?[0-9]+"#, r#""$1": 0"#),
            // Clap leaves spaces where a line has no help.
            (r"(?m)[ \t]+$", ""),
        ];
        filters.map(|(pattern, by)| (Regex::new(pattern).unwrap(), by)).into()
    });

    for (pattern, by) in FILTERS.iter() {
        text = pattern.replace_all(&text, *by).into_owned();
    }
    text
}
