//! Published OpenAPI documents: what of each becomes tools, and whether every server of models takes these.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use backstop::{
    Catalog, ToolPolicy,
    catalog::CatalogSource,
    deployment::SchemaProfile,
    openapi::{OpenApiOptions, open_file},
    schema::CompiledSchema,
};

use crate::{server::counterpart, shell::Manifest};

/// Documents of the directory of APIs, chosen for being well known or odd.
const CHOSEN: [&str; 50] = [
    "openstates.org",
    "apis.guru",
    "asana.com",
    "authentiq.io",
    "bbc.com",
    "bigoven.com",
    "bitbucket.org",
    "box.com",
    "bridgedb.org",
    "chaingateway.io",
    "circleci.com",
    "consumerfinance.gov",
    "datasette.local",
    "digitalocean.com",
    "discourse.local",
    "dnd5eapi.co",
    "freesound.org",
    "giphy.com",
    "gitea.io",
    "github.com",
    "gitlab.com",
    "jira.local",
    "keycloak.local",
    "kubernetes.io",
    "linode.com",
    "mailchimp.com",
    "math.tools",
    "nba.com",
    "netlify.com",
    "notion.com",
    "okta.local",
    "openai.com",
    "openbanking.org.uk",
    "osf.io",
    "plaid.com",
    "polygon.io",
    "readme.io",
    "sendgrid.com",
    "slack.com",
    "snyk.io",
    "spotify.com",
    "squareup.com",
    "stackexchange.com",
    "stripe.com",
    "telegram.org",
    "trello.com",
    "vercel.com",
    "wikimedia.org",
    "xkcd.com",
    "zoom.us",
];

/// What came of one document, in a line.
fn outcome(path: &Path) -> String {
    let api = match open_file(path, &OpenApiOptions::default()) {
        Ok(api) => api,
        Err(refused) => return format!("refused: {refused}"),
    };
    let tools: Vec<_> =
        api.endpoints.iter().map(|endpoint| (endpoint.spec.clone(), ToolPolicy::default())).collect();
    let (catalog, problems) = Catalog::build(vec![CatalogSource::new("api", tools)]);
    assert_eq!(problems, [], "{}: what is read can be used", path.display());
    // A hundred or so of each document: the rest is more of the same.
    let some = 1 + catalog.entries().len() / 100;
    for profile in profiles() {
        for entry in catalog.entries().iter().step_by(some) {
            let sent = profile.convert(&entry.spec.input_schema).schema;
            let compiled = CompiledSchema::compile(&sent);
            assert!(compiled.is_ok(), "{} {} for {}: {sent}", path.display(), entry.name, profile.name());
        }
    }
    let left_out: Vec<_> = api.problems.iter().filter(|problem| problem.left_out).collect();
    let notes = api.problems.len() - left_out.len();
    let how = match (left_out.is_empty(), notes) {
        (true, 0) => "loaded",
        (true, _) => "loaded with notes",
        (false, _) => "partly",
    };
    let mut line = format!("{how}: {} tools", api.endpoints.len());
    if notes > 0 {
        let _ = write!(line, ", {notes} notes");
    }
    for problem in left_out.iter().take(3) {
        let _ = write!(line, "\n    {problem}");
    }
    if left_out.len() > 3 {
        let _ = write!(line, "\n    and {} more", left_out.len() - 3);
    }
    line
}

fn profiles() -> [SchemaProfile; 4] {
    [SchemaProfile::openai(), SchemaProfile::gemini(), SchemaProfile::llama_cpp(), SchemaProfile::portable()]
}

fn table(documents: impl IntoIterator<Item = (String, PathBuf)>) -> String {
    documents.into_iter().fold(String::new(), |mut table, (name, path)| {
        let _ = writeln!(table, "{name}: {}", outcome(&path));
        table
    })
}

fn json_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            json_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            found.push(path);
        }
    }
}

#[test]
fn examples_of_every_feature_load() {
    let folder = counterpart("documents/examples");
    let mut files = Vec::new();
    json_files(&folder, &mut files);
    files.sort();
    let name = |path: &PathBuf| path.strip_prefix(&folder).unwrap().display().to_string();
    insta::assert_snapshot!(table(files.iter().map(|path| (name(path), path.clone()))));
}

#[test]
fn well_known_services_load() {
    let folder = counterpart("documents/directory/api");
    let path = |name: &str| folder.join(format!("{name}.json"));
    insta::assert_snapshot!(table(CHOSEN.iter().map(|name| ((*name).to_owned(), path(name)))));
}

#[test]
fn a_document_of_800_paths_loads_in_time() {
    let document = counterpart("documents/github/generated/api.github.com.json");
    let started = Instant::now();
    let api = open_file(&document, &OpenApiOptions::default()).unwrap();
    // Without optimisation, beside other tests; the limit for users is 2 seconds.
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    let problems: Vec<String> = api.problems.iter().map(ToString::to_string).collect();
    assert_eq!(api.endpoints.len(), 1222);
    assert_eq!(
        problems,
        [
            "operation `repos/upload-release-asset` is left out: it has a server of its own, https://uploads.github.com, \
             where nothing that belongs to this one is sent \
             (at `/paths/~1repos~1{owner}~1{repo}~1releases~1{release_id}~1assets/post`)"
        ]
    );
    let manifest = Manifest::new(&format!(
        "version: 1
name: github
model: {{ name: none, base_url: http://127.0.0.1:9 }}
toolsets:
  github:
    openapi:
      document: {}
      include: [{{ path: '/repos/{{owner}}/{{repo}}/issues/*', method: GET }}]
",
        document.display()
    ));
    let ran = manifest.ran("tools", &["--json"]);
    let tools: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["issues_list-comments-for-repo", "issues_list-events-for-repo", "issues_get", "read_result"]
    );
}
