//! The tools that a run offers to its model, and the only way from a call to a valid call.

use std::{
    collections::{HashMap, HashSet},
    sync::OnceLock,
    time::Duration,
};

use serde_json::{Map, Value};

use crate::{
    call::{ToolCall, ValidCall},
    error::{ToolError, ToolErrorKind},
    policy::Strategy,
    schema::{ArgumentRules, CompiledSchema, SchemaError, Subject, decode, invalid_arguments},
    spec::{Approve, Effect, ToolSpec},
    text,
};

/// Tools of one catalog at most.
const TOOLS_CAP: usize = 4096;
/// Letters of a name that providers take.
const NAME_CAP: usize = 64;
/// Tool names that are listed to a model.
const LIST_CAP: usize = 20;

/// What somebody declared for one tool beside its spec.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolPolicy {
    /// Time for one attempt; the run's default where there is none.
    pub timeout: Option<Duration>,
    /// What happens with its failures, first match first.
    pub strategies: Vec<Strategy>,
    /// Whether these strategies are all there is: without it, a tool that has none gets those of the
    /// [definition](crate::Definition::fallback).
    pub strategies_are_all: bool,
    /// What may be changed about its arguments.
    pub arguments: ArgumentRules,
    /// Whether a person must allow its calls.
    pub approve: Approve,
    /// The call that finds out whether a call of it took effect whose reply was lost.
    pub reconcile: Option<Reconcile>,
}

/// The call that finds out whether a mutating call took effect whose reply was lost. It is made before anything
/// else, and its answer decides: `true`, an object with `"applied": true`, or anything that is there means that it
/// did; `false`, `"applied": false`, null, an empty text, list or object, or `not_found` that it did not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reconcile {
    /// The tool, by the name that the model knows or by its own where that is unique.
    pub tool: String,
    /// Its arguments: values as they are, and a text that is `{name}` for the lost call's argument of that name.
    /// Empty for the same arguments.
    pub arguments: Map<String, Value>,
}

/// One tool on offer.
#[derive(Debug)]
#[non_exhaustive]
pub struct CatalogEntry {
    /// The name that the model knows.
    pub name: String,
    /// The toolset, by its place among those that the catalog was built from.
    pub toolset: usize,
    /// The toolset's name.
    pub toolset_name: String,
    /// The tool as its toolset declares it; `find_with` and `check_with` hold the names that the model knows.
    pub spec: ToolSpec,
    /// What was declared for it.
    pub policy: ToolPolicy,
    schema: CompiledSchema,
}

/// A tool that is not on offer, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tool `{tool}` of toolset `{toolset}` is left out: {reason}")]
#[non_exhaustive]
pub struct CatalogProblem {
    /// The toolset's name.
    pub toolset: String,
    /// The toolset's own name for the tool.
    pub tool: String,
    /// Why it is left out.
    pub reason: String,
}

/// The tools of one toolset, on their way into a catalog.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CatalogSource {
    /// The toolset's name.
    pub toolset: String,
    /// Put in front of each name.
    pub prefix: String,
    /// The tools with what was declared for them.
    pub tools: Vec<(ToolSpec, ToolPolicy)>,
}

impl CatalogSource {
    /// The tools of the toolset of this name.
    pub fn new(toolset: impl Into<String>, tools: Vec<(ToolSpec, ToolPolicy)>) -> Self {
        Self { toolset: toolset.into(), prefix: String::new(), tools }
    }

    /// Puts a prefix in front of each name.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }
}

