//! From a manifest to an agent: the one place where text, adapters and runtime meet.

use std::{
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use backstop_core::{Model, ModelError, Redactor, ToolError, Toolset};
use backstop_manifest::{
    Diagnostic, Environment, Manifest, SecretText,
    v1::{
        self, ApiKeyPlace, CircuitBreaker, Constant, ModelConfig, ModelProfile, ParameterPlace,
        ToolsetConfig, ToolsetKind,
    },
};
use backstop_runtime::{Agent, AgentBuilder, Breaker, BreakerLimits, BuildProblem, ToolsetOptions};
use backstop_toolsets::{
    client::http_client,
    deployment::{OpenAiConfig, OpenAiModel, SchemaProfile, ScriptError, ScriptedModel, profile::SchemaNote},
    http::{Auth, Endpoint, HttpConfig, HttpToolset, Method, Parameter, Place, failure_of},
};
use secrecy::SecretString;

/// Bytes of a manifest or a script at most.
const FILE_CAP: u64 = 1024 * 1024;

/// A manifest file that was read: its text, what is wrong with it, and the manifest where it can be used.
#[derive(Debug)]
#[non_exhaustive]
pub struct ManifestFile {
    /// Where it is.
    pub path: PathBuf,
    /// What stands in it.
    pub text: String,
    /// The manifest, if none of the diagnostics is an error.
    pub manifest: Option<Manifest>,
    /// Everything that is wrong with it, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl ManifestFile {
    /// Reads the manifest at `path`; its variables and secrets come from `environment`.
    ///
    /// # Errors
    ///
    /// [`LoadError::Read`] when the file can't be read, is larger than 1 MiB or is not UTF-8. What is wrong with
    /// its content is in the diagnostics.
    pub fn read(path: &Path, environment: &dyn Environment) -> Result<Self, LoadError> {
        let text = read_capped(path)?;
        let base = path.parent().filter(|base| !base.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let (manifest, diagnostics) = Manifest::load(&text, &path.display().to_string(), base, environment);
        Ok(Self { path: path.to_owned(), text, manifest, diagnostics })
    }
}

/// What takes the place of a manifest's own settings.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Overrides {
    /// The name of the model.
    pub model: Option<String>,
    /// The address of the model server.
    pub base_url: Option<String>,
    /// The key of the model server, for a manifest that has no server of its own.
    pub api_key: Option<SecretText>,
    /// The text of a script that answers in place of a model.
    pub script: Option<String>,
}

/// Why there is no agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A file can't be read.
    #[error("can't read `{}`", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The script of a scripted model is not one.
    #[error("the script `{}` can't be used", .path.display())]
    Script {
        /// The file.
        path: PathBuf,
        /// Why, and where.
        #[source]
        source: ScriptError,
    },
    /// The model client can't be made.
    #[error("{0}")]
    Model(#[from] ModelError),
    /// A toolset can't be made.
    #[error("the toolset `{toolset}` can't be made")]
    Toolset {
        /// The toolset.
        toolset: String,
        /// Why.
        #[source]
        source: ToolError,
    },
    /// An override is not usable.
    #[error("{0}")]
    Override(String),
    /// This machine can't do TLS.
    #[error("no HTTP client can be made")]
    Client(#[from] reqwest::Error),
}

/// Builds the agent that a manifest describes.
///
/// What is missing in the end (a toolset that does not answer, a tool whose schema can't be used) is reported
/// beside the agent.
///
/// # Errors
///
/// [`LoadError`] when its model or a toolset can't be made at all.
pub async fn agent_from_manifest(
    manifest: &Manifest,
    overrides: &Overrides,
) -> Result<(Agent, Vec<BuildProblem>), LoadError> {
    let client = http_client()?;
    let mut limits = manifest.limits.clone();
    if let ModelConfig::OpenAi(config) = &manifest.model
        && let Some(timeout) = config.timeout
    {
        limits.model_timeout = timeout;
    }
    let mut builder = Agent::builder_with(model(manifest, overrides, &client)?)
        .name(manifest.name.value.clone())
        .limits(limits)
        .fallback(manifest.fallback.as_ref().map(|list| list.strategies.clone()).unwrap_or_default())
        .redactor(redactor(manifest, overrides));
    if let Some(instructions) = &manifest.instructions {
        builder = builder.instructions(instructions.clone());
    }
    for config in &manifest.toolsets {
        builder = add_toolset(builder, manifest, config, &client)?;
    }
    Ok(builder.build().await)
}

fn redactor(manifest: &Manifest, overrides: &Overrides) -> Redactor {
    match &overrides.api_key {
        None => manifest.redactor(),
        Some(key) => Redactor::new(manifest.secrets.iter().chain([key]).map(SecretText::expose)),
    }
}

fn model(
    manifest: &Manifest,
    overrides: &Overrides,
    client: &reqwest::Client,
) -> Result<Arc<dyn Model>, LoadError> {
    let script = |path: &Path, text: &str| match ScriptedModel::parse(text) {
        Ok(model) => Ok(Arc::new(model) as Arc<dyn Model>),
        Err(source) => Err(LoadError::Script { path: path.to_owned(), source }),
    };
    if let Some(text) = &overrides.script {
        return script(Path::new("script"), text);
    }
    let Some((base_url, name, config)) = server(manifest, overrides)? else {
        let ModelConfig::Scripted(config) = &manifest.model else {
            return Err(LoadError::Override("this kind of model is not supported".into()));
        };
        return script(&config.script.value, &read_capped(&config.script.value)?);
    };
    let mut made = OpenAiConfig::new(base_url, name, client.clone());
    let key = config.and_then(|config| config.api_key.as_ref()).or(overrides.api_key.as_ref());
    made.api_key = key.map(secret);
    if let Some(config) = config {
        made.profile = config.profile.map_or(made.profile, profile);
        made.headers = headers(&config.headers);
        made.temperature = config.temperature;
        made.max_tokens = config.max_tokens;
        made.extra = config.extra.clone();
        made.stream = config.stream;
    }
    Ok(Arc::new(OpenAiModel::new(made)?))
}

/// Address, name and settings of the model server; none for a model that is scripted and not replaced.
type Server<'a> = Option<(url::Url, String, Option<&'a v1::OpenAiModel>)>;

fn server<'a>(manifest: &'a Manifest, overrides: &Overrides) -> Result<Server<'a>, LoadError> {
    let base_url = overrides.base_url.as_deref().map(parse_url).transpose()?;
    match &manifest.model {
        ModelConfig::OpenAi(config) => {
            let base_url = base_url.unwrap_or_else(|| config.base_url.value.as_url().clone());
            let name = overrides.model.clone().unwrap_or_else(|| config.name.value.clone());
            Ok(Some((base_url, name, Some(config))))
        }
        ModelConfig::Scripted(_) => match (base_url, &overrides.model) {
            (Some(base_url), Some(name)) => Ok(Some((base_url, name.clone(), None))),
            (None, None) => Ok(None),
            _ => {
                let message =
                    "the manifest's model is scripted: give both a base URL and a model name to replace it";
                Err(LoadError::Override(message.into()))
            }
        },
        _ => Ok(None),
    }
}

