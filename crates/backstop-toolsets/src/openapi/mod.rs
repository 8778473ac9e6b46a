//! OpenAPI documents as [endpoints](crate::http::Endpoint).
//!
//! The reader is tolerant: it knows of a document what a request needs, and a part that is broken is a
//! [problem](OpenApiProblem) with its place while the rest loads. It makes no request.
//!
//! ```text
//! document ── text, swagger, reference  text to values, `$ref` followed within one folder
//!          └─ operation ── arguments  one operation to one endpoint
//!                       ├─ schema     OpenAPI's schemas to JSON Schema, with the definitions they use
//!                       └─ name       what the tool is called and how it is described
//!          └─ pick ── select          which operations become tools, and under which names
//! ```

mod arguments;
mod body;
mod document;
mod name;
mod open;
mod operation;
mod pick;
mod read;
mod reference;
mod schema;
mod security;
mod select;
mod server;
mod swagger;
mod text;

pub use document::{DOCUMENT_CAP, OpenApiError, Source};
pub use open::{fetch, open_file};
pub use read::{OpenApi, OpenApiOptions, OpenApiProblem, read};
pub use security::SecurityNeed;
pub use select::Selector;
