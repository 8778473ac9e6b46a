//! One function as a tool.

use std::{error::Error, fmt, future::Future, sync::Arc, time::Duration};

use backstop_core::{CallContext, Effect, ToolError, ToolOutput, ToolSpec};
use futures_util::{FutureExt, future::BoxFuture};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{IntoOutput, arguments::typed, schema::schema_of};

type Function = dyn Fn(&Map<String, Value>, CallContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>>
    + Send
    + Sync;

/// A typed function as a tool: the schema of its arguments comes from their type.
///
/// Mutating and parallel-safe until said otherwise. Cheap to clone.
///
/// # Example
///
/// ```
/// use backstop_core::{CallContext, Effect, ToolError};
/// use backstop_toolsets::function::FnTool;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct AddArgs {
///     a: i64,
///     b: i64,
/// }
///
/// let add = FnTool::new("add", |args: AddArgs, _cx: CallContext| async move {
///     let sum = args.a.checked_add(args.b);
///     sum.ok_or_else(|| ToolError::rejected("the sum overflows").say("the sum is too large"))
/// })
/// .description("Adds two integers.")
/// .effect(Effect::ReadOnly);
/// assert_eq!(add.spec().name, "add");
/// ```
#[derive(Clone)]
pub struct FnTool {
    spec: ToolSpec,
    /// The time that one attempt has; the run's default where there is none.
    pub timeout: Option<Duration>,
    problem: Option<&'static str>,
    function: Arc<Function>,
}

impl FnTool {
    /// A function as the tool of this name.
    ///
    /// The function returns anything that is [`IntoOutput`]. Its error may be of any type: a
    /// [`ToolError`] stays what it is, everything else becomes
    /// [`internal`](backstop_core::ToolErrorKind::Internal), with the whole chain for operators and nothing for
    /// the model. So does a `ToolError` inside of another error, such as one of `anyhow`. To give `?` on an own error type a kind, implement `From<MyError> for ToolError` and return
    /// `Result<_, ToolError>`.
    pub fn new<A, F, Fut, T, E>(name: impl Into<String>, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, CallContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
        T: IntoOutput,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let arguments = schema_of::<A>();
        let schema = arguments.schema.clone();
        let function = move |values: &Map<String, Value>, cx: CallContext| {
            let typed = match typed::<A>(values, &schema, arguments.unit) {
                Ok(typed) => typed,
                Err(error) => return std::future::ready(Err(error)).boxed(),
            };
            let future = function(typed, cx);
            async move { future.await.map_err(ToolError::from_any).and_then(IntoOutput::into_output) }.boxed()
        };
        Self {
            spec: ToolSpec::new(name, arguments.schema),
            timeout: None,
            problem: arguments.problem,
            function: Arc::new(function),
        }
    }

    /// Sets what the model reads about the tool.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.spec.description = description.into();
        self
    }

    /// Sets what executing the tool does to the world.
    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.spec.effect = effect;
        self
    }

    /// Sets the time that one attempt has.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Makes calls of this tool run alone.
    #[must_use]
    pub fn exclusive(mut self) -> Self {
        self.spec = self.spec.exclusive();
        self
    }

    /// Names the tool that finds a valid argument after "not found".
    #[must_use]
    pub fn find_with(mut self, tool: impl Into<String>) -> Self {
        self.spec = self.spec.find_with(tool);
        self
    }

    /// Names the tool that shows whether a call whose reply was lost took effect.
    #[must_use]
    pub fn check_with(mut self, tool: impl Into<String>) -> Self {
        self.spec = self.spec.check_with(tool);
        self
    }

    /// Declares that the function honours [`CallContext::idempotency_key`], so that repeating an attempt has no
    /// second effect.
    #[must_use]
    pub fn honours_idempotency_key(mut self) -> Self {
        self.spec = self.spec.honours_idempotency_key();
        self
    }

    /// What the tool is.
    pub fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Why it can't be offered.
    pub(super) fn problem(&self) -> Option<&'static str> {
        self.problem
    }

    pub(super) fn run(
        &self,
        arguments: &Map<String, Value>,
        cx: &CallContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        (self.function)(arguments, cx.clone())
    }
}

impl fmt::Debug for FnTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnTool")
            .field("spec", &self.spec)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
