//! The MCP gateway: an agent's tools for agents that are written in anything.
//!
//! A call goes through the same machine as one of a model: its arguments are checked, failures are retried, served
//! otherwise or told in words that a model can act on, whatever is too large is capped, and secrets are taken out.
//!
//! ```text
//! stdio ─┐
//! http ──┴─ gateway ── tool    what is on offer
//!    │         ├─ host ────── what the host's user allows
//!    │         └─ result ──── what came of a call
//!    └─ accept, guard, tokens  who may ask, and how much at once
//! ```

mod accept;
mod gateway;
mod guard;
mod host;
mod http;
mod result;
mod stdio;
mod tokens;
mod tool;

pub use gateway::{Gateway, GatewayOptions};
pub use http::{HttpOptions, ServeError, serve_http};
pub use result::ERROR_META;
pub use stdio::serve_stdio;
pub use tokens::Tokens;
