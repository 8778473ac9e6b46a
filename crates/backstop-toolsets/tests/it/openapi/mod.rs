//! OpenAPI documents: what they come to, and what is wrong with them.

mod arguments;
mod documents;
mod fetch;
mod hostile;
mod operations;
mod schemas;

use std::{collections::HashMap, fmt::Write as _};

use backstop_toolsets::{
    http::{BodyForm, Endpoint, Parameter},
    openapi::{OpenApi, OpenApiError, OpenApiOptions, Source, read},
};

/// Files that a document refers to.
#[derive(Default)]
struct Files(HashMap<&'static str, &'static str>);

impl Source for Files {
    fn read(&self, path: &str) -> Result<String, String> {
        self.0.get(path).map(|text| (*text).to_owned()).ok_or_else(|| "no such file".to_owned())
    }
}

fn try_read(text: &str) -> Result<OpenApi, OpenApiError> {
    read(text, &OpenApiOptions::default(), &Files::default())
}

fn api(text: &str) -> OpenApi {
    try_read(text).unwrap()
}

/// A document of version 3.1 with these paths and whatever stands beside them.
fn document(rest: &str) -> String {
    format!(
        "openapi: 3.1.0\ninfo: {{title: T, version: '1'}}\nservers: [{{url: 'https://h.example/v1'}}]\n{rest}"
    )
}

/// All of it, for a snapshot.
fn shown(api: &OpenApi) -> String {
    let mut out = String::new();
    if let Some(base) = &api.base_url {
        let _ = writeln!(out, "base {base}");
    }
    for need in &api.needs {
        let _ = writeln!(out, "needs {need:?}");
    }
    for endpoint in &api.endpoints {
        out += &shown_endpoint(endpoint);
    }
    for problem in &api.problems {
        let _ = writeln!(out, "problem: {problem}");
    }
    out
}

fn shown_endpoint(endpoint: &Endpoint) -> String {
    let spec = &endpoint.spec;
    let mut out =
        format!("\n{} {} {} ({})\n", spec.name, endpoint.method, endpoint.path, spec.effect.as_str());
    if !spec.description.is_empty() {
        let _ = writeln!(out, "  \"{}\"", spec.description);
    }
    for parameter in &endpoint.parameters {
        let _ = writeln!(out, "  {}", shown_parameter(parameter));
    }
    if endpoint.body != BodyForm::default() {
        let _ = writeln!(out, "  body {:?}", endpoint.body);
    }
    if endpoint.sends_idempotency_key {
        out += "  sends an idempotency key\n";
    }
    let _ = writeln!(out, "  takes {}", spec.input_schema);
    if !endpoint.answers.is_empty() {
        let _ = writeln!(out, "  answers {}", endpoint.answers.join(", "));
    }
    if let Some(schema) = &spec.output_schema {
        let _ = writeln!(out, "  gives {schema}");
    }
    out
}

fn shown_parameter(parameter: &Parameter) -> String {
    let Parameter { name, wire_name, place, style, explode, allow_reserved, media_type, constant, .. } =
        parameter;
    let mut out = match constant {
        None => format!("{name} -> {place:?} {wire_name}, {style:?}"),
        Some(value) => format!("{value} -> {place:?} {wire_name}, {style:?}"),
    };
    if *explode {
        out += ", exploded";
    }
    if *allow_reserved {
        out += ", reserved characters as they are";
    }
    if let Some(media) = media_type {
        out += &format!(", as {media}");
    }
    out
}
