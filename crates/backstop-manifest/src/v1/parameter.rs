//! Parameters of an endpoint: what the model gives, and what is constant.

use backstop_core::schema::CompiledSchema;
use serde_json::{Map, Value as Json, json};

use super::{
    header::{check_argument_header, check_sendable, is_token},
    name::lint_provider_name,
    template::Templates,
};
use crate::{
    context::Secrets,
    diagnostic::{Diagnostic, code},
    reader::{At, Fields, JsonType, secret_text},
    secret::SecretText,
    span::Spanned,
};

const KEYS: &[&str] = &[
    "in",
    "style",
    "explode",
    "media_type",
    "type",
    "description",
    "required",
    "default",
    "enum",
    "minimum",
    "maximum",
    "min_length",
    "max_length",
    "pattern",
    "format",
    "items",
    "schema",
    "const",
    "wire_name",
];
/// What `schema` or `const` take the place of.
const SHORT_FORM: &[&str] = &[
    "type",
    "default",
    "enum",
    "minimum",
    "maximum",
    "min_length",
    "max_length",
    "pattern",
    "format",
    "items",
];

/// Where a parameter goes in the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParameterPlace {
    /// In place of `{name}` of the path.
    Path,
    /// In the query.
    Query,
    /// In a header.
    Header,
    /// In the header `Cookie`.
    Cookie,
    /// A member of the body.
    Body,
    /// Into the templates that name it, and nowhere else.
    Template,
}

impl ParameterPlace {
    const ALL: [(&'static str, Self); 6] = [
        ("path", Self::Path),
        ("query", Self::Query),
        ("header", Self::Header),
        ("cookie", Self::Cookie),
        ("body", Self::Body),
        ("template", Self::Template),
    ];
}

/// How arrays and objects are written outside of a JSON body: the `style` of OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParameterStyle {
    /// `a,b`
    Simple,
    /// `.a.b`
    Label,
    /// `;name=a;name=b`
    Matrix,
    /// `name=a&name=b`
    Form,
    /// `name=a%20b`
    SpaceDelimited,
    /// `name=a|b`
    PipeDelimited,
    /// `name[key]=a`
    DeepObject,
    /// As JSON text.
    Json,
}

impl ParameterStyle {
    /// The styles by their names, and the places that have them.
    const ALL: [(&'static str, Self, &'static [ParameterPlace]); 8] = {
        use ParameterPlace::{Body, Cookie, Header, Path, Query};
        [
            ("simple", Self::Simple, &[Path, Header]),
            ("label", Self::Label, &[Path]),
            ("matrix", Self::Matrix, &[Path]),
            ("form", Self::Form, &[Query, Cookie, Body]),
            ("space_delimited", Self::SpaceDelimited, &[Query, Body]),
            ("pipe_delimited", Self::PipeDelimited, &[Query, Body]),
            ("deep_object", Self::DeepObject, &[Query, Body]),
            ("json", Self::Json, &[Path, Query, Header, Cookie, Body]),
        ]
    };
}

/// A value that the model neither gives nor sees.
#[derive(Clone, Debug)]
pub enum Constant {
    /// Any value.
    Json(Json),
    /// Text with a secret in it; anywhere but in the path.
    Secret(SecretText),
}

/// One parameter of an endpoint.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Parameter {
    /// The name that the model knows.
    pub name: Spanned<String>,
    /// The name in the request.
    pub wire_name: String,
    /// Where it goes.
    pub place: ParameterPlace,
    /// How arrays and objects are written; the usual way of the place where there is nothing.
    pub style: Option<ParameterStyle>,
    /// Whether each item of an array and each entry of an object is written by itself.
    pub explode: Option<bool>,
    /// The content type of its part of a multipart body.
    pub media_type: Option<String>,
    /// The JSON Schema of its value.
    pub schema: Json,
    /// Whether the model must give it.
    pub required: bool,
    /// Its value where it is constant; then it is no part of the input schema.
    pub constant: Option<Constant>,
}

