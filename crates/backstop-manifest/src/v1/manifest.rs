//! The manifest as a whole.

use std::path::{Path, PathBuf};

use backstop_core::{Approve, Limits, Redactor, Strategy, ToolPolicy, schema::ArgumentRules};

use super::{
    arguments::{approve, arguments},
    fallback::{Fallback, fallback},
    limits::limits,
    lint,
    model::{ModelConfig, model},
    name::{invalid_name, is_name},
    toolset::{ToolsetConfig, toolset},
};
use crate::{
    context::Context,
    diagnostic::{Diagnostic, Problems, code},
    environment::Environment,
    parse::parse,
    quickapps::{convert, is_quickapps},
    reader::At,
    secret::SecretText,
    span::Spanned,
    tree::Node,
};

const KEYS: &[&str] = &[
    "version",
    "name",
    "description",
    "instructions",
    "model",
    "limits",
    "toolsets",
    "fallback",
    "arguments",
    "approve",
];
const VERSION: u32 = 1;

/// An agent as data: its model, its tools, and what happens when one of them fails.
///
/// # Example
///
/// ```
/// use backstop_manifest::{Manifest, MapEnvironment};
/// use std::path::Path;
///
/// let text = "
/// version: 1
/// name: orders
/// model: { name: qwen3, base_url: '${URL:-http://127.0.0.1:11434/v1}' }
/// limits: { turn: 5 }
/// ";
/// let (manifest, problems) = Manifest::load(text, "agent.yaml", Path::new("."), &MapEnvironment::new());
/// assert!(manifest.is_none());
/// assert_eq!(
///     problems[0].to_string(),
///     "5:11: error[unknown-key]: limits.turn: unknown key `turn`\n  hint: did you mean `turns`?"
/// );
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Manifest {
    /// What the text is called in messages.
    pub source_name: String,
    /// What relative paths start at.
    pub base_dir: PathBuf,
    /// The agent's name.
    pub name: Spanned<String>,
    /// What it is for; for people.
    pub description: Option<String>,
    /// What the model is told first.
    pub instructions: Option<String>,
    /// Who answers.
    pub model: ModelConfig,
    /// What a run may spend.
    pub limits: Limits,
    /// Where the tools come from, in the order of the text.
    pub toolsets: Vec<ToolsetConfig>,
    /// What happens with failures of tools whose toolset has no list of its own either.
    pub fallback: Option<Fallback>,
    /// What may be changed about the arguments of tools for which nothing is declared.
    pub arguments: ArgumentRules,
    /// Whether a person must allow calls of tools for which nothing is declared.
    pub approve: Approve,
    /// Every secret value that went into this manifest.
    pub secrets: Vec<SecretText>,
}

impl Manifest {
    /// Reads a manifest, native or of QuickApps. `source_name` is what the text is called, `base_dir` what relative paths start at.
    ///
    /// Every problem is reported in one pass, in the order of the text. No value of a secret is part of a problem.
    ///
    /// # Errors
    ///
    /// There is no manifest if and only if one of the problems is an error.
    pub fn load(
        text: &str,
        source_name: &str,
        base_dir: &Path,
        environment: &dyn Environment,
    ) -> (Option<Self>, Vec<Diagnostic>) {
        let problems = Problems::default();
        let manifest = parse(text, &problems).and_then(|root| {
            if !is_quickapps(&root) {
                let cx = Context::new(text, base_dir, environment, &problems);
                return Self::read_tree(cx, &root, source_name);
            }
            let converted = convert(text, &root, source_name, base_dir, &problems)?;
            let environment = converted.environment(environment);
            let native = Problems::default();
            let cx = Context::new(text, base_dir, &environment, &native);
            let manifest = Self::read_tree(cx, &converted.tree(), source_name);
            converted.relocate(native, &problems);
            manifest
        });
        let manifest = manifest.filter(|_| !problems.has_errors());
        (manifest, problems.into_sorted())
    }

