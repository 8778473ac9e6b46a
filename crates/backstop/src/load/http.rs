//! Services from their declarations: endpoints, parameters, credentials.

use backstop_core::ToolError;
use backstop_manifest::{
    SecretText,
    v1::{self, ApiKeyPlace, Constant, ParameterPlace, ParameterStyle, ToolsetConfig},
};
use backstop_toolsets::{
    client::Clients,
    http::{Auth, BodyForm, ClientAuth, Endpoint, HttpConfig, Method, OAuth2, Parameter, Place, Style},
};
use secrecy::SecretString;

use super::connection::{self, Author};

pub(super) fn config(
    config: &ToolsetConfig,
    http: &v1::HttpConfig,
    clients: &mut Clients,
) -> Result<HttpConfig, ToolError> {
    let base_url = http.base_url.value.as_url();
    let client = connection::client(&http.connection, base_url, Author::Operator, clients)?;
    let mut made = HttpConfig::new(config.name.value.clone(), base_url.clone(), client);
    made.headers = headers(&http.headers);
    made.auth = auth(&http.auth);
    made.caller_headers.clone_from(&http.caller_headers);
    made.idempotency_header = Some(http.idempotency_header.clone());
    connection::limit(&mut made, &http.connection);
    connection::for_tokens(&mut made.auth, &http.connection, clients)?;
    made.endpoints = endpoints(config, http);
    Ok(made)
}

pub(super) fn endpoints(config: &ToolsetConfig, http: &v1::HttpConfig) -> Vec<Endpoint> {
    let made = |(spec, endpoint): (_, &v1::HttpEndpoint)| {
        let mut made = Endpoint::new(spec, method(endpoint.method), endpoint.path.value.clone());
        made.parameters = endpoint.parameters.iter().filter_map(parameter).collect();
        made.templates.query.clone_from(&endpoint.query);
        made.templates.headers.clone_from(&endpoint.headers);
        made.body = match &endpoint.body {
            v1::Body::Form => BodyForm::UrlEncoded,
            v1::Body::Multipart => BodyForm::Multipart,
            v1::Body::Template(template) => {
                made.templates.body = Some(template.clone());
                BodyForm::Json
            }
            v1::Body::Whole { media_type } => BodyForm::Whole { media_type: media_type.clone() },
            _ => BodyForm::Json,
        };
        made.sends_idempotency_key = endpoint.idempotent_key;
        made
    };
    config.specs().into_iter().zip(&http.endpoints).map(made).collect()
}

pub(super) fn auth(declared: &v1::Auth) -> Auth {
    match declared {
        v1::Auth::Bearer(token) => Auth::Bearer(secret(token)),
        v1::Auth::Basic { username, password } => {
            Auth::Basic { username: username.expose().to_owned(), password: secret(password) }
        }
        v1::Auth::ApiKey { place: ApiKeyPlace::Header, name, value } => {
            Auth::ApiKeyHeader { name: name.clone(), value: secret(value) }
        }
        v1::Auth::ApiKey { place: ApiKeyPlace::Query, name, value } => {
            Auth::ApiKeyQuery { name: name.clone(), value: secret(value) }
        }
        v1::Auth::ApiKey { place: ApiKeyPlace::Cookie, name, value } => {
            Auth::ApiKeyCookie { name: name.clone(), value: secret(value) }
        }
        v1::Auth::OAuth2(declared) => {
            let url = declared.token_url.as_url().clone();
            let mut made = OAuth2::new(url, declared.client_id.clone(), secret(&declared.client_secret));
            made.scope.clone_from(&declared.scope);
            made.extra.clone_from(&declared.extra);
            made.client_auth = if declared.in_body { ClientAuth::Body } else { ClientAuth::Basic };
            Auth::OAuth2(Box::new(made))
        }
        _ => Auth::None,
    }
}

fn style(style: ParameterStyle) -> Style {
    match style {
        ParameterStyle::Simple => Style::Simple,
        ParameterStyle::Label => Style::Label,
        ParameterStyle::Matrix => Style::Matrix,
        ParameterStyle::Form => Style::Form,
        ParameterStyle::SpaceDelimited => Style::SpaceDelimited,
        ParameterStyle::PipeDelimited => Style::PipeDelimited,
        ParameterStyle::DeepObject => Style::DeepObject,
        ParameterStyle::Json => Style::Json,
    }
}

/// `None` for one that only templates use.
fn parameter(parameter: &v1::Parameter) -> Option<Parameter> {
    let place = match parameter.place {
        ParameterPlace::Path => Place::Path,
        ParameterPlace::Query => Place::Query,
        ParameterPlace::Header => Place::Header,
        ParameterPlace::Cookie => Place::Cookie,
        ParameterPlace::Body => Place::Body,
        ParameterPlace::Template => return None,
    };
    let mut made = Parameter::new(parameter.name.value.clone(), place).wire_name(parameter.wire_name.clone());
    if let Some(style) = parameter.style.map(style) {
        made.style = style;
        made.explode = matches!(style, Style::Form | Style::DeepObject);
    }
    made.explode = parameter.explode.unwrap_or(made.explode);
    made.media_type.clone_from(&parameter.media_type);
    Some(match &parameter.constant {
        None => made,
        Some(Constant::Json(value)) => made.constant(value.clone()),
        Some(Constant::Secret(text)) => made.constant(text.expose()),
    })
}

fn method(method: v1::Method) -> Method {
    match method {
        v1::Method::Get => Method::GET,
        v1::Method::Head => Method::HEAD,
        v1::Method::Post => Method::POST,
        v1::Method::Put => Method::PUT,
        v1::Method::Patch => Method::PATCH,
        v1::Method::Delete => Method::DELETE,
        v1::Method::Options => Method::OPTIONS,
    }
}

pub(super) fn headers(headers: &[v1::Header]) -> Vec<(String, SecretString)> {
    headers.iter().map(|header| (header.name.value.clone(), secret(&header.value))).collect()
}

pub(super) fn secret(text: &SecretText) -> SecretString {
    SecretString::from(text.expose().to_owned())
}
