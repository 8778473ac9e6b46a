//! What a toolset of an MCP server is made of.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc, time::Duration};

use backstop_core::{Model, Redactor};
use globset::GlobSet;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::{ask::AskPerson, login::LoginConfig};
use crate::http::{AnswerRules, Auth};

/// Bytes of one message at most, unless said otherwise.
const MAX_MESSAGE: usize = 8 * 1024 * 1024;

/// What an [`McpToolset`](super::McpToolset) is made of.
///
/// # Example
///
/// ```
/// use backstop_toolsets::mcp::{McpConfig, McpToolset, Server, StdioServer};
///
/// let server = StdioServer::new("mcp-server-time");
/// let mut config = McpConfig::new("clock", Server::Stdio(server));
/// config.trusted = true;
/// let clock = McpToolset::new(config)?;
/// # Ok::<_, backstop_core::ToolError>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct McpConfig {
    /// The toolset's name.
    pub name: String,
    /// The server, and the way to it.
    pub server: Server,
    /// The protocol that is spoken.
    pub protocol: Protocol,
    /// Time for a server to start and to say what it is: 30 s unless said otherwise.
    pub start_timeout: Duration,
    /// Time for one answer to anything but a call, such as a page of the list of tools: 30 s unless said otherwise.
    pub list_timeout: Duration,
    /// Time in which a call must show some progress, where the server tells it; `None` leaves a call the whole of
    /// its time. A call ends with its own time, whatever progress it shows.
    pub idle_timeout: Option<Duration>,
    /// Whether the server's annotations say what its tools do to the world. Those of a stranger are not believed.
    pub trusted: bool,
    /// The tools that are offered, by the server's own names; all where there is none.
    pub allow: Option<GlobSet>,
    /// The tools that are not offered, of those allowed.
    pub deny: Option<GlobSet>,
    /// What is declared about the answers of single tools.
    pub answers: BTreeMap<String, AnswerRules>,
    /// What is declared about the answers of all others.
    pub answer: AnswerRules,
    /// Whether the server's resources are offered, as two tools that list and read them.
    pub resources: bool,
    /// Whether the server's prompts are offered, as two tools that list and fill them.
    pub prompts: bool,
    /// The places that the server is told it may work in.
    pub roots: Vec<Url>,
    /// Bytes of one message at most: 8 MiB unless said otherwise.
    pub max_message: usize,
    /// Who answers when the server asks a person something; nobody where there is none, and the server is told so.
    pub person: Option<Arc<dyn AskPerson>>,
    /// Who answers when the server asks a model something; nobody where there is none, and the server is told so.
    pub model: Option<Arc<dyn Model>>,
}

/// The way to a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Server {
    /// A program that is started, and spoken to over its standard input and output.
    Stdio(StdioServer),
    /// An address that speaks streamable HTTP.
    Http(HttpServer),
}

/// A program that speaks MCP over its standard input and output.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StdioServer {
    /// The program: a path, or a name that is looked up in `PATH`.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment, beside what it [inherits](Self::INHERITED).
    pub env: Vec<(String, SecretString)>,
    /// Where it runs; where this process does if there is none.
    pub cwd: Option<PathBuf>,
}

/// An address that speaks streamable HTTP.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpServer {
    /// The address, such as `https://mcp.example/mcp`.
    pub url: Url,
    /// Headers of every request.
    pub headers: Vec<(String, SecretString)>,
    /// How requests say who makes them.
    pub auth: Auth,
    /// That a person logs in, in place of `auth`.
    pub login: Option<LoginConfig>,
    /// Headers of whoever started the run that are passed on with calls, by name.
    pub caller_headers: Vec<String>,
    /// Makes the requests. It must not follow redirects: [`http_client`](crate::client::http_client) makes such a
    /// one.
    pub client: reqwest::Client,
}

/// The protocol that is spoken with a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// The newest that the server knows.
    #[default]
    Auto,
    /// The one without sessions, of 2026-07-28.
    Stateless,
    /// One with a handshake, 2024-11-05 to 2025-11-25.
    Handshake,
}

impl McpConfig {
    /// A toolset of this name, with everything that the server offers as tools.
    pub fn new(name: impl Into<String>, server: Server) -> Self {
        Self {
            name: name.into(),
            server,
            protocol: Protocol::default(),
            start_timeout: Duration::from_secs(30),
            list_timeout: Duration::from_secs(30),
            idle_timeout: None,
            trusted: false,
            allow: None,
            deny: None,
            answers: BTreeMap::new(),
            answer: AnswerRules::default(),
            resources: false,
            prompts: false,
            roots: Vec::new(),
            max_message: MAX_MESSAGE,
            person: None,
            model: None,
        }
    }

    /// Takes what the server is given in confidence out of what it says for operators.
    pub(super) fn redactor(&self) -> Redactor {
        let (secrets, auth, login) = match &self.server {
            Server::Stdio(server) => (&server.env, &Auth::None, None),
            Server::Http(server) => (&server.headers, &server.auth, server.login.as_ref()),
        };
        let auth = match auth {
            Auth::None => None,
            Auth::Bearer(secret)
            | Auth::Basic { password: secret, .. }
            | Auth::ApiKeyHeader { value: secret, .. }
            | Auth::ApiKeyQuery { value: secret, .. }
            | Auth::ApiKeyCookie { value: secret, .. } => Some(secret),
            Auth::OAuth2(oauth2) => Some(&oauth2.client_secret),
        };
        let secrets = secrets.iter().map(|(_, secret)| secret).chain(auth);
        let secrets = secrets.chain(login.and_then(|login| login.client_secret.as_ref()));
        Redactor::new(secrets.map(ExposeSecret::expose_secret))
    }

    /// Whether a tool of the server is offered.
    pub(super) fn offers(&self, tool: &str) -> bool {
        self.allow.as_ref().is_none_or(|allow| allow.is_match(tool))
            && !self.deny.as_ref().is_some_and(|deny| deny.is_match(tool))
    }

    /// What is declared about the answers of a tool.
    pub(super) fn rules(&self, tool: &str) -> &AnswerRules {
        self.answers.get(tool).unwrap_or(&self.answer)
    }
}

impl StdioServer {
    /// The variables of this process that a server has as well: without them few programs find their way about.
    pub const INHERITED: &'static [&'static str] = &[
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TERM",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "TMPDIR",
        "TEMP",
        "TMP",
        "SYSTEMROOT",
        "USERPROFILE",
        "APPDATA",
        "LOCALAPPDATA",
        "PATHEXT",
    ];

    /// A program without arguments.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), args: Vec::new(), env: Vec::new(), cwd: None }
    }
}

impl HttpServer {
    /// An address, without credentials.
    pub fn new(url: Url, client: reqwest::Client) -> Self {
        Self { url, headers: Vec::new(), auth: Auth::None, login: None, caller_headers: Vec::new(), client }
    }
}

impl fmt::Debug for McpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpConfig")
            .field("name", &self.name)
            .field("server", &self.server)
            .field("protocol", &self.protocol)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServer")
            .field("url", &crate::http::shown(&self.url))
            .field("headers", &self.headers)
            .field("auth", &self.auth)
            .field("login", &self.login)
            .finish_non_exhaustive()
    }
}