/// The tools that a run offers to its model: names unique and fit for every provider, schemas compiled once.
///
/// # Example
///
/// ```
/// use backstop_core::{Catalog, ToolCall, ToolPolicy, ToolSpec, catalog::CatalogSource};
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]});
/// let tools = vec![(ToolSpec::new("add", schema), ToolPolicy::default())];
/// let (catalog, problems) = Catalog::build(vec![CatalogSource::new("math", tools)]);
/// assert!(problems.is_empty());
///
/// let call = ToolCall::new("call_1", "add", "{}");
/// let error = catalog.validate(&call).unwrap_err();
/// assert_eq!(error.violations()[0].message, "Parameter \"number\" is mandatory for tool \"add\".");
/// ```
#[derive(Debug, Default)]
pub struct Catalog {
    entries: Vec<CatalogEntry>,
    by_name: HashMap<String, usize>,
    encoded: OnceLock<(&'static str, Vec<u8>)>,
}

impl Catalog {
    /// Builds a catalog from toolsets in the order of their declaration.
    ///
    /// A tool's name is the toolset's prefix and its own name. Where two toolsets clash, all but the first get
    /// their toolset's name in front. What providers do not take in a name becomes `_`, and a name that is too
    /// long or taken by then ends in a hash of the original, so it is the same on every start. A tool without a
    /// name, with one that its toolset gave before, or with a schema that can't be used is left out and reported;
    /// it never takes the others along.
    pub fn build(sources: Vec<CatalogSource>) -> (Self, Vec<CatalogProblem>) {
        let mut catalog = Self::default();
        let mut problems = Vec::new();
        for (toolset, source) in sources.into_iter().enumerate() {
            let first = catalog.entries.len();
            let earlier: HashSet<String> = catalog.by_name.keys().cloned().collect();
            // A name that is fit as it is never gives way to one that has to be changed.
            let fit_already: HashSet<String> = source
                .tools
                .iter()
                .map(|(spec, _)| format!("{}{}", source.prefix, spec.name))
                .filter(|name| fit(name) == *name)
                .collect();
            // A toolset is called by its own names: of two equal ones it could not tell which is meant.
            let mut own_names = HashSet::new();
            for (spec, policy) in source.tools {
                let problem = |reason: String| CatalogProblem {
                    toolset: source.toolset.clone(),
                    tool: spec.name.clone(),
                    reason,
                };
                if spec.name.trim().is_empty() {
                    problems.push(problem("it has no name".into()));
                    continue;
                }
                if !own_names.insert(spec.name.clone()) {
                    problems.push(problem("the toolset has two tools of this name".into()));
                    continue;
                }
                if catalog.entries.len() >= TOOLS_CAP {
                    problems.push(problem(format!("there are more than {TOOLS_CAP} tools")));
                    continue;
                }
                let schema = match compile(&spec) {
                    Ok(schema) => schema,
                    Err(error) => {
                        problems.push(problem(format!("its input schema can't be used: {error}")));
                        continue;
                    }
                };
                let wanted = format!("{}{}", source.prefix, spec.name);
                let wanted = if earlier.contains(&fit(&wanted)) {
                    format!("{}_{wanted}", source.toolset)
                } else {
                    wanted
                };
                let is_taken = |name: &str| {
                    catalog.by_name.contains_key(name) || (wanted != name && fit_already.contains(name))
                };
                let name = free_name(&wanted, &source.toolset, is_taken);
                catalog.by_name.insert(name.clone(), catalog.entries.len());
                let toolset_name = source.toolset.clone();
                catalog.entries.push(CatalogEntry { name, toolset, toolset_name, spec, policy, schema });
            }
            catalog.resolve_hints(first);
        }
        (catalog, problems)
    }

    /// Puts the names that the model knows in place of the toolset's own in the hints of the tools from `first`.
    fn resolve_hints(&mut self, first: usize) {
        let own: HashMap<String, String> = self
            .entries
            .iter()
            .skip(first)
            .map(|entry| (entry.spec.name.clone(), entry.name.clone()))
            .collect();
        for entry in self.entries.iter_mut().skip(first) {
            for hint in [&mut entry.spec.find_with, &mut entry.spec.check_with] {
                *hint = hint.take().and_then(|name| own.get(&name).cloned());
            }
        }
    }

