//! How the conversion speaks of what it can't take over as it is.

use backstop_core::text;

use crate::{
    diagnostic::{Diagnostic, code},
    reader::{At, Fields},
};

/// Something has no counterpart: `what` says what happens.
pub(super) fn unsupported(at: &At<'_>, what: &str) {
    let key = text::escaped(&at.key().value, 80);
    let message = if key.is_empty() { what.to_owned() } else { format!("`{key}` {what}") };
    at.report_key(Diagnostic::warning(code::QUICKAPPS_UNSUPPORTED, message));
}

/// Each of these fields that holds a value has no counterpart.
pub(super) fn all_unsupported(fields: &Fields<'_>, keys: &[(&str, &str)]) {
    for (key, what) in keys {
        if let Some(at) = fields.get(key) {
            unsupported(at, what);
        }
    }
}

/// Fields that QuickApps knows and does not read in this place.
pub(super) fn pointless(fields: &Fields<'_>, keys: &[&str]) {
    for at in keys.iter().filter_map(|key| fields.get(key)) {
        unsupported(at, "changes nothing here");
    }
}

/// Something is spelled in a way that QuickApps has given up.
pub(super) fn deprecated(at: &At<'_>, message: &str, hint: &str) {
    at.report_key(Diagnostic::warning(code::QUICKAPPS_DEPRECATED, message).hint(hint));
}

/// Something does not behave as it did in QuickApps.
pub(super) fn changed(at: &At<'_>, message: &str, hint: &str) {
    at.report_key(Diagnostic::warning(code::QUICKAPPS_CHANGED, message).hint(hint));
}

/// A name is not the one of the text.
pub(super) fn renamed(at: &At<'_>, what: &str, from: &str, to: &str) {
    let (from, to) = (text::escaped(from, 80), text::escaped(to, 80));
    let message = format!("the {what} `{from}` is called `{to}` here");
    at.report(Diagnostic::warning(code::QUICKAPPS_RENAMED, message));
}

/// Something is switched off: it is not part of the agent, and not of a migrated manifest.
pub(super) fn disabled(at: &At<'_>, what: &str) {
    let message = format!("the {what} is switched off, so it is left out");
    at.report_key(Diagnostic::warning(code::QUICKAPPS_DISABLED, message));
}
