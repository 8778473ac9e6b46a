//! What is declared by name, in the order of the text and found without looking at all of it.

use std::{collections::HashMap, fmt, ops::Deref};

use super::{http::HttpEndpoint, toolset::ToolSettings};
use crate::span::Spanned;

/// Something with a name of its own.
pub(super) trait Named {
    fn name(&self) -> &str;
}

/// Declarations in the order of the text. A list like any other, and [`named`](Self::named) finds one of thousands
/// at once.
#[derive(Clone)]
pub struct ByName<T> {
    all: Vec<T>,
    /// Where the first of each name is.
    places: HashMap<String, usize>,
}

impl<T> ByName<T> {
    /// The declaration of this name; the first one where there are several.
    pub fn named(&self, name: &str) -> Option<&T> {
        self.all.get(*self.places.get(name)?)
    }
}

impl<T: Named> FromIterator<T> for ByName<T> {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
        let all: Vec<T> = all.into_iter().collect();
        let mut places = HashMap::with_capacity(all.len());
        for (place, item) in all.iter().enumerate() {
            places.entry(item.name().to_owned()).or_insert(place);
        }
        Self { all, places }
    }
}

impl<T> Deref for ByName<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.all
    }
}

impl<'a, T> IntoIterator for &'a ByName<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

impl<T: fmt::Debug> fmt::Debug for ByName<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all.fmt(f)
    }
}

impl Named for (Spanned<String>, ToolSettings) {
    fn name(&self) -> &str {
        &self.0
    }
}

impl Named for HttpEndpoint {
    fn name(&self) -> &str {
        &self.name
    }
}