fn profile(declared: ModelProfile) -> SchemaProfile {
    match declared {
        ModelProfile::OpenAi => SchemaProfile::openai(),
        ModelProfile::Gemini => SchemaProfile::gemini(),
        ModelProfile::LlamaCpp => SchemaProfile::llama_cpp(),
        // What is not known here is told the least.
        _ => SchemaProfile::portable(),
    }
}

/// What the model server is not told of the agent's tools, each with the name that the model knows. Calls are
/// checked by it all the same.
///
/// # Errors
///
/// [`LoadError::Override`] when the overrides don't fit the manifest.
pub fn schema_notes(
    manifest: &Manifest,
    overrides: &Overrides,
    agent: &Agent,
) -> Result<Vec<(String, SchemaNote)>, LoadError> {
    if overrides.script.is_some() {
        return Ok(Vec::new());
    }
    let Some((base_url, _, config)) = server(manifest, overrides)? else { return Ok(Vec::new()) };
    let declared = config.and_then(|config| config.profile);
    let profile = declared.map_or_else(|| SchemaProfile::of_address(&base_url), profile);
    Ok(profile.notes(agent.catalog()))
}

fn parse_url(text: &str) -> Result<url::Url, LoadError> {
    match url::Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
        _ => Err(LoadError::Override(format!(
            "`{}` is not the base URL of a model server, such as http://127.0.0.1:11434/v1",
            backstop_core::text::escaped(text, 100)
        ))),
    }
}

