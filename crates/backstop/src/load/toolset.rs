//! One toolset of a manifest, and what is declared for its tools.

use std::sync::Arc;

use backstop_core::{Model, ToolError, ToolPolicy, ToolSpec, Toolset};
use backstop_manifest::{
    Manifest,
    v1::{CircuitBreaker, DocumentPlace, LargeResults, OpenApiConfig, ToolsetConfig, ToolsetKind},
};
use backstop_runtime::{AgentBuilder, Breaker, BreakerLimits, BuildProblem, ToolsetOptions};
use backstop_toolsets::{client::Clients, http::HttpToolset, openapi::OpenApiError};

use super::{LoadError, Overrides, answer, http, openapi};

/// A toolset, and what of its source can't be used.
pub(super) type Made = (Arc<dyn Toolset>, Vec<BuildProblem>);

/// What the toolsets of one agent are made with.
pub(super) struct Parts<'a> {
    pub(super) manifest: &'a Manifest,
    #[cfg_attr(not(feature = "mcp"), expect(dead_code, reason = "no other kind of toolset asks a person"))]
    pub(super) overrides: &'a Overrides,
    /// Who answers a server that asks for it.
    #[cfg_attr(not(feature = "mcp"), expect(dead_code, reason = "no other kind of toolset asks a model"))]
    pub(super) model: &'a Arc<dyn Model>,
    pub(super) clients: &'a mut Clients,
    /// What can't be used, so far.
    pub(super) problems: &'a mut Vec<BuildProblem>,
}

impl Parts<'_> {
    /// Adds one toolset.
    ///
    /// # Errors
    ///
    /// [`LoadError`] where it can't be made at all. One that is only out of reach is left out, unless it is required.
    pub(super) async fn add(
        &mut self,
        builder: AgentBuilder,
        config: &ToolsetConfig,
    ) -> Result<AgentBuilder, LoadError> {
        let name = config.name.value.clone();
        let mut options =
            ToolsetOptions::default().prefix(config.prefix.clone()).adjust(declared(self.manifest, config));
        let (made, found): Made = match &config.kind {
            ToolsetKind::Http(http) => {
                let failed = |source| LoadError::Toolset { toolset: name.clone(), source };
                let mut made = http::config(config, http, self.clients).map_err(failed)?;
                answer::apply(config, &mut made.endpoints, false).map_err(failed)?;
                let made = HttpToolset::new(made).map_err(failed)?;
                (Arc::new(made), Vec::new())
            }
            ToolsetKind::OpenApi(openapi) => {
                options = options.declared(config.tools.iter().map(|(tool, _)| tool.value.clone()));
                match openapi::toolset(config, openapi, self.clients).await {
                    Err(LoadError::Document { source: OpenApiError::Unreadable(why), .. })
                        if !config.required && is_elsewhere(openapi) =>
                    {
                        let error = ToolError::unavailable(why).not_applied();
                        self.problems.push(BuildProblem::Toolset { toolset: name, error });
                        return Ok(builder);
                    }
                    made => made?,
                }
            }
            #[cfg(feature = "mcp")]
            ToolsetKind::Mcp(mcp) => {
                let offered = config.tools.iter().map(|(tool, _)| tool.value.clone());
                options = options.declared(offered.filter(|tool| mcp.offers(tool)));
                let (made, limit) = super::mcp::toolset(self, config, mcp)
                    .map_err(|source| LoadError::Toolset { toolset: name, source })?;
                options = options.list_timeout(limit);
                made
            }
            #[cfg(not(feature = "mcp"))]
            ToolsetKind::Mcp(_) => return Err(LoadError::Feature { toolset: name, feature: "mcp" }),
            _ => return Err(LoadError::Override(format!("the kind of toolset `{name}` is not supported"))),
        };
        self.problems.extend(found);
        if config.large_results == LargeResults::Keep {
            options = options.keep_large_results();
        }
        let made = match config.circuit_breaker {
            Some(declared) => Arc::new(Breaker::new(made, breaker_limits(declared))),
            None => made,
        };
        Ok(builder.toolset_with(made, options))
    }
}

/// Whether somebody must be asked for a document.
fn is_elsewhere(openapi: &OpenApiConfig) -> bool {
    matches!(*openapi.document, DocumentPlace::Url(_))
}

/// What a manifest declares for the tools of a toolset, beside what their source says.
fn declared(
    manifest: &Manifest,
    config: &ToolsetConfig,
) -> impl Fn(&mut ToolSpec, &mut ToolPolicy) + Send + Sync + use<> {
    let (manifest, config) = (manifest.clone(), config.clone());
    move |spec, policy| {
        *policy = manifest.policy_for(&config.name, &spec.name);
        let settings = config.settings(&spec.name);
        spec.effect = settings.effect.unwrap_or(spec.effect);
        spec.parallel_safe = settings.parallel.unwrap_or(spec.parallel_safe);
        if let Some(description) = settings.description {
            spec.description = description;
        }
        spec.find_with = settings.find_with.or(spec.find_with.take());
        spec.check_with = settings.check_with.or(spec.check_with.take());
    }
}

fn breaker_limits(declared: CircuitBreaker) -> BreakerLimits {
    let usual = BreakerLimits::default();
    BreakerLimits {
        failures: declared.failures.unwrap_or(usual.failures),
        open_for: declared.open_for.unwrap_or(usual.open_for),
    }
}
