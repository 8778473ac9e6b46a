//! `openapi`: a service as its document describes it, one operation a tool.

use std::{collections::HashSet, path::PathBuf};

use url::Url;

use super::{
    auth::{Auth, auth},
    connection::{Connection, connection},
    header::{Header, caller_headers, headers},
    http::idempotency_header,
    name::lint_provider_name,
    url::{HttpUrl, base_url},
};
use crate::{
    diagnostic::{Diagnostic, code},
    reader::At,
    span::Spanned,
};

const KEYS: &[&str] = &[
    "document",
    "base_url",
    "headers",
    "auth",
    "caller_headers",
    "idempotency_header",
    "connection",
    "include",
    "exclude",
    "rename",
];
const SELECTOR_KEYS: &[&str] = &["operation", "tag", "path", "method"];

/// A service as its document describes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenApiConfig {
    /// The document.
    pub document: Spanned<DocumentPlace>,
    /// Where requests go; the first server of the document where there is none.
    pub base_url: Option<Spanned<HttpUrl>>,
    /// Sent with every request.
    pub headers: Vec<Header>,
    /// How requests are authenticated.
    pub auth: Auth,
    /// Headers of whoever starts a run that are passed on, by name.
    pub caller_headers: Vec<String>,
    /// The header of the idempotency key.
    pub idempotency_header: String,
    /// How the service is reached.
    pub connection: Connection,
    /// Operations that become tools: those that any of these picks, and all where there is none.
    pub include: Vec<OperationSelector>,
    /// Operations that do not, though they are included.
    pub exclude: Vec<OperationSelector>,
    /// New names by `operationId`.
    pub rename: Vec<(String, String)>,
}

/// Where a document is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentPlace {
    /// A file, joined to the directory of the manifest.
    File(PathBuf),
    /// An address.
    Url(HttpUrl),
}

/// Picks operations; everything that it says must hold. Names and paths may have `*` in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationSelector {
    /// The `operationId`.
    pub operation: Option<String>,
    /// One of its tags.
    pub tag: Option<String>,
    /// The path.
    pub path: Option<String>,
    /// The method.
    pub method: Option<String>,
}

/// Reads a service.
pub(super) fn openapi(at: &At<'_>) -> Option<OpenApiConfig> {
    let fields = at.fields(KEYS)?;
    let document = fields.required("document").and_then(document);
    let base = fields.get("base_url").map(base_url);
    let headers = fields.get("headers").map(headers).unwrap_or_default();
    let auth = fields.get("auth").map_or(Some(Auth::None), auth);
    let caller_headers = fields
        .get("caller_headers")
        .map(|at| caller_headers(at, &headers, auth.as_ref().and_then(Auth::header)))
        .unwrap_or_default();
    let idempotency_header = idempotency_header(&fields);
    let connection = fields.get("connection").map(connection).unwrap_or_default();
    let selectors = |key: &str| fields.get(key).map(selectors).unwrap_or_default();
    let (include, exclude) = (selectors("include"), selectors("exclude"));
    let rename = fields.get("rename").map(rename).unwrap_or_default();
    let base_url = match base {
        Some(base) => Some(base?),
        None => None,
    };
    Some(OpenApiConfig {
        document: document?,
        base_url,
        headers,
        auth: auth?,
        caller_headers,
        idempotency_header: idempotency_header?,
        connection,
        include,
        exclude,
        rename,
    })
}

fn document(at: &At<'_>) -> Option<Spanned<DocumentPlace>> {
    let text = at.some_text()?;
    let place = match Url::parse(&text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => {
            DocumentPlace::Url(super::url::url_with_query(at)?.value)
        }
        _ => DocumentPlace::File(at.cx.base_dir.join(text)),
    };
    Some(Spanned::new(place, at.span()))
}

fn selectors(at: &At<'_>) -> Vec<OperationSelector> {
    let items = at.items("a list of selectors").unwrap_or_default();
    items.iter().filter_map(selector).collect()
}

/// A name alone is that of an operation.
fn selector(at: &At<'_>) -> Option<OperationSelector> {
    if at.is_scalar() {
        return Some(OperationSelector { operation: Some(at.some_text()?), ..OperationSelector::default() });
    }
    let fields = at.fields(SELECTOR_KEYS)?;
    let selector = OperationSelector {
        operation: fields.get("operation").and_then(At::some_text),
        tag: fields.get("tag").and_then(At::some_text),
        path: fields.get("path").and_then(At::some_text),
        method: fields.get("method").and_then(At::some_text),
    };
    if selector == OperationSelector::default() {
        let message = "a selector says at least one of `operation`, `tag`, `path` and `method`";
        at.report(Diagnostic::error(code::EMPTY_MATCHER, message));
        return None;
    }
    Some(selector)
}

fn rename(at: &At<'_>) -> Vec<(String, String)> {
    let entries = at.entries("a mapping of operations to names").unwrap_or_default();
    let mut taken = HashSet::new();
    let mut renamed = Vec::new();
    for entry in &entries {
        let Some(name) = entry.some_text() else { continue };
        if !taken.insert(name.clone()) {
            let message = format!("two operations are called `{}`", backstop_core::text::escaped(&name, 80));
            entry.report(Diagnostic::error(code::DUPLICATE_KEY, message));
            continue;
        }
        lint_provider_name(entry, "tool", &name);
        renamed.push((entry.key().value, name));
    }
    renamed
}
