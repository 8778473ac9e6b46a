//! What a server takes in a tool's input schema, and the schema turned into that.
//!
//! One schema that a server refuses takes down the whole request, and each server refuses something else.
//! [`SchemaProfile`] holds those facts as data, [`SchemaProfile::convert`] follows them. Arguments are checked by the
//! schema as it was declared all the same: what a server is not told is still enforced.
//!
//! | file | what lives there |
//! | --- | --- |
//! | `facts` | [`SchemaProfile`]: the facts, each with where it is known from |
//! | `convert` | the order of the steps, and the bound on size |
//! | `expand` | keywords one by one, references followed |
//! | `reference` | where a reference leads |
//! | `pattern` | which patterns a server can read |
//! | `merge` | several schemas for one value made into one |
//! | `shape` | one type a schema, for servers that read no more |
//! | `types` | which types a schema is about |
//! | `note` | what was lost on the way |

mod convert;
mod expand;
mod facts;
mod merge;
mod note;
mod pattern;
mod reference;
mod shape;
mod types;

pub use convert::Converted;
pub use facts::SchemaProfile;
pub use note::{Loss, SchemaNote};

pub(super) use facts::NoText;
