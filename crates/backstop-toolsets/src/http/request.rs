//! From a valid call to one request.

use backstop_core::{CallContext, ToolError};
use percent_encoding::percent_decode_str;
use reqwest::Method;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue,
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use url::Url;

use super::{
    Auth, Endpoint, Parameter, Place,
    compose::filled,
    config::shown,
    payload::{self, Field, Payload, payload},
    style,
    template::Template,
    value::{encoded, unfit},
};
use crate::pointer;

/// What all requests of a toolset share.
pub(super) struct Base {
    /// Without userinfo and fragment.
    url: Url,
    /// Put over those that come from arguments.
    headers: HeaderMap,
    /// A key for the header `Cookie`, which arguments may be in, too.
    cookie_key: Option<HeaderValue>,
    /// A key for the query.
    query_key: Option<(String, SecretString)>,
    idempotency_header: HeaderName,
    /// Bytes of one body at most.
    max_request: usize,
}

/// One request, ready to be sent.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) payload: Payload,
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
        max_request: usize,
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
        let (mut query_key, mut cookie_key) = (None, None);
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
            Auth::ApiKeyCookie { name, value } => {
                let pair = format!("{name}={}", value.expose_secret());
                cookie_key = Some(secret_header("cookie", &pair)?);
            }
            // Added when there is a token.
            Auth::OAuth2(_) => {}
        }
        let idempotency_header = header_name(idempotency_header.unwrap_or("idempotency-key"))?;
        Ok(Self { url, headers: all, query_key, cookie_key, idempotency_header, max_request })
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
        headers.insert(ACCEPT, accept(&endpoint.answers));
        for (parameter, value, at) in sent(endpoint, Place::Header, arguments) {
            let Some(text) = style::for_header(parameter, value, &at)? else { continue };
            let value = HeaderValue::from_bytes(text.as_bytes())
                .map_err(|_| unfit(&at, "must not hold control characters"))?;
            headers.insert(header_name(&parameter.wire_name)?, value);
        }
        for (name, template) in &endpoint.templates.headers {
            let Some(value) = filled(template, &|name| arguments.get(name)) else { continue };
            let parameter = Parameter::new(name.as_str(), Place::Header);
            let Some(text) = style::for_header(&parameter, &value, "")? else { continue };
            let value = HeaderValue::from_bytes(text.as_bytes())
                .map_err(|_| unfit("", "must not hold control characters"))?;
            headers.insert(header_name(name)?, value);
        }
        let own = cookies(endpoint, arguments)?;
        if let Some(cookies) = joined(own, self.cookie_key.as_ref())? {
            headers.insert(COOKIE, cookies);
        }
        let template = endpoint.templates.body.as_ref();
        let composed = template.and_then(|template| filled(template, &|name| arguments.get(name)));
        let payload = if let Some(body) = composed {
            payload::composed(&body, self.max_request)?
        } else {
            match endpoint.parameters.iter().any(|parameter| parameter.place == Place::Body) {
                true => {
                    payload(endpoint, sent(endpoint, Place::Body, arguments).collect(), self.max_request)?
                }
                false => Payload::None,
            }
        };
        if let Payload::Bytes { content_type, .. } = &payload {
            headers.insert(CONTENT_TYPE, content_type.clone());
        } else if matches!(payload, Payload::None)
            && [Method::POST, Method::PUT, Method::PATCH].contains(&endpoint.method)
        {
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
        Ok(Prepared { url, headers, payload })
    }

    fn query(&self, endpoint: &Endpoint, arguments: &Map<String, Value>) -> Result<String, ToolError> {
        let mut pairs: Vec<String> =
            self.url.query().filter(|query| !query.is_empty()).map(str::to_owned).into_iter().collect();
        // What the keys of an object can't be: they would stand for another parameter, or for the key.
        let base: Vec<_> = self.url.query_pairs().map(|(name, _)| name.into_owned()).collect();
        let taken = |key: &str| {
            self.query_key.as_ref().is_some_and(|(name, _)| name == key)
                || base.iter().any(|name| name == key)
                || endpoint.parameters.iter().any(|p| p.place == Place::Query && p.wire_name == key)
        };
        for (parameter, value, at) in sent(endpoint, Place::Query, arguments) {
            pairs.extend(style::pairs(parameter, value, &at, &taken)?);
        }
        for (name, template) in &endpoint.templates.query {
            if let Some(value) = filled(template, &|name| arguments.get(name)) {
                let parameter = Parameter::new(name.as_str(), Place::Query);
                pairs.extend(style::pairs(&parameter, &value, "", &taken)?);
            }
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
) -> impl Iterator<Item = Field<'a>> {
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
    style::for_path(parameter, value.unwrap_or(&Value::Null), &at)
}

/// The cookies of a call and the key of the service in one header, as there is to be one (RFC 6265, section 5.4).
fn joined(own: Option<HeaderValue>, key: Option<&HeaderValue>) -> Result<Option<HeaderValue>, ToolError> {
    let (own, key) = match (own, key) {
        (Some(own), Some(key)) => (own, key),
        (own, key) => return Ok(own.or(key.cloned())),
    };
    let bytes = [key.as_bytes(), b"; ", own.as_bytes()].concat();
    let mut value = HeaderValue::from_bytes(&bytes)
        .map_err(|cause| ToolError::misconfigured("a cookie can't be sent").with_source(cause))?;
    value.set_sensitive(true);
    Ok(Some(value))
}

fn cookies(endpoint: &Endpoint, arguments: &Map<String, Value>) -> Result<Option<HeaderValue>, ToolError> {
    let taken =
        |key: &str| endpoint.parameters.iter().any(|p| p.place == Place::Cookie && p.wire_name == key);
    let mut pairs = Vec::new();
    for (parameter, value, at) in sent(endpoint, Place::Cookie, arguments) {
        pairs.extend(style::for_cookie(parameter, value, &at, &taken)?);
    }
    if pairs.is_empty() {
        return Ok(None);
    }
    let header = HeaderValue::from_str(&pairs.join("; "));
    header.map(Some).map_err(|cause| ToolError::misconfigured("a cookie can't be sent").with_source(cause))
}

/// What answers are wanted: those that are declared, JSON before others, and errors that say what is wrong.
fn accept(answers: &[String]) -> HeaderValue {
    const USUAL: &str = "application/json, application/problem+json, text/*;q=0.8, */*;q=0.5";
    let usable = |answer: &&String| !answer.contains('*') && HeaderValue::from_str(answer).is_ok();
    let mut wanted: Vec<&str> = answers.iter().filter(usable).map(String::as_str).collect();
    if wanted.is_empty() {
        return HeaderValue::from_static(USUAL);
    }
    wanted.sort_by_key(|answer| !answer.contains("json"));
    let wanted = format!("{}, application/problem+json, */*;q=0.5", wanted.join(", "));
    HeaderValue::from_str(&wanted).unwrap_or(HeaderValue::from_static(USUAL))
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
