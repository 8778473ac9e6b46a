//! What whoever started a run sent along.

use std::{fmt, sync::Arc};

use crate::redact::Redactor;

/// Headers of the request that a run was started by, for toolsets that pass some of them on by name.
///
/// They are credentials: no journal has them, `Debug` shows only their names, and a run takes their values out of
/// everything that leaves it. Cheap to clone.
///
/// # Example
///
/// ```
/// use backstop_core::CallerHeaders;
///
/// let caller = CallerHeaders::new([("X-Tenant", "tenant-7")]);
/// assert_eq!(caller.get("x-tenant"), Some("tenant-7"));
/// assert_eq!(format!("{caller:?}"), r#"CallerHeaders(["X-Tenant"])"#);
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CallerHeaders(Arc<[(String, String)]>);

impl CallerHeaders {
    /// These headers; of more than one with the same name, in whatever case, the first counts.
    pub fn new<N, V>(headers: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<String>,
        V: Into<String>,
    {
        Self(headers.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    /// The value of a header, whatever the case of its name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// A redactor of the values, beside what `redactor` knows.
    #[must_use]
    pub fn redactor(&self, redactor: &Redactor) -> Redactor {
        // Without its scheme, too: `Bearer abc` is a credential as `abc`.
        let bare = |value: &'_ str| value.split_once(' ').map_or("", |(_, rest)| rest.trim()).to_owned();
        redactor.with(self.0.iter().flat_map(|(_, value)| [value.clone(), bare(value)]))
    }
}

impl fmt::Debug for CallerHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_tuple("CallerHeaders").field(&names).finish()
    }
}