    /// The tools on offer, in the order of their declaration.
    pub fn entries(&self) -> &[CatalogEntry] {
        &self.entries
    }

    /// The tool that the model knows by this name.
    pub fn get(&self, name: &str) -> Option<&CatalogEntry> {
        self.by_name.get(name).and_then(|index| self.entries.get(*index))
    }

    /// The tool that a person means: by the name that the model knows, or by the toolset's own where that is
    /// unique.
    ///
    /// # Errors
    ///
    /// `unknown_tool`, with the names there are.
    pub fn find(&self, name: &str) -> Result<&CatalogEntry, ToolError> {
        if let Some(entry) = self.get(name) {
            return Ok(entry);
        }
        let mut own = self.entries.iter().filter(|entry| entry.spec.name == name);
        match (own.next(), own.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(self.unknown_tool(name, "")),
        }
    }

    /// Checks a call against the input schema of its tool.
    ///
    /// Reports every violation, not only the first, so that the model can mend all of them at once.
    ///
    /// # Errors
    ///
    /// `unknown_tool`, `malformed_arguments` or `invalid_arguments`.
    pub fn validate(&self, call: &ToolCall) -> Result<ValidCall, ToolError> {
        let Some(&index) = self.by_name.get(&call.name) else {
            return Err(self.unknown_tool(&call.name, &call.arguments.0));
        };
        let Some(entry) = self.entries.get(index) else {
            return Err(self.unknown_tool(&call.name, &call.arguments.0));
        };
        let (arguments, mended) = entry.arguments(&call.arguments.0)?;
        Ok(ValidCall {
            id: call.id.clone(),
            tool: entry.name.clone(),
            own_name: entry.spec.name.clone(),
            toolset: entry.toolset,
            entry: index,
            arguments,
            mended,
        })
    }

    fn unknown_tool(&self, name: &str, raw: &str) -> ToolError {
        let detail = format!("the model called a tool that is not on offer: `{}`", text::escaped(name, 200));
        let error = ToolError::new(ToolErrorKind::UnknownTool, detail);
        let shown = text::escaped(name, 100);
        if self.entries.is_empty() {
            return error
                .with_words(format!("Tool \"{shown}\" was not found: there are no tools."))
                .with_next_step("Answer without a tool.".into());
        }
        // A tool that takes these arguments is what was meant, if there is one.
        let names = || self.entries.iter().map(|entry| entry.name.as_str());
        let is_near = |candidate: &&str| !text::nearest(name, [*candidate]).is_empty();
        let fits = |name: &&str| self.get(name).is_some_and(|entry| entry.arguments(raw).is_ok());
        let fitting = text::nearest(name, names().filter(is_near).filter(fits));
        let meant = if fitting.is_empty() { text::nearest(name, names()) } else { fitting.clone() };
        let mut listed: Vec<&str> = self.entries.iter().map(|entry| entry.name.as_str()).collect();
        if listed.len() > LIST_CAP {
            listed.sort_by_key(|name| !meant.contains(name));
        }
        let more = listed.len().saturating_sub(LIST_CAP);
        listed.truncate(LIST_CAP);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let quoted: Vec<String> = meant.iter().map(|name| format!("\"{name}\"")).collect();
        let words = format!(
            "Tool \"{shown}\" was not found, please use one of these: {}{more}.{}",
            listed.join(", "),
            crate::schema::did_you_mean(&quoted)
        );
        let step = match fitting.as_slice() {
            [only] => self.get(only).and_then(|entry| entry.spelled_out_for(name, raw)),
            _ => None,
        };
        let step =
            step.unwrap_or_else(|| "Call one of these tools instead, or answer without a tool.".into());
        error.with_words(words).with_next_step(step)
    }

