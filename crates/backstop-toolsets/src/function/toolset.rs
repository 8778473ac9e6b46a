//! Functions as a toolset.

use std::time::Duration;

use async_trait::async_trait;
use backstop_core::{CallContext, ToolError, ToolErrorKind, ToolOutput, ToolSpec, Toolset, ValidCall, text};

use super::FnTool;

/// A toolset of typed functions.
///
/// Two tools of one name are both kept out: which one was meant is not guessed, and
/// [`list`](Toolset::list) says so.
///
/// # Example
///
/// ```
/// use backstop_core::{CallContext, ToolError, Toolset};
/// use backstop_toolsets::function::{FnTool, FnToolset};
///
/// let clock = FnToolset::new("clock")
///     .tool(FnTool::new("year", |(): (), _cx: CallContext| async { Ok::<_, ToolError>(2026) }));
/// assert_eq!(clock.name(), "clock");
/// ```
#[derive(Clone, Debug)]
pub struct FnToolset {
    name: String,
    tools: Vec<FnTool>,
}

impl FnToolset {
    /// A toolset without tools.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), tools: Vec::new() }
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: FnTool) -> Self {
        self.tools.push(tool);
        self
    }

    /// The time that one attempt of a tool has, where it was set.
    pub fn timeout_of(&self, tool: &str) -> Option<Duration> {
        self.get(tool)?.timeout
    }

    /// The only tool of this name.
    fn get(&self, name: &str) -> Option<&FnTool> {
        let mut named = self.tools.iter().filter(|tool| tool.spec().name == name);
        match (named.next(), named.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        }
    }
}

impl From<FnTool> for FnToolset {
    fn from(tool: FnTool) -> Self {
        Self::new(tool.spec().name.clone()).tool(tool)
    }
}

#[async_trait]
impl Toolset for FnToolset {
    fn name(&self) -> &str {
        &self.name
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        for tool in &self.tools {
            let name = &tool.spec().name;
            if self.get(name).is_none() {
                let detail = format!("toolset `{}` has more than one tool `{name}`", self.name);
                return Err(ToolError::misconfigured(detail));
            }
            if let Some(problem) = tool.problem() {
                let detail = format!("toolset `{}`: tool `{name}` can't be offered: {problem}", self.name);
                return Err(ToolError::misconfigured(detail));
            }
        }
        Ok(self.tools.iter().map(|tool| tool.spec().clone()).collect())
    }

    async fn call(&self, call: &ValidCall, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let tool = self.get(call.own_name()).ok_or_else(|| {
            let name = text::escaped(call.own_name(), 200);
            ToolError::new(
                ToolErrorKind::UnknownTool,
                format!("toolset `{}` has no tool `{name}`", self.name),
            )
        })?;
        tool.run(call.arguments(), cx).await
    }
}
