//! The spinner on a terminal.

use std::{
    io::IsTerminal,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressStyle};

const TICK: Duration = Duration::from_millis(120);

/// A spinner on stderr, where that is a terminal. It is drawn on a line of its own, so it must be hidden while
/// something is written that does not end its line.
pub(crate) struct Spinner {
    on: bool,
    bar: Mutex<Option<ProgressBar>>,
}

impl Spinner {
    pub(crate) fn new() -> Self {
        Self { on: std::io::stderr().is_terminal(), bar: Mutex::default() }
    }

    /// Shows what is waited for.
    pub(crate) fn busy(&self, message: String) {
        if !self.on {
            return;
        }
        let mut bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        let bar = bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{spinner} {msg}");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
            let bar = ProgressBar::new_spinner().with_style(style);
            bar.enable_steady_tick(TICK);
            bar
        });
        bar.set_message(message);
    }

    /// Takes it off the screen, until it is busy again.
    pub(crate) fn hide(&self) {
        if let Some(bar) = self.bar.lock().unwrap_or_else(PoisonError::into_inner).take() {
            bar.finish_and_clear();
        }
    }

    /// Writes whole lines above it.
    pub(crate) fn above(&self, write: impl FnOnce()) {
        match &*self.bar.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}
