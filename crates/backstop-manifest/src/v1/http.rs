//! `http`: a REST service, one endpoint a tool.

use std::{collections::HashSet, time::Duration};

use backstop_core::Effect;
use serde_json::{Map, Value as Json, json};

use super::{
    auth::{Auth, auth},
    connection::{Connection, connection},
    header::{Header, check_header_name, headers},
    name::lint_provider_name,
    parameter::{Parameter, ParameterPlace, Places, parameter},
    path::placeholders,
    toolset::{ToolSettings, effect, settings_of, timeout},
    url::{HttpUrl, base_url},
};
use crate::{
    diagnostic::{Diagnostic, code},
    reader::{At, Fields, suggest},
    span::Spanned,
};

const KEYS: &[&str] = &["base_url", "headers", "auth", "idempotency_header", "connection", "endpoints"];
const ENDPOINT_KEYS: &[&str] = &[
    "method",
    "path",
    "description",
    "approve",
    "reconcile",
    "arguments",
    "effect",
    "timeout",
    "idempotent_key",
    "parameters",
    "query",
    "headers",
    "body",
    "find_with",
    "check_with",
    "fallback",
    "success_when",
    "fail_when",
    "result",
    "check_output",
];
const IDEMPOTENCY_HEADER: &str = "Idempotency-Key";

/// A REST service.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpConfig {
    /// Where the paths are added.
    pub base_url: Spanned<HttpUrl>,
    /// Sent with every request.
    pub headers: Vec<Header>,
    /// How requests are authenticated.
    pub auth: Auth,
    /// The header of the idempotency key.
    pub idempotency_header: String,
    /// How the service is reached.
    pub connection: Connection,
    /// The tools.
    pub endpoints: Vec<HttpEndpoint>,
}

/// The method of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Method {
    /// `GET`
    #[default]
    Get,
    /// `HEAD`
    Head,
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `PATCH`
    Patch,
    /// `DELETE`
    Delete,
    /// `OPTIONS`
    Options,
}

/// The form of a request body.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Body {
    /// One JSON object of the body parameters.
    #[default]
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// `multipart/form-data`.
    Multipart,
    /// A JSON value with arguments in it.
    Template(Json),
    /// The only body parameter is the whole body.
    Whole {
        /// Its content type.
        media_type: String,
    },
}

/// One endpoint, one tool.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpEndpoint {
    /// The tool's own name.
    pub name: Spanned<String>,
    /// The method.
    pub method: Method,
    /// The path template, added to the base URL.
    pub path: Spanned<String>,
    /// The parameters in the order of the text, constant ones too.
    pub parameters: Vec<Parameter>,
    /// The form of the body, where there is one.
    pub body: Body,
    /// Query parameters with arguments in them.
    pub query: Vec<(String, Json)>,
    /// Headers with arguments in them.
    pub headers: Vec<(String, Json)>,
    /// Whether the service honours an idempotency key.
    pub idempotent_key: bool,
    /// What is declared here for the tool; [`ToolsetConfig::settings`](super::ToolsetConfig::settings) has what
    /// holds for it.
    pub settings: ToolSettings,
}

impl Method {
    const ALL: [(&'static str, Self); 7] = [
        ("GET", Self::Get),
        ("HEAD", Self::Head),
        ("POST", Self::Post),
        ("PUT", Self::Put),
        ("PATCH", Self::Patch),
        ("DELETE", Self::Delete),
        ("OPTIONS", Self::Options),
    ];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, method)| *method == self).map_or("", |(name, _)| name)
    }

    /// What requests of this method do to the world when nobody says otherwise (RFC 9110, section 9.2).
    pub const fn usual_effect(self) -> Effect {
        match self {
            Self::Get | Self::Head | Self::Options => Effect::ReadOnly,
            Self::Put | Self::Delete => Effect::Idempotent,
            Self::Post | Self::Patch => Effect::Mutating,
        }
    }

    const fn usual_place(self) -> ParameterPlace {
        match self {
            Self::Get | Self::Head | Self::Delete | Self::Options => ParameterPlace::Query,
            Self::Post | Self::Put | Self::Patch => ParameterPlace::Body,
        }
    }

    const fn has_body(self) -> bool {
        match self {
            Self::Get | Self::Head => false,
            Self::Post | Self::Put | Self::Patch | Self::Delete | Self::Options => true,
        }
    }
}

