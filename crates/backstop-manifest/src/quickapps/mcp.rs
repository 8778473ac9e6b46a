//! Toolsets of the type `mcp`: servers at an address.

use super::{
    authorization::{Authorization, authorization, basic, unknown_authorization},
    credential::Credentials,
    draft::{Data, Draft},
    fallback::fallback,
    name,
    report::{all_unsupported, pointless, renamed, unsupported},
    toolset::{Names, PREFIX_CAP, display_name},
    url::address,
};
use crate::{reader::At, v1::is_credential};

const KEYS: &[&str] = &[
    "type",
    "name",
    "description",
    "enabled",
    "deferred",
    "mcp_server_info",
    "allowed_tools",
    "resources",
    "attachment",
    "fallback_configuration",
    "hidden_from_model",
];

/// Converts a toolset; `None` where it is left out, which is reported.
pub(super) fn mcp(at: &At<'_>, credentials: &Credentials, names: &mut Names) -> Option<(String, Draft)> {
    let fields = at.fields_leniently(KEYS)?;
    all_unsupported(
        &fields,
        &[
            ("description", "of a toolset has no counterpart: the model reads the descriptions of the tools"),
            ("deferred", "has no counterpart yet: the model sees all tools from the start"),
            ("hidden_from_model", "has no counterpart yet: the model sees the tools"),
            ("attachment", "has no counterpart yet: attachments are left out"),
        ],
    );
    let name_at = fields.required("name");
    let info_at = fields.required("mcp_server_info");
    let fallback = fields.get("fallback_configuration").and_then(fallback);
    let display = name_at.and_then(display_name);
    let key = name::agent_letters(display.as_deref().unwrap_or_default(), "toolset");
    let server = info_at.and_then(|at| server(at, credentials, &key));
    let allowed = fields.get("allowed_tools").and_then(allowed);
    let resources = fields.get("resources").and_then(resources);
    let (name_at, display, mut members) = (name_at?, display?, server?);
    members.extend(allowed.map(|allowed| ("allow", allowed)));
    members.extend(resources.map(|resources| ("resources", resources)));
    let unique = names.toolsets.unique(key, "-");
    if unique != display.to_lowercase() {
        renamed(name_at, "toolset", &display, &unique);
    }
    let mut toolset = Vec::new();
    let letters = name::tool_letters(&display);
    if !letters.is_empty() {
        let prefix: String = letters.chars().take(PREFIX_CAP - 1).chain(['_']).collect();
        if letters.len() >= PREFIX_CAP {
            renamed(name_at, "prefix of the tools", &format!("{letters}_"), &prefix);
        }
        toolset.push(("prefix", Draft::text(name_at, &prefix)));
    }
    toolset.extend(fallback.map(|list| ("fallback", list)));
    toolset.push(("mcp", Draft::map(at, members)));
    Some((unique, Draft::map(name_at, toolset)))
}

/// The address of a server, and how it knows who calls.
fn server(at: &At<'_>, credentials: &Credentials, key: &str) -> Option<Vec<(&'static str, Draft)>> {
    let fields = at.fields_leniently(&["url", "protocol", "authorization"])?;
    let is_usable = match fields.get("protocol") {
        Some(at) => {
            let is_usable = at.one_of(&[("streamable_http", true), ("sse", false)]);
            if is_usable == Some(false) {
                let message = "is `sse`, which MCP has given up: the toolset is left out until it has an address \
                               where its server speaks streamable HTTP";
                unsupported(at, message);
            }
            is_usable == Some(true)
        }
        None => true,
    };
    let declared = fields.get("authorization");
    if let Some((at, message)) = declared.and_then(|at| Some((at, unknown_authorization(at)?))) {
        unsupported(at, &format!("{message}: the toolset is left out"));
        return None;
    }
    let auth = declared.and_then(|at| authorization(at, credentials, key, &[]));
    let url_at = fields.required("url")?;
    let (url, user) = url(url_at, &url_at.text()?, credentials, key);
    let mut members = vec![("url", url)];
    match (declared, auth, user) {
        (Some(_), Some(Authorization::Native(auth)), _) => members.push(("auth", auth)),
        (None, _, Some((user, password))) => {
            members.push(("auth", basic(url_at, &user, &password, credentials, key)));
        }
        (None, _, None) => {}
        // It can't be read, which is reported.
        (Some(_), _, _) => return None,
    }
    is_usable.then_some(members)
}

/// The address without its credentials, and the user and the password in front of its host.
fn url(at: &At<'_>, text: &str, credentials: &Credentials, key: &str) -> (Draft, Option<(String, String)>) {
    let as_it_is = || (Draft::text(at, text), None);
    let Some(address) = address(text, &[]) else { return as_it_is() };
    let (before, query) = text.trim().split_once('?').unwrap_or((text, ""));
    let (query, _) = query.split_once('#').unwrap_or((query, ""));
    let is_credential = |pair: &&str| pair.split_once('=').is_some_and(|(name, _)| is_credential(name));
    if address.user.is_none() && !query.split('&').any(|pair| is_credential(&pair)) {
        return as_it_is();
    }
    let escaped = |text: &str| text.replace("${", "$${");
    let mut url = match &address.user {
        Some(_) => escaped(&format!("{}{}", address.origin, address.path)),
        None => escaped(before),
    };
    for (place, pair) in query.split('&').filter(|pair| !pair.is_empty()).enumerate() {
        url.push(if place == 0 { '?' } else { '&' });
        match pair.split_once('=').filter(|_| is_credential(&pair)) {
            Some((name, value)) => {
                url.push_str(&escaped(name));
                url.push('=');
                // In a URL a secret is a variable: it is known for one by the name of its parameter.
                if let Data::Text(value) = &credentials.value(at, value, [key, name]).data {
                    url.push_str(&value.replace("${secret:", "${"));
                }
            }
            None => url.push_str(&escaped(pair)),
        }
    }
    (Draft::reference(at, url), address.user)
}

/// Names as patterns that match nothing else.
fn allowed(at: &At<'_>) -> Option<Draft> {
    let names = at.items("a list of tool names")?;
    let names = names.iter().filter_map(|at| Some(Draft::text(at, &globset::escape(&at.some_text()?))));
    Some(Draft::list(at, names.collect()))
}

fn resources(at: &At<'_>) -> Option<Draft> {
    let fields = at.fields_leniently(&["enabled", "items"])?;
    let enabled = fields.get("enabled").filter(|at| at.boolean() == Some(true));
    let Some(enabled) = enabled else {
        pointless(&fields, &["items"]);
        return None;
    };
    if let Some(items) = fields.get("items") {
        unsupported(items, "has no counterpart: the model may list and read all resources of the server");
    }
    Some(Draft::plain(enabled, true))
}
