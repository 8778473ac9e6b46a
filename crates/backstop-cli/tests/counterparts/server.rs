//! Programs that are started for a test and ended with it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

/// A program that serves on loopback. It ends when this is dropped, be it by a panic.
pub(crate) struct Server {
    child: Child,
    url: String,
    log: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts `command` and waits until a line of its output has `marker` in it, with its address behind that.
    pub(crate) fn start(mut command: Command, marker: &str, within: Duration) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let log = Arc::new(Mutex::new(Vec::new()));
        let (sender, found) = mpsc::channel();
        let outputs: [Box<dyn Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for output in outputs {
            let (log, sender, marker) = (Arc::clone(&log), sender.clone(), marker.to_owned());
            thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    let after = line.split_once(&marker).map(|(_, after)| after.trim());
                    if let Some(url) = after.and_then(|after| after.split_whitespace().next()) {
                        // Nobody waits for a second one.
                        let _ = sender.send(url.trim_end_matches([',', '/']).to_owned());
                    }
                    log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
                }
            });
        }
        drop(sender);
        let mut server = Self { child, url: String::new(), log };
        match found.recv_timeout(within) {
            Ok(url) => server.url = url,
            Err(_) => panic!("{command:?} did not get ready within {within:?}\n{}", server.log()),
        }
        server
    }

    /// A program of `tests/counterparts` in the environment `servers` or `model`.
    pub(crate) fn python(environment: &str, program: &str, arguments: &[&Path], within: Duration) -> Self {
        let mut command = Command::new(counterpart(&format!("{environment}/bin/python")));
        // The source tree stays as it is.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command.arg(root().join("tests/counterparts").join(program)).args(arguments);
        Self::start(command, "READY ", within)
    }

    /// Its address, without a slash at the end.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What it printed.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }

    /// The JSON at a path of its host.
    pub(crate) fn get(&self, path: &str) -> Value {
        let host = self.url.trim_start_matches("http://").split('/').next().unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{path}: {error} in {answer}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Asked first: a server with workers ends them then.
        signal(&self.child, "TERM");
        let until = Instant::now() + Duration::from_secs(2);
        while Instant::now() < until {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// Sends a signal to a program.
pub(crate) fn signal(child: &Child, name: &str) {
    let _ = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
}

/// A file or folder that `scripts/counterparts` makes.
pub(crate) fn counterpart(path: &str) -> PathBuf {
    let cache = std::env::var_os("BACKSTOP_CACHE").map_or_else(|| root().join(".cache"), PathBuf::from);
    // The script reads the variable in the root of the repository.
    let found = root().join(cache).join("counterparts").join(path);
    assert!(
        found.exists(),
        "{} is missing: run `scripts/counterparts` in {}, which installs what these tests need",
        found.display(),
        root().display()
    );
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}