/// What an endpoint says about the places of its parameters.
pub(super) struct Places<'p, 'c> {
    /// The names in braces of the path; `None` where the path can't be read.
    pub(super) placeholders: Option<&'p [String]>,
    /// Where a parameter goes that is not in the path.
    pub(super) usual: ParameterPlace,
    /// Whether requests have a body.
    pub(super) body: bool,
    /// What may name parameters that go nowhere else.
    pub(super) templates: &'p Templates<'c>,
}

/// Reads one parameter.
pub(super) fn parameter(at: &At<'_>, places: &Places<'_, '_>) -> Option<Parameter> {
    let name = at.key();
    lint_provider_name(at, "parameter", &name.value);
    let fields = at.fields(KEYS)?;
    let wire_name = fields.get("wire_name").map_or_else(|| Some(name.value.clone()), At::some_text);
    let place = match fields.get("in") {
        Some(at) => at.one_of(&ParameterPlace::ALL),
        None => {
            let wanted = wire_name.as_ref().unwrap_or(&name.value);
            let in_path = places.placeholders.is_some_and(|names| names.contains(wanted));
            Some(if in_path {
                ParameterPlace::Path
            } else if places.templates.name(&name.value) {
                ParameterPlace::Template
            } else {
                places.usual
            })
        }
    };
    let constant = fields.has("const").map(|at| constant(at, &fields, place));
    let schema = schema(&fields, constant.is_some());
    let given = fields.boolean("required");
    let style = fields.get("style").map(|at| style(at, place));
    let explode = fields.boolean("explode");
    let media_type = fields.get("media_type").map(media_type);
    let (wire_name, place) = (wire_name?, place?);
    check_place(at, &fields, &wire_name, place, places);
    let has_default = schema.as_ref().is_some_and(|schema| schema.get("default").is_some());
    if place == ParameterPlace::Path && given == Some(false) && !has_default {
        let message = "a parameter of the path can't be optional without a `default`";
        fields.get("required")?.error(code::INVALID_VALUE, message);
    }
    let required = given.unwrap_or(place == ParameterPlace::Path && !has_default);
    let constant = match constant {
        Some(constant) => Some(constant?),
        None => None,
    };
    let required = required && constant.is_none();
    let style = match style {
        Some(style) => Some(style?),
        None => None,
    };
    let media_type = match media_type {
        Some(media_type) => Some(media_type?),
        None => None,
    };
    Some(Parameter {
        name,
        wire_name,
        place,
        style,
        explode,
        media_type,
        schema: schema?,
        required,
        constant,
    })
}

/// Reads a content type.
pub(super) fn media_type(at: &At<'_>) -> Option<String> {
    let text = at.some_text()?;
    let is_name = |part: &str| !part.is_empty() && part.bytes().all(is_token);
    let essence = text.split(';').next().unwrap_or_default().trim();
    let is_fit = essence.split_once('/').is_some_and(|(kind, subtype)| is_name(kind) && is_name(subtype));
    if !is_fit || text.chars().any(char::is_control) {
        let problem = Diagnostic::error(code::INVALID_VALUE, "not a content type");
        at.report(problem.hint("a content type looks like `text/csv`"));
        return None;
    }
    Some(text)
}

/// Reads a style that the place has.
fn style(at: &At<'_>, place: Option<ParameterPlace>) -> Option<ParameterStyle> {
    let names = ParameterStyle::ALL.map(|(name, style, _)| (name, style));
    let style = at.one_of(&names)?;
    let (name, _, places) = ParameterStyle::ALL.iter().find(|(_, known, _)| *known == style)?;
    if place.is_some_and(|place| !places.contains(&place)) {
        let fit: Vec<String> = ParameterStyle::ALL
            .iter()
            .filter(|(_, _, places)| place.is_some_and(|place| places.contains(&place)))
            .map(|(name, _, _)| format!("`{name}`"))
            .collect();
        let message = format!("the style `{name}` has no meaning in this place");
        at.report(Diagnostic::error(code::INVALID_VALUE, message).hint(format!("use {}", fit.join(", "))));
        return None;
    }
    Some(style)
}

