//! What a call puts into each place of its request.

use backstop_core::{ToolError, text::size};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::ExposeSecret;
use serde_json::{Map, Value};

use super::{
    Endpoint, Parameter, Place, Style,
    compose::{Filling, TooLarge, blamed, names_in},
    payload::{self, Field, Payload, payload},
    request::{Base, header_name},
    style,
    value::{encoded, unfit},
};
use crate::pointer;

/// Bytes of address and headers at most: HTTP clients send no longer address.
const MAX_HEAD: usize = 60 * 1024;

type Arguments = Map<String, Value>;

impl Base {
    pub(super) fn query(&self, endpoint: &Endpoint, arguments: &Arguments) -> Result<String, ToolError> {
        let mut pairs: Vec<String> =
            self.url.query().filter(|query| !query.is_empty()).map(str::to_owned).into_iter().collect();
        let is_key = |name: &str| self.query_key.as_ref().is_some_and(|(key, _)| key == name);
        // What the keys of an object can't be: they would stand for another parameter, or for the key.
        let base: Vec<_> = self.url.query_pairs().map(|(name, _)| name.into_owned()).collect();
        let taken = |key: &str| {
            is_key(key)
                || base.iter().any(|name| name == key)
                || is_declared(endpoint, Place::Query, key)
                || endpoint.templates.query.iter().any(|(name, _)| name == key)
        };
        for (parameter, value, at) in sent(endpoint, Place::Query, arguments) {
            if !is_key(&parameter.wire_name) {
                pairs.extend(style::pairs(parameter, value, &at, &taken)?);
            }
        }
        for (name, template) in endpoint.templates.query.iter().filter(|(name, _)| !is_key(name)) {
            let Some(value) = self.filled(template, arguments)? else { continue };
            let at = blamed(template, arguments, |value| value.is_array() || value.is_object());
            // The keys of an object stay behind the name that was declared.
            let parameter = Parameter::new(name.as_str(), Place::Query).style(Style::DeepObject, true);
            let filled = style::pairs(&parameter, &value, &at, &taken);
            pairs.extend(filled.map_err(|error| if template.is_string() { error } else { error.at(at) })?);
        }
        if let Some((name, key)) = &self.query_key {
            pairs.push(format!("{}={}", encoded(name), encoded(key.expose_secret())));
        }
        Ok(pairs.join("&"))
    }

    /// Adds the headers that arguments are in, but for cookies.
    pub(super) fn put_headers(
        &self,
        headers: &mut HeaderMap,
        endpoint: &Endpoint,
        arguments: &Arguments,
    ) -> Result<(), ToolError> {
        for (parameter, value, at) in sent(endpoint, Place::Header, arguments) {
            if let Some((name, value)) = header(parameter, value, &at)? {
                headers.insert(name, value);
            }
        }
        for (name, template) in &endpoint.templates.headers {
            let Some(value) = self.filled(template, arguments)? else { continue };
            let at = blamed(template, arguments, |value| {
                value.as_str().is_some_and(|text| text.chars().any(char::is_control))
            });
            if let Some((name, value)) = header(&Parameter::new(name.as_str(), Place::Header), &value, &at)? {
                headers.insert(name, value);
            }
        }
        Ok(())
    }

