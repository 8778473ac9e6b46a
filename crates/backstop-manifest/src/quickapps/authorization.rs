//! `authorization`: how a service knows who calls.

use super::{credential::Credentials, draft::Draft, report::pointless};
use crate::reader::At;

const KEYS: &[&str] = &[
    "type",
    "username",
    "password",
    "token",
    "key",
    "name",
    "location",
    "client_id",
    "client_secret",
    "token_url",
    "scope",
    "aud",
];

pub(super) enum Authorization {
    Native(Draft),
    /// A member of the JSON body: its name and its value.
    InBody(String, Draft),
}

/// Converts an authorization whose type is known. `key` is what its credentials are called after, `places` where a
/// key may go: only a header where nothing is listed.
pub(super) fn authorization(
    at: &At<'_>,
    credentials: &Credentials,
    key: &str,
    places: &[&'static str],
) -> Option<Authorization> {
    let fields = at.fields_leniently(KEYS)?;
    let credential = |field: &str, called: &str| credentials.draft(fields.required(field)?, [key, called]);
    let native = |kind: &str, draft: Draft| Some(Authorization::Native(Draft::map(at, [(kind, draft)])));
    let kind = fields.get("type").and_then(At::text)?;
    let read: &[&str] = match kind.as_str() {
        "bearer" => &["token"],
        "basic" => &["username", "password"],
        _ if places.is_empty() => &["key", "name"],
        _ => &["key", "name", "location"],
    };
    let others = KEYS.iter().filter(|key| **key != "type" && !read.contains(key));
    pointless(&fields, &others.copied().collect::<Vec<_>>());
    match kind.as_str() {
        "bearer" => native("bearer", credential("token", "token")?),
        "basic" => {
            let user_at = fields.required("username");
            let password = credential("password", "password");
            let user_at = user_at?;
            let user = Draft::text(user_at, &user_at.text()?);
            native("basic", Draft::map(at, [("username", user), ("password", password?)]))
        }
        _ => {
            let name_at = fields.required("name");
            let value = credential("key", "key");
            let name_at = name_at?;
            let name = name_at.some_text()?;
            let place = match fields.get("location").filter(|_| !places.is_empty()) {
                Some(at) => at.one_of(&places.iter().map(|place| (*place, *place)).collect::<Vec<_>>())?,
                None => "header",
            };
            if place == "body" {
                return Some(Authorization::InBody(name, value?));
            }
            let members = [(place, Draft::text(name_at, &name)), ("value", value?)];
            native("api_key", Draft::map(at, members))
        }
    }
}

/// The user and the password of an address.
pub(super) fn basic(at: &At<'_>, user: &str, password: &str, credentials: &Credentials, key: &str) -> Draft {
    let password = credentials.value(at, password, [key, "password"]);
    let basic = Draft::map(at, [("username", Draft::text(at, user)), ("password", password)]);
    Draft::map(at, [("basic", basic)])
}

/// Why a toolset can't be authenticated like this, if it can't.
pub(super) fn unknown_authorization(at: &At<'_>) -> Option<String> {
    let kind = at.child("type").filter(|kind| !kind.is_null()).and_then(|kind| kind.text());
    match kind.as_deref() {
        Some("bearer" | "basic" | "api_key") => None,
        Some(kind) => {
            Some(format!("of the type `{}` can't be used yet", backstop_core::text::escaped(kind, 40)))
        }
        None => Some("has no `type`".into()),
    }
}
