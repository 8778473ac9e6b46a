//! The tools of one MCP server.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex as StdMutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use backstop_core::{CallContext, ToolError, ToolErrorKind, ToolOutput, ToolSpec, Toolset, ValidCall, text};
use tokio::{sync::Mutex, time::Instant};

use super::{
    McpConfig, Protocol,
    call::call_tool,
    connection::{Connection, connect},
    errand::Errand,
    extras,
    handler::News,
    list,
    output::{self, Called, Promise},
};

/// Time between the second and the third start of a server that does not stay, which doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest time between two starts.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The tools of one MCP server. It is connected to when it is first needed, and again when the connection is lost; no
/// call is sent twice.
///
/// See [`McpConfig`] for an example.
#[derive(Debug)]
pub struct McpToolset {
    config: Arc<McpConfig>,
    news: Arc<News>,
    link: Mutex<Link>,
    offer: StdMutex<Arc<Offer>>,
}

/// The connection, and what earlier ones taught.
#[derive(Debug)]
struct Link {
    connection: Option<Arc<Connection>>,
    /// What the server was found to speak.
    protocol: Protocol,
    /// Connections that ended or failed, since one gave a result.
    lost: u32,
    not_before: Option<Instant>,
}

/// What was listed last.
#[derive(Debug, Default)]
struct Offer {
    /// What the server's own tools promise of their results.
    tools: HashMap<String, Option<Promise>>,
}

impl McpToolset {
    /// A toolset of a server. Starts nothing.
    ///
    /// # Errors
    ///
    /// `misconfigured` where nothing could ever be started.
    pub fn new(config: McpConfig) -> Result<Self, ToolError> {
        if config.start_timeout.is_zero() || config.list_timeout.is_zero() || config.max_message == 0 {
            let detail = format!("toolset `{}`: its limits leave no room for a server", config.name);
            return Err(ToolError::misconfigured(detail));
        }
        let link = Link { connection: None, protocol: config.protocol, lost: 0, not_before: None };
        Ok(Self {
            config: Arc::new(config),
            news: Arc::default(),
            link: Mutex::new(link),
            offer: StdMutex::default(),
        })
    }

    /// A connection that is open. All that need one at the same time wait for the same.
    async fn connection(&self) -> Result<Arc<Connection>, ToolError> {
        let mut link = self.link.lock().await;
        if let Some(connection) = &link.connection {
            if !connection.is_closed() {
                return Ok(Arc::clone(connection));
            }
            let why = connection.obituary();
            tracing::warn!(
                target: "backstop::mcp", toolset = self.config.name, why, "the connection to the server is lost"
            );
            link.connection = None;
            link.put_off();
        }
        if let Some(left) = link.not_before.map(|at| at.saturating_duration_since(Instant::now()))
            && !left.is_zero()
        {
            let wait = text::duration(Duration::from_secs(left.as_millis().div_ceil(1000) as u64));
            let (name, lost) = (&self.config.name, link.lost);
            let detail = format!(
                "the server of toolset `{name}` was lost {lost} times: it is started again in {wait}"
            );
            return Err(ToolError::unavailable(detail).not_applied().with_retry_after(left));
        }
        match connect(&self.config, &self.news, link.protocol).await {
            Ok(connection) => {
                link.protocol = connection.protocol();
                let connection = Arc::new(connection);
                link.connection = Some(Arc::clone(&connection));
                Ok(connection)
            }
            Err(error) => {
                // What was learned of an earlier version of the server may be why.
                link.protocol = self.config.protocol;
                link.put_off();
                Err(error)
            }
        }
    }

    /// A result came: whatever happened before is over.
    async fn well(&self) {
        let mut link = self.link.lock().await;
        link.lost = 0;
        link.not_before = None;
    }

    fn offer(&self) -> Arc<Offer> {
        Arc::clone(&self.offer.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Link {
    /// The second start is made at once, further ones later and later.
    fn put_off(&mut self) {
        let pause = match self.lost {
            0 => Duration::ZERO,
            lost => FIRST_PAUSE.saturating_mul(1 << (lost - 1).min(10)).min(LONGEST_PAUSE),
        };
        self.lost = self.lost.saturating_add(1);
        self.not_before = Some(Instant::now() + pause);
    }
}

#[async_trait]
impl Toolset for McpToolset {
    fn name(&self) -> &str {
        &self.config.name
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        let connection = self.connection().await?;
        let mut specs = list::tools(&self.config, &connection).await?;
        let mut offer = Offer::default();
        for spec in &specs {
            // Of two with one name the first one counts, as it does in a catalog.
            offer
                .tools
                .entry(spec.name.clone())
                .or_insert_with(|| spec.output_schema.clone().map(Promise::new));
        }
        let extras = extras::specs(&self.config, &connection);
        specs.extend(extras.into_iter().filter(|extra| !offer.tools.contains_key(&extra.name)));
        *self.offer.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(offer);
        self.well().await;
        Ok(specs)
    }

    async fn call(&self, call: &ValidCall, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let (tool, arguments) = (call.own_name(), call.arguments());
        let connection = self.connection().await?;
        let offer = self.offer();
        let result = match offer.tools.get(tool) {
            None if extras::specs(&self.config, &connection).iter().any(|spec| spec.name == tool) => {
                extras::call(&self.config, &connection, tool, arguments).await
            }
            None if !self.config.offers(tool) => {
                let detail =
                    format!("toolset `{}` has no tool `{}`", self.config.name, text::escaped(tool, 200));
                Err(ToolError::new(ToolErrorKind::UnknownTool, detail))
            }
            // Whoever calls without having listed may know the name from elsewhere: the server decides.
            known => {
                let errand = Errand::new(cx.caller_headers.clone());
                let called = Called {
                    tool,
                    arguments,
                    rules: self.config.rules(tool),
                    promise: known.and_then(Option::as_ref),
                };
                call_tool(&connection, tool, arguments, &errand, self.config.idle_timeout)
                    .await
                    .and_then(|result| output::read(called, result))
            }
        };
        if !connection.is_closed() {
            self.well().await;
        }
        result
    }

    fn changes(&self) -> u64 {
        self.news.changes()
    }
}
