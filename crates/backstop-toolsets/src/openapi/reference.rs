//! `$ref`: to a place in the same file, or in another one of the same folder.

use std::collections::HashSet;

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::document::Documents;
use crate::pointer;

/// References that are followed one after the other.
const HOPS: usize = 256;

/// Where a reference points to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Location {
    /// The file, by its path in the folder; `None` for the same file.
    pub(super) file: Option<String>,
    /// A JSON Pointer.
    pub(super) pointer: String,
}

impl Location {
    /// Reads a reference that stands in the file at `from`.
    ///
    /// # Errors
    ///
    /// Why it is not followed.
    pub(super) fn of(reference: &str, from: &str) -> Result<Self, String> {
        let (file, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let pointer = percent_decode_str(fragment).decode_utf8_lossy().into_owned();
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return Err(format!("`{}` is no JSON Pointer", shown(reference)));
        }
        if file.is_empty() {
            return Ok(Self { file: None, pointer });
        }
        let file = percent_decode_str(file).decode_utf8_lossy().into_owned();
        if file.contains(':') || file.starts_with('/') || file.contains(['\\', '\0', '?']) {
            return Err(format!("`{}` is not a file in the folder of the document", shown(reference)));
        }
        let mut parts: Vec<&str> = from.split('/').collect();
        parts.pop();
        for part in file.split('/') {
            match part {
                "" | "." => {}
                ".." if parts.pop().is_none() => {
                    return Err(format!("`{}` leads out of the folder of the document", shown(reference)));
                }
                ".." => {}
                part => parts.push(part),
            }
        }
        Ok(Self { file: Some(parts.join("/")), pointer })
    }
}

fn shown(reference: &str) -> String {
    backstop_core::text::escaped(reference, 120)
}

/// A value, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node<'d> {
    pub(super) documents: &'d Documents,
    pub(super) file: usize,
    pub(super) value: &'d Value,
    pub(super) pointer: String,
}

impl<'d> Node<'d> {
    pub(super) fn root(documents: &'d Documents) -> Self {
        Self { documents, file: 0, value: documents.root(), pointer: String::new() }
    }

    /// The value of a key, if there is one that is not null. References are followed.
    pub(super) fn get(&self, key: &str) -> Option<Result<Self, String>> {
        Some(self.child(key)?.resolved())
    }

    /// The value of a key as it stands there.
    pub(super) fn child(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(self.with(value, key))
    }

    pub(super) fn text(&self, key: &str) -> Option<&'d str> {
        self.value.get(key)?.as_str()
    }

    pub(super) fn flag(&self, key: &str) -> bool {
        self.value.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    /// The items of a list under a key.
    pub(super) fn items(&self, key: &str) -> Vec<Self> {
        let Some(list) = self.child(key) else { return Vec::new() };
        let items = list.value.as_array().into_iter().flatten().enumerate();
        items.map(|(index, value)| list.with(value, &index.to_string())).collect()
    }

    /// The entries of an object under a key.
    pub(super) fn entries(&self, key: &str) -> Vec<(&'d str, Self)> {
        let Some(object) = self.child(key) else { return Vec::new() };
        let entries = object.value.as_object().into_iter().flatten();
        entries.map(|(name, value)| (name.as_str(), object.with(value, name))).collect()
    }

    fn with(&self, value: &'d Value, token: &str) -> Self {
        let pointer = pointer::child(&self.pointer, token);
        Self { documents: self.documents, file: self.file, value, pointer }
    }

    /// Where it stands, for a reader: `paths.yaml#/pets`.
    pub(super) fn place(&self) -> String {
        self.documents.place(self.file, &self.pointer)
    }

    /// What a chain of references leads to; itself where it is none.
    ///
    /// # Errors
    ///
    /// Where it leads to nothing, out of the folder, or in a circle.
    pub(super) fn resolved(&self) -> Result<Self, String> {
        let mut at = self.clone();
        let mut seen = HashSet::new();
        while let Some(reference) = at.value.get("$ref").and_then(Value::as_str) {
            if seen.len() >= HOPS || !seen.insert((at.file, at.pointer.clone())) {
                return Err(format!("`{}` refers to itself", shown(reference)));
            }
            at = at.follow(reference)?;
        }
        Ok(at)
    }

    /// What one reference leads to.
    ///
    /// # Errors
    ///
    /// As [`resolved`](Self::resolved).
    pub(super) fn follow(&self, reference: &str) -> Result<Self, String> {
        let location = Location::of(reference, self.documents.path(self.file))?;
        let file = match &location.file {
            None => self.file,
            Some(path) => match (self.documents.index(path), self.documents.missing.get(path)) {
                (Some(index), _) => index,
                (None, Some(why)) => return Err(format!("the file `{path}` can't be read: {why}")),
                (None, None) => return Err(format!("there is no file `{path}`")),
            },
        };
        let value = self.documents.file(file).pointer(&location.pointer);
        let value = value.ok_or_else(|| format!("`{}` refers to nothing", shown(reference)))?;
        Ok(Self { documents: self.documents, file, value, pointer: location.pointer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_stay_in_the_folder() {
        let at = |reference: &str| Location::of(reference, "paths/pets.yaml");
        let file = |path: &str, pointer: &str| Location { file: Some(path.into()), pointer: pointer.into() };
        assert_eq!(at("#/a~1b/c%20d").unwrap(), Location { file: None, pointer: "/a~1b/c d".into() });
        assert_eq!(at("pet.yaml").unwrap(), file("paths/pet.yaml", ""));
        assert_eq!(at("./x/../pet.yaml#/A").unwrap(), file("paths/pet.yaml", "/A"));
        assert_eq!(at("../schemas/pet.yaml#/A").unwrap(), file("schemas/pet.yaml", "/A"));
        for bad in [
            "../../secret.yaml",
            "/etc/passwd",
            "%2fetc/passwd",
            "..%2f..%2fsecret.yaml",
            "https://example.test/a.yaml",
            "file:///etc/passwd",
            "C:\\a.yaml",
            "#name",
        ] {
            assert!(at(bad).is_err(), "{bad}");
        }
    }
}
