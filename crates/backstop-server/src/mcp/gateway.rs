//! What is on offer, and how a call is made.

use std::{
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use backstop::{Agent, Definition};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, PaginatedRequestParams,
        ProgressNotificationParam, ServerCapabilities, ServerConfig, ToolsCapability,
    },
    service::RequestContext,
};
use tokio::sync::Semaphore;

use super::{host::Host, result::result, tool::tool};

/// Tools of one page of the list.
const PAGE: usize = 100;
/// Time between two signs of life of a call that takes long.
const PROGRESS: Duration = Duration::from_secs(5);
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
}

impl Default for GatewayOptions {
    fn default() -> Self {
        Self { host_approves: false, calls: NonZeroUsize::new(64).unwrap_or(NonZeroUsize::MIN), queue: 256 }
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
}

impl Gateway {
    /// A gateway to the tools of this agent.
    pub fn new(agent: Agent, options: GatewayOptions) -> Self {
        let running = Semaphore::new(options.calls.get().min(Semaphore::MAX_PERMITS));
        Self(Arc::new(Shared { agent, options, running, taken: AtomicUsize::new(0) }))
    }

    /// Calls that run or wait.
    pub fn open_calls(&self) -> usize {
        self.0.taken.load(Ordering::Acquire)
    }

    fn definition(&self) -> Arc<Definition> {
        self.0.agent.definition()
    }

    /// A place among the calls that run or wait.
    fn take(&self) -> Result<Taken<'_>, ErrorData> {
        let most = self.0.options.calls.get().saturating_add(self.0.options.queue);
        let taken = Taken(&self.0.taken);
        if self.0.taken.fetch_add(1, Ordering::AcqRel) >= most {
            drop(taken);
            return Err(ErrorData::new(
                rmcp::model::ErrorCode(BUSY),
                "too many calls wait: try again later",
                None,
            ));
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
        self.0.agent.refresh().await;
        let definition = self.definition();
        let entries = definition.catalog.entries();
        let from = match request.and_then(|request| request.cursor) {
            None => 0,
            Some(cursor) => cursor
                .parse()
                .ok()
                .filter(|from| *from < entries.len())
                .ok_or_else(|| ErrorData::invalid_params("the cursor is none of this list", None))?,
        };
        let page = entries.iter().skip(from).take(PAGE).map(tool).collect();
        let next = from.saturating_add(PAGE);
        let mut listed = ListToolsResult::with_all_items(page);
        listed.next_cursor = (next < entries.len()).then(|| next.to_string());
        Ok(listed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let _taken = self.take()?;
        let arguments = serde_json::Value::Object(request.arguments.unwrap_or_default()).to_string();
        let can_ask = context.client_capabilities().is_some_and(|client| client.elicitation.is_some());
        // Without a handshake there is no way to ask in the middle of a call.
        let is_session = context.protocol_version().is_none_or(|version| version.has_initialize());
        let host = Host {
            peer: (can_ask && is_session).then(|| context.peer.clone()),
            approves: self.0.options.host_approves,
        };
        let call = async {
            let _running = tokio::select! {
                running = self.0.running.acquire() => running.ok(),
                // Cancelled before its turn: it ends at once.
                () = context.ct.cancelled() => None,
            };
            self.0.agent.call_for(&request.name, &arguments, Arc::new(host), Some(context.ct.clone())).await
        };
        let report = shown(&context, call).await;
        if self.0.agent.has_changed() {
            self.0.agent.refresh().await;
            let _ = context.peer.notify_tool_list_changed().await;
        }
        let report = report.map_err(|cause| {
            tracing::error!(target: "backstop::mcp", %cause, "a call can't be driven");
            ErrorData::internal_error("the call can't be made", None)
        })?;
        let definition = self.definition();
        let entry = definition.catalog.find(&request.name).ok();
        match result(&report, entry) {
            Some(result) => Ok(CallToolResponse::Complete(result)),
            // Nobody waits for it.
            None => Err(ErrorData::internal_error("the call was cancelled", None)),
        }
    }
}

/// Drives a call, and tells a client that wants to know that it goes on.
async fn shown<T>(context: &RequestContext<RoleServer>, call: impl Future<Output = T>) -> T {
    let Some(token) = context.meta.get_progress_token() else { return call.await };
    let begun = Instant::now();
    let mut call = std::pin::pin!(call);
    loop {
        tokio::select! {
            done = &mut call => return done,
            () = tokio::time::sleep(PROGRESS) => {
                let progress = begun.elapsed().as_secs_f64().round();
                let _ = context.peer.notify_progress(ProgressNotificationParam::new(token.clone(), progress)).await;
            }
        }
    }
}
