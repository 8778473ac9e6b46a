//! One connection to a server: how it is made, and what belongs to it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use backstop_core::{ToolError, ToolErrorKind, text::duration};
use rmcp::{
    RoleClient,
    model::{ProtocolVersion, ServerNotification, ServerPeerInfo, SubscriptionFilter},
    service::{
        ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, Peer, RequestHandle,
        RunningService,
    },
    transport::Transport,
};
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, timeout},
};

use super::{
    McpConfig, Protocol, Server, error,
    handler::{Handler, News},
    http,
    stdio::{Obituary, Stdio},
};

/// Requests that wait to be taken back.
const ABANDONED: usize = 1024;
/// Time for one request to be taken back.
const CANCEL: Duration = Duration::from_secs(5);

/// A connection to a server. Dropping it ends the session, and the program where there is one.
#[derive(Debug)]
pub(super) struct Connection {
    service: RunningService<RoleClient, Handler>,
    news: Arc<News>,
    obituary: Obituary,
    abandoned: mpsc::Sender<RequestHandle<RoleClient>>,
    /// Nothing could be sent, which is known before the service knows it.
    broken: AtomicBool,
    /// Takes back requests, and listens for what changes.
    _tasks: JoinSet<()>,
}

impl Connection {
    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub(super) fn handler(&self) -> &Handler {
        self.service.service()
    }

    pub(super) fn news(&self) -> &Arc<News> {
        &self.news
    }

    pub(super) fn abandoned(&self) -> &mpsc::Sender<RequestHandle<RoleClient>> {
        &self.abandoned
    }

    /// Whether nothing can be sent any more.
    pub(super) fn is_closed(&self) -> bool {
        self.broken.load(Ordering::Acquire) || self.service.is_closed() || self.peer().is_transport_closed()
    }

    /// Nothing can be sent any more.
    pub(super) fn give_up(&self) {
        self.broken.store(true, Ordering::Release);
    }

    /// Why nothing can be sent any more, for operators.
    pub(super) fn obituary(&self) -> Option<String> {
        self.obituary.read()
    }

    /// What the server said of itself.
    pub(super) fn server(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer().peer_info()
    }

    /// The protocol that the server was found to speak.
    pub(super) fn protocol(&self) -> Protocol {
        let stateless = self.server().is_some_and(|server| !server.protocol_version.has_initialize());
        if stateless { Protocol::Stateless } else { Protocol::Handshake }
    }
}

/// Connects to a server in the time that it has to start.
///
/// Of a server of which nothing is known, the newest protocol is asked for. Some end at a question that they don't
/// know: those are started once more, and asked in the old way.
///
/// # Errors
///
/// `unavailable` or `timeout` where there is no connection, `misconfigured` where there can be none, and what an
/// address answers.
pub(super) async fn connect(
    config: &Arc<McpConfig>,
    news: &Arc<News>,
    protocol: Protocol,
) -> Result<Connection, ToolError> {
    let begun = Instant::now();
    let until = begun + config.start_timeout;
    let first = match (&config.server, protocol) {
        // Of an address that ignores the question nothing more comes: the way to it is busy with waiting.
        (Server::Http(_), Protocol::Auto) => start(config, news, protocol, begun + patience(config)).await,
        _ => start(config, news, protocol, until).await,
    };
    let error = match first {
        Err(error) if protocol == Protocol::Auto && may_be_older(config, &error) => error,
        other => return other,
    };
    tracing::debug!(
        target: "backstop::mcp", toolset = config.name, %error, "no answer to the newest protocol: trying older ones"
    );
    start(config, news, Protocol::Handshake, until).await
}

/// Whether a server may only not know the newest protocol.
fn may_be_older(config: &McpConfig, error: &ToolError) -> bool {
    match (&config.server, error.kind()) {
        (_, ToolErrorKind::Unauthenticated | ToolErrorKind::RateLimited) => false,
        (Server::Stdio(_), kind) => !matches!(kind, ToolErrorKind::Misconfigured | ToolErrorKind::Timeout),
        // What it says to the question must not be that there is no way to it.
        (Server::Http(_), kind) => {
            error.status().is_some()
                || error.code().is_some()
                || matches!(kind, ToolErrorKind::InvalidOutput | ToolErrorKind::Timeout)
        }
    }
}