fn check_place(
    at: &At<'_>,
    fields: &Fields<'_>,
    wire_name: &str,
    place: ParameterPlace,
    places: &Places<'_, '_>,
) {
    match place {
        ParameterPlace::Path => {
            if places.placeholders.is_some_and(|names| !names.iter().any(|name| name == wire_name)) {
                let message = format!("the path has no `{{{wire_name}}}`");
                let hint = "add it to `path`, or say with `in` where the parameter goes";
                at.report_key(Diagnostic::error(code::UNUSED_PARAMETER, message).hint(hint));
            }
        }
        ParameterPlace::Header => {
            check_argument_header(fields.get("wire_name").unwrap_or(at), wire_name);
        }
        ParameterPlace::Body if !places.body => {
            let message = "a request of this method has no body";
            let problem = Diagnostic::error(code::INVALID_VALUE, message);
            let hint = "for a service that does read one of a GET, say so with `body: json`";
            fields.get("in").unwrap_or(at).report(problem.hint(hint));
        }
        ParameterPlace::Template if !places.templates.name(&at.key().value) => {
            let message = "no template of the endpoint names it";
            fields.get("in").unwrap_or(at).error(code::UNUSED_PARAMETER, message);
        }
        ParameterPlace::Cookie if !wire_name.bytes().all(is_token) => {
            let shown = backstop_core::text::escaped(wire_name, 80);
            let at = fields.get("wire_name").unwrap_or(at);
            at.report_key(Diagnostic::error(
                code::INVALID_NAME,
                format!("`{shown}` is not the name of a cookie"),
            ));
        }
        ParameterPlace::Query | ParameterPlace::Cookie | ParameterPlace::Body | ParameterPlace::Template => {}
    }
}

fn constant(at: &At<'_>, fields: &Fields<'_>, place: Option<ParameterPlace>) -> Option<Constant> {
    let wanted = fields.get("type").and_then(|at| at.one_of(&JsonType::ALL));
    let secret_place = place.is_some_and(|place| place != ParameterPlace::Path);
    if secret_place && at.has_secret() {
        let found = at.secret(Secrets::Required)?;
        let fit = place != Some(ParameterPlace::Header) || check_sendable(at, &found.text);
        return fit.then(|| Constant::Secret(secret_text(found)));
    }
    let value = at.json(wanted)?;
    let is_structure = value.is_array() || value.is_object() || value.is_null();
    if is_structure && matches!(place, Some(ParameterPlace::Path | ParameterPlace::Header)) {
        at.error(code::INVALID_VALUE, "expected text, a number or a boolean in this place");
        return None;
    }
    if place == Some(ParameterPlace::Header) && value.as_str().is_some_and(|text| !check_sendable(at, text)) {
        return None;
    }
    Some(Constant::Json(value))
}

/// The JSON Schema of a parameter, from either form.
fn schema(fields: &Fields<'_>, constant: bool) -> Option<Json> {
    let description = fields.get("description").and_then(At::some_text);
    if constant {
        for (key, at) in SHORT_FORM.iter().skip(1).filter_map(|key| Some((key, fields.get(key)?))) {
            let message = format!("`{key}` changes nothing beside `const`");
            at.report_key(Diagnostic::warning(code::NO_EFFECT, message));
        }
        return Some(json!({}));
    }
    let mut schema = match fields.get("schema") {
        Some(at) => whole_schema(at, fields)?,
        None => short_schema(fields)?,
    };
    if let Some(description) = description {
        schema.insert("description".into(), description.into());
    }
    let schema = Json::Object(schema);
    // Without these keys it is a schema by construction.
    if let Some(at) = ["schema", "items", "pattern"].iter().find_map(|key| fields.get(key)) {
        // Inside of the tool's schema, where references start at its root and not at the parameter's.
        let embedded = json!({"type": "object", "properties": {"value": schema}});
        if let Err(cause) = CompiledSchema::compile(&embedded) {
            at.error(code::INVALID_SCHEMA, format!("not a usable JSON Schema: {}", cause.reason));
        }
    }
    Some(schema)
}

