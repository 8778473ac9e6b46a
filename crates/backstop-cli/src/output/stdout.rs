//! What goes to stdout.
//!
//! A reader that has gone away is no reason to fail. A disk that is full is one, when all else is done: whoever
//! asked for the answer does not have it.

use std::{
    io::{Error, ErrorKind, Write},
    sync::OnceLock,
};

static LOST: OnceLock<Error> = OnceLock::new();

/// Writes `text` at once.
pub(crate) fn write(text: &str) {
    let mut stdout = anstream::stdout();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
    {
        let _ = LOST.set(error);
    }
}

/// Why something that was written is lost, if it is.
pub(crate) fn lost() -> Option<&'static Error> {
    LOST.get()
}

/// Text from a model or a tool as a terminal may show it: without escape sequences and other control characters.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}
