//! HTTP endpoints, declared by hand, as tools.
//!
//! A call becomes exactly one request: arguments go where their [`Parameter`] says, encoded so that a value can't
//! leave its place, and nothing is repeated or followed. Every answer becomes an output or a typed error; words
//! reach the model only from a body that was written for callers.
//!
//! ```text
//! toolset ── request ── places, style       arguments to one request
//!         │           ├ payload             its body
//!         │           └ template, compose   paths, and values with arguments in them
//!         └─ response ─ body, media         an answer to an output
//!                     ├ answer, promise     what is declared about answers
//!                     └ status, words       an answer to an error
//!         └─ transport                      no whole answer: what may have happened
//! ```

mod answer;
pub(crate) mod body;
mod compose;
mod config;
mod disposition;
mod endpoint;
mod gate;
mod media;
mod parameter;
mod payload;
mod places;
mod promise;
mod request;
mod response;
mod retry_after;
mod status;
mod style;
mod template;
mod token;
mod toolset;
pub(crate) mod transport;
mod value;
mod words;

#[cfg(feature = "mcp")]
pub(crate) use answer::Seen;
pub use answer::{AnswerPath, AnswerRules, AnswerTest, FailWhen};
pub use compose::Templates;
pub(crate) use config::shown;
pub use config::{Auth, HttpConfig};
pub use endpoint::Endpoint;
pub(crate) use endpoint::RESERVED;
pub use gate::Rate;
#[cfg(feature = "mcp")]
pub(crate) use media::Media;
pub use parameter::{BodyForm, Parameter, Place, Style};
#[cfg(feature = "mcp")]
pub(crate) use request::Base;
pub use reqwest::Method;
#[cfg(feature = "mcp")]
pub(crate) use retry_after::retry_after;
pub use status::failure_of;
#[cfg(feature = "mcp")]
pub(crate) use status::kind_of;
#[cfg(feature = "mcp")]
pub(crate) use token::Tokens;
pub use token::{ClientAuth, OAuth2};
pub use toolset::HttpToolset;
#[cfg(feature = "mcp")]
pub(crate) use words::fit;
