//! `model`: who answers.

use std::{path::PathBuf, time::Duration};

use serde_json::{Map, Value as Json};
use url::Url;

use super::{
    header::{Header, credential, headers},
    name::LONGEST,
    url::{HttpUrl, url_with_query},
};
use crate::{
    context::Secrets,
    diagnostic::{Diagnostic, code},
    reader::{At, Fields, suggest},
    secret::SecretText,
    span::Spanned,
};

const KEYS: &[&str] = &[
    "provider",
    "base_url",
    "api_key",
    "name",
    "script",
    "profile",
    "stream",
    "temperature",
    "max_tokens",
    "headers",
    "extra",
    "timeout",
];
const PROFILES: [(&str, ModelProfile); 4] = [
    ("openai", ModelProfile::OpenAi),
    ("gemini", ModelProfile::Gemini),
    ("llama_cpp", ModelProfile::LlamaCpp),
    ("portable", ModelProfile::Portable),
];
/// What the client writes into the request itself.
const OWNED: [&str; 4] = ["model", "messages", "tools", "stream"];
const DEFAULT_URL: &str = "https://api.openai.com/v1";

/// Who answers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ModelConfig {
    /// An endpoint that speaks the OpenAI chat API.
    OpenAi(Box<OpenAiModel>),
    /// Replies read from a file.
    Scripted(ScriptedModel),
}

/// An endpoint that speaks the OpenAI chat API.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenAiModel {
    /// Where `/chat/completions` is added.
    pub base_url: Spanned<HttpUrl>,
    /// The key; `None` when there is none, or `${secret:NAME:-}` is not set.
    pub api_key: Option<SecretText>,
    /// The model's name.
    pub name: Spanned<String>,
    /// What the endpoint takes of a tool's schema; `None` where its address is to say that.
    pub profile: Option<ModelProfile>,
    /// Whether replies come in pieces.
    pub stream: bool,
    /// 0 to 2.
    pub temperature: Option<f64>,
    /// The longest reply.
    pub max_tokens: Option<u32>,
    /// Sent with every request.
    pub headers: Vec<Header>,
    /// Merged into the request body.
    pub extra: Map<String, Json>,
    /// Time for one request.
    pub timeout: Option<Duration>,
}

/// What an endpoint takes of a tool's schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelProfile {
    /// What OpenAI takes.
    OpenAi,
    /// What Gemini takes.
    Gemini,
    /// What the server of llama.cpp takes.
    LlamaCpp,
    /// The least that all of them take.
    Portable,
}

/// Replies read from a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ScriptedModel {
    /// The file, joined to the directory of the manifest.
    pub script: Spanned<PathBuf>,
}

#[derive(Clone, Copy)]
enum Provider {
    OpenAi,
    Scripted,
}

/// Reads the model.
pub(super) fn model(at: &At<'_>) -> Option<ModelConfig> {
    let fields = at.fields(KEYS)?;
    match fields.get("provider") {
        None => open_ai(&fields),
        Some(at) => match provider(at) {
            Some(Provider::OpenAi) => open_ai(&fields),
            Some(Provider::Scripted) => scripted(&fields),
            None => None,
        },
    }
}

fn provider(at: &At<'_>) -> Option<Provider> {
    let known = ["openai", "scripted"];
    let name = at.text()?;
    match name.as_str() {
        "openai" => return Some(Provider::OpenAi),
        "scripted" => return Some(Provider::Scripted),
        "dial" => at.report(
            Diagnostic::error(code::UNSUPPORTED_PROVIDER, "the provider `dial` is not supported yet")
                .hint("`openai` works with every OpenAI-compatible endpoint: set `base_url`"),
        ),
        other => {
            let shown = backstop_core::text::escaped(other, 40);
            let problem = Diagnostic::error(code::UNKNOWN_VALUE, format!("unknown provider `{shown}`"));
            at.report(problem.maybe_hint(suggest(other, &known)));
        }
    }
    None
}

fn open_ai(fields: &Fields<'_>) -> Option<ModelConfig> {
    no_effect(fields, &["script"], "openai");
    let url = match fields.get("base_url") {
        Some(at) => url_with_query(at),
        None => default_url(fields),
    };
    let key = fields.get("api_key").and_then(|at| credential(at, Secrets::Optional));
    let api_key = key.filter(|key| !key.expose().is_empty());
    let name =
        fields.required("name").and_then(|at| at.some_text().map(|name| Spanned::new(name, at.span())));
    let profile = fields.get("profile").and_then(|at| at.one_of(&PROFILES));
    let stream = fields.boolean("stream").unwrap_or(true);
    let temperature = fields.get("temperature").and_then(|at| at.number(0.0, 2.0));
    let max_tokens = fields.get("max_tokens").and_then(|at| at.count(1, 10_000_000));
    let headers = fields.get("headers").map(headers).unwrap_or_default();
    let extra = fields.get("extra").map(extra).unwrap_or_default();
    let timeout = fields.duration("timeout", LONGEST);
    Some(ModelConfig::OpenAi(Box::new(OpenAiModel {
        base_url: url?,
        api_key,
        name: name?,
        profile,
        stream,
        temperature,
        max_tokens,
        headers,
        extra,
        timeout,
    })))
}

fn default_url(fields: &Fields<'_>) -> Option<Spanned<HttpUrl>> {
    let url = Url::parse(DEFAULT_URL).ok()?;
    Some(Spanned::new(HttpUrl::new(url), fields.at.key_span()))
}

fn extra(at: &At<'_>) -> Map<String, Json> {
    let Some(entries) = at.entries("a mapping") else { return Map::new() };
    let mut extra = Map::new();
    for entry in entries {
        let key = entry.key().value;
        if OWNED.contains(&key.as_str()) {
            let message = format!("`{key}` is written by the client itself");
            entry.report_key(Diagnostic::error(code::INVALID_VALUE, message));
        }
        if let Some(value) = entry.json(None) {
            extra.insert(key, value);
        }
    }
    extra
}

fn scripted(fields: &Fields<'_>) -> Option<ModelConfig> {
    let other: Vec<&str> =
        KEYS.iter().copied().filter(|key| !matches!(*key, "provider" | "script" | "name")).collect();
    no_effect(fields, &other, "scripted");
    let at = fields.required("script")?;
    let path = at.some_text()?;
    Some(ModelConfig::Scripted(ScriptedModel { script: Spanned::new(at.cx.base_dir.join(path), at.span()) }))
}

fn no_effect(fields: &Fields<'_>, keys: &[&str], provider: &str) {
    for (key, at) in keys.iter().filter_map(|key| Some((key, fields.get(key)?))) {
        let message = format!("`{key}` changes nothing with the provider `{provider}`");
        at.report_key(Diagnostic::warning(code::NO_EFFECT, message));
    }
}
