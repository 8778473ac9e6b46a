//! The command line.

use std::{path::PathBuf, time::Duration};

use backstop::{Applied, ToolErrorKind};
use clap::{
    ArgGroup, Args, Parser, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};

/// Runs LLM agents and the tools they call, and makes every failed tool call end well.
#[derive(Debug, Parser)]
#[command(name = "backstop", version, propagate_version = true)]
#[command(after_help = "Logs go to stderr: set BACKSTOP_LOG=warn (or info, debug) to see them, and \
                        BACKSTOP_LOG_FORMAT=json for one JSON object a line. NO_COLOR is respected.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a commented starter manifest that checks and runs without any key.
    Init {
        /// The folder to write to; made if it is not there.
        #[arg(default_value = ".")]
        dir: PathBuf,
    },
    /// Check manifests and report every problem with its place.
    ///
    /// Exit code: 0 fine, 1 warnings (only with --strict), 2 errors.
    Check {
        /// The manifests.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
        /// Exit with 1 where there are warnings.
        #[arg(long)]
        strict: bool,
    },
    /// Write a QuickApps manifest as a native one, and report what was changed or left out.
    ///
    /// The report goes to stderr. Credentials become references to variables, which it names. Exit code: 0 fine,
    /// 2 not migrated.
    Migrate {
        /// The manifest.
        file: PathBuf,
        /// Write to this file, which must not be there yet, in place of stdout.
        #[arg(short, long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Print one JSON document with the report.
        #[arg(long)]
        json: bool,
    },
    /// Show the tools exactly as a model will see them.
    Tools {
        /// The manifest.
        file: PathBuf,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Make one tool call under the whole contract, without a model.
    ///
    /// Prints the output, or what a model would read about the failure. Exit code: 0 for a result, 1 for a
    /// failure, 2 for a usage or manifest error.
    Call {
        /// The manifest.
        file: PathBuf,
        /// The tool: the name that the model sees, or the toolset's own where it is unique.
        tool: String,
        /// The arguments as a JSON object; `-` reads them from stdin.
        arguments: Option<String>,
        /// Print one JSON document with both readings of a failure.
        #[arg(long)]
        json: bool,
    },
    /// Explain what happens when a call of a tool fails in some way, without making the call.
    ///
    /// Shows the way to the decision, every attempt until the call is settled, and what the model and the user
    /// read. Assumes that nothing else of the run has failed, and that every attempt fails alike.
    Explain {
        /// The manifest.
        file: PathBuf,
        /// The tool: the name that the model sees, or the toolset's own where it is unique.
        tool: String,
        #[command(flatten)]
        failure: Hypothesis,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Run an agent on one prompt.
    ///
    /// The answer goes to stdout, progress to stderr. Exit code: 0 answered, 1 ended otherwise, 2 usage or
    /// manifest error, 130 cancelled.
    Run {
        /// The manifest.
        file: PathBuf,
        /// The prompt; `-` or nothing reads it from stdin.
        prompt: Option<String>,
        #[command(flatten)]
        output: Output,
        #[command(flatten)]
        model: ModelFlags,
        #[command(flatten)]
        approval: Approval,
    },
    /// Talk with an agent in the terminal.
    ///
    /// An empty line or Ctrl-D ends the conversation; Ctrl-C cancels a turn.
    Chat {
        /// The manifest.
        file: PathBuf,
        #[command(flatten)]
        model: ModelFlags,
        #[command(flatten)]
        approval: Approval,
        /// Show the operator's view of each failure.
        #[arg(short, long)]
        verbose: bool,
    },
    /// Give the tools to any program that speaks the Model Context Protocol (MCP), on stdin and stdout or over HTTP.
    ///
    /// Arguments are checked, failures retried and told in words that a model can act on, whatever the program is
    /// written in. Logs go to stderr: one record for each failure.
    Mcp {
        /// The manifest.
        file: PathBuf,
        #[command(flatten)]
        gate: Gate,
    },
    /// Log in to an MCP server of a manifest, with a browser.
    ///
    /// For toolsets with `auth: login`. The token is kept for this user, in the folder BACKSTOP_TOKENS or where the data
    /// of programs are, and renewed when it ends. Exit code: 0 logged in, 1 not, 2 usage or manifest error, 130
    /// cancelled.
    Login {
        /// The manifest.
        file: PathBuf,
        /// The toolset; needed where there is more than one to log in to.
        toolset: Option<String>,
        #[command(flatten)]
        flags: LoginFlags,
    },
    /// Forget the token of an MCP server.
    ///
    /// It is not called back: the server may take it until it ends.
    Logout {
        /// The manifest.
        file: PathBuf,
        /// The toolset; needed where there is more than one to log out of.
        toolset: Option<String>,
    },
    /// See it work: start a small shop that fails on purpose, and an agent that uses it.
    ///
    /// Uses the model at OPENAI_BASE_URL or OPENAI_API_KEY if one of them is set, else a scripted one.
    Quickstart {
        /// The prompt.
        #[arg(
            default_value = "The mug of order A-1001 arrived damaged. Refund 19.90 and tell me today's sales."
        )]
        prompt: String,
        /// Only serve the shop, at this address or 127.0.0.1:8788, for `backstop call` and `backstop run` by hand.
        #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:8788")]
        serve: Option<std::net::SocketAddr>,
        #[command(flatten)]
        output: Output,
    },
}

