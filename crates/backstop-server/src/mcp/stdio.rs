//! The gateway as a program: messages on standard input and output.

use std::time::Duration;

use rmcp::{ServiceExt as _, service::ServerInitializeError};
use tokio_util::sync::CancellationToken;

use super::Gateway;

/// Time for calls to end once they are cancelled.
const LEAVE: Duration = Duration::from_secs(2);

/// Serves on standard input and output until the input ends or `stop` is cancelled. Calls that run then are
/// cancelled.
///
/// # Errors
///
/// Why there was no handshake; the end of the input is none.
pub async fn serve_stdio(gateway: Gateway, stop: CancellationToken) -> Result<(), ServerInitializeError> {
    serve(gateway, rmcp::transport::stdio_pipes(), stop).await
}

async fn serve<R, W>(
    gateway: Gateway,
    (input, output): (R, W),
    stop: CancellationToken,
) -> Result<(), ServerInitializeError>
where
    R: tokio::io::AsyncRead + Send + Sync + Unpin + 'static,
    W: tokio::io::AsyncWrite + Send + Sync + Unpin + 'static,
{
    let running = match gateway.clone().serve_with_ct((input, output), stop).await {
        Ok(running) => running,
        // Whoever started it looked and left, or wants it to end.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(error) => return Err(error),
    };
    tokio::select! {
        _ = running.waiting() => {}
        never = gateway.watch() => match never {},
    }
    gateway.cancel_calls();
    let ended = async {
        while gateway.open_calls() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let _ = tokio::time::timeout(LEAVE, ended).await;
    Ok(())
}
