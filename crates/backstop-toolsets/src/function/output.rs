//! What a function may return.

use backstop_core::{ToolError, ToolOutput};
use serde::Serialize;

/// What a function may return: anything that is [`Into<ToolOutput>`], or a [`Json`] of a value that serialises.
pub trait IntoOutput {
    /// The output.
    ///
    /// # Errors
    ///
    /// [`InvalidOutput`](backstop_core::ToolErrorKind::InvalidOutput) for a value that does not serialise.
    fn into_output(self) -> Result<ToolOutput, ToolError>;
}

impl<T: Into<ToolOutput>> IntoOutput for T {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        Ok(self.into())
    }
}

/// A value that the model reads as JSON.
///
/// # Example
///
/// ```
/// use backstop_core::ToolOutput;
/// use backstop_toolsets::function::{IntoOutput, Json};
///
/// #[derive(serde::Serialize)]
/// struct Order {
///     id: u32,
/// }
/// let output = Json(Order { id: 7 }).into_output()?;
/// assert_eq!(output, ToolOutput::Json(serde_json::json!({"id": 7})));
/// # Ok::<_, backstop_core::ToolError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoOutput for Json<T> {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        ToolOutput::json(&self.0)
    }
}
