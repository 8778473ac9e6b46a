//! From a manifest to an agent: the one place where text, adapters and runtime meet.

mod answer;
mod connection;
mod http;
#[cfg(feature = "mcp")]
mod mcp;
mod openapi;
mod toolset;

use std::{
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use backstop_core::{Model, ModelError, Redactor, ToolError};
use backstop_manifest::{
    Diagnostic, Environment, Manifest, SecretText,
    v1::{self, ModelConfig, ModelProfile, ToolsetKind},
};
use backstop_runtime::{Agent, BuildProblem};
use backstop_toolsets::{
    client::{ClientError, ClientOptions, Clients},
    deployment::{OpenAiConfig, OpenAiModel, SchemaProfile, ScriptError, ScriptedModel, profile::SchemaNote},
    http::failure_of,
    openapi::OpenApiError,
};

#[cfg(feature = "mcp")]
pub use mcp::{LoginServer, login_servers};
use toolset::Parts;

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
    /// Who answers MCP servers that ask a person something in the middle of a call, where a manifest lets them.
    #[cfg(feature = "mcp")]
    pub person: Option<Arc<dyn backstop_toolsets::mcp::AskPerson>>,
    /// The folder for the tokens of servers that a person logs in to.
    #[cfg(feature = "mcp")]
    pub token_dir: Option<PathBuf>,
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
    /// A toolset without which there shall be no agent did not list its tools.
    #[error("the toolset `{toolset}` is required, and did not list its tools")]
    Required {
        /// The toolset.
        toolset: String,
        /// Why.
        #[source]
        source: ToolError,
    },
    /// A toolset needs something that this program was built without.
    #[error("the toolset `{toolset}` needs the feature `{feature}`, and this program was built without it")]
    Feature {
        /// The toolset.
        toolset: String,
        /// The feature.
        feature: &'static str,
    },
    /// The document of a toolset can't be used.
    #[error("the document of toolset `{toolset}` can't be used")]
    Document {
        /// The toolset.
        toolset: String,
        /// Why.
        #[source]
        source: OpenApiError,
    },
    /// An override is not usable.
    #[error("{0}")]
    Override(String),
    /// This machine can't do TLS.
    #[error("no HTTP client can be made")]
    Client(#[from] ClientError),
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
    let mut clients = Clients::default();
    let client = clients.get(&ClientOptions::default())?;
    let mut limits = manifest.limits.clone();
    if let ModelConfig::OpenAi(config) = &manifest.model
        && let Some(timeout) = config.timeout
    {
        limits.model_timeout = timeout;
    }
    let model = model(manifest, overrides, &client)?;
    let mut builder = Agent::builder_with(Arc::clone(&model))
        .name(manifest.name.value.clone())
        .limits(limits)
        .fallback(manifest.fallback.as_ref().map(|list| list.strategies.clone()).unwrap_or_default())
        .redactor(redactor(manifest, overrides));
    if let Some(instructions) = &manifest.instructions {
        builder = builder.instructions(instructions.clone());
    }
    let mut problems = Vec::new();
    for config in &manifest.toolsets {
        let mut parts =
            Parts { manifest, overrides, model: &model, clients: &mut clients, problems: &mut problems };
        builder = parts.add(builder, config).await?;
    }
    let (agent, more) = builder.build().await;
    for problem in more {
        match problem {
            BuildProblem::Toolset { toolset, error: source }
                if manifest.toolset(&toolset).is_some_and(|config| config.required) =>
            {
                return Err(LoadError::Required { toolset, source });
            }
            other => problems.push(other),
        }
    }
    Ok((agent, problems))
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
    made.api_key = key.map(http::secret);
    if let Some(config) = config {
        made.profile = config.profile.map_or(made.profile, profile);
        made.headers = http::headers(&config.headers);
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
    Ok(profile.notes(&agent.catalog()))
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

/// The failure that a tool, by its own name, would meet if its service answered with this status, and with these
/// words where there are some. Makes no request, but for the document of the service where it is no file.
///
/// `None` for a status that says the call worked, and for a tool that is no HTTP endpoint.
pub async fn failure_of_status(
    manifest: &Manifest,
    toolset: &str,
    tool: &str,
    status: u16,
    words: Option<&str>,
) -> Option<ToolError> {
    let config = manifest.toolset(toolset)?;
    match &config.kind {
        ToolsetKind::Http(http) => {
            let endpoint =
                http::endpoints(config, http).into_iter().find(|endpoint| endpoint.spec.name == tool)?;
            failure_of(&endpoint, status, words)
        }
        ToolsetKind::OpenApi(openapi) => {
            let api = openapi::open(toolset, openapi, &mut Clients::default()).await.ok()?;
            let endpoint = api.endpoints.into_iter().find(|endpoint| endpoint.spec.name == tool)?;
            failure_of(&endpoint, status, words)
        }
        _ => None,
    }
}

/// Certificates, at most 1 MiB.
fn read_pem(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut pem = Vec::new();
    std::fs::File::open(path)?.take(FILE_CAP).read_to_end(&mut pem)?;
    Ok(pem)
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
