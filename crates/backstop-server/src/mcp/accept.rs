//! Connections: how many, and how long they may take to say what they want.

use std::{sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{net::TcpListener, sync::Semaphore, task::JoinSet};
use tokio_util::sync::CancellationToken;

/// Connections at the same time; others wait to be taken.
const CONNECTIONS: usize = 2048;
/// Time between two tries to take a connection where the machine has no room for another one.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop` is cancelled, and then until all connections have ended. Dropping it ends them. A connection
/// that has not sent the head of a request within `head` is closed.
pub(super) async fn serve(listener: TcpListener, router: Router, head: Duration, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, stream) = tokio::select! {
            (place, accepted) = accepted => match accepted {
                Ok((stream, _)) => (place, stream),
                Err(cause) => {
                    tracing::warn!(target: "backstop::mcp", %cause, "a connection can't be taken");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            },
            () = stop.cancelled() => break,
        };
        let service = TowerToHyperService::new(router.clone());
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(head);
        let stop = stop.clone();
        connections.spawn(async move {
            let _place = place;
            let mut connection = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
            // A client that goes away is no failure of the server.
            tokio::select! {
                _ = connection.as_mut() => return,
                () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
            }
            let _ = connection.await;
        });
    }
    while connections.join_next().await.is_some() {}
}
