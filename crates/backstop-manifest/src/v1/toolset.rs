//! `toolsets`: where tools come from, and what is declared for them.

use std::time::Duration;

use backstop_core::{Approve, Effect, Reconcile, ToolSpec, schema::ArgumentRules};

use super::{
    answer::{AnswerSettings, LargeResults, answer, large_results},
    arguments::{approve, arguments, reconcile},
    breaker::{CircuitBreaker, circuit_breaker},
    by_name::ByName,
    fallback::{Fallback, fallback},
    http::{HttpConfig, HttpEndpoint, http},
    limits::too_long,
    mcp::{self, McpConfig, mcp},
    name::{LONGEST, invalid_name, is_name},
    openapi::{OpenApiConfig, openapi},
};
use crate::{
    diagnostic::{Diagnostic, code},
    reader::{At, Fields, suggest},
    span::Spanned,
};

const KEYS: &[&str] = &[
    "http",
    "openapi",
    "mcp",
    "files",
    "agent",
    "deployment",
    "prefix",
    "approve",
    "arguments",
    "timeout",
    "fallback",
    "effect",
    "circuit_breaker",
    "large_results",
    "required",
    "tools",
];
const KINDS: &[&str] = &["http", "openapi", "mcp", "files", "agent", "deployment"];
const USABLE: &str = "use `http`, `openapi` or `mcp`";
const SETTINGS_KEYS: &[&str] = &[
    "effect",
    "timeout",
    "description",
    "fallback",
    "parallel",
    "find_with",
    "check_with",
    "arguments",
    "approve",
    "reconcile",
    "success_when",
    "fail_when",
    "result",
    "check_output",
];
const PREFIX_CAP: usize = 32;

/// Where some tools come from, and what is declared for them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolsetConfig {
    /// Its name.
    pub name: Spanned<String>,
    /// Put in front of the name of each tool.
    pub prefix: String,
    /// Time for one attempt of its tools.
    pub timeout: Option<Duration>,
    /// What happens with failures of its tools that have no list of their own.
    pub fallback: Option<Fallback>,
    /// The effect of its tools that declare none.
    pub effect: Option<Effect>,
    /// What may be changed about the arguments of its tools that declare nothing.
    pub arguments: Option<ArgumentRules>,
    /// Whether a person must allow calls of its tools that declare nothing.
    pub approve: Option<Approve>,
    /// When a tool of it is left alone that fails again and again; `None` for never.
    pub circuit_breaker: Option<CircuitBreaker>,
    /// What becomes of results that are too large to show.
    pub large_results: LargeResults,
    /// What is declared for single tools beside where they come from; it goes before what an endpoint says.
    pub tools: ByName<(Spanned<String>, ToolSettings)>,
    /// Whether there is no agent without its tools. Otherwise they are missing where nobody can be asked for them.
    pub required: bool,
    /// Where the tools come from.
    pub kind: ToolsetKind,
}

/// Where the tools of a toolset come from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ToolsetKind {
    /// A REST service, endpoint by endpoint.
    Http(HttpConfig),
    /// A REST service, as its document describes it.
    OpenApi(OpenApiConfig),
    /// An MCP server.
    Mcp(Box<McpConfig>),
}

/// What is declared for one tool; `None` leaves it to the level above.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ToolSettings {
    /// What executing it does to the world.
    pub effect: Option<Effect>,
    /// Time for one attempt.
    pub timeout: Option<Duration>,
    /// What the model reads about it.
    pub description: Option<String>,
    /// What happens with its failures.
    pub fallback: Option<Fallback>,
    /// Whether two calls of it may run at the same time.
    pub parallel: Option<bool>,
    /// What may be changed about its arguments.
    pub arguments: Option<ArgumentRules>,
    /// Whether a person must allow its calls.
    pub approve: Option<Approve>,
    /// The call that finds out whether a call of it took effect whose reply was lost.
    pub reconcile: Option<Spanned<Reconcile>>,
    /// A tool of the same toolset that finds a valid argument.
    pub find_with: Option<String>,
    /// A tool of the same toolset that shows whether a call took effect.
    pub check_with: Option<String>,
    /// What is declared about its answers.
    pub answer: AnswerSettings,
}

impl ToolSettings {
    /// These settings, and those of `above` where there are none.
    fn or(self, above: &Self) -> Self {
        Self {
            effect: self.effect.or(above.effect),
            timeout: self.timeout.or(above.timeout),
            description: self.description.or_else(|| above.description.clone()),
            fallback: self.fallback.or_else(|| above.fallback.clone()),
            parallel: self.parallel.or(above.parallel),
            arguments: self.arguments.or(above.arguments),
            approve: self.approve.or(above.approve),
            reconcile: self.reconcile.or_else(|| above.reconcile.clone()),
            find_with: self.find_with.or_else(|| above.find_with.clone()),
            check_with: self.check_with.or_else(|| above.check_with.clone()),
            answer: self.answer.or(&above.answer),
        }
    }
}

