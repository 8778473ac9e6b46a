//! The error contract: one typed error, two readings.
//!
//! A [`ToolError`] says by its [kind](ToolErrorKind) who can fix a failed call and by [`Applied`] whether the
//! world may have changed. The model reads its [`ModelView`], the operator its [`OperatorView`]; nothing else of
//! it goes anywhere. It is private by default: constructors take the operator's detail, and words reach the model
//! only where an adapter says so with [`ToolError::say`].

mod causes;
mod kind;
mod operator;
mod tool_error;
mod view;

pub(crate) use causes::Causes;
pub use kind::{Applied, ErrorClass, ToolErrorKind};
pub use operator::OperatorView;
pub use tool_error::ToolError;
pub use view::{ModelView, VIEW_CAP, ViewFacts};
