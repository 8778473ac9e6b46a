//! One operation as one endpoint.

use backstop_core::ToolSpec;
use reqwest::Method;
use serde_json::Value;
use url::Url;

use super::{
    arguments::{Argument, Arguments},
    body::{body, essence, is_json},
    name,
    reference::Node,
    schema::{Converted, Direction, Schemas, repair},
    server,
};
use crate::http::{Endpoint, Parameter, Place, RESERVED};

/// Bytes of an output schema at most.
const OUTPUT_CAP: usize = 256 * 1024;
/// Parameters of one operation at most.
const PARAMETERS: usize = 500;
/// Values of the input schema of one tool at most.
const INPUT_NODES: usize = 50_000;
/// Values of the output schema of one tool at most: more than fit into its bytes.
const OUTPUT_NODES: usize = 20_000;

/// One operation of a document.
#[derive(Clone, Debug)]
pub(super) struct Operation<'d> {
    pub(super) method: &'static str,
    pub(super) path: &'d str,
    /// What stands under the path.
    pub(super) item: Node<'d>,
    pub(super) node: Node<'d>,
    /// Unique in the document.
    pub(super) id: String,
    pub(super) tags: Vec<&'d str>,
}

/// What holds for all operations of a document.
#[derive(Debug)]
pub(super) struct Context<'c> {
    /// What credentials put into a request.
    pub(super) keys: Vec<(Place, String)>,
    /// Where the toolset sends its requests.
    pub(super) base: Option<&'c Url>,
    /// The servers of the document that `base` stands in for.
    pub(super) replaced: Vec<Url>,
    /// Where the document is from.
    pub(super) document: Option<&'c Url>,
    /// Values that the input schemas of further tools may have together.
    pub(super) inputs: usize,
    /// Values that further output schemas may have together.
    pub(super) outputs: usize,
}

/// What an operation came to.
pub(super) struct Made {
    pub(super) endpoint: Endpoint,
    /// Places and words.
    pub(super) problems: Vec<(String, String)>,
}

/// Makes the endpoint of an operation.
///
/// # Errors
///
/// Where and why no request can be made.
pub(super) fn endpoint(
    operation: &Operation<'_>,
    name: &str,
    context: &mut Context<'_>,
) -> Result<Made, (String, String)> {
    let node = &operation.node;
    let here = |why: String| (node.place(), why);
    let limit = INPUT_NODES.min(context.inputs);
    let mut arguments = Arguments::new(limit);
    let mut problems = Vec::new();
    let placeholders = placeholders(fixed(operation.path).0);
    let mut keyed = false;

    let mut declared: Vec<Node<'_>> = Vec::new();
    for own in parameters(&operation.item).map_err(here)?.into_iter().chain(parameters(node).map_err(here)?) {
        let is_same =
            |other: &Node<'_>| own.text("name") == other.text("name") && own.text("in") == other.text("in");
        declared.retain(|other| !is_same(other));
        declared.push(own);
        if declared.len() > PARAMETERS {
            return Err(here(format!("it has more than {PARAMETERS} parameters")));
        }
    }
    // Names go to the path first, then as they stand.
    declared.sort_by_key(|node| match node.text("in") {
        Some("path") => 0,
        Some("query") => 1,
        Some("header") => 2,
        _ => 3,
    });
    for parameter in &declared {
        let (wire, place) =
            (parameter.text("name").unwrap_or_default(), parameter.text("in").unwrap_or_default());
        if place == "path" && !placeholders.contains(&wire) {
            problems.push((
                parameter.place(),
                format!("the path has no `{{{wire}}}`: the parameter is left out"),
            ));
            continue;
        }
        let is_key = |(key_place, key): &(Place, String)| match key_place {
            Place::Header => place == "header" && key.eq_ignore_ascii_case(wire),
            Place::Query => place == "query" && key == wire,
            _ => place == "cookie" && key == wire,
        };
        if context.keys.iter().any(is_key) {
            continue;
        }
        // The client writes these itself.
        if place == "header" && RESERVED.contains(&wire.to_ascii_lowercase().as_str()) {
            continue;
        }
        if place == "header" && wire.eq_ignore_ascii_case("idempotency-key") {
            keyed = true;
            continue;
        }
        arguments.parameter(parameter).map_err(|why| (parameter.place(), why))?;
    }
    for wire in placeholders {
        if arguments.parameters.iter().any(|known| known.place == Place::Path && known.wire_name == wire) {
            continue;
        }
        let schema = serde_json::json!({"type": "string"});
        arguments.add(Argument { parameter: Parameter::new(wire, Place::Path), schema, required: true });
        problems.push((node.place(), format!("nothing is declared for `{{{wire}}}`: any text is taken")));
    }
    let (path, query) = fixed(operation.path);
    for (wire, value) in query {
        // A declared parameter of that name says the same, with more words.
        if !arguments.parameters.iter().any(|known| known.place == Place::Query && known.wire_name == wire) {
            arguments.parameters.push(Parameter::new(wire, Place::Query).constant(value));
        }
    }
    let form = body(node, &mut arguments).map_err(here)?;
    let (mut schema, parameters, converted) = arguments.finish();
    context.inputs = context.inputs.saturating_sub(converted.nodes);
    if limit < INPUT_NODES && converted.nodes > limit {
        return Err(here("the schemas of all operations together are too large: pick fewer".into()));
    }
    problems.extend(converted.problems);
    problems.extend(repair(&mut schema).map_err(here)?.into_iter().map(|what| (node.place(), what)));

    let method = Method::from_bytes(operation.method.as_bytes()).map_err(|cause| here(cause.to_string()))?;
    let text = name::description(
        node.text("summary").or_else(|| operation.item.text("summary")),
        node.text("description"),
        node.flag("deprecated"),
    );
    let spec = ToolSpec::new(name, schema).description(text).effect(Endpoint::usual_effect(&method));
    let prefix = prefix(operation, context).map_err(here)?;
    let mut endpoint = Endpoint::new(spec, method, format!("{prefix}{path}"));
    endpoint.parameters = parameters;
    endpoint.body = form;
    endpoint.sends_idempotency_key = keyed;
    answers(node, &mut endpoint, context);
    endpoint.check().map_err(|error| here(error.detail().to_owned()))?;
    Ok(Made { endpoint, problems })
}

