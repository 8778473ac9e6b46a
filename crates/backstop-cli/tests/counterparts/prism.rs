//! Prism, which checks each request by the document that the tools were made from: every tool of these documents is
//! called with arguments made from its schema, and no request may be one that the document does not allow.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use backstop::{
    Agent, CatalogEntry, Limits, ToolCall,
    deployment::ScriptedModel,
    http::{Auth, HttpConfig, HttpToolset},
    http_client,
    openapi::{OpenApiOptions, SecurityNeed, open_file},
};
use serde_json::{Map, Value, json};

use crate::server::{Server, counterpart};

/// Petstore and ten others.
const DOCUMENTS: [&str; 11] = [
    "3.0/json/petstore.json",
    "3.0/json/petstore-expanded.json",
    "3.0/json/uspto.json",
    "3.0/json/request-examples.json",
    "3.0/json/link-example.json",
    "3.0/json/schema-types.json",
    "3.0/json/form-data.json",
    "3.0/json/complex-nesting.json",
    "3.1/json/train-travel.json",
    "3.1/json/petstore.json",
    "2.0/json/petstore.json",
];
/// Kinds of arguments that are made from one schema.
const SEEDS: [Seed; 3] = [Seed::Least, Seed::All, Seed::Others];

fn prism(document: &Path) -> Server {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let mut command = Command::new(counterpart("npm/node_modules/.bin/prism"));
    command.args(["mock", "-h", "127.0.0.1", "-p", &port]).arg(document).env("NO_COLOR", "1");
    Server::start(command, "Prism is listening on ", Duration::from_secs(60))
}

/// The tools of a document at this address, with whatever the service wants to know who calls.
async fn agent(document: &Path, url: &str) -> Agent {
    let mut options = OpenApiOptions::default();
    options.base_url = Some(url.parse().unwrap());
    let api = open_file(document, &options).unwrap();
    let mut config = HttpConfig::new("api", url.parse().unwrap(), http_client().unwrap());
    for need in &api.needs {
        match need {
            SecurityNeed::ApiKey { place: backstop::http::Place::Header, name } => {
                config.headers.push((name.clone(), "key-1".to_owned().into()));
            }
            SecurityNeed::ApiKey { place: backstop::http::Place::Query, name } => {
                config.auth = Auth::ApiKeyQuery { name: name.clone(), value: "key-1".to_owned().into() };
            }
            _ => config.headers.push(("authorization".into(), "Bearer tok-1".to_owned().into())),
        }
    }
    config.endpoints = api.endpoints;
    let toolset = HttpToolset::new(config).unwrap();
    let model = ScriptedModel::parse("- text: nothing").unwrap();
    let mut limits = Limits::default();
    limits.call_retries = 0;
    let (agent, problems) = Agent::builder(model).limits(limits).toolset(toolset).build().await;
    assert!(problems.is_empty(), "{problems:?}");
    agent
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Seed {
    /// Only what is required, and the first of what may be.
    Least,
    /// Everything.
    All,
    /// Everything, with other values.
    Others,
}

/// A value that a schema allows, `None` where none is found.
fn value(schema: &Value, root: &Value, seed: Seed, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    let schema = match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => root.pointer(reference.trim_start_matches('#'))?,
        None => schema,
    };
    let last = |values: &Vec<Value>| {
        if seed == Seed::Others { values.last().cloned() } else { values.first().cloned() }
    };
    if let Some(value) = schema.get("const") {
        return Some(value.clone());
    }
    if let Some(Value::Array(values)) = schema.get("enum") {
        return last(values);
    }
    if let Some(Value::Array(branches)) = schema.get("oneOf").or_else(|| schema.get("anyOf")) {
        return branches.iter().find_map(|branch| value(branch, root, seed, depth));
    }
    if let Some(Value::Array(parts)) = schema.get("allOf") {
        let mut whole = Map::new();
        for part in parts {
            match value(part, root, seed, depth)? {
                Value::Object(part) => whole.extend(part),
                other => return Some(other),
            }
        }
        return Some(whole.into());
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.first()?.as_str()?,
        Some(Value::String(kind)) => kind,
        _ if schema.get("properties").is_some() => "object",
        _ => "string",
    };
    let bound = |key: &str| schema.get(key).and_then(Value::as_i64);
    Some(match kind {
        "string" => text(schema, seed)?.into(),
        "integer" | "number" => {
            let least = bound("minimum").or(bound("exclusiveMinimum").map(|least| least + 1)).unwrap_or(1);
            let most =
                bound("maximum").or(bound("exclusiveMaximum").map(|most| most - 1)).unwrap_or(least + 1);
            let step = bound("multipleOf").unwrap_or(1).max(1);
            let number = if seed == Seed::Others { most } else { least };
            (number / step * step + if number % step > 0 { step } else { 0 }).into()
        }
        "boolean" => (seed != Seed::Others).into(),
        "array" => {
            let count = bound("minItems").unwrap_or(1).max(i64::from(seed != Seed::Least));
            let item = value(schema.get("items").unwrap_or(&json!({"type": "string"})), root, seed, depth)?;
            let unique = schema.get("uniqueItems") == Some(&Value::Bool(true));
            vec![item; usize::try_from(if unique { count.min(1) } else { count }).unwrap()].into()
        }
        "object" => object(schema, root, seed, depth)?.into(),
        _ => Value::Null,
    })
}

