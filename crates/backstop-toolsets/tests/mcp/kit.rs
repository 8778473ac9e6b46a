//! What the tests share.

use std::{path::PathBuf, sync::Arc, time::Duration};

use backstop_core::{
    CallContext, Catalog, Effect, Reference, RunId, ToolCall, ToolError, ToolOutput, ToolPolicy, ToolSpec,
    Toolset, ValidCall, catalog::CatalogSource, error::ViewFacts,
};
use backstop_test::mcp::{Behaviour, program};
use backstop_toolsets::mcp::{McpConfig, McpToolset, Server, StdioServer};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A server's program, with the log of what it read.
pub(crate) struct Fake {
    folder: TempDir,
    behaviour: Behaviour,
}

impl Fake {
    pub(crate) fn new(behaviour: Behaviour) -> Self {
        Self { folder: TempDir::new().unwrap(), behaviour }
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// A toolset of it, with limits that tests can wait for.
    pub(crate) fn config(&self) -> McpConfig {
        let (program, args, env) = program(self.behaviour, &self.log_path());
        let mut server = StdioServer::new(program);
        server.args = args;
        server.env = env.into_iter().map(|(name, value)| (name, value.into())).collect();
        let mut config = McpConfig::new("fake", Server::Stdio(server));
        config.start_timeout = Duration::from_secs(20);
        config.list_timeout = Duration::from_secs(20);
        config.max_message = 1024 * 1024;
        config
    }

    pub(crate) fn toolset(&self) -> McpToolset {
        McpToolset::new(self.config()).unwrap()
    }

    /// What all servers of it read so far, and what they noted.
    pub(crate) fn log(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.log_path()).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// How often a method was asked for.
    pub(crate) fn count(&self, method: &str) -> usize {
        self.log().iter().filter(|message| message["method"] == method).count()
    }

    /// The processes of all servers of it so far.
    pub(crate) fn pids(&self) -> Vec<u64> {
        self.log().iter().filter_map(|message| message["started"].as_u64()).collect()
    }

    /// Waits until this is true of what was read.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&[Value]) -> bool) {
        within(what, || holds(&self.log())).await;
    }
}

/// Waits until this holds.
pub(crate) async fn within(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what}: not within 10 seconds");
}

/// Whether a process is there, and no zombie.
pub(crate) fn lives(pid: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

pub(crate) fn context(timeout: Duration) -> CallContext {
    CallContext::new(RunId::new("r"), 1, timeout, "key")
}

/// A call that fits the tool of this name, whatever its schema.
pub(crate) fn valid(tool: &str, arguments: Value) -> ValidCall {
    let spec = ToolSpec::new(tool, json!({"type": "object"}));
    let (catalog, problems) =
        Catalog::build(vec![CatalogSource::new("fake", vec![(spec, ToolPolicy::default())])]);
    assert!(problems.is_empty(), "{problems:?}");
    catalog.validate(&ToolCall::new("c1", catalog.entries()[0].name.clone(), arguments.to_string())).unwrap()
}

/// Makes a call as a driver does: it is dropped when its time is over.
pub(crate) async fn call(
    toolset: &McpToolset,
    tool: &str,
    arguments: Value,
    limit: Duration,
) -> Result<ToolOutput, ToolError> {
    let call = valid(tool, arguments);
    let cx = context(limit);
    let made = tokio::time::timeout(limit, toolset.call(&call, &cx)).await;
    made.unwrap_or_else(|_| Err(ToolError::timeout(limit, "dropped by the driver")))
}

pub(crate) async fn act(toolset: &McpToolset) -> Result<ToolOutput, ToolError> {
    call(toolset, "act", json!({}), Duration::from_secs(5)).await
}

pub(crate) async fn echo(toolset: &McpToolset) -> Result<ToolOutput, ToolError> {
    call(toolset, "echo", json!({"text": "still here"}), Duration::from_secs(20)).await
}

/// What is to be read of a result: by programs, by a model, by an operator.
pub(crate) fn shown(result: &Result<ToolOutput, ToolError>) -> String {
    match result {
        Ok(output) => {
            let text = output.model_text();
            let head: String = text.chars().take(200).collect();
            format!("ok: {head}")
        }
        Err(error) => {
            let view = ViewFacts::new("act", Effect::Mutating, Reference::new(0)).view(error, None);
            let view = view.as_str().replace('\n', "\n    ");
            let mut causes = error.causes();
            causes.insert(0, error.detail().to_owned());
            let code = error.code().map(|code| format!(" code={code}")).unwrap_or_default();
            format!(
                "{} applied={}{code}\n  model:\n    {view}\n  operator: {}",
                error.kind(),
                error.applied(),
                causes.join(" <- ")
            )
        }
    }
}

pub(crate) fn shared(toolset: McpToolset) -> Arc<dyn Toolset> {
    Arc::new(toolset)
}