fn whole_schema(at: &At<'_>, fields: &Fields<'_>) -> Option<Map<String, Json>> {
    for (key, at) in SHORT_FORM.iter().filter_map(|key| Some((key, fields.get(key)?))) {
        let message = format!("`{key}` can't stand beside `schema`, which takes its place");
        at.report_key(Diagnostic::error(code::EXACTLY_ONE, message).hint("move it into `schema`"));
    }
    match at.json(Some(JsonType::Object))? {
        Json::Object(schema) => Some(schema),
        _ => None,
    }
}

fn short_schema(fields: &Fields<'_>) -> Option<Map<String, Json>> {
    let kind = match fields.get("type") {
        Some(at) => at.one_of(&JsonType::ALL)?,
        None => JsonType::String,
    };
    let mut schema = Map::new();
    schema.insert("type".into(), kind.name().into());
    let mut put = |key: &str, value: Option<Json>| {
        if let Some(value) = value {
            schema.insert(key.into(), value);
        }
    };
    let for_kind = |key: &str, kinds: &[JsonType]| {
        let at = fields.get(key)?;
        if kinds.contains(&kind) {
            return Some(at);
        }
        let names: Vec<String> = kinds.iter().map(|kind| format!("`{}`", kind.name())).collect();
        let message = format!("`{key}` is for the type {}, not `{}`", names.join(" or "), kind.name());
        at.report_key(Diagnostic::error(code::INVALID_VALUE, message));
        None
    };
    let size = |at: &At<'_>| at.count(0, u32::MAX).map(Json::from);
    let numbers = [JsonType::Integer, JsonType::Number];
    put("enum", fields.get("enum").and_then(|at| choices(at, kind)));
    put("minimum", for_kind("minimum", &numbers).and_then(|at| at.json(Some(JsonType::Number))));
    put("maximum", for_kind("maximum", &numbers).and_then(|at| at.json(Some(JsonType::Number))));
    put("minLength", for_kind("min_length", &[JsonType::String]).and_then(size));
    put("maxLength", for_kind("max_length", &[JsonType::String]).and_then(size));
    put("pattern", for_kind("pattern", &[JsonType::String]).and_then(At::some_text).map(Json::from));
    put("format", for_kind("format", &[JsonType::String]).and_then(At::some_text).map(Json::from));
    put("items", for_kind("items", &[JsonType::Array]).and_then(|at| at.json(Some(JsonType::Object))));
    put("default", fields.get("default").and_then(|at| at.json(Some(kind))));
    check_bounds(fields, &schema);
    Some(schema)
}

fn choices(at: &At<'_>, kind: JsonType) -> Option<Json> {
    let items = at.items("a list of values")?;
    if items.is_empty() {
        at.error(code::INVALID_VALUE, "`enum` holds no values");
        return None;
    }
    Some(items.iter().filter_map(|item| item.json(Some(kind))).collect())
}

/// What can be said about the values of a short form without calling it.
fn check_bounds(fields: &Fields<'_>, schema: &Map<String, Json>) {
    for (least, most) in [("minimum", "maximum"), ("minLength", "maxLength")] {
        let number = |key: &str| schema.get(key).and_then(Json::as_f64);
        if let (Some(low), Some(high)) = (number(least), number(most))
            && low > high
        {
            let message = format!("no value is at least {low} and at most {high}");
            fields.at.error(code::OUT_OF_RANGE, message);
        }
    }
    if let Some(default) = schema.get("default")
        && let Some(choices) = schema.get("enum").and_then(Json::as_array)
        && !choices.contains(default)
        && let Some(at) = fields.get("default")
    {
        at.error(code::INVALID_VALUE, "`default` is not one of the values of `enum`");
    }
}
