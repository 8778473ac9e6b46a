//! What the tests of arguments and views share.

use backstop_core::{
    Catalog, CatalogEntry, Effect, Reference, ToolCall, ToolError, ToolPolicy, ToolSpec, ValidCall,
    catalog::CatalogSource, error::ViewFacts,
};
use serde_json::{Map, Value, json};

/// The reference in every view that is made here.
pub(crate) const REFERENCE: Reference = Reference::new(0x1a2b_3c4d);

/// An object schema.
pub(crate) fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

/// A tool that reads.
pub(crate) fn reading(name: &str, schema: Value) -> ToolSpec {
    ToolSpec::new(name, schema).effect(Effect::ReadOnly)
}

/// A tool that changes the world.
pub(crate) fn mutating(name: &str, schema: Value) -> ToolSpec {
    ToolSpec::new(name, schema).effect(Effect::Mutating)
}

/// A catalog of these tools, all of them usable.
pub(crate) fn catalog(tools: Vec<ToolSpec>) -> Catalog {
    let tools = tools.into_iter().map(|spec| (spec, ToolPolicy::default())).collect();
    let (catalog, problems) = Catalog::build(vec![CatalogSource::new("kit", tools)]);
    assert_eq!(problems, []);
    catalog
}

/// What `tool` receives when the model calls it with these arguments, or why not.
pub(crate) fn call(catalog: &Catalog, tool: &str, raw: &str) -> Result<ValidCall, ToolError> {
    catalog.validate(&ToolCall::new("c1", tool, raw))
}

/// The arguments that the only tool of a catalog receives.
pub(crate) fn received(spec: ToolSpec, raw: &str) -> Map<String, Value> {
    let name = spec.name.clone();
    call(&catalog(vec![spec]), &name, raw).unwrap().into_arguments()
}

/// Why the only tool of a catalog does not receive these arguments.
pub(crate) fn refusal(spec: ToolSpec, raw: &str) -> ToolError {
    let name = spec.name.clone();
    call(&catalog(vec![spec]), &name, raw).unwrap_err()
}

/// What the model reads when it calls the only tool of a catalog with these arguments.
pub(crate) fn told(spec: ToolSpec, raw: &str) -> String {
    let name = spec.name.clone();
    told_by(&catalog(vec![spec]), &name, raw)
}

/// What the model reads when it calls a tool of this catalog with these arguments.
pub(crate) fn told_by(catalog: &Catalog, tool: &str, raw: &str) -> String {
    let error = call(catalog, tool, raw).unwrap_err();
    let effect = catalog.get(tool).map_or(Effect::ReadOnly, |entry| entry.spec.effect);
    facts(tool, effect, catalog.get(tool)).view(&error, None).to_string()
}

fn facts<'a>(tool: &'a str, effect: Effect, entry: Option<&'a CatalogEntry>) -> ViewFacts<'a> {
    ViewFacts::new(tool, effect, REFERENCE)
        .find_with(entry.and_then(|entry| entry.spec.find_with.as_deref()))
        .check_with(entry.and_then(|entry| entry.spec.check_with.as_deref()))
}
