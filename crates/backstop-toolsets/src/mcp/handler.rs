//! What a server says and asks by itself.
#![expect(
    deprecated,
    reason = "2026-07-28 takes sampling, roots and logging out, and earlier servers have them"
)]

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use backstop_core::text::escaped;
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
        ElicitRequestParams, ElicitResult, ElicitationCapability, FormElicitationCapability, Implementation,
        InputRequest, ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam,
        ProgressToken, ProtocolVersion, Root, RootsCapabilities, SamplingCapability,
        UrlElicitationCapability,
    },
    service::{NotificationContext, RequestContext},
};
use serde_json::Value;
use tokio::sync::Notify;

use super::{McpConfig, ask, sample};

/// Bytes of a log record of a server that are kept.
const RECORD_CAP: usize = 2 * 1024;

/// What outlives one connection to a server, and what a connection is told beside answers.
#[derive(Debug, Default)]
pub(super) struct News {
    changes: AtomicU64,
    /// Calls that wait for progress.
    progress: Mutex<HashMap<ProgressToken, Arc<Notify>>>,
}

impl News {
    /// How often the list of tools is known to have become another one.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// The list of tools may be another one.
    pub(super) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Tells of the progress of a request until the guard is dropped.
    pub(super) fn watch(self: &Arc<Self>, token: ProgressToken) -> Watch {
        let seen = Arc::new(Notify::new());
        self.watched().insert(token.clone(), Arc::clone(&seen));
        Watch { news: Arc::clone(self), token, seen }
    }

    fn watched(&self) -> std::sync::MutexGuard<'_, HashMap<ProgressToken, Arc<Notify>>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells of the progress of one request.
#[derive(Debug)]
pub(super) struct Watch {
    news: Arc<News>,
    token: ProgressToken,
    seen: Arc<Notify>,
}

impl Watch {
    /// Waits for the next progress.
    pub(super) async fn seen(&self) {
        self.seen.notified().await;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.news.watched().remove(&self.token);
    }
}

/// Answers a server.
#[derive(Clone, Debug)]
pub(super) struct Handler {
    config: Arc<McpConfig>,
    news: Arc<News>,
}

impl Handler {
    pub(super) fn new(config: Arc<McpConfig>, news: Arc<News>) -> Self {
        Self { config, news }
    }

    fn roots(&self) -> ListRootsResult {
        let name = |url: &url::Url| {
            let last =
                url.path_segments().and_then(|mut segments| segments.rfind(|segment| !segment.is_empty()));
            last.map(str::to_owned)
        };
        let roots = self.config.roots.iter().map(|url| {
            let mut root = Root::new(url.as_str());
            root.name = name(url);
            root
        });
        ListRootsResult::new(roots.collect())
    }

    /// Answers what a server wants to know before it goes on with a call, in the protocol without sessions.
    ///
    /// # Errors
    ///
    /// What the server would be told.
    pub(super) async fn input(&self, request: InputRequest) -> Result<Value, ErrorData> {
        let answer = match request {
            InputRequest::CreateMessage(request) => {
                serde_json::to_value(sample::answer(&self.config, request.params).await?)
            }
            InputRequest::Elicitation(request) => {
                serde_json::to_value(ask::answer(&self.config, request.params).await)
            }
            InputRequest::ListRoots(_) => serde_json::to_value(self.roots()),
            _ => return Err(ErrorData::invalid_request("nothing of the kind is answered here", None)),
        };
        answer.map_err(|_| ErrorData::internal_error("the answer can't be written", None))
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        if !self.config.roots.is_empty() {
            capabilities.roots = Some(RootsCapabilities::default());
        }
        if self.config.person.is_some() {
            let elicitation = ElicitationCapability::new()
                .with_form(FormElicitationCapability::default())
                .with_url(UrlElicitationCapability::default());
            capabilities.elicitation = Some(elicitation);
        }
        if self.config.model.is_some() {
            capabilities.sampling = Some(SamplingCapability::default());
        }
        let mut info =
            ClientConfig::new(capabilities, Implementation::new("backstop", env!("CARGO_PKG_VERSION")));
        info.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        info
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        sample::answer(&self.config, params).await
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(self.roots())
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ask::answer(&self.config, params).await)
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let seen = self.news.watched().get(&params.progress_token).cloned();
        if let Some(seen) = seen {
            seen.notify_one();
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.news.changed();
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let (toolset, level) = (&self.config.name, params.level);
        let text = match params.data {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let text = self.config.redactor().redact(&text).unwrap_or(text);
        tracing::info!(target: "backstop::mcp", toolset, ?level, "{}", escaped(&text, RECORD_CAP));
    }
}
