//! One REST tool: an endpoint.

use super::{
    credential::{Credentials, is_telling},
    draft::Draft,
    fallback::fallback,
    name,
    parameter::{Parameter, Place, parameter, parts},
    report::{all_unsupported, disabled, pointless, unsupported},
    url::{Address, address},
};
use crate::{
    diagnostic::{Diagnostic, code},
    reader::{At, Fields, suggest},
};

const KEYS: &[&str] = &[
    "type",
    "open_ai_tool",
    "rest_api_method_info",
    "attachment",
    "display",
    "enabled",
    "fallback_configuration",
    "response_as_attachment",
    "template_name",
    "override",
    "deferred",
];
const METHODS: [(&str, (&str, bool)); 8] = [
    ("get", ("GET", false)),
    ("post", ("POST", true)),
    ("put", ("PUT", true)),
    ("delete", ("DELETE", true)),
    ("GET", ("GET", false)),
    ("POST", ("POST", true)),
    ("PUT", ("PUT", true)),
    ("DELETE", ("DELETE", true)),
];

/// An endpoint and the service it belongs to.
pub(super) struct Endpoint<'c> {
    pub(super) at: At<'c>,
    /// The name in the text.
    pub(super) name: String,
    pub(super) name_at: At<'c>,
    pub(super) address: Address,
    pub(super) address_at: At<'c>,
    pub(super) draft: Draft,
    /// Whether its requests have a body.
    pub(super) body: bool,
    pub(super) parameters: name::Taken,
}

/// Reads a tool; `None` where it is left out, which is reported.
pub(super) fn tool<'c>(at: &At<'c>, credentials: &Credentials, toolset: &str) -> Option<Endpoint<'c>> {
    let fields = at.fields_leniently(KEYS)?;
    if let Some(at) = fields.get("enabled").filter(|at| at.boolean() == Some(false)) {
        disabled(at, "tool");
        return None;
    }
    let is_built_in = match fields.get("type") {
        Some(at) => at.one_of(&[("restapi-tool", false), ("predefined-tool", true)])?,
        None => false,
    };
    if is_built_in || fields.get("template_name").is_some() {
        let at = fields.get("template_name").unwrap_or(at);
        unsupported(at, "names a tool that QuickApps has built in: the tool is left out");
        return None;
    }
    all_unsupported(
        &fields,
        &[
            ("attachment", "has no counterpart yet: attachments are left out"),
            ("display", "has no counterpart: progress is shown where the run is watched"),
            ("response_as_attachment", "has no counterpart yet: the model reads the answer itself"),
            ("deferred", "has no counterpart yet: the model sees all tools from the start"),
        ],
    );
    pointless(&fields, &["override"]);
    let function = fields.required("open_ai_tool").and_then(|at| {
        let fields = at.fields_leniently(&["type", "function"])?;
        fields.get("type").and_then(|at| at.one_of(&[("function", ())]));
        fields.required("function")?.fields_leniently(&["name", "description", "parameters"])
    });
    let info = fields.required("rest_api_method_info");
    let info = info.and_then(|at| at.fields_leniently(&["method_url", "method_type"]));
    let fallback = fields.get("fallback_configuration").and_then(fallback);
    let (function, info) = (function?, info?);
    let name = function.required("name").and_then(At::some_text);
    let address_at = info.required("method_url")?;
    let text = address_at.text()?;
    let method_at = info.required("method_type")?;
    let (method, body) = method_at.one_of(&METHODS)?;
    let (properties, required) = parameters(&function);
    let in_path: Vec<String> =
        properties.iter().filter(|found| found.place == Place::Url).map(|found| found.key.clone()).collect();
    let Some(address) = address(&text, &in_path) else {
        let message = "is not an address with its host written out: the tool is left out";
        unsupported(address_at, message);
        return None;
    };
    unfilled(address_at, &text, &in_path);
    let mut drafts: Vec<(String, Draft)> = Vec::new();
    for found in &properties {
        let own = found.at.key().value;
        let key = &found.key;
        if found.place == Place::Url && !address.path.contains(&format!("{{{key}}}")) {
            unsupported(&found.at, "does not occur in the path: the parameter is left out");
        } else if found.place == Place::Body && !body {
            unsupported(
                &found.at,
                "is for a body, which a GET request does not have: the parameter is left out",
            );
        } else if let Some(draft) = found.draft(required.contains(&own), credentials, toolset) {
            drafts.push((own, draft));
        }
    }
    let mut names = name::Taken::of(drafts.iter().map(|(name, _)| name.clone()));
    for (key, value) in &address.query {
        if properties.iter().any(|found| found.place == Place::Query && found.key == *key) {
            continue;
        }
        let name = names.unique(key.clone(), "_");
        let value = if is_telling(key) {
            credentials.value(address_at, value, [toolset, key])
        } else {
            Draft::text(address_at, value)
        };
        let mut members = vec![("in", Draft::text(address_at, "query"))];
        if name != *key {
            members.push(("wire_name", Draft::text(address_at, key)));
        }
        members.push(("const", value));
        drafts.push((name, Draft::map(address_at, members)));
    }
    let mut members =
        vec![("method", Draft::text(method_at, method)), ("path", Draft::text(address_at, &address.path))];
    if let Some(at) = function.get("description")
        && let Some(text) = at.text()
    {
        members.push(("description", Draft::text(at, &text)));
    }
    let parameters_at = function.get("parameters").unwrap_or(address_at);
    if !drafts.is_empty() {
        members.push(("parameters", Draft::map(parameters_at, drafts)));
    }
    members.extend(fallback.map(|list| ("fallback", list)));
    let (at, address_at) = (at.clone(), address_at.clone());
    let name_at = function.get("name").unwrap_or(&at).clone();
    let draft = Draft::map(&name_at, members);
    Some(Endpoint { name: name?, name_at, address, address_at, draft, body, parameters: names, at })
}

