//! `tool_sets`: the REST services and the MCP servers; other kinds are left out, which is reported.

use super::{
    authorization::{Authorization, authorization, basic, unknown_authorization},
    credential::Credentials,
    draft::{Data, Draft},
    mcp::mcp,
    name,
    report::{all_unsupported, disabled, renamed, unsupported},
    tool::{Endpoint, tool},
};
use crate::{
    diagnostic::{Diagnostic, code},
    reader::{At, Fields},
};

const REST_KEYS: &[&str] = &[
    "type",
    "name",
    "description",
    "enabled",
    "deferred",
    "authorization",
    "tools",
    "hidden_from_model",
    "response_as_attachment",
];
const KINDS: &[(&str, Kind)] = &[
    ("rest-api", Kind::Rest),
    ("mcp", Kind::Mcp),
    ("dial-mcp", Kind::Unsupported("an MCP server of DIAL")),
    ("dial-app", Kind::Unsupported("a DIAL application")),
    ("dial-deployment", Kind::Unsupported("DIAL deployments")),
    ("internal", Kind::Unsupported("tools that QuickApps has built in")),
    ("predefined", Kind::Unsupported("a toolset that QuickApps has built in")),
];
/// Letters of a native prefix at most.
pub(super) const PREFIX_CAP: usize = 32;

/// What a toolset is.
#[derive(Clone, Copy)]
enum Kind {
    Rest,
    Mcp,
    /// What it would be.
    Unsupported(&'static str),
}

/// What toolsets must not have in common.
#[derive(Default)]
pub(super) struct Names {
    pub(super) toolsets: name::Taken,
    /// Names that the model sees.
    tools: name::Taken,
    /// The name of each tool in the text, and the one that the model sees.
    given: Vec<(String, String)>,
}

impl Names {
    /// The name that the model sees in place of one that an older QuickApps gave: with four digits of a hash
    /// behind it.
    pub(super) fn without_hash(&self, name: &str) -> Option<&str> {
        let (stem, hash) = name.rsplit_once('_')?;
        let is_hash = hash.len() == 4
            && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
            // A word may look like one: `feed`.
            && hash.contains(|c: char| c.is_ascii_digit());
        let is = |known: &(String, String), name: &str| known.0 == name || known.1 == name;
        if !is_hash || self.given.iter().any(|known| is(known, name)) {
            return None;
        }
        self.given.iter().find(|known| is(known, stem)).map(|(_, seen)| seen.as_str())
    }
}

/// The endpoints of one service.
struct Service<'c> {
    origin: String,
    user: Option<(String, String)>,
    at: At<'c>,
    endpoints: Vec<Endpoint<'c>>,
}

/// Converts one toolset to as many native ones as it has services.
pub(super) fn toolset(at: &At<'_>, credentials: &Credentials, names: &mut Names) -> Vec<(String, Draft)> {
    let Some(entries) = at.entries("a mapping") else { return Vec::new() };
    let given = |key: &str| entries.iter().find(|entry| entry.key().value == key && !entry.is_null());
    let Some(kind_at) = given("type") else {
        at.error(code::MISSING_KEY, "`type` is missing");
        return Vec::new();
    };
    let Some(kind) = kind_at.one_of(KINDS) else { return Vec::new() };
    if let Some(at) = given("enabled").filter(|at| at.boolean() == Some(false)) {
        disabled(at, "toolset");
        return Vec::new();
    }
    match kind {
        Kind::Rest => at.fields_leniently(REST_KEYS).map(|fields| rest(&fields, credentials, names)),
        Kind::Mcp => mcp(at, credentials, names).map(|made| vec![made]),
        Kind::Unsupported(kind) => {
            let called = ["name", "template_name", "dial_id", "deployment_id"].into_iter().find_map(given);
            let called = called.and_then(display_name);
            let called = called.map(|name| format!(" `{}`", backstop_core::text::escaped(&name, 80)));
            let message =
                format!("the toolset{} is left out: {kind} can't be used yet", called.unwrap_or_default());
            at.warn(code::QUICKAPPS_UNSUPPORTED, message);
            None
        }
    }
    .unwrap_or_default()
}

fn rest(fields: &Fields<'_>, credentials: &Credentials, names: &mut Names) -> Vec<(String, Draft)> {
    let at = &fields.at;
    let name_at = fields.required("name");
    let Some(display) = name_at.and_then(display_name) else { return Vec::new() };
    let name_at = name_at.unwrap_or(at);
    all_unsupported(
        fields,
        &[
            ("description", "of a toolset has no counterpart: the model reads the descriptions of the tools"),
            ("deferred", "has no counterpart yet: the model sees all tools from the start"),
            ("hidden_from_model", "has no counterpart yet: the model sees the tools"),
            ("response_as_attachment", "has no counterpart yet: the model reads the answer itself"),
        ],
    );
    let authorization = fields.get("authorization");
    if let Some(message) = authorization.and_then(|at| unknown_authorization(at)) {
        if let Some(at) = authorization {
            unsupported(at, &format!("{message}: the toolset is left out"));
        }
        return Vec::new();
    }
    let key = name::agent_letters(&display, "toolset");
    let tools = fields.get("tools").and_then(|at| at.items("a list of tools")).unwrap_or_default();
    let mut services: Vec<Service<'_>> = Vec::new();
    for found in tools.iter().filter_map(|at| tool(at, credentials, &key)) {
        let (origin, user) = (found.address.origin.clone(), found.address.user.clone());
        match services.iter_mut().find(|service| service.origin == origin && service.user == user) {
            Some(service) => service.endpoints.push(found),
            None => {
                let at = found.address_at.clone();
                services.push(Service { origin, user, at, endpoints: vec![found] });
            }
        }
    }
    if services.is_empty() {
        at.warn(code::EMPTY_TOOLSET, "the toolset is left out: it has no tools that can be used");
    }
    let mut out = Vec::new();
    for service in services {
        let unique = names.toolsets.unique(key.clone(), "-");
        if unique != display.to_lowercase() {
            renamed(name_at, "toolset", &display, &unique);
        }
        let scope = Scope { at, name_at, display: &display, key: &key, authorization, credentials };
        let draft = scope.service(service, names);
        out.extend(draft.map(|draft| (unique, draft)));
    }
    out
}