fn add_toolset(
    builder: AgentBuilder,
    manifest: &Manifest,
    config: &ToolsetConfig,
    client: &reqwest::Client,
) -> Result<AgentBuilder, LoadError> {
    let name = config.name.value.clone();
    let made: Arc<dyn Toolset> = match &config.kind {
        ToolsetKind::Http(http) => {
            let made = HttpToolset::new(http_config(config, http, client));
            Arc::new(made.map_err(|source| LoadError::Toolset { toolset: name.clone(), source })?)
        }
        _ => return Err(LoadError::Override(format!("the kind of toolset `{name}` is not supported"))),
    };
    let policies: std::collections::HashMap<String, backstop_core::ToolPolicy> = config
        .specs()
        .into_iter()
        .map(|spec| (spec.name.clone(), manifest.policy_for(&name, &spec.name)))
        .collect();
    let options = ToolsetOptions::default().prefix(config.prefix.clone()).adjust(move |spec, policy| {
        if let Some(declared) = policies.get(&spec.name) {
            policy.clone_from(declared);
        }
    });
    let made = match config.circuit_breaker {
        Some(declared) => Arc::new(Breaker::new(made, breaker_limits(declared))),
        None => made,
    };
    Ok(builder.toolset_with(made, options))
}

fn breaker_limits(declared: CircuitBreaker) -> BreakerLimits {
    let usual = BreakerLimits::default();
    BreakerLimits {
        failures: declared.failures.unwrap_or(usual.failures),
        open_for: declared.open_for.unwrap_or(usual.open_for),
    }
}

fn http_config(config: &ToolsetConfig, http: &v1::HttpConfig, client: &reqwest::Client) -> HttpConfig {
    let mut made =
        HttpConfig::new(config.name.value.clone(), http.base_url.value.as_url().clone(), client.clone());
    made.headers = headers(&http.headers);
    made.auth = match &http.auth {
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
        _ => Auth::None,
    };
    made.idempotency_header = Some(http.idempotency_header.clone());
    made.endpoints = endpoints(config, http);
    made
}

fn endpoints(config: &ToolsetConfig, http: &v1::HttpConfig) -> Vec<Endpoint> {
    let made = |(spec, endpoint): (_, &v1::HttpEndpoint)| {
        let mut made = Endpoint::new(spec, method(endpoint.method), endpoint.path.value.clone());
        made.parameters = endpoint.parameters.iter().map(parameter).collect();
        made.sends_idempotency_key = endpoint.idempotent_key;
        made
    };
    config.specs().into_iter().zip(&http.endpoints).map(made).collect()
}

/// The failure that a tool, by its own name, would meet if its service answered with this status, and with these
/// words where there are some. Makes no request.
///
/// `None` for a status that says the call worked, and for a tool that is no HTTP endpoint.
pub fn failure_of_status(
    manifest: &Manifest,
    toolset: &str,
    tool: &str,
    status: u16,
    words: Option<&str>,
) -> Option<ToolError> {
    let config = manifest.toolset(toolset)?;
    match &config.kind {
        ToolsetKind::Http(http) => {
            let endpoint = endpoints(config, http).into_iter().find(|endpoint| endpoint.spec.name == tool)?;
            failure_of(&endpoint, status, words)
        }
        _ => None,
    }
}

fn parameter(parameter: &v1::Parameter) -> Parameter {
    let place = match parameter.place {
        ParameterPlace::Path => Place::Path,
        ParameterPlace::Query => Place::Query,
        ParameterPlace::Header => Place::Header,
        ParameterPlace::Body => Place::Body,
    };
    let made = Parameter::new(parameter.name.value.clone(), place).wire_name(parameter.wire_name.clone());
    match &parameter.constant {
        None => made,
        Some(Constant::Json(value)) => made.constant(value.clone()),
        Some(Constant::Secret(text)) => made.constant(text.expose()),
    }
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

fn headers(headers: &[v1::Header]) -> Vec<(String, SecretString)> {
    headers.iter().map(|header| (header.name.value.clone(), secret(&header.value))).collect()
}

fn secret(text: &SecretText) -> SecretString {
    SecretString::from(text.expose().to_owned())
}

/// The text of the manifest at `path`.
///
/// # Errors
///
/// [`LoadError::Read`] when the file can't be read, is larger than 1 MiB or is not UTF-8.
pub fn read_manifest_text(path: &Path) -> Result<String, LoadError> {
    read_capped(path)
}

fn read_capped(path: &Path) -> Result<String, LoadError> {
    let fail = |source| LoadError::Read { path: path.to_owned(), source };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(fail)?;
    file.take(FILE_CAP + 1).read_to_string(&mut text).map_err(fail)?;
    if text.len() as u64 > FILE_CAP {
        return Err(fail(std::io::Error::new(std::io::ErrorKind::FileTooLarge, "it is larger than 1 MiB")));
    }
    Ok(text)
}
