//! Lines from stdin.

use std::{
    io::{Error, Result, Write},
    sync::{Mutex, PoisonError},
};

use anstyle::Style;
use tokio::task::JoinHandle;

type Line = JoinHandle<Result<Option<String>>>;

/// The read that nobody waits for any more. It can't be called off, and what it reads is not to be lost.
static LEFT: Mutex<Option<Line>> = Mutex::new(None);

/// A read that is left to the next who wants a line, unless it ends.
struct Reading(Option<Line>);

impl Drop for Reading {
    fn drop(&mut self) {
        if let Some(line) = self.0.take() {
            *LEFT.lock().unwrap_or_else(PoisonError::into_inner) = Some(line);
        }
    }
}

/// The next line, without its end; `None` where there is no more. Dropping the future loses nothing.
pub(crate) async fn line() -> Result<Option<String>> {
    let left = LEFT.lock().unwrap_or_else(PoisonError::into_inner).take();
    let mut reading = Reading(Some(left.unwrap_or_else(|| tokio::task::spawn_blocking(read))));
    let Some(line) = &mut reading.0 else { return Ok(None) };
    let read = line.await;
    reading.0 = None;
    read.unwrap_or_else(|panicked| Err(Error::other(panicked)))
}

/// The next line, asked for at a terminal.
pub(crate) async fn line_after_prompt(style: Style) -> Result<Option<String>> {
    let mut prompt = Prompt::show(style);
    let line = line().await?;
    prompt.open = line.is_none();
    Ok(line)
}

/// A `>` on stderr. Whoever writes a line ends the prompt's own; where nobody does, it is ended all the same.
struct Prompt {
    open: bool,
}

impl Prompt {
    fn show(style: Style) -> Self {
        let mut stderr = anstream::stderr();
        let _ = write!(stderr, "{style}>{style:#} ").and_then(|()| stderr.flush());
        Self { open: true }
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        if self.open {
            let _ = writeln!(anstream::stderr());
        }
    }
}

fn read() -> Result<Option<String>> {
    let mut line = String::new();
    let bytes = std::io::stdin().read_line(&mut line)?;
    Ok((bytes > 0).then(|| line.trim_end().to_owned()))
}