impl ToolsetConfig {
    /// What holds for a tool by its own name: what is declared under `tools`, else with its endpoint, else for
    /// the toolset, else what its method says. `fallback` is that of the tool alone.
    pub fn settings(&self, tool: &str) -> ToolSettings {
        let declared = self.tools.named(tool);
        let own = declared.map(|(_, settings)| settings.clone()).unwrap_or_default();
        let endpoint = self.endpoint(tool);
        let own = match endpoint {
            Some(endpoint) => own.or(&endpoint.settings),
            None => own,
        };
        let usual = endpoint.map(|endpoint| endpoint.method.usual_effect());
        let above = ToolSettings {
            effect: self.effect.or(usual),
            timeout: self.timeout,
            arguments: self.arguments,
            approve: self.approve,
            ..ToolSettings::default()
        };
        own.or(&above)
    }

    /// The tools that are known without asking anybody, as the model will see them but for their prefix. See
    /// [`declares_its_tools`](Self::declares_its_tools).
    pub fn specs(&self) -> Vec<ToolSpec> {
        let spec = |endpoint: &HttpEndpoint| {
            let settings = self.settings(&endpoint.name);
            let mut spec = ToolSpec::new(endpoint.name.value.clone(), endpoint.input_schema())
                .description(settings.description.unwrap_or_default())
                .effect(settings.effect.unwrap_or_default());
            spec.parallel_safe = settings.parallel.unwrap_or(true);
            spec.honours_idempotency_key = endpoint.idempotent_key;
            spec.find_with = settings.find_with;
            spec.check_with = settings.check_with;
            spec
        };
        match &self.kind {
            ToolsetKind::Http(http) => http.endpoints.iter().map(spec).collect(),
            ToolsetKind::OpenApi(_) | ToolsetKind::Mcp(_) => Vec::new(),
        }
    }

    /// Whether all of its tools stand in the manifest.
    pub fn declares_its_tools(&self) -> bool {
        matches!(self.kind, ToolsetKind::Http(_))
    }

    fn endpoint(&self, tool: &str) -> Option<&HttpEndpoint> {
        match &self.kind {
            ToolsetKind::Http(http) => http.endpoints.named(tool),
            ToolsetKind::OpenApi(_) | ToolsetKind::Mcp(_) => None,
        }
    }
}

/// Reads one toolset. `wall_clock` is the time of the whole run.
pub(super) fn toolset(at: &At<'_>, wall_clock: Duration) -> Option<ToolsetConfig> {
    let name = at.key();
    if !is_name(&name.value) {
        at.report_key(invalid_name(&name.value));
    }
    let fields = at.fields(KEYS)?;
    let prefix = fields.get("prefix").map(prefix);
    let timeout = timeout(&fields, wall_clock);
    let fallback = fields.get("fallback").and_then(fallback);
    let effect = fields.get("effect").and_then(effect);
    let arguments = fields.get("arguments").and_then(arguments);
    let approve = fields.get("approve").and_then(approve);
    let circuit_breaker = match fields.get("circuit_breaker") {
        Some(at) => circuit_breaker(at),
        None => Some(Some(CircuitBreaker::default())),
    };
    let large_results = fields.get("large_results").map(large_results);
    let kind = kind(&fields, wall_clock);
    let required = fields.get("required").and_then(|at| required(at, kind.as_ref())).unwrap_or(false);
    let names = fields.get("http").and_then(endpoint_names);
    if let Some(at) = fields.get("http")
        && names.as_ref().is_some_and(Vec::is_empty)
    {
        let message = format!("the toolset `{}` has no endpoints", name.value);
        at.report_key(Diagnostic::warning(code::EMPTY_TOOLSET, message));
    }
    let tools = fields.get("tools").and_then(|at| at.entries("a mapping of tool names")).unwrap_or_default();
    if let Some(ToolsetKind::Mcp(mcp)) = &kind {
        tools.iter().for_each(|at| mcp::check_tool(at, mcp));
    }
    let tools = tools.iter().filter_map(|at| tool(at, names.as_deref(), wall_clock)).collect();
    let prefix = match prefix {
        Some(prefix) => prefix?,
        None => String::new(),
    };
    Some(ToolsetConfig {
        name,
        prefix,
        timeout,
        fallback,
        effect,
        arguments,
        approve,
        circuit_breaker: circuit_breaker?,
        large_results: match (large_results, &kind) {
            (Some(declared), _) => declared?,
            // Whoever writes endpoints down picks small answers; a document and a server have them all.
            (None, Some(ToolsetKind::OpenApi(_) | ToolsetKind::Mcp(_))) => LargeResults::Keep,
            (None, _) => LargeResults::Cut,
        },
        tools,
        required,
        kind: kind?,
    })
}

/// Reads `required`, and warns where it changes nothing.
fn required(at: &At<'_>, kind: Option<&ToolsetKind>) -> Option<bool> {
    let required = at.boolean()?;
    if matches!(kind, Some(ToolsetKind::Http(_))) {
        let problem = Diagnostic::warning(code::NO_EFFECT, "`required` changes nothing here");
        at.report_key(
            problem.hint("all tools of an `http` toolset stand in the manifest, so nobody is asked for them"),
        );
    }
    Some(required)
}

