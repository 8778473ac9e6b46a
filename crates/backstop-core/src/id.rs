//! Newtypes for the ids and the time that come in as data.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// Id of one run, unique in a store. The runtime mints UUID v7; any non-empty text is valid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(String);

/// Id of one tool call, unique in a run: the model's own id, or one minted here where the model gave none or
/// gave one twice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(String);

macro_rules! text_id {
    ($name:ident) => {
        impl $name {
            /// Wraps an id as it came.
            pub fn new(id: impl Into<String>) -> Self {
                Self(id.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}
text_id!(RunId);
text_id!(CallId);

/// Short opaque id of one failure: eight lower-case hex digits, in the user's text and in one log record.
///
/// # Example
///
/// ```
/// use backstop_core::Reference;
/// assert_eq!(Reference::new(0x1a2b_3c4d).to_string(), "1a2b3c4d");
/// assert_eq!("1a2b3c4d".parse(), Ok(Reference::new(0x1a2b_3c4d)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Reference(u32);

impl Reference {
    /// The reference with these bits; they come from the caller's source of randomness.
    pub const fn new(bits: u32) -> Self {
        Self(bits)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl From<Reference> for String {
    fn from(reference: Reference) -> Self {
        reference.to_string()
    }
}

/// A text that is not eight hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a reference is eight hex digits")]
pub struct NotAReference;

impl std::str::FromStr for Reference {
    type Err = NotAReference;

    fn from_str(text: &str) -> Result<Self, NotAReference> {
        // `from_str_radix` takes a sign too.
        if text.len() != 8 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(NotAReference);
        }
        u32::from_str_radix(text, 16).map(Self).map_err(|_| NotAReference)
    }
}

impl TryFrom<String> for Reference {
    type Error = NotAReference;

    fn try_from(text: String) -> Result<Self, NotAReference> {
        text.parse()
    }
}

/// A point in time: milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// From milliseconds since the Unix epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Time from `earlier` to this point; zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// This point moved later; the far future when it does not fit.
    pub fn after(self, by: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX)))
    }
}

/// Numbers that look random and follow from a seed: references and jitter of a run, the same on every replay.
///
/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed(u64);

impl Seed {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The numbers of one place in the run: they follow from the seed and the place alone, so what happens at the
    /// same time elsewhere does not change them.
    pub(crate) fn at(mut self, place: [u64; 4]) -> Self {
        for part in place {
            self = Self(Self(self.0 ^ part).next_u64());
        }
        self
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn reference(&mut self) -> Reference {
        Reference::new((self.next_u64() >> 32) as u32)
    }

    /// In per mille: 0 to 999.
    pub(crate) fn permille(&mut self) -> u16 {
        (self.next_u64() % 1000) as u16
    }
}
