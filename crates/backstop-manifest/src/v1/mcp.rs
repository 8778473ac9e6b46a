//! `mcp`: the tools of an MCP server, a program that is started or an address.

use std::{path::PathBuf, time::Duration};

use url::Url;

use super::{
    auth::{Auth, auth},
    connection::{Connection, connection},
    header::{Header, caller_headers, headers},
    login::{Login, login},
    name::LONGEST,
    pattern::{ToolPatterns, patterns},
    program::{McpProgram, program},
    url::{HttpUrl, url_with_query},
};
use crate::{
    diagnostic::{Diagnostic, code},
    reader::{At, Fields},
    span::Spanned,
};

const KEYS: &[&str] = &[
    "command",
    "env",
    "cwd",
    "url",
    "headers",
    "auth",
    "caller_headers",
    "connection",
    "protocol",
    "allow",
    "deny",
    "trusted",
    "resources",
    "prompts",
    "roots",
    "start_timeout",
    "list_timeout",
    "idle_timeout",
    "max_message",
    "elicitation",
    "sampling",
    // Known so that it can be said where its value belongs.
    "args",
];
/// Keys of a program.
const PROGRAM_KEYS: [&str; 2] = ["env", "cwd"];
/// Keys of an address.
const HTTP_KEYS: [&str; 4] = ["headers", "auth", "caller_headers", "connection"];
/// What is said of single requests, and a server holds a conversation.
const IDLE_CONNECTION_KEYS: [&str; 3] = ["first_byte", "concurrency", "rate"];
/// The tools that stand for the resources of a server.
const RESOURCE_TOOLS: [&str; 2] = ["list_resources", "read_resource"];
/// The tools that stand for the prompts of a server.
const PROMPT_TOOLS: [&str; 2] = ["list_prompts", "get_prompt"];
/// Bytes of one message.
const MESSAGE: (usize, usize) = (1 << 10, 1 << 28);

/// The tools of an MCP server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct McpConfig {
    /// The server, and the way to it.
    pub server: McpServer,
    /// The protocol that is spoken.
    pub protocol: McpProtocol,
    /// Patterns over the server's own names: tools that are offered, all where nothing is said.
    pub allow: Option<ToolPatterns>,
    /// Patterns over the server's own names: tools that are not offered, though they are allowed.
    pub deny: ToolPatterns,
    /// Whether the server is believed what it says of the effects of its tools.
    pub trusted: bool,
    /// Whether its resources are offered as tools that list and read them.
    pub resources: bool,
    /// Whether its prompts are offered as tools that list and fill them.
    pub prompts: bool,
    /// The places that it is told it may work in.
    pub roots: Vec<Spanned<McpRoot>>,
    /// Time for it to start and to say what it is.
    pub start_timeout: Option<Duration>,
    /// Time for one answer to anything but a call.
    pub list_timeout: Option<Duration>,
    /// Time in which a call must show some progress; `None` leaves a call the whole of its time.
    pub idle_timeout: Option<Duration>,
    /// Bytes of one message at most.
    pub max_message: Option<usize>,
    /// Whether it may ask a person.
    pub elicitation: bool,
    /// Whether it may ask the agent's model.
    pub sampling: bool,
}

/// The way to an MCP server.
#[derive(Clone, Debug)]
pub enum McpServer {
    /// A program that is started.
    Program(McpProgram),
    /// An address.
    Http(Box<McpHttp>),
}

/// The address of an MCP server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct McpHttp {
    /// The address.
    pub url: Spanned<HttpUrl>,
    /// Sent with every request.
    pub headers: Vec<Header>,
    /// How requests are authenticated.
    pub auth: Auth,
    /// That a person logs in, in place of `auth`.
    pub login: Option<Login>,
    /// Headers of whoever starts a run that are passed on, by name.
    pub caller_headers: Vec<String>,
    /// How it is reached.
    pub connection: Connection,
}

/// The protocol that is spoken with a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum McpProtocol {
    /// The newest that it knows.
    #[default]
    Auto,
    /// One that begins with a handshake.
    Handshake,
    /// The one without sessions.
    Stateless,
}

/// A place that a server may work in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpRoot {
    /// A folder, joined to the directory of the manifest.
    Folder(PathBuf),
    /// A URL.
    Url(Url),
}

impl McpConfig {
    /// Whether a tool of the server is offered, by its own name, and one for its resources and prompts.
    pub fn offers(&self, tool: &str) -> bool {
        let is_extra = (self.resources && RESOURCE_TOOLS.contains(&tool))
            || (self.prompts && PROMPT_TOOLS.contains(&tool));
        is_extra || self.is_let_through(tool)
    }

    fn is_let_through(&self, tool: &str) -> bool {
        self.allow.as_ref().is_none_or(|allow| allow.matches(tool)) && !self.deny.matches(tool)
    }
}

