//! `http`: a REST service, one endpoint a tool.

use std::time::Duration;

use backstop_core::Effect;
use serde_json::{Map, Value as Json, json};

use super::{
    auth::{Auth, auth},
    by_name::ByName,
    connection::{Connection, connection},
    header::{Header, caller_headers, check_header_name, headers},
    name::lint_provider_name,
    parameter::{Parameter, ParameterPlace, Places, media_type, parameter},
    path::placeholders,
    places::{check_body, check_declared, check_forms, check_unique, check_unique_templates},
    template::Templates,
    toolset::{ToolSettings, effect, settings_of, timeout},
    url::{HttpUrl, base_url},
};
use crate::{
    diagnostic::{Diagnostic, code},
    reader::{At, Fields},
    span::Spanned,
};

const KEYS: &[&str] =
    &["base_url", "headers", "auth", "caller_headers", "idempotency_header", "connection", "endpoints"];
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
    /// Headers of whoever starts a run that are passed on, by name.
    pub caller_headers: Vec<String>,
    /// The header of the idempotency key.
    pub idempotency_header: String,
    /// How the service is reached.
    pub connection: Connection,
    /// The tools.
    pub endpoints: ByName<HttpEndpoint>,
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

    /// Whether requests have a body. `declared`: somebody says so, and some services do read one of a GET.
    const fn body(self, declared: bool) -> bool {
        match self {
            Self::Get => declared,
            Self::Head => false,
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
    let caller_headers = fields
        .get("caller_headers")
        .map(|at| caller_headers(at, &headers, auth.as_ref().and_then(Auth::header)))
        .unwrap_or_default();
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
        caller_headers,
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
    let mut templates = Templates::default();
    let query = fields.get("query").map(|at| templates.mapping(at)).unwrap_or_default();
    let headers = fields.get("headers").map(|at| templates.headers(at)).unwrap_or_default();
    let body_at = fields.get("body");
    let body = body_at.map_or(Some(Body::Json), |at| body(at, &mut templates));
    let places = Places {
        placeholders: placeholders.as_deref(),
        usual: usual_method.usual_place(),
        body: usual_method.body(body_at.is_some()),
        templates: &templates,
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
    check_unique_templates(&fields, &parameters);
    if parameters.len() == entries.len() {
        templates.check(&parameters);
    }
    if let (Some(body), Some(body_at)) = (&body, body_at) {
        let count = parameters.iter().filter(|parameter| parameter.place == ParameterPlace::Body).count();
        check_body(body_at, body, count, parameters.len() == entries.len());
    }
    if let (Some(Method::Head), Some(body_at)) = (method, body_at) {
        body_at.report_key(Diagnostic::error(code::INVALID_VALUE, "a request of this method has no body"));
    }
    if let Some(body) = &body {
        check_forms(&entries, &parameters, body);
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

/// Reads `json`, `form`, `multipart`, `text`, `{template}`, or `{media_type}` of a whole body.
fn body<'c>(at: &At<'c>, templates: &mut Templates<'c>) -> Option<Body> {
    if !at.is_scalar() && at.child("template").is_some() {
        let fields = at.fields(&["template"])?;
        return Some(Body::Template(templates.template(fields.required("template")?)?));
    }
    if !at.is_scalar() {
        let media_type = media_type(at.fields(&["media_type"])?.required("media_type")?)?;
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
