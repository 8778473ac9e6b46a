//! A tool call on its way from the model to the tool.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::CallId;

/// What the model asked, as it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The model's id for it; empty where it gave none.
    pub id: CallId,
    /// The name the model wrote; any text.
    pub name: String,
    /// The arguments text.
    pub arguments: RawArguments,
}

impl ToolCall {
    /// A call as the model wrote it.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { id: CallId::new(id), name: name.into(), arguments: RawArguments(arguments.into()) }
    }
}

/// The arguments text of a call, byte for byte: JSON if the model did well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawArguments(pub String);

/// A call whose arguments fit the schema of its tool. Only [validation](crate::Catalog::validate) makes one, and a
/// toolset receives nothing else:
///
/// ```compile_fail
/// let call = backstop_core::ValidCall { arguments: Default::default(), ..unreachable!() };
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ValidCall {
    pub(crate) id: CallId,
    pub(crate) tool: String,
    pub(crate) own_name: String,
    pub(crate) toolset: usize,
    pub(crate) entry: usize,
    pub(crate) arguments: Map<String, Value>,
    pub(crate) mended: Option<String>,
}

impl ValidCall {
    /// The call's id, unique in the run.
    pub fn id(&self) -> &CallId {
        &self.id
    }

    /// The tool, by the name that the model knows.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The toolset's own name for the tool.
    pub fn own_name(&self) -> &str {
        &self.own_name
    }

    /// The toolset, by its place in the catalog.
    pub fn toolset(&self) -> usize {
        self.toolset
    }

    /// The tool, by its place in the [catalog](crate::Catalog::entries).
    pub fn entry(&self) -> usize {
        self.entry
    }

    /// The arguments, defaults applied.
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// What the model is told where the call is made with other arguments than it wrote: only by declared
    /// [rules](crate::schema::ArgumentRules).
    pub fn mended(&self) -> Option<&str> {
        self.mended.as_deref()
    }

    /// The arguments, taken out.
    pub fn into_arguments(self) -> Map<String, Value> {
        self.arguments
    }
}