/// How `login` asks, and for what.
#[derive(Debug, Args, Clone)]
pub(crate) struct LoginFlags {
    /// Ask for this scope, in place of those that are declared or that the server wants. May be repeated.
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    /// Do not open a browser: only print the address.
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Seconds to wait for somebody to log in.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    /// Print one JSON document; the token is not in it.
    #[arg(long)]
    pub(crate) json: bool,
}

impl LoginFlags {
    pub(crate) const fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }
}

/// The failure that `explain` is asked about.
#[derive(Debug, Args, Clone)]
#[command(group(ArgGroup::new("what").args(["kind", "status", "message"]).required(true).multiple(true)))]
pub(crate) struct Hypothesis {
    /// The kind of the failure.
    #[arg(long, conflicts_with = "status", value_parser = kind_parser())]
    pub(crate) kind: Option<ToolErrorKind>,
    /// The HTTP status that the service answers with.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(100..=599))]
    pub(crate) status: Option<u16>,
    /// The words of the service. Alone they are a refusal (`rejected`) by a tool that worked.
    #[arg(long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Whether the failed attempt changed the world; what the kind or the status usually says otherwise.
    #[arg(long, value_parser = applied_parser())]
    pub(crate) applied: Option<Applied>,
    /// The attempt that failed, from 1.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) attempt: u32,
}

fn kind_parser() -> impl TypedValueParser<Value = ToolErrorKind> {
    PossibleValuesParser::new(ToolErrorKind::ALL.map(ToolErrorKind::as_str)).try_map(|name| {
        let kind = ToolErrorKind::ALL.into_iter().find(|kind| kind.as_str() == name);
        kind.ok_or("not a kind")
    })
}

fn applied_parser() -> impl TypedValueParser<Value = Applied> {
    PossibleValuesParser::new(Applied::ALL.map(Applied::as_str)).try_map(|name| {
        let applied = Applied::ALL.into_iter().find(|applied| applied.as_str() == name);
        applied.ok_or("no, yes or unknown")
    })
}

/// How `mcp` serves, and whom.
#[derive(Debug, Args, Clone, Default)]
pub(crate) struct Gate {
    /// Serve on stdin and stdout, which is the default.
    #[arg(long, conflicts_with = "http")]
    pub(crate) stdio: bool,
    /// Serve over streamable HTTP at this address, at the path /mcp.
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<std::net::SocketAddr>,
    /// Take the bearer token in this variable; an address that is not loopback needs one.
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) token_env: Vec<String>,
    /// Take the bearer tokens in this file, one a line.
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// Take requests to this host name, such as that of a proxy in front.
    #[arg(long, value_name = "HOST", requires = "http")]
    pub(crate) allow_host: Vec<String>,
    /// Take requests of web pages from this origin, such as https://app.example:443.
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub(crate) allow_origin: Vec<String>,
    /// Make calls that a person must allow: the program asks its user before each call by itself.
    #[arg(long)]
    pub(crate) host_approves: bool,
    /// Do not serve: add the server to this configuration file of Claude Desktop, Cursor, VS Code or the like.
    #[arg(long, value_name = "FILE")]
    pub(crate) add_to: Option<PathBuf>,
    /// Add it without asking.
    #[arg(long, requires = "add_to")]
    pub(crate) yes: bool,
}

#[derive(Debug, Args, Clone, Copy, Default)]
pub(crate) struct Output {
    /// Print one JSON document in place of the answer.
    #[arg(long, conflicts_with = "events")]
    pub(crate) json: bool,
    /// Print the run's journal as JSON lines in place of the answer.
    #[arg(long)]
    pub(crate) events: bool,
    /// Show the operator's view of each failure.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Args, Clone, Copy, Default)]
pub(crate) struct Approval {
    /// Allow every call that a person must allow.
    #[arg(long, conflicts_with = "no")]
    pub(crate) yes: bool,
    /// Refuse every call that a person must allow.
    #[arg(long)]
    pub(crate) no: bool,
}

#[derive(Debug, Args, Clone, Default)]
pub(crate) struct ModelFlags {
    /// Use this model in place of the manifest's.
    #[arg(long = "model", value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Use the model server at this address in place of the manifest's.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
}
