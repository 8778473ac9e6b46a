//! Backstop manifests: YAML or JSON text to data, with source spans and diagnostics.
//!
//! [`Manifest::load`] takes a text apart and says everything that is wrong with it at once, each problem with a
//! stable [`code`], a place and a hint. It opens nothing by itself: variables and secret files come in through
//! an [`Environment`], other files are only named. What a manifest *means* for a run is decided elsewhere; this
//! crate knows no model client and no toolset.
//!
//! A QuickApps manifest is known by its content and converted in memory; [`migrate()`] writes it as a native one.
//!
//! # Rules of the text
//!
//! * YAML 1.2 or JSON, one document, UTF-8 with or without a byte order mark; at most 1 MiB, 64 levels and
//!   100,000 values with aliases unfolded. No merge keys, no tags but `!!str`.
//! * Where text is expected it is taken as written: `no`, `1.10` and `0123` stay text. `true`, `false` and JSON
//!   numbers are read as such only where they are expected and not quoted. `null` and `~` are the same as no key.
//! * An error anywhere means no manifest: nothing runs with half of its tools.
//! * `${NAME}` is the variable, `${NAME:-default}` has a default for unset or empty, `${secret:NAME}` is the
//!   variable or the content of the file that `NAME_FILE` names, `${secret:file:PATH}` is a file next to the
//!   manifest, `$${` is a literal `${`. They may stand without quotes everywhere. Keys are not expanded, and
//!   neither is what came out of a reference.

mod context;
mod diagnostic;
mod environment;
mod interpolate;
mod mask;
mod parse;
mod quickapps;
mod reader;
mod secret;
mod shown;
mod span;
mod tree;
pub mod v1;

pub use diagnostic::{Diagnostic, Severity, code};
pub use environment::{Environment, MapEnvironment, ProcessEnvironment};
pub use quickapps::{Migration, migrate};
pub use secret::SecretText;
pub use shown::shown_text;
pub use span::{Span, Spanned};
pub use v1::Manifest;
