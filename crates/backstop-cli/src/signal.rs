//! Ctrl-C and SIGTERM cancel what is running; a second one ends the program at once.

use backstop::CancellationToken;

/// Hears signals from the moment it is made, so none is lost between two waits.
pub(crate) struct Signals {
    #[cfg(unix)]
    heard: Vec<tokio::signal::unix::Signal>,
}

impl Signals {
    #[cfg(unix)]
    pub(crate) fn listen() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        // A signal that can't be heard ends the program as it does without a listener.
        let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
        Self { heard: kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect() }
    }

    #[cfg(not(unix))]
    pub(crate) fn listen() -> Self {
        Self {}
    }

    /// Returns at the next Ctrl-C or SIGTERM.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) {
        use std::task::Poll;
        std::future::poll_fn(|cx| match self.heard.iter_mut().any(|heard| heard.poll_recv(cx).is_ready()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }

    /// Returns at the next Ctrl-C.
    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) {
        // Where signals can't be heard, nothing interrupts.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Drives `work`, cancelling `token` at the first signal. The work ends by itself then, in bounded time.
    pub(crate) async fn cancelling<T>(
        &mut self,
        token: &CancellationToken,
        work: impl Future<Output = T>,
    ) -> T {
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = self.next() => {
                    if token.is_cancelled() {
                        // Asked twice: whoever asks does not want to wait.
                        std::process::exit(130);
                    }
                    token.cancel();
                }
            }
        }
    }
}