/// Time for a server to say whether it speaks the newest protocol, so that there is some left to ask for an older one.
fn patience(config: &McpConfig) -> Duration {
    config.start_timeout / 3
}

async fn start(
    config: &Arc<McpConfig>,
    news: &Arc<News>,
    protocol: Protocol,
    until: Instant,
) -> Result<Connection, ToolError> {
    let obituary = Obituary::default();
    match &config.server {
        Server::Stdio(server) => {
            let patience = (protocol == Protocol::Auto).then(|| patience(config));
            let transport = Stdio::start(config, server, patience, obituary.clone())?;
            serve(config, news, protocol, until, transport, obituary).await
        }
        Server::Http(server) => {
            let transport = http::transport(server, config.max_message)?;
            serve(config, news, protocol, until, transport, obituary).await
        }
    }
}

async fn serve<T: Transport<RoleClient> + 'static>(
    config: &Arc<McpConfig>,
    news: &Arc<News>,
    protocol: Protocol,
    until: Instant,
    transport: T,
    obituary: Obituary,
) -> Result<Connection, ToolError> {
    let handler = Handler::new(Arc::clone(config), Arc::clone(news));
    let started = handler.serve_with_lifecycle(transport, lifecycle(protocol));
    // Boxed: it is large, and is held across each await of those who wait for it.
    let started: Result<_, ClientInitializeError> =
        match tokio::time::timeout_at(until, Box::pin(started)).await {
            Ok(started) => started,
            Err(_) => {
                let limit = config.start_timeout;
                let detail = format!("the server did not start within {}", duration(limit));
                return Err(ToolError::timeout(limit, detail).not_applied());
            }
        };
    let service = started.map_err(|cause| error::start(cause, obituary.read()))?;
    let (abandoned, taken_back) = mpsc::channel(ABANDONED);
    let mut tasks = JoinSet::new();
    tasks.spawn(take_back(taken_back));
    if listens(service.peer()) {
        tasks.spawn(listen(service.peer().clone(), Arc::clone(news)));
    }
    Ok(Connection {
        service,
        news: Arc::clone(news),
        obituary,
        abandoned,
        broken: AtomicBool::new(false),
        _tasks: tasks,
    })
}

fn lifecycle(protocol: Protocol) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::LATEST];
    match protocol {
        Protocol::Auto => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        Protocol::Stateless => ClientLifecycleMode::Discover { preferred_versions },
        Protocol::Handshake => ClientLifecycleMode::Initialize,
    }
}

/// Tells the server of requests that nobody waits for any more.
async fn take_back(mut abandoned: mpsc::Receiver<RequestHandle<RoleClient>>) {
    while let Some(handle) = abandoned.recv().await {
        let _ = timeout(CANCEL, handle.cancel(Some("nobody waits for it any more".into()))).await;
    }
}

/// Whether the server tells of changes only to those who ask for it.
fn listens(peer: &Peer<RoleClient>) -> bool {
    peer.peer_info().is_some_and(|server| {
        let tools = server.capabilities.tools.as_ref();
        !server.protocol_version.has_initialize()
            && tools.is_some_and(|tools| tools.list_changed == Some(true))
    })
}

/// Listens for changes of the list of tools, as the protocol without sessions has it.
async fn listen(peer: Peer<RoleClient>, news: Arc<News>) {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut subscription = match peer.listen(filter).await {
        Ok(subscription) => subscription,
        Err(cause) => {
            tracing::debug!(target: "backstop::mcp", %cause, "the server does not tell of changes");
            return;
        }
    };
    while let Ok(Some(notification)) = subscription.next().await {
        if matches!(notification, ServerNotification::ToolListChangedNotification(_)) {
            news.changed();
        }
    }
}
