//! Native data that is not read yet, with the places of the text that it was made of.

use std::rc::Rc;

use serde_json::Value as Json;

use crate::{
    reader::At,
    span::Span,
    tree::{Entry, Node, Scalar, Value, Weight},
};

/// One native value.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) data: Data,
    /// Where the text says it.
    pub(super) span: Span,
    /// Where in the data of the text.
    pub(super) path: String,
}

#[derive(Debug)]
pub(super) enum Data {
    /// Text, references in it spelled as the native form has them.
    Text(String),
    /// A number, a boolean or null.
    Plain(String),
    List(Vec<Draft>),
    Map(Vec<(String, Draft)>),
}

impl Draft {
    pub(super) fn new(at: &At<'_>, data: Data) -> Self {
        Self { data, span: at.span(), path: at.path() }
    }

    /// Text that refers to nothing.
    pub(super) fn text(at: &At<'_>, text: &str) -> Self {
        Self::new(at, Data::Text(text.replace("${", "$${")))
    }

    /// Text with references.
    pub(super) fn reference(at: &At<'_>, text: impl Into<String>) -> Self {
        Self::new(at, Data::Text(text.into()))
    }

    pub(super) fn plain(at: &At<'_>, value: impl ToString) -> Self {
        Self::new(at, Data::Plain(value.to_string()))
    }

    pub(super) fn map<K: Into<String>>(at: &At<'_>, members: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::new(at, Data::Map(members.into_iter().map(|(key, value)| (key.into(), value)).collect()))
    }

    pub(super) fn list(at: &At<'_>, items: Vec<Self>) -> Self {
        Self::new(at, Data::List(items))
    }

    pub(super) fn json(at: &At<'_>, value: &Json) -> Self {
        match value {
            Json::Null | Json::Bool(_) | Json::Number(_) => Self::plain(at, value),
            Json::String(text) => Self::text(at, text),
            Json::Array(items) => Self::list(at, items.iter().map(|item| Self::json(at, item)).collect()),
            Json::Object(members) => {
                Self::map(at, members.iter().map(|(key, value)| (key.clone(), Self::json(at, value))))
            }
        }
    }

    /// The same as a tree for the native reader.
    pub(super) fn node(&self) -> Node {
        let scalar = |text: &str, plain| Value::Scalar(Scalar { text: text.to_owned(), plain });
        let value = match &self.data {
            Data::Text(text) => scalar(text, false),
            Data::Plain(text) => scalar(text, true),
            Data::List(items) => Value::List(items.iter().map(|item| Rc::new(item.node())).collect()),
            Data::Map(members) => Value::Map(
                members
                    .iter()
                    .map(|(key, value)| Entry {
                        key: key.clone(),
                        key_span: value.span,
                        node: Rc::new(value.node()),
                    })
                    .collect(),
            ),
        };
        Node { value, span: self.span, weight: Weight::default() }
    }

    /// The place in the data of what stands at `span`.
    pub(super) fn path_at(&self, span: Span) -> Option<&str> {
        let mut found = None;
        self.walk(&mut |draft| {
            if found.is_none() && draft.span == span {
                found = Some(draft.path.as_str());
            }
        });
        found
    }

    /// Visits this value and all below it.
    pub(super) fn walk<'d>(&'d self, visit: &mut impl FnMut(&'d Self)) {
        visit(self);
        match &self.data {
            Data::Text(_) | Data::Plain(_) => {}
            Data::List(items) => items.iter().for_each(|item| item.walk(visit)),
            Data::Map(members) => members.iter().for_each(|(_, value)| value.walk(visit)),
        }
    }
}