    /// The bytes of all tools in the wire form `form`, made once by `encode`. One form is kept; another one is
    /// made anew each time.
    pub fn encoded<T>(
        &self,
        form: &'static str,
        encode: impl Fn(&[CatalogEntry]) -> Vec<u8>,
        read: impl FnOnce(&[u8]) -> T,
    ) -> T {
        let (kept, bytes) = self.encoded.get_or_init(|| (form, encode(&self.entries)));
        if *kept == form { read(bytes) } else { read(&encode(&self.entries)) }
    }
}

impl CatalogEntry {
    /// The arguments of a call of this tool: decoded, defaults applied, valid; and what was changed about them by
    /// declared rules.
    fn arguments(&self, raw: &str) -> Result<(Map<String, Value>, Option<String>), ToolError> {
        let subject = Subject { tool: &self.name, effect: self.spec.effect, schema: &self.schema };
        let rules = self.policy.arguments;
        let mut changes = Vec::new();
        let mut arguments = match decode(&self.name, &self.schema, raw) {
            Ok(arguments) => arguments,
            Err(malformed) => match malformed.one_reading {
                Some(read) if rules.repair => {
                    changes.push("syntax".to_owned());
                    read
                }
                read => {
                    let read = read.filter(|read| self.fits(read));
                    let step = malformed.step;
                    return Err(malformed.error.with_next_step(
                        match read.and_then(|read| subject.spelled_out(&read)) {
                            Some(mended) => format!("{step} {mended}"),
                            None => step.to_owned(),
                        },
                    ));
                }
            },
        };
        self.schema.apply_defaults(&mut arguments);
        let mut arguments = Value::Object(arguments);
        if rules.coerce {
            let asked = arguments.clone();
            let places = self.schema.coerce(&mut arguments);
            if self.schema.is_valid(&arguments) {
                changes.extend(places);
            } else {
                // What does not become valid is reported as it came.
                arguments = asked;
            }
        }
        if !self.schema.is_valid(&arguments) {
            return Err(invalid_arguments(&subject, &arguments));
        }
        let Value::Object(arguments) = arguments else { return Ok((Map::new(), None)) };
        let note = (!changes.is_empty()).then(|| subject.mended_note(&arguments, &changes));
        Ok((arguments, note))
    }

    fn fits(&self, arguments: &Map<String, Value>) -> bool {
        let mut arguments = arguments.clone();
        self.schema.apply_defaults(&mut arguments);
        self.schema.is_valid(&Value::Object(arguments))
    }

    /// This call spelled out, for a model that wrote `asked` as the name. Which tool changes the world is never
    /// guessed, unless only case and separators differ.
    fn spelled_out_for(&self, asked: &str, raw: &str) -> Option<String> {
        let folded = |name: &str| -> String {
            name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
        };
        if self.spec.effect == Effect::Mutating && folded(asked) != folded(&self.name) {
            return None;
        }
        let subject = Subject { tool: &self.name, effect: self.spec.effect, schema: &self.schema };
        subject.spelled_out(&decode(&self.name, &self.schema, raw).ok()?)
    }
}

/// Compiles the input schema; none at all stands for a tool without parameters.
fn compile(spec: &ToolSpec) -> Result<CompiledSchema, SchemaError> {
    match &spec.input_schema {
        Value::Null => CompiledSchema::compile(&serde_json::json!({"type": "object"})),
        schema => CompiledSchema::compile(schema),
    }
}

/// `name` in the letters that providers take.
fn fit(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

/// `wanted` as providers take it, and different from all names there are.
fn free_name(wanted: &str, toolset: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let fit = fit(wanted);
    if fit.len() <= NAME_CAP && !is_taken(&fit) {
        return fit;
    }
    // FNV-1a: stable over versions and machines, unlike the hashers of the standard library.
    let mut salt = 0u32;
    loop {
        let hash =
            format!("{toolset}/{wanted}/{salt}").bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        let head: String = fit.chars().take(NAME_CAP - 9).collect();
        let name = format!("{head}_{:08x}", (hash >> 32) as u32 ^ hash as u32);
        if !is_taken(&name) {
            return name;
        }
        salt += 1;
    }
}