    /// Reads a tree that is native, or was made so.
    pub(crate) fn read_tree(cx: Context<'_>, root: &Node, source_name: &str) -> Option<Self> {
        let manifest = read(&At::root(&cx, root))?;
        let (problems, base_dir) = (cx.problems, cx.base_dir.to_owned());
        let manifest =
            Self { source_name: source_name.to_owned(), base_dir, secrets: cx.into_secrets(), ..manifest };
        lint::lint(&manifest, problems);
        Some(manifest)
    }

    /// The toolset of this name.
    pub fn toolset(&self, name: &str) -> Option<&ToolsetConfig> {
        self.toolsets.iter().find(|toolset| toolset.name.value == name)
    }

    /// What happens with failures of a tool, by its own name: its own list if it has one, else the toolset's,
    /// else the agent's.
    pub fn strategies_for(&self, toolset: &str, tool: &str) -> Vec<Strategy> {
        self.fallback_for(toolset, tool).map(|list| list.strategies).unwrap_or_default()
    }

    /// Like [`strategies_for`](Self::strategies_for), with the places of the strategies.
    pub fn fallback_for(&self, toolset: &str, tool: &str) -> Option<Fallback> {
        let toolset = self.toolset(toolset);
        let own = toolset.and_then(|toolset| toolset.settings(tool).fallback);
        let above = || toolset.and_then(|toolset| toolset.fallback.clone());
        own.or_else(above).or_else(|| self.fallback.clone())
    }

    /// What the catalog needs to know about a tool beside its spec.
    pub fn policy_for(&self, toolset: &str, tool: &str) -> ToolPolicy {
        let mut policy = ToolPolicy::default();
        let settings = self.toolset(toolset).map(|toolset| toolset.settings(tool)).unwrap_or_default();
        policy.timeout = settings.timeout;
        policy.arguments = settings.arguments.unwrap_or(self.arguments);
        policy.approve = settings.approve.unwrap_or(self.approve);
        policy.reconcile = settings.reconcile.map(|reconcile| reconcile.value);
        policy.strategies = self.strategies_for(toolset, tool);
        // An empty list is a list: it takes the place of what is declared above it.
        policy.strategies_are_all = true;
        policy
    }

    /// Takes the secrets of this manifest out of texts.
    pub fn redactor(&self) -> Redactor {
        Redactor::new(self.secrets.iter().map(SecretText::expose))
    }
}

/// Reads all of it; `None` when something that can't be left out is missing or wrong.
fn read(at: &At<'_>) -> Option<Manifest> {
    let entries = at.entries("a mapping that starts with `version: 1`")?;
    // Another version may have other keys: what is said about them would be wrong.
    if let Some(version) = entries.iter().find(|entry| entry.key().value == "version")
        && let Some(number) = version.count(0, u32::MAX).filter(|number| *number != VERSION)
    {
        let message = format!("version {number} is not supported");
        let hint = "this program reads `version: 1`";
        version.report(Diagnostic::error(code::UNSUPPORTED_VERSION, message).hint(hint));
        return None;
    }
    let fields = at.fields(KEYS)?;
    fields.required("version");
    let name = fields.required("name").and_then(|at| {
        let name = at.text()?;
        if !is_name(&name) {
            at.report(invalid_name(&name));
        }
        Some(Spanned::new(name, at.span()))
    });
    let description = fields.text("description");
    let instructions = fields.text("instructions");
    let model = fields.required("model").and_then(model);
    let limits = fields.get("limits").map(limits).unwrap_or_default();
    let toolsets = fields.get("toolsets").and_then(|at| at.entries("a mapping of toolset names"));
    let toolsets = toolsets.unwrap_or_default();
    let toolsets = toolsets.iter().filter_map(|at| toolset(at, limits.wall_clock)).collect();
    let fallback = fields.get("fallback").and_then(fallback);
    let arguments = fields.get("arguments").and_then(arguments).unwrap_or_default();
    let approve = fields.get("approve").and_then(approve).unwrap_or_default();
    Some(Manifest {
        source_name: String::new(),
        base_dir: PathBuf::new(),
        name: name?,
        description,
        instructions,
        model: model?,
        limits,
        toolsets,
        fallback,
        arguments,
        approve,
        secrets: Vec::new(),
    })
}
