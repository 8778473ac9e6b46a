//! Services as their documents describe them.

use std::sync::Arc;

use backstop_manifest::v1::{DocumentPlace, OpenApiConfig, OperationSelector, ToolsetConfig};
use backstop_runtime::BuildProblem;
use backstop_toolsets::{
    client::Clients,
    http::{Auth, HttpConfig, HttpToolset},
    openapi::{OpenApi, OpenApiError, OpenApiOptions, SecurityNeed, Selector, fetch, open_file},
};

use super::{
    LoadError, answer,
    connection::{self, Author},
    http,
    toolset::Made,
};

/// The toolset that a document describes, and what is wrong with the document.
pub(super) async fn toolset(
    config: &ToolsetConfig,
    openapi: &OpenApiConfig,
    clients: &mut Clients,
) -> Result<Made, LoadError> {
    let name = config.name.value.clone();
    let failed = |source: OpenApiError| LoadError::Document { toolset: name.clone(), source };
    let api = open(&name, openapi, clients).await?;
    let Some(base_url) = api.base_url.clone() else {
        let message = "it says nowhere where its service is: declare `base_url`";
        return Err(failed(OpenApiError::NotOpenApi(message.into())));
    };
    // Whoever wrote a document elsewhere may write any address into it.
    let author = match (&openapi.base_url, &openapi.document.value) {
        (None, DocumentPlace::Url(_)) => Author::Foreign,
        _ => Author::Operator,
    };
    let unusable = |source| LoadError::Toolset { toolset: name.clone(), source };
    let client = connection::client(&openapi.connection, &base_url, author, clients).map_err(unusable)?;
    let mut made = HttpConfig::new(name.clone(), base_url, client);
    connection::limit(&mut made, &openapi.connection);
    made.headers = http::headers(&openapi.headers);
    made.auth = http::auth(&openapi.auth);
    made.caller_headers.clone_from(&openapi.caller_headers);
    connection::for_tokens(&mut made.auth, &openapi.connection, clients).map_err(unusable)?;
    made.idempotency_header = Some(openapi.idempotency_header.clone());
    let problems = problems(&name, &api, &made);
    made.endpoints = api.endpoints;
    let made = answer::apply(config, &mut made.endpoints, true).and_then(|()| HttpToolset::new(made));
    let made = made.map_err(unusable)?;
    Ok((Arc::new(made), problems))
}

/// Reads the document of a toolset of this name. One at an address is reached as its service is.
pub(super) async fn open(
    toolset: &str,
    openapi: &OpenApiConfig,
    clients: &mut Clients,
) -> Result<OpenApi, LoadError> {
    let mut options = OpenApiOptions::default();
    options.include = openapi.include.iter().map(selector).collect();
    options.exclude = openapi.exclude.iter().map(selector).collect();
    options.rename.clone_from(&openapi.rename);
    options.base_url = openapi.base_url.as_ref().map(|url| url.value.as_url().clone());
    let opened = match &openapi.document.value {
        DocumentPlace::File(path) => open_file(path, &options),
        DocumentPlace::Url(url) => {
            let client = connection::client(&openapi.connection, url.as_url(), Author::Operator, clients);
            let unusable = |source| LoadError::Toolset { toolset: toolset.to_owned(), source };
            fetch(url.as_url(), &options, &client.map_err(unusable)?).await
        }
    };
    opened.map_err(|source| LoadError::Document { toolset: toolset.to_owned(), source })
}

fn selector(selector: &OperationSelector) -> Selector {
    let OperationSelector { operation, tag, path, method } = selector.clone();
    Selector { operation, tag, path, method }
}

fn problems(toolset: &str, api: &OpenApi, made: &HttpConfig) -> Vec<BuildProblem> {
    let problem = |reason: String, left_out: bool| BuildProblem::Source {
        toolset: toolset.to_owned(),
        reason,
        left_out,
    };
    let mut problems: Vec<BuildProblem> =
        api.problems.iter().map(|found| problem(found.to_string(), found.left_out)).collect();
    // A credential in a header of its own is one, too.
    let is_told =
        !matches!(made.auth, Auth::None) || !made.headers.is_empty() || !made.caller_headers.is_empty();
    if !api.needs.is_empty() && !is_told {
        let needs: Vec<String> = api.needs.iter().map(in_words).collect();
        let message =
            format!("the service wants to know who calls, by {}: declare `auth`", needs.join(" or "));
        problems.push(problem(message, false));
    }
    problems
}

fn in_words(need: &SecurityNeed) -> String {
    match need {
        SecurityNeed::Bearer => "a bearer token".into(),
        SecurityNeed::Basic => "a user and a password".into(),
        SecurityNeed::ApiKey { place, name } => {
            format!("a key in the {} `{name}`", format!("{place:?}").to_lowercase())
        }
        SecurityNeed::OAuth2 { .. } => "an OAuth 2 token".into(),
        SecurityNeed::Other(other) => format!("`{other}`"),
        _ => "another way".into(),
    }
}