    /// The cookies of a call and the key of the service in one header, as there is to be one (RFC 6265, section 5.4).
    pub(super) fn cookies(
        &self,
        endpoint: &Endpoint,
        arguments: &Arguments,
    ) -> Result<Option<HeaderValue>, ToolError> {
        let is_key = |name: &str| self.cookie_key.as_ref().is_some_and(|(key, _)| key == name);
        let taken = |key: &str| is_key(key) || is_declared(endpoint, Place::Cookie, key);
        let mut pairs = Vec::new();
        for (parameter, value, at) in sent(endpoint, Place::Cookie, arguments) {
            if !is_key(&parameter.wire_name) {
                pairs.extend(style::for_cookie(parameter, value, &at, &taken)?);
            }
        }
        let key = self.cookie_key.as_ref().map(|(_, pair)| pair);
        if pairs.is_empty() {
            return Ok(key.cloned());
        }
        let own = pairs.join("; ");
        let bytes =
            key.map_or(own.clone().into_bytes(), |key| [key.as_bytes(), b"; ", own.as_bytes()].concat());
        let mut value = HeaderValue::from_bytes(&bytes)
            .map_err(|cause| ToolError::misconfigured("a cookie can't be sent").with_source(cause))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    pub(super) fn payload(&self, endpoint: &Endpoint, arguments: &Arguments) -> Result<Payload, ToolError> {
        if let Some(template) = &endpoint.templates.body {
            let Some(body) = self.filled(template, arguments)? else { return Ok(Payload::None) };
            let at = largest(names_in(template).into_iter(), arguments);
            return payload::composed(&body, self.max_request, &at);
        }
        if endpoint.parameters.iter().all(|parameter| parameter.place != Place::Body) {
            return Ok(Payload::None);
        }
        payload(endpoint, sent(endpoint, Place::Body, arguments).collect(), self.max_request)
    }

    /// A template with the arguments of the call in it; `None` where it names one that was not given.
    fn filled(&self, template: &Value, arguments: &Arguments) -> Result<Option<Value>, ToolError> {
        let mut filling = Filling { arguments, left: self.max_request };
        filling.value(template).map_err(|TooLarge| {
            let words = format!("makes a request of more than the limit of {}", size(self.max_request));
            unfit(&largest(names_in(template).into_iter(), arguments), &words)
        })
    }
}

/// What stands for a placeholder of the path.
pub(super) fn path_value(
    endpoint: &Endpoint,
    wire: &str,
    arguments: &Arguments,
) -> Result<String, ToolError> {
    let Some(parameter) = endpoint.parameters.iter().find(|p| p.place == Place::Path && p.wire_name == wire)
    else {
        let detail = format!("nothing is declared for `{{{wire}}}` of tool `{}`", endpoint.spec.name);
        return Err(ToolError::misconfigured(detail));
    };
    let at = pointer::child("", &parameter.name);
    let value = parameter.constant.as_ref().or_else(|| arguments.get(&parameter.name));
    let taken = |key: &str| is_declared(endpoint, Place::Path, key);
    style::for_path(parameter, value.unwrap_or(&Value::Null), &at, &taken)
}

/// Checks the size of what is sent before a body.
///
/// # Errors
///
/// `invalid_arguments` at the largest argument that is not in the body.
pub(super) fn check_head(
    url: &str,
    headers: &HeaderMap,
    endpoint: &Endpoint,
    arguments: &Arguments,
) -> Result<(), ToolError> {
    let in_headers = headers.iter().map(|(name, value)| name.as_str().len() + value.len());
    let bytes = url.len() + in_headers.sum::<usize>();
    if bytes <= MAX_HEAD {
        return Ok(());
    }
    let parameters = endpoint.parameters.iter().filter(|parameter| parameter.place != Place::Body);
    let templates = endpoint.templates.query.iter().chain(&endpoint.templates.headers);
    let names = parameters.map(|parameter| parameter.name.as_str());
    let names = names.chain(templates.flat_map(|(_, template)| names_in(template)));
    let words = format!(
        "is too long for an address or a header: it makes {}, and the limit is {}",
        size(bytes),
        size(MAX_HEAD)
    );
    Err(unfit(&largest(names, arguments), &words))
}

/// What is sent to one place: parameter, value and the argument's JSON Pointer.
fn sent<'a>(
    endpoint: &'a Endpoint,
    place: Place,
    arguments: &'a Arguments,
) -> impl Iterator<Item = Field<'a>> {
    endpoint.parameters.iter().filter(move |parameter| parameter.place == place).filter_map(|parameter| {
        let value = parameter.constant.as_ref().or_else(|| arguments.get(&parameter.name))?;
        Some((parameter, value, pointer::child("", &parameter.name)))
    })
}

fn header(
    parameter: &Parameter,
    value: &Value,
    at: &str,
) -> Result<Option<(HeaderName, HeaderValue)>, ToolError> {
    let Some(text) = style::for_header(parameter, value, at)? else { return Ok(None) };
    let value = HeaderValue::from_bytes(text.as_bytes())
        .map_err(|_| unfit(at, "must not hold control characters"))?;
    Ok(Some((header_name(&parameter.wire_name)?, value)))
}

fn is_declared(endpoint: &Endpoint, place: Place, wire: &str) -> bool {
    endpoint.parameters.iter().any(|parameter| parameter.place == place && parameter.wire_name == wire)
}

/// The JSON Pointer of the largest of these arguments.
fn largest<'n>(names: impl Iterator<Item = &'n str>, arguments: &Arguments) -> String {
    let given = names.filter_map(|name| Some((name, arguments.get(name)?.to_string().len())));
    given.max_by_key(|(_, size)| *size).map_or_else(String::new, |(name, _)| pointer::child("", name))
}
