//! Services as their documents describe them.

use std::sync::Arc;

use backstop_manifest::v1::{DocumentPlace, OpenApiConfig, OperationSelector, ToolsetConfig};
use backstop_runtime::BuildProblem;
use backstop_toolsets::{
    http::{Auth, HttpConfig, HttpToolset},
    openapi::{OpenApi, OpenApiError, OpenApiOptions, SecurityNeed, Selector, fetch, open_file},
};

use super::{LoadError, Made, answer, connection, http};

/// The toolset that a document describes, and what is wrong with the document.
pub(super) async fn toolset(
    config: &ToolsetConfig,
    openapi: &OpenApiConfig,
    client: &reqwest::Client,
) -> Result<Made, LoadError> {
    let name = config.name.value.clone();
    let failed = |source: OpenApiError| LoadError::Document { toolset: name.clone(), source };
    let api = open(openapi, client).await.map_err(failed)?;
    let Some(base_url) = api.base_url.clone() else {
        let message = "it says nowhere where its service is: declare `base_url`";
        return Err(failed(OpenApiError::NotOpenApi(message.into())));
    };
    // Whoever wrote a document elsewhere may write any address into it.
    let is_foreign = openapi.base_url.is_none() && matches!(openapi.document.value, DocumentPlace::Url(_));
    let client = connection::client(&openapi.connection, &base_url, is_foreign, client);
    let client = client.map_err(|source| LoadError::Toolset { toolset: name.clone(), source })?;
    let mut made = HttpConfig::new(name.clone(), base_url, client);
    connection::limit(&mut made, &openapi.connection);
    made.headers = http::headers(&openapi.headers);
    made.auth = http::auth(&openapi.auth);
    made.idempotency_header = Some(openapi.idempotency_header.clone());
    let problems = problems(&name, &api, &made);
    made.endpoints = api.endpoints;
    let made = answer::apply(config, &mut made.endpoints, true).and_then(|()| HttpToolset::new(made));
    let made = made.map_err(|source| LoadError::Toolset { toolset: name, source })?;
    Ok((Arc::new(made), problems))
}

pub(super) async fn open(openapi: &OpenApiConfig, client: &reqwest::Client) -> Result<OpenApi, OpenApiError> {
    let mut options = OpenApiOptions::default();
    options.include = openapi.include.iter().map(selector).collect();
    options.exclude = openapi.exclude.iter().map(selector).collect();
    options.rename.clone_from(&openapi.rename);
    options.base_url = openapi.base_url.as_ref().map(|url| url.value.as_url().clone());
    match &openapi.document.value {
        DocumentPlace::File(path) => open_file(path, &options),
        DocumentPlace::Url(url) => fetch(url.as_url(), &options, client).await,
    }
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
    if !api.needs.is_empty() && matches!(made.auth, Auth::None) && made.headers.is_empty() {
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