fn kind(fields: &Fields<'_>, wall_clock: Duration) -> Option<ToolsetKind> {
    let given: Vec<(&str, &At<'_>)> = KINDS.iter().filter_map(|key| Some((*key, fields.get(key)?))).collect();
    match given.as_slice() {
        [("http", at)] => http(at, wall_clock).map(ToolsetKind::Http),
        [("openapi", at)] => openapi(at).map(ToolsetKind::OpenApi),
        [("mcp", at)] => mcp(at).map(|mcp| ToolsetKind::Mcp(Box::new(mcp))),
        [(kind, at)] => {
            let message = format!("toolsets of the kind `{kind}` are not supported by this version");
            at.report_key(Diagnostic::error(code::UNSUPPORTED_TOOLSET, message).hint(USABLE));
            None
        }
        [] => {
            let message = "a toolset needs a kind, which says where its tools come from";
            fields.at.report(Diagnostic::error(code::EXACTLY_ONE, message).hint(USABLE));
            None
        }
        [(first, _), (second, at), ..] => {
            let message = format!("a toolset has one kind: `{second}` can't stand beside `{first}`");
            let hint = "make two toolsets of it";
            at.report_key(Diagnostic::error(code::EXACTLY_ONE, message).hint(hint));
            if let Some(at) = fields.get("http") {
                http(at, wall_clock);
            }
            if let Some(at) = fields.get("openapi") {
                openapi(at);
            }
            if let Some(at) = fields.get("mcp") {
                mcp(at);
            }
            None
        }
    }
}

/// The tools by what is written, so that a broken endpoint is not an unknown tool as well; `None` where the
/// endpoints are no mapping.
fn endpoint_names(http: &At<'_>) -> Option<Vec<String>> {
    let Some(endpoints) = http.child("endpoints") else { return Some(Vec::new()) };
    let entries = endpoints.entries_quietly()?;
    Some(entries.iter().map(|entry| entry.key().value).collect())
}

fn prefix(at: &At<'_>) -> Option<String> {
    let text = at.text()?;
    let fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if text.len() > PREFIX_CAP || !text.bytes().all(fit) {
        let problem = Diagnostic::error(code::INVALID_NAME, "not a prefix that tool names can have");
        at.report(problem.hint(format!("letters, digits, `_` and `-`, at most {PREFIX_CAP}")));
        return None;
    }
    Some(text)
}

fn tool(
    at: &At<'_>,
    names: Option<&[String]>,
    wall_clock: Duration,
) -> Option<(Spanned<String>, ToolSettings)> {
    let name = at.key();
    if let Some(names) = names {
        check_tool(at, &name.value, names, At::report_key);
    }
    let fields = at.fields(SETTINGS_KEYS)?;
    let settings = ToolSettings {
        description: fields.text("description"),
        effect: fields.get("effect").and_then(effect),
        timeout: timeout(&fields, wall_clock),
        parallel: fields.boolean("parallel"),
        ..settings_of(&fields, names)
    };
    Some((name, settings))
}

/// The settings that name other tools, and the strategies. `names` are the tools of the toolset where they are
/// known.
pub(super) fn settings_of(fields: &Fields<'_>, names: Option<&[String]>) -> ToolSettings {
    let other = |key: &str| {
        let at = fields.get(key)?;
        let tool = at.some_text()?;
        if let Some(names) = names {
            check_tool(at, &tool, names, At::report);
        }
        Some(tool)
    };
    ToolSettings {
        fallback: fields.get("fallback").and_then(fallback),
        arguments: fields.get("arguments").and_then(arguments),
        approve: fields.get("approve").and_then(approve),
        reconcile: fields.get("reconcile").and_then(|at| Some(Spanned::new(reconcile(at)?, at.span()))),
        find_with: other("find_with"),
        check_with: other("check_with"),
        answer: answer(fields),
        ..ToolSettings::default()
    }
}

fn check_tool<'c>(at: &At<'c>, tool: &str, names: &[String], report: fn(&At<'c>, Diagnostic)) {
    if names.iter().any(|name| name == tool) {
        return;
    }
    let shown = backstop_core::text::escaped(tool, 80);
    let problem = Diagnostic::error(code::UNKNOWN_TOOL, format!("the toolset has no tool `{shown}`"));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    report(at, problem.maybe_hint(suggest(tool, &names)));
}

pub(super) fn effect(at: &At<'_>) -> Option<Effect> {
    at.one_of(&Effect::ALL.map(|effect| (effect.as_str(), effect)))
}

/// Reads `timeout` and warns where the run ends before it.
pub(super) fn timeout(fields: &Fields<'_>, wall_clock: Duration) -> Option<Duration> {
    let at = fields.get("timeout")?;
    let timeout = at.duration(LONGEST)?;
    if timeout > wall_clock {
        at.report(too_long(timeout, wall_clock));
    }
    Some(timeout)
}
