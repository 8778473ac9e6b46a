//! Chat completions as OpenAI defined them and as many servers speak them, each with an accent.
//!
//! | file | what lives there |
//! | --- | --- |
//! | `config` | what a person sets |
//! | `client` | [`OpenAiModel`]: one request, one reply |
//! | `head` | the parts of a body that are the same in every request |
//! | `encode` | messages and tools as bytes, each made once |
//! | `wire` | what a server may send |
//! | `whole` | a reply in one piece |
//! | `stream`, `assemble`, `merge` | a reply in pieces |
//! | `surrogates` | halves of characters in JSON escapes |
//! | `error` | every way it fails as a `ModelError` |

mod assemble;
mod client;
mod config;
mod encode;
mod error;
mod head;
mod merge;
mod stream;
mod surrogates;
mod whole;
mod wire;

pub use client::OpenAiModel;
pub use config::OpenAiConfig;
