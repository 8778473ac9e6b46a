//! Ctrl-C and SIGTERM cancel what is running; a second one ends the program at once.

use backstop::CancellationToken;

/// Drives `work`, cancelling `token` at the first signal. The work ends by itself then, in bounded time.
pub(crate) async fn cancelling<T>(token: &CancellationToken, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = interrupted() => {
                if token.is_cancelled() {
                    // Asked twice: whoever asks does not want to wait.
                    std::process::exit(130);
                }
                token.cancel();
            }
        }
    }
}

/// Returns at the next Ctrl-C or SIGTERM.
pub(crate) async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    // Where signals can't be heard, nothing interrupts.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