/// Names in braces that nothing is put in for.
fn unfilled(at: &At<'_>, address: &str, in_path: &[String]) {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    let names = address.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    for name in names.filter(|name| is_name(name) && !in_path.iter().any(|known| known == name)) {
        let message = format!("`{{{name}}}` has no parameter of the type `url`, so it is sent as it is");
        at.warn(code::UNDECLARED_PARAMETER, message);
    }
}

/// The parameters, and the names of those that must be given.
fn parameters<'c>(function: &Fields<'c>) -> (Vec<Parameter<'c>>, Vec<String>) {
    let known = &["type", "properties", "required", "description"];
    let Some(fields) = function.get("parameters").and_then(|at| at.fields_leniently(known)) else {
        return (Vec::new(), Vec::new());
    };
    fields.get("type").and_then(|at| at.one_of(&[("object", ())]));
    all_unsupported(
        &fields,
        &[("description", "of all parameters has no counterpart: the model reads that of each of them")],
    );
    let properties = fields.get("properties").and_then(|at| at.entries("a mapping of parameter names"));
    let properties = properties.unwrap_or_default();
    let required = fields.get("required").and_then(|at| at.items("a list of parameter names"));
    let mut names = Vec::new();
    for at in required.unwrap_or_default() {
        let Some(name) = at.text() else { continue };
        let known: Vec<String> = properties.iter().map(|at| at.key().value).collect();
        if !known.contains(&name) {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let message = format!("there is no parameter `{}`", backstop_core::text::escaped(&name, 80));
            at.report(Diagnostic::warning(code::UNKNOWN_VALUE, message).maybe_hint(suggest(&name, &known)));
        }
        names.push(name);
    }
    if let Some(at) = properties.iter().find_map(displayed) {
        unsupported(&at, "of parameters has no counterpart: progress is shown where the run is watched");
    }
    (properties.iter().filter_map(parameter).collect(), names)
}

/// The first `display` of a parameter or a part of one.
fn displayed<'c>(at: &At<'c>) -> Option<At<'c>> {
    let own = at.child("display").filter(|at| !at.is_null());
    own.or_else(|| parts(at).iter().find_map(displayed))
}