impl HttpEndpoint {
    /// The JSON Schema of the tool's arguments: the parameters that are not constant, in the order of the text,
    /// and no others.
    pub fn input_schema(&self) -> Json {
        let open = || self.parameters.iter().filter(|parameter| parameter.constant.is_none());
        let properties: Map<String, Json> =
            open().map(|parameter| (parameter.name.value.clone(), parameter.schema.clone())).collect();
        let required: Vec<&str> =
            open().filter(|parameter| parameter.required).map(|parameter| parameter.name.as_str()).collect();
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }
}

/// Reads a REST service. `wall_clock` is the time of the whole run.
pub(super) fn http(at: &At<'_>, wall_clock: Duration) -> Option<HttpConfig> {
    let fields = at.fields(KEYS)?;
    let url = fields.required("base_url").and_then(base_url);
    let headers = fields.get("headers").map(headers).unwrap_or_default();
    let auth = fields.get("auth").map_or(Some(Auth::None), auth);
    let idempotency_header = idempotency_header(&fields);
    let connection = fields.get("connection").map(connection).unwrap_or_default();
    let entries = fields.get("endpoints").and_then(|at| at.entries("a mapping of tool names to endpoints"));
    let entries = entries.unwrap_or_default();
    let names: Vec<String> = entries.iter().map(|entry| entry.key().value).collect();
    let endpoints = entries.iter().filter_map(|entry| endpoint(entry, &names, wall_clock)).collect();
    Some(HttpConfig {
        base_url: url?,
        headers,
        auth: auth?,
        idempotency_header: idempotency_header?,
        connection,
        endpoints,
    })
}

fn endpoint(at: &At<'_>, names: &[String], wall_clock: Duration) -> Option<HttpEndpoint> {
    let name = at.key();
    lint_provider_name(at, "tool", &name.value);
    let fields = at.fields(ENDPOINT_KEYS)?;
    let method = fields.get("method").map_or(Some(Method::Get), |at| at.one_of(&Method::ALL));
    let path_at = fields.required("path");
    let path = path_at.and_then(|at| Some(Spanned::new(at.text()?, at.span())));
    let placeholders = path_at.zip(path.as_ref()).and_then(|(at, path)| placeholders(at, path));
    // A wrong method is reported; what depends on it is read as for a body so that no second problem follows.
    let usual_method = method.unwrap_or(Method::Post);
    let query = fields.get("query").map(templates).unwrap_or_default();
    let headers = fields.get("headers").map(templates).unwrap_or_default();
    for (entry, (name, _)) in
        fields.get("headers").and_then(At::entries_quietly).iter().flatten().zip(&headers)
    {
        check_header_name(entry, name);
    }
    let body_at = fields.get("body");
    let body = body_at.map_or(Some(Body::Json), body);
    let mut in_templates: Vec<String> = Vec::new();
    for value in query.iter().chain(&headers).map(|(_, value)| value) {
        names_in(value, &mut in_templates);
    }
    if let Some(Body::Template(template)) = &body {
        names_in(template, &mut in_templates);
    }
    let places = Places {
        placeholders: placeholders.as_deref(),
        usual: usual_method.usual_place(),
        body: usual_method.has_body(),
        in_templates: &in_templates,
    };
    let entries = fields.get("parameters").and_then(|at| at.entries("a mapping of parameter names"));
    let entries = entries.unwrap_or_default();
    let parameters: Vec<Parameter> = entries.iter().filter_map(|entry| parameter(entry, &places)).collect();
    // A parameter that can't be read is reported already.
    if let (Some(placeholders), Some(path_at)) = (&placeholders, path_at)
        && parameters.len() == entries.len()
    {
        check_declared(path_at, placeholders, &parameters);
    }
    check_unique(&entries, &parameters);
    check_templates(at, &in_templates, &parameters, parameters.len() == entries.len());
    if let (Some(Body::Template(_)), Some(body_at)) = (&body, body_at)
        && parameters.iter().any(|parameter| parameter.place == ParameterPlace::Body)
    {
        body_at.error(code::INVALID_VALUE, "the body is a template, so no parameter goes there");
    }
    if let (Some(Body::Whole { .. }), Some(at)) = (&body, fields.get("body")) {
        let count = parameters.iter().filter(|parameter| parameter.place == ParameterPlace::Body).count();
        if count != 1 && parameters.len() == entries.len() {
            let message = format!("a whole body is one parameter with `in: body`, and there are {count}");
            at.error(code::INVALID_VALUE, message);
        }
    }
    let idempotent_key = fields.boolean("idempotent_key").unwrap_or(false);
    let settings = ToolSettings {
        description: fields.text("description"),
        effect: fields.get("effect").and_then(effect),
        timeout: timeout(&fields, wall_clock),
        ..settings_of(&fields, Some(names))
    };
    Some(HttpEndpoint {
        name,
        method: method?,
        path: path?,
        parameters,
        body: body?,
        query,
        headers,
        idempotent_key,
        settings,
    })
}