/// Reads a server.
pub(super) fn mcp(at: &At<'_>) -> Option<McpConfig> {
    let fields = at.fields(KEYS)?;
    if let Some(at) = fields.has("args") {
        let problem = Diagnostic::error(code::UNKNOWN_KEY, "unknown key `args`");
        at.report_key(
            problem.hint("a program and its arguments are one list: `command: [PROGRAM, ARGUMENT]`"),
        );
    }
    let server = server(&fields);
    let protocol = fields.get("protocol").map(|at| {
        at.one_of(&[
            ("auto", McpProtocol::Auto),
            ("handshake", McpProtocol::Handshake),
            ("stateless", McpProtocol::Stateless),
        ])
    });
    let allow = fields.get("allow").map(|at| {
        if at.one_or_many().is_empty() {
            at.report_key(Diagnostic::warning(code::EMPTY_TOOLSET, "no tool is allowed"));
        }
        patterns(at)
    });
    let deny = fields.get("deny").map(patterns).unwrap_or_default();
    let flag = |key: &str, usual: bool| fields.boolean(key).unwrap_or(usual);
    let roots = fields.get("roots").map(At::one_or_many).unwrap_or_default();
    Some(McpConfig {
        protocol: protocol.flatten().unwrap_or_default(),
        allow,
        deny,
        trusted: flag("trusted", false),
        resources: flag("resources", false),
        prompts: flag("prompts", false),
        roots: roots.iter().filter_map(root).collect(),
        start_timeout: fields.duration("start_timeout", LONGEST),
        list_timeout: fields.duration("list_timeout", LONGEST),
        idle_timeout: fields.duration("idle_timeout", LONGEST),
        max_message: fields.get("max_message").and_then(|at| at.size(MESSAGE.0, MESSAGE.1)),
        elicitation: flag("elicitation", true),
        sampling: flag("sampling", false),
        server: server?,
    })
}

fn server(fields: &Fields<'_>) -> Option<McpServer> {
    const EITHER: &str = "`command: [PROGRAM, ARGUMENT]` is a program that is started, `url` an address";
    match (fields.get("command"), fields.get("url")) {
        (Some(command), None) => {
            let why = "a program has no requests: what it must know stands under `env`";
            refuse(fields, &HTTP_KEYS, "command", why);
            program(command, fields).map(McpServer::Program)
        }
        (None, Some(url)) => {
            let why = "it is for a program that is started here, and this one runs elsewhere";
            refuse(fields, &PROGRAM_KEYS, "url", why);
            http(url, fields)
        }
        (None, None) => {
            let message = "an MCP server needs `command` or `url`";
            fields.at.report(Diagnostic::error(code::EXACTLY_ONE, message).hint(EITHER));
            None
        }
        (Some(command), Some(url)) => {
            let message = "`url` can't stand beside `command`";
            url.report_key(Diagnostic::error(code::EXACTLY_ONE, message).hint(EITHER));
            program(command, fields);
            http(url, fields);
            None
        }
    }
}

fn refuse(fields: &Fields<'_>, keys: &[&str], beside: &str, why: &str) {
    for (key, at) in keys.iter().filter_map(|key| Some((key, fields.has(key)?))) {
        let message = format!("`{key}` can't stand beside `{beside}`");
        at.report_key(Diagnostic::error(code::EXACTLY_ONE, message).hint(why));
    }
}

fn http(url: &At<'_>, fields: &Fields<'_>) -> Option<McpServer> {
    let url = url_with_query(url);
    let headers = fields.get("headers").map(headers).unwrap_or_default();
    // `None` stands for what can't be read.
    let (auth, login) = match fields.get("auth") {
        None => (Some(Auth::None), Some(None)),
        Some(at) => match login(at) {
            Some(login) => (Some(Auth::None), login.map(Some)),
            None => (auth(at), Some(None)),
        },
    };
    let own_header = match &login {
        Some(Some(_)) => Some("authorization"),
        _ => auth.as_ref().and_then(Auth::header),
    };
    let caller_headers =
        fields.get("caller_headers").map(|at| caller_headers(at, &headers, own_header)).unwrap_or_default();
    let declared = fields.get("connection");
    for at in IDLE_CONNECTION_KEYS.iter().filter_map(|key| declared?.child(key)) {
        let message = format!("`{}` changes nothing here", at.key().value);
        let hint = "an MCP server is one conversation: `start_timeout`, `list_timeout`, `idle_timeout` and the `timeout` of \
                    its tools bound it";
        at.report_key(Diagnostic::warning(code::NO_EFFECT, message).hint(hint));
    }
    let connection = declared.map(connection).unwrap_or_default();
    let (url, auth, login) = (url?, auth?, login?);
    Some(McpServer::Http(Box::new(McpHttp { url, headers, auth, login, caller_headers, connection })))
}

fn root(at: &At<'_>) -> Option<Spanned<McpRoot>> {
    let text = at.some_text()?;
    // One letter in front of a colon is a drive.
    let root = match Url::parse(&text) {
        Ok(url) if url.scheme().len() > 1 => McpRoot::Url(url),
        _ => McpRoot::Folder(at.cx.base_dir.join(text)),
    };
    Some(Spanned::new(root, at.span()))
}

/// Warns of what is said of a tool and can't be meant. `mcp` is the server that it is of.
pub(super) fn check_tool(at: &At<'_>, mcp: &McpConfig) {
    let name = at.key().value;
    if !mcp.offers(&name) {
        let problem =
            Diagnostic::warning(code::NO_EFFECT, "the tool is not offered, so this changes nothing");
        at.report_key(problem.hint("`allow` and `deny` say which tools are"));
    }
    let fails = at.child("fail_when").map(|at| at.one_or_many()).unwrap_or_default();
    for test in at.child("success_when").into_iter().chain(fails) {
        for found in ["status", "content_type"].iter().filter_map(|key| test.child(key)) {
            let key = found.key().value;
            let message = format!("an answer of an MCP server has no `{key}`, so this says nothing");
            let problem = Diagnostic::warning(code::NO_EFFECT, message);
            found.report_key(problem.hint("say what is in it, with `path` or `contains`"));
        }
    }
}
