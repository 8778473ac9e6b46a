//! MCP servers from their declarations.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use backstop_core::ToolError;
use backstop_manifest::{
    Manifest,
    v1::{self, McpProtocol, McpRoot, McpServer, ToolsetConfig, ToolsetKind},
};
use backstop_runtime::BuildProblem;
use backstop_toolsets::{
    client::Clients,
    mcp::{
        HttpServer, McpConfig, McpToolset, Protocol, Server, StdioServer,
        login::{LoginConfig, TokenFile},
    },
};
use url::Url;

use super::{
    LoadError, Overrides, answer,
    connection::{self, Author},
    http,
    toolset::{Made, Parts},
};

/// Time beyond that of a server, so that the limit that is told is the one that is declared.
const BEYOND: Duration = Duration::from_secs(1);

/// The toolset of a server, which is not started yet, and the time in which it must have listed its tools.
///
/// # Errors
///
/// `misconfigured` where it can't be made.
pub(super) fn toolset(
    parts: &mut Parts<'_>,
    config: &ToolsetConfig,
    declared: &v1::McpConfig,
) -> Result<(Made, Duration), ToolError> {
    let server = match &declared.server {
        McpServer::Program(program) => Server::Stdio(stdio(program, &parts.manifest.base_dir)),
        McpServer::Http(http) => Server::Http(address(http, parts.overrides, parts.clients)?),
    };
    let mut made = McpConfig::new(config.name.value.clone(), server);
    made.protocol = match declared.protocol {
        McpProtocol::Auto => Protocol::Auto,
        McpProtocol::Handshake => Protocol::Handshake,
        McpProtocol::Stateless => Protocol::Stateless,
    };
    made.start_timeout = declared.start_timeout.unwrap_or(made.start_timeout);
    made.list_timeout = declared.list_timeout.unwrap_or(made.list_timeout);
    made.idle_timeout = declared.idle_timeout;
    made.trusted = declared.trusted;
    made.allow = declared.allow.as_ref().map(|allow| allow.set().clone());
    made.deny = Some(declared.deny.set().clone());
    for (tool, settings) in &config.tools {
        made.answers.insert(tool.value.clone(), answer::rules(&settings.answer, false)?);
    }
    made.resources = declared.resources;
    made.prompts = declared.prompts;
    made.max_message = declared.max_message.unwrap_or(made.max_message);
    made.person = parts.overrides.person.clone().filter(|_| declared.elicitation);
    made.model = declared.sampling.then(|| Arc::clone(parts.model));
    let mut problems = Vec::new();
    for root in &declared.roots {
        match url_of(root) {
            Ok(url) => made.roots.push(url),
            Err(reason) => {
                let toolset = config.name.value.clone();
                problems.push(BuildProblem::Source { toolset, reason, left_out: false });
            }
        }
    }
    let limit = made.start_timeout.saturating_add(made.list_timeout).saturating_add(BEYOND);
    Ok(((Arc::new(McpToolset::new(made)?), problems), limit))
}

/// A program runs where the manifest is, unless it says otherwise.
fn stdio(program: &v1::McpProgram, base: &Path) -> StdioServer {
    let is_path = program.program.components().nth(1).is_some();
    let path = if is_path { absolute(&program.program) } else { program.program.clone() };
    let mut made = StdioServer::new(path);
    made.args.clone_from(&program.args);
    made.env = program.env.iter().map(|(name, value)| (name.clone(), http::secret(value))).collect();
    made.cwd = program.cwd.as_deref().or_else(|| base.is_dir().then_some(base)).map(absolute);
    made
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn address(
    declared: &v1::McpHttp,
    overrides: &Overrides,
    clients: &mut Clients,
) -> Result<HttpServer, ToolError> {
    let url = declared.url.value.as_url();
    let client = connection::client(&declared.connection, url, Author::Operator, clients)?;
    let mut made = HttpServer::new(url.clone(), client);
    made.headers = http::headers(&declared.headers);
    made.auth = http::auth(&declared.auth);
    connection::for_tokens(&mut made.auth, &declared.connection, clients)?;
    made.caller_headers.clone_from(&declared.caller_headers);
    if let Some(login) = &declared.login {
        made.login = Some(login_config(declared, login, overrides, clients)?);
    }
    Ok(made)
}

fn login_config(
    declared: &v1::McpHttp,
    login: &v1::Login,
    overrides: &Overrides,
    clients: &mut Clients,
) -> Result<LoginConfig, ToolError> {
    let url = declared.url.value.as_url();
    let dir = overrides.token_dir.clone().or_else(TokenFile::usual_dir).ok_or_else(|| {
        ToolError::misconfigured("there is no place for its tokens: set BACKSTOP_TOKENS to a folder")
    })?;
    let mut made = LoginConfig::new(TokenFile::new(&dir, url));
    made.client_id.clone_from(&login.client_id);
    made.client_secret = login.client_secret.as_ref().map(http::secret);
    made.scopes.clone_from(&login.scopes);
    made.client = Some(connection::for_logins(&declared.connection, url, clients)?);
    Ok(made)
}

/// A toolset whose server a person logs in to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoginServer {
    /// The toolset's name.
    pub toolset: String,
    /// The server.
    pub server: HttpServer,
    /// How to log in to it.
    pub login: LoginConfig,
    /// Where the browser comes back to, where that is declared.
    pub redirect: Option<Url>,
}

/// The toolsets of a manifest whose servers a person logs in to, with [`Login`](backstop_toolsets::mcp::login::Login).
///
/// # Errors
///
/// [`LoadError`] where one of them can't be reached in the way that is declared.
pub fn login_servers(manifest: &Manifest, overrides: &Overrides) -> Result<Vec<LoginServer>, LoadError> {
    let mut clients = Clients::default();
    let mut found = Vec::new();
    for config in &manifest.toolsets {
        let ToolsetKind::Mcp(mcp) = &config.kind else { continue };
        let McpServer::Http(declared) = &mcp.server else { continue };
        let toolset = config.name.value.clone();
        let server = address(declared, overrides, &mut clients)
            .map_err(|source| LoadError::Toolset { toolset: toolset.clone(), source })?;
        if let Some(login) = server.login.clone() {
            let redirect = declared.login.as_ref().and_then(|login| login.redirect.clone());
            found.push(LoginServer { toolset, server, login, redirect });
        }
    }
    Ok(found)
}

/// A folder as its URL.
fn url_of(root: &McpRoot) -> Result<Url, String> {
    let folder = match root {
        McpRoot::Url(url) => return Ok(url.clone()),
        McpRoot::Folder(folder) => folder,
    };
    let whole = folder.canonicalize().ok().filter(|folder| folder.is_dir());
    whole.and_then(|folder| Url::from_file_path(folder).ok()).ok_or_else(|| {
        format!("the root `{}` is no folder, so the server is not told of it", folder.display())
    })
}
