//! The text of a document, and the files that it refers to.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::{
    reference::Location,
    swagger,
    text::{Parsed, parse},
};

/// Bytes of a document at most, together with the files that it refers to.
pub const DOCUMENT_CAP: usize = 64 * 1024 * 1024;
/// Files of one document at most.
const FILES_CAP: usize = 256;
/// Levels that are looked through for references.
const DEPTH: usize = 512;

/// Why there is no document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenApiError {
    /// The text is neither JSON nor YAML.
    #[error("not a JSON or YAML document: {0}")]
    Syntax(String),
    /// It is larger than [`DOCUMENT_CAP`].
    #[error("the document is larger than 64 MiB")]
    TooLarge,
    /// It can't be read where it is.
    #[error("{0}")]
    Unreadable(String),
    /// It is something else, or of a version that is not known.
    #[error("{0}")]
    NotOpenApi(String),
}

/// Where the files of a document come from.
pub trait Source {
    /// The text of a file, by its path relative to the folder of the document: `schemas/pet.yaml`. It never leads
    /// out of that folder.
    ///
    /// # Errors
    ///
    /// Why there is none.
    fn read(&self, path: &str) -> Result<String, String>;
}

/// The version of a document, as far as it makes a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V30,
    V31,
}

/// A document and the files that it refers to.
#[derive(Debug)]
pub(super) struct Documents {
    pub(super) version: Version,
    files: Vec<Value>,
    by_path: HashMap<String, usize>,
    paths: Vec<String>,
    /// Files that can't be read, and why.
    pub(super) missing: HashMap<String, String>,
    /// Keys that are there twice, by file and JSON Pointer.
    twice: Vec<(usize, String)>,
}

impl Documents {
    pub(super) fn open(text: &str, source: &dyn Source) -> Result<Self, OpenApiError> {
        let Parsed { value, twice } = parse(text)?;
        let root = swagger::upgraded(value)?;
        let version = version(&root)?;
        let mut documents = Self {
            version,
            files: vec![root],
            by_path: HashMap::from([(String::new(), 0)]),
            paths: vec![String::new()],
            missing: HashMap::new(),
            twice: twice.into_iter().map(|pointer| (0, pointer)).collect(),
        };
        documents.open_files(source, DOCUMENT_CAP.saturating_sub(text.len()));
        Ok(documents)
    }

    /// Reads all files that are referred to, directly or not, of at most `room` bytes together.
    fn open_files(&mut self, source: &dyn Source, mut room: usize) {
        let mut open = VecDeque::from([0]);
        while let Some(file) = open.pop_front() {
            let mut found = Vec::new();
            if let (Some(value), Some(path)) = (self.files.get(file), self.paths.get(file)) {
                references(value, DEPTH, &mut |reference| {
                    if let Ok(Location { file: Some(target), .. }) = Location::of(reference, path) {
                        found.push(target);
                    }
                });
            }
            for path in found {
                if self.by_path.contains_key(&path) || self.missing.contains_key(&path) {
                    continue;
                }
                if self.files.len() >= FILES_CAP {
                    self.missing.insert(path, format!("more than {FILES_CAP} files are referred to"));
                    continue;
                }
                let read = source.read(&path).and_then(|text| {
                    room = room.checked_sub(text.len()).ok_or("all files together are larger than 64 MiB")?;
                    parse(&text).map_err(|why| why.to_string())
                });
                match read {
                    Ok(Parsed { value, twice }) => {
                        let index = self.files.len();
                        self.twice.extend(twice.into_iter().map(|pointer| (index, pointer)));
                        self.files.push(value);
                        self.paths.push(path.clone());
                        self.by_path.insert(path, index);
                        open.push_back(index);
                    }
                    Err(why) => {
                        self.missing.insert(path, why);
                    }
                }
            }
        }
    }

    pub(super) fn root(&self) -> &Value {
        self.files.first().unwrap_or(&Value::Null)
    }

    pub(super) fn file(&self, index: usize) -> &Value {
        self.files.get(index).unwrap_or(&Value::Null)
    }

    pub(super) fn path(&self, index: usize) -> &str {
        self.paths.get(index).map_or("", String::as_str)
    }

    /// Where a key is there twice, for a reader.
    pub(super) fn twice(&self) -> impl Iterator<Item = String> {
        self.twice.iter().map(|(file, pointer)| self.place(*file, pointer))
    }

    /// A place, for a reader: `paths.yaml#/pets`.
    pub(super) fn place(&self, file: usize, pointer: &str) -> String {
        let path = self.path(file);
        if path.is_empty() { pointer.to_owned() } else { format!("{path}#{pointer}") }
    }

    pub(super) fn index(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }
}

fn version(root: &Value) -> Result<Version, OpenApiError> {
    let Some(object) = root.as_object() else {
        return Err(OpenApiError::NotOpenApi("the document is not an object".into()));
    };
    // A version without quotes is a number in YAML.
    let written = object.get("openapi").map(|version| match version {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    match written.as_deref() {
        Some(version) if version.starts_with("3.0") => Ok(Version::V30),
        Some(version) if version.starts_with("3.") || version == "3" => Ok(Version::V31),
        Some(version) => {
            let version = backstop_core::text::escaped(version, 40);
            Err(OpenApiError::NotOpenApi(format!("OpenAPI {version} is not known: 2.0 and 3.x are")))
        }
        None => {
            Err(OpenApiError::NotOpenApi("the document has no `openapi` and no `swagger` version".into()))
        }
    }
}

/// Tells `found` of each `$ref`.
fn references(value: &Value, depth: usize, found: &mut impl FnMut(&str)) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match value {
        Value::Object(object) => {
            if let Some(Value::String(reference)) = object.get("$ref") {
                found(reference);
            }
            object.values().for_each(|value| references(value, depth, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, depth, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
