//! A model that answers from a file: for demonstrations, tests and benchmarks that must not depend on a model.
//!
//! A script is a list of replies in YAML or JSON:
//!
//! ```yaml
//! - text: Let me look that up.
//!   calls:
//!     - { tool: get_order, arguments: { id: "7" } }
//! - fail: { kind: unavailable, status: 503, message: queue full, retry_after: 1s, times: 2 }
//! - when_contains: was not found
//!   text: There is no such order.
//! - text: "Here it is: {{last_result}}"
//!   delay: 300ms
//! - repeat: last
//! ```
//!
//! | key | meaning |
//! | --- | --- |
//! | `text` | what it says; `{{last_result}}` is what it reads as the last tool results |
//! | `calls` | the calls it makes: `tool`, and `arguments` as an object or `raw` as any text; `id` where it matters |
//! | `fail` | the turn fails: `kind`, and where wanted `status`, `message`, `retry_after` and `times` (1) |
//! | `delay` | time before anything else: `300ms`, `2s`, `1m` |
//! | `finish` | why it stopped: `stop`, `tool_calls`, `length` or `content_filter` |
//! | `when_contains` | the entry is taken only if the last tool results contain this, and skipped otherwise |
//! | `repeat: last` | alone and at the end: the last entry goes on for ever |

mod model;
mod parse;
mod script;

pub use model::ScriptedModel;
pub use parse::ScriptError;
