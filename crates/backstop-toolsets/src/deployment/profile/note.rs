//! What was lost on the way to a server.

use std::fmt;

/// Notes about one schema at most.
const NOTES_CAP: usize = 32;
/// Bytes of a pointer that are shown.
const POINTER_CAP: usize = 200;

/// One thing that a server is not told, and where the declared schema says it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaNote {
    /// Where in the declared schema, as a JSON Pointer; empty for the whole schema.
    pub pointer: String,
    /// What is not told.
    pub loss: Loss,
}

/// What a server is not told. Calls are checked by it all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// A pattern that the server can't read.
    Pattern,
    /// Allowed values of a type that the server takes no list for.
    Values,
    /// A reference to something that is not in the schema.
    Reference,
    /// What lies deeper than the schema is followed.
    Depth,
    /// Which alternative goes with which: their properties are told, the choice is not.
    Choice,
    /// Everything: the schema is too large.
    Size,
    /// The whole tool: its name does not begin with a letter or `_`.
    Name,
    /// The whole tool: its arguments can't be an object.
    NotAnObject,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pattern => "the pattern is not sent to the model: its server can't read it",
            Self::Values => "the allowed values are not sent to the model: its server takes only texts",
            Self::Reference => "the reference leads nowhere and is sent as any value",
            Self::Depth => "the schema is too deep and sent only down to here",
            Self::Choice => {
                "the alternatives are sent as one object: servers take no choice at the top of a schema"
            }
            Self::Size => "the schema is too large and sent as any object",
            Self::Name => "the tool is not sent to the model: its server takes no name that begins so",
            Self::NotAnObject => "the tool is not sent to the model: its arguments can't be an object",
        })
    }
}

impl fmt::Display for SchemaNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() {
            return write!(f, "{}", self.loss);
        }
        write!(f, "{} (at `{}`)", self.loss, backstop_core::text::escaped(&self.pointer, POINTER_CAP))
    }
}

/// Notes, each made once.
#[derive(Debug, Default)]
pub(super) struct Notes(Vec<SchemaNote>);

impl Notes {
    pub(super) fn add(&mut self, pointer: &str, loss: Loss) {
        let note = SchemaNote { pointer: pointer.to_owned(), loss };
        if self.0.len() < NOTES_CAP && !self.0.contains(&note) {
            self.0.push(note);
        }
    }

    pub(super) fn into_vec(self) -> Vec<SchemaNote> {
        self.0
    }
}
