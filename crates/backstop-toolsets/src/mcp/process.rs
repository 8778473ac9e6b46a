//! A server's program: how it is started, what it says beside the protocol, and how it ends.

use std::{
    borrow::Cow,
    collections::VecDeque,
    io,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use backstop_core::{Redactor, ToolError, text::escaped};
use secrecy::ExposeSecret as _;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    task::JoinSet,
    time::timeout,
};

use super::StdioServer;

/// Time that a program has to end by itself when its input ends.
const GRACE: Duration = Duration::from_secs(2);
/// Time that the end of a program is waited for whose output ended.
pub(super) const LAST_WORDS: Duration = Duration::from_millis(500);
/// Lines on stderr that operators get to see with the end of a program.
const LINES: usize = 5;
/// Bytes of such a line.
const LINE_CAP: usize = 300;
/// Bytes of a line on stderr that are read as one.
const STDERR_CAP: u64 = 16 * 1024;

/// The last lines on stderr.
type Lines = Arc<Mutex<VecDeque<String>>>;

/// A program that runs, and everything that it started, until this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Group,
    lines: Lines,
    /// Reads stderr.
    tasks: JoinSet<()>,
}

impl Process {
    /// Starts the program of `server`, and gives its input and output.
    ///
    /// # Errors
    ///
    /// `misconfigured` where it can't be started.
    pub(super) fn start(
        toolset: &str,
        server: &StdioServer,
        redactor: &Redactor,
    ) -> Result<(Self, ChildStdin, ChildStdout), ToolError> {
        let program = server.program.display().to_string();
        let failed = |cause: io::Error| {
            let why = match cause.kind() {
                io::ErrorKind::NotFound => "there is no such program",
                io::ErrorKind::PermissionDenied => "it may not be run",
                _ => "it can't be started",
            };
            ToolError::misconfigured(format!("`{}`: {why}", escaped(&program, LINE_CAP))).with_source(cause)
        };
        if let Some(cwd) = server.cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
            let detail =
                format!("`{}` is no folder to start a program in", escaped(&cwd.display().to_string(), 300));
            return Err(ToolError::misconfigured(detail));
        }
        let mut command = Command::new(&server.program);
        command
            .args(&server.args)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.kill_on_drop(true);
        for name in StdioServer::INHERITED {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(server.env.iter().map(|(name, value)| (name, value.expose_secret())));
        if let Some(cwd) = &server.cwd {
            command.current_dir(cwd);
        }
        // Of its own, so that all that it starts can be ended with it, and no Ctrl-C reaches it but through us.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn().map_err(failed)?;
        let group = Group::new(&child);
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(ToolError::internal("a program was started without its pipes"));
        };
        let lines = Lines::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(log(toolset.to_owned(), redactor.clone(), stderr, Arc::clone(&lines)));
        Ok((Self { child, group, lines, tasks }, stdin, stdout))
    }

    /// Waits for the program to end, whose input has ended; ends it where it does not.
    pub(super) async fn end(&mut self) {
        if timeout(GRACE, self.child.wait()).await.is_err() {
            self.group.end(false);
            let _ = timeout(GRACE, self.child.wait()).await;
        }
        self.group.end(true);
        let _ = timeout(GRACE, self.child.wait()).await;
    }

    /// How the program ended, with its last lines on stderr, or `otherwise` where it lives on; for operators.
    pub(super) async fn last_words(&mut self, otherwise: &str) -> String {
        let how = match timeout(LAST_WORDS, self.child.wait()).await {
            Ok(Ok(status)) => ended(status),
            Ok(Err(_)) | Err(_) => otherwise.to_owned(),
        };
        // What it wrote before its end may still be on its way.
        let _ = timeout(LAST_WORDS, self.tasks.join_next()).await;
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.is_empty() {
            return how;
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        format!("{how}; its last lines on stderr: `{}`", lines.join("` `"))
    }
}

fn ended(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("the server was ended by signal {signal}");
    }
    match status.code() {
        Some(code) => format!("the server exited with code {code}"),
        None => "the server ended".into(),
    }
}

/// Logs what a server says on stderr, line by line, under the name of its toolset.
async fn log(toolset: String, redactor: Redactor, stderr: ChildStderr, lines: Lines) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut reader).take(STDERR_CAP).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        let text = redactor.redact(text.trim_end()).map_or_else(|| text.trim_end().into(), Cow::from);
        if text.is_empty() {
            continue;
        }
        tracing::info!(target: "backstop::mcp", toolset, "{}", escaped(&text, STDERR_CAP as usize));
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push_back(escaped(&text, LINE_CAP));
        if lines.len() > LINES {
            lines.pop_front();
        }
    }
}

/// A program and all that it started. Dropping it ends them; so does the end of this process, however it comes.
#[derive(Debug)]
struct Group {
    #[cfg(unix)]
    id: Option<nix::unistd::Pid>,
    /// Waits for the end of this process, which closes its input.
    #[cfg(unix)]
    guard: Option<std::process::Child>,
}

#[cfg(unix)]
impl Group {
    fn new(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok()).map(nix::unistd::Pid::from_raw);
        Self { guard: id.and_then(watch), id }
    }

    /// Asks all of it to end, or ends it.
    fn end(&self, at_once: bool) {
        use nix::sys::signal::{Signal, killpg};
        let signal = if at_once { Signal::SIGKILL } else { Signal::SIGTERM };
        if let Some(id) = self.id {
            // An error says that nobody is left.
            let _ = killpg(id, signal);
        }
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        self.end(true);
        if let Some(mut guard) = self.guard.take() {
            // It would end a group that may by then be somebody else's.
            let _ = guard.kill();
            let _ = guard.wait();
        }
    }
}

/// Starts a shell that ends the group when its input ends, which is when this process does. No signal can be left for
/// that: a process that is killed sends none, and most servers outlive the end of their input if they are busy.
#[cfg(unix)]
fn watch(group: nix::unistd::Pid) -> Option<std::process::Child> {
    use std::os::unix::process::CommandExt as _;
    let started = std::process::Command::new("/bin/sh")
        .args(["-c", "read -r _; kill -s KILL -- \"-$1\"", "backstop-guard", &group.to_string()])
        .env_clear()
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    started.inspect_err(|cause| tracing::warn!(target: "backstop::mcp", %cause, "no guard for a server")).ok()
}

#[cfg(not(unix))]
impl Group {
    fn new(_: &Child) -> Self {
        Self {}
    }

    /// The child itself is ended when it is dropped.
    fn end(&self, _: bool) {}
}
