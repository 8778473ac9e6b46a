//! From a valid call to one request.

use backstop_core::{CallContext, ToolError};
use percent_encoding::percent_decode_str;
use reqwest::Method;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use url::Url;

use super::{
    Auth, Endpoint, Parameter, Place,
    config::shown,
    template::Template,
    value::{encoded, for_header, for_path, texts, unfit},
};
use crate::pointer;

/// What all requests of a toolset share.
pub(super) struct Base {
    /// Without userinfo and fragment.
    url: Url,
    /// Put over those that come from arguments.
    headers: HeaderMap,
    /// A key for the query.
    query_key: Option<(String, SecretString)>,
    idempotency_header: HeaderName,
}

/// One request, ready to be sent.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Vec<u8>>,
}

impl Base {
    /// # Errors
    ///
    /// `misconfigured`, never with the value of a header.
    pub(super) fn new(
        mut url: Url,
        headers: &[(String, SecretString)],
        auth: Auth,
        idempotency_header: Option<&str>,
    ) -> Result<Self, ToolError> {
        if url.cannot_be_a_base() || url.host_str().is_none() || !matches!(url.scheme(), "http" | "https") {
            return Err(ToolError::misconfigured("the base URL is not an http or https URL"));
        }
        let auth = match (auth, userinfo(&url)) {
            (Auth::None, Some(basic)) => basic,
            (auth, _) => auth,
        };
        // Neither fails for a URL that has a host.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_fragment(None);

        let mut all = HeaderMap::new();
        for (name, value) in headers {
            all.insert(header_name(name)?, secret_header(name, value.expose_secret())?);
        }
        let mut query_key = None;
        match auth {
            Auth::None => {}
            Auth::Bearer(token) => {
                let value = format!("Bearer {}", token.expose_secret());
                all.insert(AUTHORIZATION, secret_header("authorization", &value)?);
            }
            Auth::Basic { username, password } => {
                use base64::Engine;
                let pair = format!("{username}:{}", password.expose_secret());
                let value = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair));
                all.insert(AUTHORIZATION, secret_header("authorization", &value)?);
            }
            Auth::ApiKeyHeader { name, value } => {
                all.insert(header_name(&name)?, secret_header(&name, value.expose_secret())?);
            }
            Auth::ApiKeyQuery { name, value } => query_key = Some((name, value)),
        }
        let idempotency_header = header_name(idempotency_header.unwrap_or("idempotency-key"))?;
        Ok(Self { url, headers: all, query_key, idempotency_header })
    }

    /// Puts each argument in its place.
    ///
    /// # Errors
    ///
    /// `invalid_arguments` for a value that can't go where it belongs; nothing has been sent then.
    pub(super) fn prepare(
        &self,
        endpoint: &Endpoint,
        template: &Template,
        arguments: &Map<String, Value>,
        cx: &CallContext,
    ) -> Result<Prepared, ToolError> {
        let mut url = self.url.clone();
        let path = template.fill(|wire| path_value(endpoint, wire, arguments))?;
        if !path.is_empty() {
            let whole = format!("{}{path}", self.url.path().trim_end_matches('/'));
            url.set_path(&whole);
            // A second guard, should an encoding above miss something: what was put together is sent, or nothing.
            if url.path() != whole || url.origin() != self.url.origin() {
                return Err(ToolError::invalid_arguments(format!(
                    "the path of tool `{}` changes when it is read as a URL",
                    endpoint.spec.name
                )));
            }
        }
        let query = self.query(endpoint, arguments)?;
        url.set_query((!query.is_empty()).then_some(query.as_str()));

        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/*;q=0.8, */*;q=0.5"));
        for (parameter, value, at) in sent(endpoint, Place::Header, arguments) {
            let Some(text) = for_header(value, &at)? else { continue };
            let value = HeaderValue::from_bytes(text.as_bytes())
                .map_err(|_| unfit(&at, "must not hold control characters"))?;
            headers.insert(header_name(&parameter.wire_name)?, value);
        }
        let body = body(endpoint, arguments);
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        } else if [Method::POST, Method::PUT, Method::PATCH].contains(&endpoint.method) {
            // Not sent by itself for no body at all, and some services answer 411 without it.
            headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        if endpoint.sends_idempotency_key {
            let key = HeaderValue::from_str(&cx.idempotency_key).map_err(|cause| {
                ToolError::internal("the idempotency key can't be sent in a header").with_source(cause)
            })?;
            headers.insert(self.idempotency_header.clone(), key);
        }
        headers.extend(self.headers.clone());
        Ok(Prepared { url, headers, body })
    }

    fn query(&self, endpoint: &Endpoint, arguments: &Map<String, Value>) -> Result<String, ToolError> {
        let mut pairs: Vec<String> =
            self.url.query().filter(|query| !query.is_empty()).map(str::to_owned).into_iter().collect();
        for (parameter, value, at) in sent(endpoint, Place::Query, arguments) {
            let name = encoded(&parameter.wire_name);
            pairs.extend(texts(value, &at)?.iter().map(|text| format!("{name}={}", encoded(text))));
        }
        if let Some((name, key)) = &self.query_key {
            pairs.push(format!("{}={}", encoded(name), encoded(key.expose_secret())));
        }
        Ok(pairs.join("&"))
    }
}

