//! What is on offer, and how a call is made.

use std::{
    convert::Infallible,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    num::NonZeroUsize,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use backstop::{Agent, CatalogEntry, Definition};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult, ErrorCode,
        Implementation, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
        ServerCapabilities, ServerConfig, SubscriptionFilter, ToolsCapability,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::Value;
use tokio::{
    sync::{Semaphore, watch},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{host::Host, result::result, tool::tool};

/// Tools of one page of the list.
const PAGE: usize = 100;
/// Time between two signs of life of a call that takes long.
const PROGRESS: Duration = Duration::from_secs(5);
/// Time for a client to take what it is told.
const TELL: Duration = Duration::from_secs(2);
/// Time between two looks for changes, and for sessions that are over.
const LOOK: Duration = Duration::from_secs(1);
const SESSION: Duration = Duration::from_secs(30);
/// The code of a request that is not taken because there are too many.
const BUSY: i32 = -32_000;

/// How a gateway behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GatewayOptions {
    /// Whether the host asks its user before each call, so that no call waits for another approval.
    pub host_approves: bool,
    /// Calls that run at the same time: 64 unless said otherwise.
    pub calls: NonZeroUsize,
    /// Calls that wait for their turn; more are refused. 256 unless said otherwise.
    pub queue: usize,
    /// Time between two signs of life of a call, for clients that want them: 5 s unless said otherwise.
    pub progress: Duration,
}

impl Default for GatewayOptions {
    fn default() -> Self {
        Self {
            host_approves: false,
            calls: NonZeroUsize::new(64).unwrap_or(NonZeroUsize::MIN),
            queue: 256,
            progress: PROGRESS,
        }
    }
}

/// Gives an agent's tools to whoever speaks the Model Context Protocol. Cheap to clone: each session has one.
#[derive(Clone)]
pub struct Gateway(Arc<Shared>);

struct Shared {
    agent: Agent,
    options: GatewayOptions,
    running: Semaphore,
    /// Calls that run or wait.
    taken: AtomicUsize,
    /// Cancels all calls.
    stop: CancellationToken,
    /// Counts the changes of what is on offer, for those who want to be told.
    changes: watch::Sender<u64>,
}

impl Gateway {
    /// A gateway to the tools of this agent.
    pub fn new(agent: Agent, options: GatewayOptions) -> Self {
        let running = Semaphore::new(options.calls.get().min(Semaphore::MAX_PERMITS));
        let (taken, stop, changes) = (AtomicUsize::new(0), CancellationToken::new(), watch::Sender::new(0));
        Self(Arc::new(Shared { agent, options, running, taken, stop, changes }))
    }

    /// Calls that run or wait.
    pub fn open_calls(&self) -> usize {
        self.0.taken.load(Ordering::Acquire)
    }

    /// Whether another call would be refused.
    pub(super) fn is_full(&self) -> bool {
        self.open_calls() >= self.most()
    }

    /// Cancels all calls that run or wait; each is answered all the same.
    pub(super) fn cancel_calls(&self) {
        self.0.stop.cancel();
    }

    /// Looks for tools that came up or went away, and tells whoever wants to know, for as long as it is polled.
    pub(super) async fn watch(&self) -> Infallible {
        loop {
            tokio::time::sleep(LOOK).await;
            self.look().await;
        }
    }

    /// Offers the tools that there are by now.
    async fn look(&self) {
        if self.0.agent.has_changed() {
            let before = self.definition();
            self.0.agent.refresh().await;
            if !Arc::ptr_eq(&before, &self.definition()) {
                self.0.changes.send_modify(|changes| *changes += 1);
            }
        }
    }

    fn most(&self) -> usize {
        self.0.options.calls.get().saturating_add(self.0.options.queue)
    }

    fn definition(&self) -> Arc<Definition> {
        self.0.agent.definition()
    }

    /// A place among the calls that run or wait.
    fn take(&self) -> Result<Taken<'_>, ErrorData> {
        let taken = Taken(&self.0.taken);
        if self.0.taken.fetch_add(1, Ordering::AcqRel) >= self.most() {
            drop(taken);
            return Err(ErrorData::new(ErrorCode(BUSY), "too many calls wait: try again later", None));
        }
        Ok(taken)
    }
}