fn object(schema: &Value, root: &Value, seed: Seed, depth: usize) -> Option<Map<String, Value>> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut object = Map::new();
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        // A file is text or base64, not both.
        let is_other_form = name == "text" && schema.pointer("/properties/base64").is_some();
        if is_other_form || (seed == Seed::Least && !required.contains(&name.as_str()) && name != "base64") {
            continue;
        }
        let made = match name.as_str() {
            "media_type" => Some("text/plain".into()),
            "base64" => Some("aGk=".into()),
            _ => value(property, root, seed, depth),
        };
        match made {
            Some(value) => {
                object.insert(name.clone(), value);
            }
            None if required.contains(&name.as_str()) => return None,
            None => {}
        }
    }
    Some(object)
}

fn text(schema: &Value, seed: Seed) -> Option<String> {
    let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(1).max(1);
    if schema.get("pattern").is_some() {
        return None;
    }
    let text = match schema.get("format").and_then(Value::as_str) {
        Some("date") => "2026-02-03",
        Some("date-time") => "2026-02-03T04:05:06Z",
        Some("time") => "04:05:06Z",
        Some("duration") => "P1D",
        Some("email" | "idn-email") => "a@example.com",
        Some("uri" | "url" | "uri-reference" | "iri" | "iri-reference" | "uri-template") => {
            "https://example.com/a"
        }
        Some("uuid") => "123e4567-e89b-42d3-a456-426614174000",
        Some("ipv4") => "192.0.2.1",
        Some("ipv6") => "2001:db8::1",
        Some("hostname" | "idn-hostname") => "example.com",
        Some("byte") => "aGk=",
        Some("json-pointer") => "/a",
        Some("regex") => "a",
        _ if schema.get("contentEncoding").is_some() => "aGk=",
        _ if seed == Seed::Others => "x y,z&ü/1",
        _ => "text",
    };
    let most = schema.get("maxLength").and_then(Value::as_u64).unwrap_or(u64::MAX);
    let mut text = text.to_owned();
    while (text.chars().count() as u64) < least {
        text.push('x');
    }
    Some(text.chars().take(usize::try_from(most).unwrap_or(usize::MAX)).collect())
}

fn arguments(entry: &CatalogEntry, seed: Seed) -> Option<String> {
    let schema = &entry.spec.input_schema;
    let value = value(schema, schema, seed, 6)?;
    Some(value.to_string())
}

/// Calls every tool; gives how many calls were made, and what Prism had against any.
async fn check(document: &Path) -> (usize, Vec<String>) {
    let server = prism(document);
    let agent = agent(document, server.url()).await;
    let (mut made, mut wrong) = (0, Vec::new());
    for entry in agent.catalog().entries() {
        for seed in SEEDS {
            let Some(arguments) = arguments(entry, seed) else { continue };
            // Some schemas allow nothing, and some no value that is made so simply.
            if agent.catalog().validate(&ToolCall::new("c", &entry.name, &arguments)).is_err() {
                continue;
            }
            let report = agent.call(&entry.name, &arguments, None).await.unwrap();
            made += 1;
            let refused = report.failures().iter().find(|failure| {
                // What the mock answers by itself is what the document says; these are its own words.
                matches!(failure.status, None | Some(401 | 404 | 405 | 406 | 413 | 415 | 422))
                    && (failure.status.is_none() || failure.message.contains("stoplight.io"))
            });
            if let Some(failure) = refused {
                wrong.push(format!("{} {seed:?} {arguments}\n  {}", entry.name, failure.message));
            }
        }
    }
    (made, wrong)
}

#[test]
fn every_request_is_one_that_the_document_allows() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut shown = String::new();
    let mut all_wrong = Vec::new();
    for name in DOCUMENTS {
        let document: PathBuf = counterpart("documents/examples").join(name);
        let (made, wrong) = runtime.block_on(check(&document));
        shown += &format!("{name}: {made} calls\n");
        all_wrong.extend(wrong.into_iter().map(|wrong| format!("{name}: {wrong}")));
    }
    assert!(all_wrong.is_empty(), "{} requests are wrong:\n{}", all_wrong.len(), all_wrong.join("\n"));
    insta::assert_snapshot!(shown);
}