/// Reads a mapping of names to templates.
fn templates(at: &At<'_>) -> Vec<(String, Json)> {
    let entries = at.entries("a mapping of names to templates").unwrap_or_default();
    entries.iter().filter_map(|entry| Some((entry.key().value, entry.json(None)?))).collect()
}

/// The arguments that a template names: what stands in single braces.
fn names_in(template: &Json, names: &mut Vec<String>) {
    match template {
        Json::String(text) => {
            let text = text.replace("{{", "").replace("}}", "");
            let found = text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
            names.extend(found.map(str::to_owned));
        }
        Json::Array(items) => items.iter().for_each(|item| names_in(item, names)),
        Json::Object(fields) => fields.values().for_each(|field| names_in(field, names)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

fn check_templates(at: &At<'_>, names: &[String], parameters: &[Parameter], all_are_read: bool) {
    let is_known =
        |name: &String| parameters.iter().any(|known| known.name.value == *name && known.constant.is_none());
    for name in names.iter().filter(|name| all_are_read && !is_known(name)) {
        let known: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let shown = backstop_core::text::escaped(name, 80);
        let problem = Diagnostic::error(
            code::UNDECLARED_PARAMETER,
            format!("a template names `{{{shown}}}`, which is no parameter"),
        );
        at.report_key(problem.hint("write `{{` and `}}` for braces").maybe_hint(suggest(name, &known)));
    }
}

/// Reads `json`, `form`, `multipart`, `text`, `{template}`, or `{media_type}` of a whole body.
fn body(at: &At<'_>) -> Option<Body> {
    if !at.is_scalar() && at.child("template").is_some() {
        let template = at.fields(&["template"])?.required("template")?.json(None)?;
        return Some(Body::Template(template));
    }
    if !at.is_scalar() {
        let media_type = at.fields(&["media_type"])?.required("media_type")?.some_text()?;
        return Some(Body::Whole { media_type });
    }
    Some(match at.one_of(&[("json", 0), ("form", 1), ("multipart", 2), ("text", 3)])? {
        0 => Body::Json,
        1 => Body::Form,
        2 => Body::Multipart,
        _ => Body::Whole { media_type: "text/plain; charset=utf-8".to_owned() },
    })
}

/// Reads the name of the header that carries the idempotency key.
pub(super) fn idempotency_header(fields: &Fields<'_>) -> Option<String> {
    match fields.get("idempotency_header") {
        Some(at) => at.some_text().filter(|name| check_header_name(at, name)),
        None => Some(IDEMPOTENCY_HEADER.to_owned()),
    }
}

fn check_declared(path: &At<'_>, placeholders: &[String], parameters: &[Parameter]) {
    let in_path = |name: &String| {
        parameters
            .iter()
            .any(|parameter| parameter.place == ParameterPlace::Path && parameter.wire_name == *name)
    };
    for name in placeholders.iter().filter(|name| !in_path(name)) {
        let known: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let problem = Diagnostic::error(code::UNDECLARED_PARAMETER, format!("`{{{name}}}` has no parameter"));
        let near = suggest(name, &known).filter(|hint| hint.starts_with("did"));
        path.report(
            problem.hint(format!("declare `{name}` under `parameters` with `in: path`")).maybe_hint(near),
        );
    }
}

fn check_unique(entries: &[At<'_>], parameters: &[Parameter]) {
    let mut seen = HashSet::new();
    for parameter in parameters {
        let wire_name = match parameter.place {
            ParameterPlace::Header => parameter.wire_name.to_ascii_lowercase(),
            ParameterPlace::Path
            | ParameterPlace::Query
            | ParameterPlace::Cookie
            | ParameterPlace::Body
            | ParameterPlace::Template => parameter.wire_name.clone(),
        };
        if !seen.insert((parameter.place, wire_name))
            && let Some(at) = entries.iter().find(|at| at.key_span() == parameter.name.span)
        {
            let wire_name = backstop_core::text::escaped(&parameter.wire_name, 80);
            let message = format!("another parameter goes to `{wire_name}` of the same place");
            at.report_key(Diagnostic::error(code::DUPLICATE_PARAMETER, message));
        }
    }
}
