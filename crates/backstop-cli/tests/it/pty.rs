//! The command as a person at a terminal sees it: keys in, a screen out.

use std::{
    io::{Read, Write},
    num::NonZeroU16,
    process::Child,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::{Duration, Instant},
};

use pty_process::{
    Size,
    blocking::{Command, Pty},
};

use crate::shell::{Folder, made_the_same};

const DEADLINE: Duration = Duration::from_secs(20);
const ROWS: u16 = 40;
const COLUMNS: u16 = 120;

/// A terminal in which the command runs. It is killed when the test is done with it.
pub(crate) struct Terminal {
    /// It is there as long as the command runs.
    _folder: Folder,
    child: Child,
    pty: Arc<Pty>,
    bytes: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    deadline: Instant,
}

impl Terminal {
    /// Starts the command in this folder, with these variables and no other but `PATH` and `TERM`.
    pub(crate) fn start(folder: &Folder, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let (pty, pts) = pty_process::blocking::open().unwrap();
        pty.resize(Size::new(ROWS, COLUMNS)).unwrap();
        let command =
            Command::new(env!("CARGO_BIN_EXE_backstop")).args(arguments).current_dir(folder.path("."));
        let command = command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("TERM", "xterm");
        let child = command.envs(variables.iter().copied()).spawn(pts).unwrap();
        let pty = Arc::new(pty);
        let (to, bytes) = channel();
        let reader = Arc::clone(&pty);
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            // The end of the command is an error here, or nothing.
            while let Ok(read @ 1..) = (&*reader).read(&mut buffer) {
                if to.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        let size = |cells| NonZeroU16::new(cells).unwrap();
        let screen = vt100::Parser::new(size(ROWS), size(COLUMNS), 0);
        Self { _folder: folder.clone(), child, pty, bytes, screen, deadline: Instant::now() + DEADLINE }
    }

    /// What is on the screen.
    pub(crate) fn screen(&self) -> String {
        made_the_same(self.screen.screen().contents())
    }

    /// Waits until this is on the screen.
    #[track_caller]
    pub(crate) fn shows(&mut self, part: &str) {
        while !self.screen.screen().contents().contains(part) {
            assert!(self.takes_in(), "it ended and never showed `{part}`:\n{}", self.screen());
        }
    }

    /// Presses these keys.
    pub(crate) fn types(&self, keys: &str) {
        (&*self.pty).write_all(keys.as_bytes()).unwrap();
    }

    /// Presses Ctrl-C.
    pub(crate) fn interrupts(&self) {
        self.types("\x03");
    }

    /// Waits for the end: the exit code, and the screen that is left. What comes next begins a line of its own.
    #[track_caller]
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        while self.takes_in() {}
        let (_, column) = self.screen.screen().cursor_position();
        assert_eq!(column, 0, "the last line is not ended:\n{}", self.screen());
        (self.child.wait().unwrap().code(), self.screen())
    }

    /// Takes in more of what is written, unless there is none.
    #[track_caller]
    fn takes_in(&mut self) -> bool {
        match self.bytes.recv_timeout(self.deadline.saturating_duration_since(Instant::now())) {
            Ok(bytes) => self.screen.process(&bytes),
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => panic!("not within {DEADLINE:?}:\n{}", self.screen()),
        }
        true
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
