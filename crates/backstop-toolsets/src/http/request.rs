//! From a valid call to one request.

use backstop_core::{CallContext, CallerHeaders, ToolError};
use percent_encoding::percent_decode_str;
use reqwest::Method;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue,
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use url::Url;

use super::{
    Auth, Endpoint, HttpConfig, RESERVED,
    config::shown,
    payload::Payload,
    places::{check_head, path_value},
    template::Template,
};

/// What all requests of a toolset share.
pub(crate) struct Base {
    /// Without userinfo and fragment.
    pub(super) url: Url,
    /// Put over those that come from arguments.
    headers: HeaderMap,
    /// Passed on from whoever started the run, under those above.
    caller_headers: Vec<HeaderName>,
    /// A key for the header `Cookie`, which arguments may be in, too: its name, and the pair.
    pub(super) cookie_key: Option<(String, HeaderValue)>,
    /// A key for the query.
    pub(super) query_key: Option<(String, SecretString)>,
    idempotency_header: HeaderName,
    /// Bytes of one body at most.
    pub(super) max_request: usize,
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
    pub(crate) fn new(config: &HttpConfig) -> Result<Self, ToolError> {
        let mut url = config.base_url.clone();
        if url.cannot_be_a_base() || url.host_str().is_none() || !matches!(url.scheme(), "http" | "https") {
            return Err(ToolError::misconfigured("the base URL is not an http or https URL"));
        }
        let auth = match (&config.auth, userinfo(&url)) {
            (Auth::None, Some(basic)) => basic,
            (auth, _) => auth.clone(),
        };
        // Neither fails for a URL that has a host.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_fragment(None);

        let mut all = HeaderMap::new();
        for (name, value) in &config.headers {
            all.insert(header_name(name)?, secret_header(name, value.expose_secret())?);
        }
        let (mut query_key, mut cookie_key, mut own_token) = (None, None, false);
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
                cookie_key = Some((name, secret_header("cookie", &pair)?));
            }
            // Added when there is a token.
            Auth::OAuth2(_) => own_token = true,
        }
        let idempotency_header =
            header_name(config.idempotency_header.as_deref().unwrap_or("idempotency-key"))?;
        let mut caller_headers = Vec::new();
        for name in &config.caller_headers {
            let name = header_name(name)?;
            let is_ours = RESERVED.contains(&name.as_str())
                || all.contains_key(&name)
                || name == idempotency_header
                || (name == AUTHORIZATION && own_token)
                || (name == COOKIE && cookie_key.is_some());
            if is_ours {
                let detail =
                    format!("the header `{name}` of callers can't be passed on: it is the toolset's own");
                return Err(ToolError::misconfigured(detail));
            }
            caller_headers.push(name);
        }
        let max_request = config.max_request;
        Ok(Self { url, headers: all, caller_headers, query_key, cookie_key, idempotency_header, max_request })
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
        self.put_headers(&mut headers, endpoint, arguments)?;
        if let Some(cookies) = self.cookies(endpoint, arguments)? {
            headers.insert(COOKIE, cookies);
        }
        check_head(url.as_str(), &headers, endpoint, arguments)?;
        let payload = self.payload(endpoint, arguments)?;
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
        self.put_own_headers(&mut headers, &cx.caller_headers)?;
        Ok(Prepared { url, headers, payload })
    }

    /// Puts those of the toolset and of whoever started the run over those that are there.
    fn put_own_headers(&self, headers: &mut HeaderMap, caller: &CallerHeaders) -> Result<(), ToolError> {
        for name in &self.caller_headers {
            // An argument never stands in for who the caller is.
            headers.remove(name);
            if let Some(value) = caller.get(name.as_str()) {
                headers.insert(name.clone(), secret_header(name.as_str(), value)?);
            }
        }
        headers.extend(self.headers.clone());
        Ok(())
    }

    /// Address and headers of a request that no argument has a part in.
    ///
    /// # Errors
    ///
    /// `misconfigured` for what a caller sent and no header can hold.
    #[cfg(feature = "mcp")]
    pub(crate) fn bare(&self, caller: &CallerHeaders) -> Result<(Url, HeaderMap), ToolError> {
        let mut url = self.url.clone();
        if let Some((name, key)) = &self.query_key {
            url.query_pairs_mut().append_pair(name, key.expose_secret());
        }
        let mut headers = HeaderMap::new();
        if let Some((_, pair)) = &self.cookie_key {
            headers.insert(COOKIE, pair.clone());
        }
        self.put_own_headers(&mut headers, caller)?;
        Ok((url, headers))
    }
}

impl std::fmt::Debug for Base {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Base").field("url", &shown(&self.url)).finish_non_exhaustive()
    }
}

/// What answers are wanted: those that are declared, JSON before others, and errors that say what is wrong.
fn accept(answers: &[String]) -> HeaderValue {
    const USUAL: &str = "application/json, application/problem+json, text/*;q=0.8, */*;q=0.5";
    let usable = |answer: &&String| {
        !answer.contains('*')
            && !answer.starts_with("application/problem+json")
            && HeaderValue::from_str(answer).is_ok()
    };
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

pub(super) fn header_name(name: &str) -> Result<HeaderName, ToolError> {
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| ToolError::misconfigured(format!("`{name}` can't be the name of a header")))
}

fn secret_header(name: &str, value: &str) -> Result<HeaderValue, ToolError> {
    let mut value = HeaderValue::from_bytes(value.as_bytes())
        .map_err(|_| ToolError::misconfigured(format!("the value of header `{name}` can't be sent")))?;
    value.set_sensitive(true);
    Ok(value)
}
