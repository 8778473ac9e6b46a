//! Where variables and secret files come from: the one door from a manifest to the outside.

use std::{
    collections::HashMap,
    fmt,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Bytes of a secret file at most.
const FILE_CAP: u64 = 1024 * 1024;

/// Variables and files that a manifest refers to.
pub trait Environment {
    /// The variable of this name; `None` when it is not set or not Unicode.
    fn var(&self, name: &str) -> Option<String>;

    /// The text of a secret file.
    ///
    /// # Errors
    ///
    /// When it can't be read, is too large or is not UTF-8.
    fn read_file(&self, path: &Path) -> io::Result<String>;
}

/// The environment of this process and the files of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn var(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn read_file(&self, path: &Path) -> io::Result<String> {
        let mut text = String::new();
        std::fs::File::open(path)?.take(FILE_CAP + 1).read_to_string(&mut text)?;
        if text.len() as u64 > FILE_CAP {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 1 MiB"));
        }
        Ok(text)
    }
}

/// Variables and files given as data, for tests and for callers that keep their settings elsewhere.
///
/// # Example
///
/// ```
/// use backstop_manifest::{Environment, MapEnvironment};
///
/// let environment = MapEnvironment::new().with_var("HOST", "localhost");
/// assert_eq!(environment.var("HOST").as_deref(), Some("localhost"));
/// assert_eq!(environment.var("PORT"), None);
/// ```
#[derive(Clone, Default)]
pub struct MapEnvironment {
    vars: HashMap<String, String>,
    files: HashMap<PathBuf, String>,
}

impl MapEnvironment {
    /// Without variables and files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a variable.
    #[must_use]
    pub fn with_var(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.vars.insert(name.into(), value.into());
        self
    }

    /// Adds a file.
    #[must_use]
    pub fn with_file(mut self, path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        self.files.insert(path.into(), text.into());
        self
    }
}

impl fmt::Debug for MapEnvironment {
    /// Names only: the values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MapEnvironment")
            .field("vars", &self.vars.keys())
            .field("files", &self.files.keys())
            .finish()
    }
}

impl Environment for MapEnvironment {
    fn var(&self, name: &str) -> Option<String> {
        self.vars.get(name).cloned()
    }

    fn read_file(&self, path: &Path) -> io::Result<String> {
        self.files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}