/// What the services of one toolset have in common.
struct Scope<'s, 'c> {
    at: &'s At<'c>,
    name_at: &'s At<'c>,
    display: &'s str,
    /// What its credentials are called after.
    key: &'s str,
    authorization: Option<&'s At<'c>>,
    credentials: &'s Credentials,
}

impl Scope<'_, '_> {
    fn service(&self, service: Service<'_>, names: &mut Names) -> Option<Draft> {
        let mut body_key = None;
        let mut auth = None;
        if let Some(at) = self.authorization {
            match authorization(at, self.credentials, self.key, &["header", "query", "body"])? {
                Authorization::Native(draft) => auth = Some(draft),
                Authorization::InBody(name, value) => body_key = Some((name, value)),
            }
        } else if let Some((user, password)) = &service.user {
            auth = Some(basic(&service.at, user, password, self.credentials, self.key));
        }
        // The model knows a tool by the name of its toolset and its own.
        let letters = name::tool_letters(self.display);
        let whole = if letters.is_empty() { String::new() } else { format!("{letters}_") };
        let (prefix, front) =
            if whole.len() > PREFIX_CAP { (String::new(), whole) } else { (whole, String::new()) };
        let mut endpoints = Vec::new();
        for mut endpoint in service.endpoints {
            if let Some((name, value)) = &body_key {
                if !endpoint.body {
                    let message = "is left out: its key belongs in a body, which a GET request does not have";
                    endpoint.at.warn(code::QUICKAPPS_UNSUPPORTED, format!("`{}` {message}", endpoint.name));
                    continue;
                }
                self.add_key(&mut endpoint, name, value);
            }
            let wanted = format!("{prefix}{front}{}", name::tool_letters(&endpoint.name));
            let seen = names.tools.unique(wanted.chars().take(name::LONGEST).collect(), "_");
            names.given.push((endpoint.name.clone(), seen.clone()));
            let declared = format!("{letters}_{}", endpoint.name);
            if seen != declared {
                renamed(&endpoint.name_at, "tool", &declared, &seen);
            }
            let own = seen.strip_prefix(&prefix).unwrap_or(&seen).to_owned();
            endpoints.push((own, endpoint.draft));
        }
        if endpoints.is_empty() {
            return None;
        }
        let mut http = vec![("base_url", Draft::text(&service.at, &service.origin))];
        http.extend(auth.map(|auth| ("auth", auth)));
        http.push(("endpoints", Draft::map(self.at, endpoints)));
        let mut members = Vec::new();
        if !prefix.is_empty() {
            members.push(("prefix", Draft::text(self.name_at, &prefix)));
        }
        members.push(("http", Draft::map(self.at, http)));
        Some(Draft::map(self.name_at, members))
    }

    /// A key that is a member of the body is a parameter that the model does not see.
    fn add_key(&self, endpoint: &mut Endpoint<'_>, name: &str, value: &Draft) {
        let Data::Text(reference) = &value.data else { return };
        let at = self.authorization.unwrap_or(self.at);
        let own = endpoint.parameters.unique(name.to_owned(), "_");
        let mut members = vec![("in", Draft::text(at, "body"))];
        if own != name {
            members.push(("wire_name", Draft::text(at, name)));
        }
        members.push(("const", Draft::reference(at, reference)));
        let parameter = (own, Draft::map(at, members));
        let Data::Map(fields) = &mut endpoint.draft.data else { return };
        match fields.iter_mut().find(|(key, _)| key == "parameters") {
            Some((_, Draft { data: Data::Map(parameters), .. })) => parameters.push(parameter),
            _ => fields.push(("parameters".into(), Draft::map(at, [parameter]))),
        }
    }
}

/// A name, or the one for English speakers, or any.
pub(super) fn display_name(at: &At<'_>) -> Option<String> {
    let Some(entries) = at.entries_quietly() else { return at.some_text() };
    if entries.len() > 1 {
        at.report(Diagnostic::warning(
            code::QUICKAPPS_UNSUPPORTED,
            "names in several languages have no counterpart: one of them is used",
        ));
    }
    let english = entries.iter().find(|entry| entry.key().value == "en");
    english.or(entries.first())?.some_text()
}