/// A place that is given back when this is dropped.
struct Taken<'a>(&'a AtomicUsize);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl ServerHandler for Gateway {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::default();
        let mut tools = ToolsCapability::default();
        tools.list_changed = Some(true);
        capabilities.tools = Some(tools);
        let name = self.0.agent.name().to_owned();
        ServerConfig::new(capabilities).with_server_info(Implementation::new(name, env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.look().await;
        let definition = self.definition();
        let entries = definition.catalog.entries();
        let list = fingerprint(entries);
        let from = match request.and_then(|request| request.cursor) {
            None => 0,
            Some(cursor) => page(&cursor, list)?,
        };
        let page = entries.iter().skip(from).take(PAGE).map(tool).collect();
        let next = from.saturating_add(PAGE);
        let mut listed = ListToolsResult::with_all_items(page);
        listed.next_cursor = (next < entries.len()).then(|| format!("{next}-{list:016x}"));
        Ok(listed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default()).to_string();
        self.call(&request.name, &arguments, &context).await.map(CallToolResponse::Complete)
    }

    /// A call whose arguments are no object comes here: it is told so like any other mistake of a model.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let params = request.params.unwrap_or_default();
        let name = params.get("name").and_then(Value::as_str).filter(|_| request.method == "tools/call");
        let Some(name) = name else {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None));
        };
        let arguments = match params.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            other => other.map(Value::to_string).unwrap_or_default(),
        };
        let mut result = self.call(name, &arguments, &context).await?;
        if context.protocol_version().is_none_or(|version| version.has_initialize()) {
            result.result_type = None;
        }
        let result = serde_json::to_value(result);
        result.map(CustomResult).map_err(|_| ErrorData::internal_error("the result can't be written", None))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // Ends with the session, which is looked at now and then.
        let mut changes = self.0.changes.subscribe();
        while !context.peer.is_transport_closed() {
            tokio::select! {
                changed = changes.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let _ = timeout(TELL, context.peer.notify_tool_list_changed()).await;
                }
                () = tokio::time::sleep(SESSION) => {}
            }
        }
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.0.changes.subscribe();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.0.stop.cancelled() => return Ok(()),
                changed = changes.changed() => {
                    let told = timeout(TELL, context.sink().notify_tool_list_changed()).await;
                    if changed.is_err() || !matches!(told, Ok(Ok(()))) {
                        return Ok(());
                    }
                }
            }
        }
    }
}

impl Gateway {
    /// Makes a call under the whole contract.
    async fn call(
        &self,
        name: &str,
        arguments: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let _taken = self.take()?;
        let can_ask = context.client_capabilities().is_some_and(|client| client.elicitation.is_some());
        // Without a handshake there is no way to ask in the middle of a call.
        let is_session = context.protocol_version().is_none_or(|version| version.has_initialize());
        let host = Arc::new(Host {
            peer: (can_ask && is_session).then(|| context.peer.clone()),
            approves: self.0.options.host_approves,
        });
        let cancel = self.0.stop.child_token();
        let call = async {
            let _running = tokio::select! {
                running = self.0.running.acquire() => running.ok(),
                // Cancelled before its turn: it ends at once.
                () = cancel.cancelled() => None,
            };
            self.0.agent.call_for(name, arguments, host, Some(cancel.clone())).await
        };
        let mut call = pin!(call);
        let report = tokio::select! {
            report = &mut call => report,
            () = context.ct.cancelled() => {
                cancel.cancel();
                call.await
            }
            never = show(context, self.0.options.progress) => match never {},
        };
        self.look().await;
        let report = report.map_err(|cause| {
            tracing::error!(target: "backstop::mcp", %cause, "a call can't be driven");
            ErrorData::internal_error("the call can't be made", None)
        })?;
        let definition = self.definition();
        let entry = definition.catalog.find(name).ok();
        // Nothing was begun where there is no call at all.
        result(&report, entry).ok_or_else(|| ErrorData::internal_error("the call was cancelled", None))
    }
}

/// Tells a client that wants to know that its call goes on, for as long as it is polled. One that does not read what
/// it is told holds up nothing.
async fn show(context: &RequestContext<RoleServer>, every: Duration) -> Infallible {
    let Some(token) = context.meta.get_progress_token() else { return std::future::pending().await };
    let begun = Instant::now();
    loop {
        tokio::time::sleep(every).await;
        let progress = ProgressNotificationParam::new(token.clone(), begun.elapsed().as_secs_f64());
        let _ = timeout(TELL, context.peer.notify_progress(progress)).await;
    }
}

/// Tells lists apart: a cursor is one of the list that it came with.
fn fingerprint(entries: &[CatalogEntry]) -> u64 {
    let mut hasher = DefaultHasher::new();
    entries.iter().for_each(|entry| entry.name.hash(&mut hasher));
    hasher.finish()
}

/// Where the page of a cursor begins.
fn page(cursor: &str, list: u64) -> Result<usize, ErrorData> {
    let (from, of) = cursor.split_once('-').unwrap_or_default();
    match (from.parse(), u64::from_str_radix(of, 16)) {
        (Ok(from), Ok(of)) if of == list => Ok(from),
        (Ok(_), Ok(_)) => Err(ErrorData::invalid_params("the list has changed: begin it anew", None)),
        _ => Err(ErrorData::invalid_params("the cursor is none of this list", None)),
    }
}
