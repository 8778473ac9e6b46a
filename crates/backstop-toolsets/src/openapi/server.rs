//! `servers`: where requests go.

use serde_json::Value;
use url::Url;

use super::reference::Node;

/// The addresses under `servers`, with the defaults of their variables. One that is relative needs the address of
/// the document.
pub(super) fn servers(node: &Node<'_>, document: Option<&Url>) -> Vec<Url> {
    node.items("servers").iter().filter_map(|server| address(server, document)).collect()
}

fn address(server: &Node<'_>, document: Option<&Url>) -> Option<Url> {
    let mut text = server.text("url")?.to_owned();
    for (name, variable) in server.entries("variables") {
        let value = variable.text("default").map(str::to_owned);
        let first = variable.value.get("enum").and_then(Value::as_array).and_then(|values| values.first());
        let value = value.or_else(|| first.and_then(Value::as_str).map(str::to_owned))?;
        text = text.replace(&format!("{{{name}}}"), &value);
    }
    let url = match (Url::parse(&text), document) {
        (Ok(url), _) => url,
        (Err(_), Some(document)) => document.join(&text).ok()?,
        (Err(_), None) => return None,
    };
    let usable = matches!(url.scheme(), "http" | "https") && url.has_host() && !text.contains('{');
    usable.then_some(url)
}

/// What the paths of an operation are put behind, where its own server is not the one of the toolset: a prefix.
///
/// # Errors
///
/// The address, where it is another service: nothing that belongs to the one may be sent to the other.
pub(super) fn prefix(own: &Url, base: &Url) -> Result<String, String> {
    let trimmed = |url: &Url| url.path().trim_end_matches('/').to_owned();
    let (path, base_path) = (trimmed(own), trimmed(base));
    match path.strip_prefix(&base_path) {
        Some(rest) if own.origin() == base.origin() && (rest.is_empty() || rest.starts_with('/')) => {
            Ok(rest.to_owned())
        }
        _ => Err(format!("{}{path}", own.origin().ascii_serialization())),
    }
}