impl std::fmt::Debug for Base {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Base").field("url", &shown(&self.url)).finish_non_exhaustive()
    }
}

/// What is sent to one place: parameter, value and the argument's JSON Pointer.
fn sent<'a>(
    endpoint: &'a Endpoint,
    place: Place,
    arguments: &'a Map<String, Value>,
) -> impl Iterator<Item = (&'a Parameter, &'a Value, String)> {
    endpoint.parameters.iter().filter(move |parameter| parameter.place == place).filter_map(|parameter| {
        let value = parameter.constant.as_ref().or_else(|| arguments.get(&parameter.name))?;
        Some((parameter, value, pointer::child("", &parameter.name)))
    })
}

fn path_value(endpoint: &Endpoint, wire: &str, arguments: &Map<String, Value>) -> Result<String, ToolError> {
    let Some(parameter) = endpoint.parameters.iter().find(|p| p.place == Place::Path && p.wire_name == wire)
    else {
        let detail = format!("nothing is declared for `{{{wire}}}` of tool `{}`", endpoint.spec.name);
        return Err(ToolError::misconfigured(detail));
    };
    let at = pointer::child("", &parameter.name);
    let value = parameter.constant.as_ref().or_else(|| arguments.get(&parameter.name));
    for_path(value.unwrap_or(&Value::Null), &at)
}

/// The JSON object, if the endpoint takes one. A null stays: it may mean that a field is to be emptied.
fn body(endpoint: &Endpoint, arguments: &Map<String, Value>) -> Option<Vec<u8>> {
    if !endpoint.parameters.iter().any(|parameter| parameter.place == Place::Body) {
        return None;
    }
    let body: Map<String, Value> = sent(endpoint, Place::Body, arguments)
        .map(|(parameter, value, _)| (parameter.wire_name.clone(), value.clone()))
        .collect();
    Some(Value::Object(body).to_string().into_bytes())
}

fn userinfo(url: &Url) -> Option<Auth> {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let password = SecretString::from(decoded(url.password().unwrap_or_default()));
    Some(Auth::Basic { username: decoded(url.username()), password })
}

fn header_name(name: &str) -> Result<HeaderName, ToolError> {
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| ToolError::misconfigured(format!("`{name}` can't be the name of a header")))
}

fn secret_header(name: &str, value: &str) -> Result<HeaderValue, ToolError> {
    let mut value = HeaderValue::from_bytes(value.as_bytes())
        .map_err(|_| ToolError::misconfigured(format!("the value of header `{name}` can't be sent")))?;
    value.set_sensitive(true);
    Ok(value)
}
