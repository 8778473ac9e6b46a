//! A tool call on its way from the model to the tool, and what comes back.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    id::CallId,
    text::{MODEL_TEXT_CAP, head_and_tail},
};

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

/// What a tool gave.
///
/// # Example
///
/// ```
/// use backstop_core::ToolOutput;
/// assert_eq!(ToolOutput::from(7).model_text(), "7");
/// assert_eq!(ToolOutput::text("").model_text(), "The tool finished and gave no output.");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolOutput {
    /// Text for the model, as it is.
    Text(String),
    /// A value; the model reads it as compact JSON.
    Json(Value),
}

impl ToolOutput {
    /// Text for the model, as it is.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A value that the model reads as JSON.
    ///
    /// # Errors
    ///
    /// [`ToolErrorKind::InvalidOutput`](crate::ToolErrorKind::InvalidOutput) when it does not serialise.
    pub fn json(value: &impl Serialize) -> Result<Self, crate::ToolError> {
        serde_json::to_value(value).map(Self::Json).map_err(|cause| {
            crate::ToolError::invalid_output("the tool's result does not serialise").with_source(cause)
        })
    }

    /// What the model reads: never empty, at most [`MODEL_TEXT_CAP`] bytes with head and tail kept.
    pub fn model_text(&self) -> String {
        let whole = match self {
            Self::Text(text) | Self::Json(Value::String(text)) => std::borrow::Cow::Borrowed(text.as_str()),
            Self::Json(value) => std::borrow::Cow::Owned(value.to_string()),
        };
        if whole.trim().is_empty() {
            return "The tool finished and gave no output.".into();
        }
        if whole.len() <= MODEL_TEXT_CAP { whole.into_owned() } else { head_and_tail(&whole, MODEL_TEXT_CAP) }
    }

    /// The output as a value: a text as a JSON string.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Text(text) => Value::String(text.clone()),
            Self::Json(value) => value.clone(),
        }
    }
}

macro_rules! from_value {
    ($($from:ty)*) => {$(
        impl From<$from> for ToolOutput {
            fn from(value: $from) -> Self {
                Self::Json(value.into())
            }
        }
    )*};
}
from_value!(i32 i64 u32 u64 usize f64 bool Value);

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<()> for ToolOutput {
    fn from((): ()) -> Self {
        Self::Text(String::new())
    }
}
