//! What a tool is.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What executing a tool does to the world. It decides what may be repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Changes nothing: always safe to repeat.
    ReadOnly,
    /// Changes something, and doing it twice is the same as doing it once.
    Idempotent,
    /// Changes something each time. What is assumed of a tool of which nobody said otherwise.
    #[default]
    Mutating,
}

impl Effect {
    /// The name in manifests and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Idempotent => "idempotent",
            Self::Mutating => "mutating",
        }
    }

    /// Every effect, safest first.
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::Idempotent, Self::Mutating];
}

/// Whether a person must allow a call before it is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approve {
    /// No.
    #[default]
    Never,
    /// Where the tool changes something each time.
    Mutating,
    /// Yes.
    Always,
}

impl Approve {
    /// Whether a call of a tool with this effect must be allowed.
    pub const fn is_needed(self, effect: Effect) -> bool {
        match self {
            Self::Never => false,
            Self::Mutating => matches!(effect, Effect::Mutating),
            Self::Always => true,
        }
    }
}

/// Name, description, schemas and effect of one tool, as its toolset declares it.
///
/// # Example
///
/// ```
/// use backstop_core::{Effect, ToolSpec};
/// use serde_json::json;
///
/// let spec = ToolSpec::new("add", json!({"type": "object", "properties": {"a": {"type": "integer"}}}))
///     .description("Adds two integers.")
///     .effect(Effect::ReadOnly);
/// assert_eq!(spec.name, "add");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The tool's own name in its toolset.
    pub name: String,
    /// What the model reads about it; may be empty.
    #[serde(default)]
    pub description: String,
    /// JSON Schema of the arguments: an object schema, draft 2020-12 unless it says otherwise.
    pub input_schema: Value,
    /// JSON Schema of the result, where the tool promises one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// What executing it does to the world.
    #[serde(default)]
    pub effect: Effect,
    /// Whether two calls of it may run at the same time.
    #[serde(default = "yes")]
    pub parallel_safe: bool,
    /// Whether the upstream honours the idempotency key of [`CallContext`](crate::CallContext), so that a
    /// repeated attempt has no second effect.
    #[serde(default)]
    pub honours_idempotency_key: bool,
    /// A tool of the same toolset that finds a valid argument, named in the next step after "not found".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub find_with: Option<String>,
    /// A tool of the same toolset that shows whether a call took effect, named after a lost reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_with: Option<String>,
}

const fn yes() -> bool {
    true
}

impl ToolSpec {
    /// A tool with this name and argument schema; mutating and parallel-safe until said otherwise.
    pub fn new(name: impl Into<String>, input_schema: Value) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            input_schema,
            output_schema: None,
            effect: Effect::default(),
            parallel_safe: true,
            honours_idempotency_key: false,
            find_with: None,
            check_with: None,
        }
    }

    /// Sets what the model reads about the tool.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets what executing the tool does to the world.
    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// Makes calls of this tool run alone.
    #[must_use]
    pub fn exclusive(mut self) -> Self {
        self.parallel_safe = false;
        self
    }

    /// Declares that the upstream honours idempotency keys.
    #[must_use]
    pub fn honours_idempotency_key(mut self) -> Self {
        self.honours_idempotency_key = true;
        self
    }

    /// Names the tool that finds a valid argument after "not found".
    #[must_use]
    pub fn find_with(mut self, tool: impl Into<String>) -> Self {
        self.find_with = Some(tool.into());
        self
    }

    /// Names the tool that shows whether a call whose reply was lost took effect.
    #[must_use]
    pub fn check_with(mut self, tool: impl Into<String>) -> Self {
        self.check_with = Some(tool.into());
        self
    }
}
