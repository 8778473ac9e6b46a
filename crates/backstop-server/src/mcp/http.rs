//! The gateway as a service: streamable HTTP at `/mcp`.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use axum::{Router, middleware};
use rmcp::transport::{
    StreamableHttpServerConfig, StreamableHttpService,
    streamable_http_server::session::local::LocalSessionManager,
};
use tokio::{
    net::TcpListener,
    sync::{Mutex, Semaphore},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    Gateway, Tokens,
    accept::serve,
    guard::{Guard, REQUESTS, pass},
};

/// Time for connections to end once they are told to.
const LEAVE: Duration = Duration::from_secs(2);

/// Time for the last answers to leave.
const FLUSH: Duration = Duration::from_millis(50);

/// Where and for whom a gateway serves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpOptions {
    /// The bearer tokens that are taken; everybody may ask where there are none, which is for loopback only.
    pub tokens: Tokens,
    /// Names in the header `Host` beside those of loopback and of the address.
    pub hosts: Vec<String>,
    /// Origins of web pages that may ask, such as `https://app.example:443`, beside those of loopback.
    pub origins: Vec<String>,
    /// Sessions at the same time: 1024 unless said otherwise.
    pub max_sessions: usize,
    /// Time after which a session ends that nobody uses, and whose client then begins a new one: 30 min unless said
    /// otherwise.
    pub idle: Duration,
    /// Bytes of a request at most: 4 MiB unless said otherwise.
    pub max_body: usize,
    /// Time for the head of a request to come: 15 s unless said otherwise.
    pub head_timeout: Duration,
    /// Time for calls to end by themselves once it is to stop, before they are cancelled: 10 s unless said otherwise.
    pub drain: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            tokens: Tokens::default(),
            hosts: Vec::new(),
            origins: Vec::new(),
            max_sessions: 1024,
            idle: Duration::from_secs(30 * 60),
            max_body: 4 * 1024 * 1024,
            head_timeout: Duration::from_secs(15),
            drain: Duration::from_secs(10),
        }
    }
}

/// Why a gateway does not serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Everybody who reaches the address could use the tools.
    #[error("{0} can be reached from elsewhere: a token is needed")]
    Open(SocketAddr),
    /// The address can't be used.
    #[error("can't serve at {0}")]
    Address(SocketAddr, #[source] io::Error),
}

/// Serves at `/mcp` until `stop` is cancelled; then calls that run have some time to end. Once it listens, `ready` is told
/// the address.
///
/// # Errors
///
/// [`ServeError`] where it can't begin, or may not.
pub async fn serve_http(
    gateway: Gateway,
    address: SocketAddr,
    options: HttpOptions,
    stop: CancellationToken,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    if options.tokens.is_empty() && !address.ip().is_loopback() {
        return Err(ServeError::Open(address));
    }
    let failed = |cause| ServeError::Address(address, cause);
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let end = CancellationToken::new();
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(options.idle);
    let sessions = Arc::new(sessions);
    let (head, drain) = (options.head_timeout, options.drain);
    let router = router(gateway.clone(), bound, options, sessions, end.clone());
    ready(bound);
    let mut serving = pin!(serve(listener, router, head, stop.clone()));
    tokio::select! {
        () = &mut serving => return Ok(()),
        never = gateway.watch() => match never {},
        () = stop.cancelled() => {}
    }
    let none = || async {
        while gateway.open_calls() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let drained = async {
        if timeout(drain, none()).await.is_err() {
            // Each of them still has its answer.
            gateway.cancel_calls();
            let _ = timeout(LEAVE, none()).await;
        }
        tokio::time::sleep(FLUSH).await;
    };
    tokio::select! {
        () = &mut serving => return Ok(()),
        () = drained => {}
    }
    // Open streams hold the server for ever: they are ended now that no call needs them.
    end.cancel();
    let _ = timeout(LEAVE, serving).await;
    Ok(())
}

fn router(
    gateway: Gateway,
    bound: SocketAddr,
    options: HttpOptions,
    sessions: Arc<LocalSessionManager>,
    end: CancellationToken,
) -> Router {
    let mut hosts =
        vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned(), "::1".to_owned()];
    hosts.push(match bound.ip() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    });
    hosts.extend(options.hosts);
    let mut origins: Vec<String> =
        ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"].map(str::to_owned).to_vec();
    origins.extend(options.origins);
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts)
        .with_allowed_origins(origins)
        .with_max_request_body_bytes(options.max_body)
        .with_cancellation_token(end);
    let guard = Guard {
        tokens: options.tokens,
        max_body: options.max_body,
        requests: Arc::new(Semaphore::new(REQUESTS)),
        sessions: Arc::clone(&sessions),
        max_sessions: options.max_sessions,
        opening: Mutex::new(()),
        gateway: gateway.clone(),
    };
    let service = StreamableHttpService::new(move || Ok(gateway.clone()), sessions, config);
    Router::new().route_service("/mcp", service).layer(middleware::from_fn_with_state(Arc::new(guard), pass))
}
