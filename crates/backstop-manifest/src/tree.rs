//! The text as data with places: what the decoder reads.
//!
//! Scalars are kept as written. Whether `no` is a word or `1.10` a number is decided by the field that reads it,
//! so that no text ever turns into another value on its way.

use std::rc::Rc;

use crate::span::Span;

/// One value of the text. Shared, so that an alias costs nothing.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) span: Span,
    /// What it counts for against the limits, aliases unfolded.
    pub(crate) weight: Weight,
}

#[derive(Debug)]
pub(crate) enum Value {
    Scalar(Scalar),
    List(Vec<Rc<Node>>),
    Map(Vec<Entry>),
}

#[derive(Debug)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    /// Neither quoted nor a block: the only form that may be a number, a boolean or null.
    pub(crate) plain: bool,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Span,
    pub(crate) node: Rc<Node>,
}

/// The size of a value with all aliases in it unfolded.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weight {
    pub(crate) nodes: usize,
    pub(crate) bytes: usize,
    pub(crate) height: usize,
}

impl Weight {
    pub(crate) fn scalar(text: &str) -> Self {
        Self { nodes: 1, bytes: text.len(), height: 0 }
    }

    pub(crate) fn add_child(&mut self, child: Self) {
        self.nodes = self.nodes.saturating_add(child.nodes);
        self.bytes = self.bytes.saturating_add(child.bytes);
        self.height = self.height.max(child.height + 1);
    }
}

impl Scalar {
    /// `null` or `~`, the two spellings of "not given".
    pub(crate) fn is_null(&self) -> bool {
        self.plain && matches!(self.text.as_str(), "null" | "~")
    }

    /// Nothing at all behind the key.
    pub(crate) fn is_blank(&self) -> bool {
        self.plain && self.text.is_empty()
    }
}

impl Node {
    pub(crate) fn scalar(&self) -> Option<&Scalar> {
        match &self.value {
            Value::Scalar(scalar) => Some(scalar),
            Value::List(_) | Value::Map(_) => None,
        }
    }

    /// The entry of this key, where this is a mapping that has one.
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| entry.key == key),
            Value::Scalar(_) | Value::List(_) => None,
        }
    }
}
