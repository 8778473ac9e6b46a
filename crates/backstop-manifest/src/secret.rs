//! Text that is never shown.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use serde::{Serialize, Serializer};

const MASK: &str = "[secret]";

/// Text that may hold a secret: `Debug`, `Display` and `Serialize` never show it, and it is wiped from memory
/// when dropped.
///
/// # Example
///
/// ```
/// use backstop_manifest::SecretText;
///
/// let key = SecretText::new("hunter2");
/// assert_eq!(format!("{key} {key:?}"), "[secret] SecretText([secret])");
/// assert_eq!(key.expose(), "hunter2");
/// ```
#[derive(Clone, Default)]
pub struct SecretText(SecretString);

impl SecretText {
    /// Hides `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(SecretString::from(text.into()))
    }

    /// The text. What takes it is responsible for not showing it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretText({MASK})")
    }
}

impl fmt::Display for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Serialize for SecretText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}