/// The parameters that stand at a path or an operation.
fn parameters<'d>(node: &Node<'d>) -> Result<Vec<Node<'d>>, String> {
    node.items("parameters").iter().map(Node::resolved).collect()
}

/// A path without what only tells operations apart behind `#`, and the part of the query that stands in it.
fn fixed(path: &str) -> (&str, Vec<(String, String)>) {
    let path = path.split('#').next().unwrap_or_default();
    let Some((path, query)) = path.split_once('?') else { return (path, Vec::new()) };
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    let fixed = pairs.filter(|(_, value)| !value.contains('{'));
    (path, fixed.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
}

/// The names in braces.
fn placeholders(path: &str) -> Vec<&str> {
    path.split('{')
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('}')?.0))
        .filter(|name| !name.is_empty())
        .collect()
}

/// What goes in front of the path where the operation has a server of its own.
fn prefix(operation: &Operation<'_>, context: &Context<'_>) -> Result<String, String> {
    let own = server::servers(&operation.node, context.document);
    let own = if own.is_empty() { server::servers(&operation.item, context.document) } else { own };
    let Some(base) = context.base else { return Ok(String::new()) };
    let bases = || std::iter::once(base).chain(&context.replaced);
    let prefixes = own.iter().flat_map(|own| bases().map(|base| server::prefix(own, base)));
    match prefixes.reduce(Result::or) {
        None => Ok(String::new()),
        Some(Ok(prefix)) => Ok(prefix),
        Some(Err(other)) => Err(format!(
            "it has a server of its own, {other}, where nothing that belongs to this one is sent"
        )),
    }
}

/// What good answers look like.
fn answers(node: &Node<'_>, endpoint: &mut Endpoint, context: &mut Context<'_>) {
    let good = node.entries("responses").into_iter().filter(|(status, _)| status.starts_with('2'));
    let mut good: Vec<Node<'_>> = good.filter_map(|(_, answer)| answer.resolved().ok()).collect();
    if good.is_empty() {
        good.extend(node.child("responses").and_then(|all| all.get("default")).and_then(Result::ok));
    }
    for answer in &good {
        for (media, node) in answer.entries("content") {
            if !endpoint.answers.iter().any(|known| known == media) {
                endpoint.answers.push(media.to_owned());
            }
            let is_first = endpoint.spec.output_schema.is_none() && is_json(&essence(media));
            if let Some(schema) = node.child("schema").filter(|_| is_first) {
                endpoint.spec.output_schema = output(&schema, context);
            }
        }
    }
}

/// The schema of an answer; `None` where it says nothing or can't be used.
fn output(schema: &Node<'_>, context: &mut Context<'_>) -> Option<Value> {
    let mut schemas = Schemas::new(Direction::Response, OUTPUT_NODES.min(context.outputs));
    let mut schema = schemas.convert(schema);
    let Converted { definitions, problems, nodes } = schemas.definitions();
    context.outputs = context.outputs.saturating_sub(nodes);
    if !problems.is_empty() {
        return None;
    }
    let object = schema.as_object_mut().filter(|object| !object.is_empty())?;
    if !definitions.is_empty() {
        object.insert("$defs".into(), definitions.into());
    }
    (schema.to_string().len() <= OUTPUT_CAP).then_some(schema)
}
