//! Reads one value of the tree as one type, and says what is wrong where it is not of that type.
//!
//! Every method reports and returns `None`, so a decoder reads all of its fields before it gives up, and one
//! load reports every problem.

mod at;
mod collection;
mod json;
mod scalar;
mod suggest;
mod trail;

pub(crate) use at::At;
pub(crate) use collection::Fields;
pub(crate) use json::JsonType;
pub(crate) use scalar::secret_text;
pub(crate) use suggest::suggest;
