//! From a manifest to an agent.

use std::path::Path;

use backstop::{
    Effect, LoadError, ManifestFile, Outcome, Overrides, agent_from_manifest,
    manifest::{Manifest, MapEnvironment, SecretText},
    schema_notes,
};

const SHOP: &str = "
version: 1
name: shop
instructions: Be brief.
model: { provider: scripted, script: script.yaml }
toolsets:
  a:
    timeout: 7s
    fallback: [{ when: { kind: conflict }, stop: { message: Busy. } }]
    http:
      base_url: 'http://127.0.0.1:9/v1'
      headers: { X-Key: '${secret:KEY}' }
      endpoints:
        get: { path: '/x/{id}', parameters: { id: { type: string } }, timeout: 2s }
        put: { method: POST, path: /x, idempotent_key: true, parameters: { n: { type: integer, required: true } } }
  b:
    prefix: b_
    http: { base_url: 'http://127.0.0.1:9', endpoints: { get: { path: /y } } }
fallback: [{ retry: { max: 1, backoff: 1ms, jitter: false } }]
";

fn manifest() -> Manifest {
    let environment = MapEnvironment::new().with_var("KEY", "sesame-sesame");
    let (manifest, problems) = Manifest::load(SHOP, "shop.yaml", Path::new("nowhere"), &environment);
    manifest.unwrap_or_else(|| panic!("{problems:#?}"))
}

fn scripted(script: &str) -> Overrides {
    let mut overrides = Overrides::default();
    overrides.script = Some(script.to_owned());
    overrides
}

#[tokio::test]
async fn what_is_declared_for_a_tool_reaches_the_catalog() {
    let (agent, problems) = agent_from_manifest(&manifest(), &scripted("- text: hi")).await.unwrap();
    assert!(problems.is_empty(), "{problems:?}");
    let catalog = agent.catalog();
    let entries: Vec<_> = catalog
        .entries()
        .iter()
        .map(|entry| {
            let timeout = entry.policy.timeout.map(|timeout| timeout.as_secs());
            (
                entry.name.as_str(),
                entry.spec.effect,
                timeout,
                entry.policy.strategies.len(),
                entry.spec.honours_idempotency_key,
            )
        })
        .collect();
    assert_eq!(
        entries,
        [
            ("get", Effect::ReadOnly, Some(2), 1, false),
            ("put", Effect::Mutating, Some(7), 1, true),
            ("b_get", Effect::ReadOnly, None, 1, false),
        ]
    );
}

#[tokio::test]
async fn an_agent_of_a_manifest_runs_and_tells_what_failed() {
    let script = "[{calls: [{tool: b_get, arguments: {}}]}, {text: 'It said: {{last_result}}'}]";
    let (agent, _) = agent_from_manifest(&manifest(), &scripted(script)).await.unwrap();
    let report = agent.run("go").await.unwrap();
    let Outcome::Answered { text } = report.outcome() else { panic!("{:?}", report.outcome()) };
    assert!(text.starts_with("It said: Tool \"b_get\" is unavailable."), "{text}");
    // The agent's own strategy: one retry.
    assert_eq!(report.calls()[0].attempts, 2);
}

#[tokio::test]
async fn an_empty_list_of_strategies_takes_the_place_of_those_above() {
    let text = SHOP.replace("get: { path: /y }", "get: { path: /y, fallback: [] }");
    let environment = MapEnvironment::new().with_var("KEY", "sesame-sesame");
    let (manifest, problems) = Manifest::load(&text, "shop.yaml", Path::new("."), &environment);
    let manifest = manifest.unwrap_or_else(|| panic!("{problems:#?}"));
    let script = "[{calls: [{tool: b_get, arguments: {}}]}, {text: Done.}]";
    let (agent, _) = agent_from_manifest(&manifest, &scripted(script)).await.unwrap();
    let report = agent.run("go").await.unwrap();
    // The usual two retries, not the one of the agent's list.
    assert_eq!(report.calls()[0].attempts, 3);
}

#[tokio::test]
async fn what_cannot_be_made_is_an_error_that_says_why() {
    let cases = [
        (Overrides::default(), "can't read `nowhere/script.yaml`"),
        (scripted("- txt: hi"), "the script `script` can't be used"),
        (
            {
                let mut overrides = Overrides::default();
                overrides.model = Some("m".into());
                overrides
            },
            "the manifest's model is scripted: give both a base URL and a model name to replace it",
        ),
        (
            {
                let mut overrides = Overrides::default();
                overrides.base_url = Some("ftp://x".into());
                overrides
            },
            "`ftp://x` is not the base URL of a model server, such as http://127.0.0.1:11434/v1",
        ),
    ];
    for (overrides, message) in cases {
        let error = agent_from_manifest(&manifest(), &overrides).await.err().unwrap();
        assert_eq!(error.to_string(), message);
    }
}

#[tokio::test]
async fn a_key_that_is_given_beside_the_manifest_is_a_secret_too() {
    let mut overrides = scripted("- text: 'my key is sk-12345678'");
    overrides.api_key = Some(SecretText::new("sk-12345678"));
    let (agent, _) = agent_from_manifest(&manifest(), &overrides).await.unwrap();
    let report = agent.run("What is sesame-sesame?").await.unwrap();
    assert_eq!(report.answer(), Some("my key is [secret]"));
}

#[tokio::test]
async fn what_a_server_is_not_told_depends_on_which_it_is() {
    let text = |model: &str| {
        format!(
            "version: 1
name: shop
model: {{ {model} }}
toolsets: {{ a: {{ http: {{ base_url: 'http://127.0.0.1:9', endpoints: {{ get: {{ path: /y, parameters: {{
  n: {{ type: integer, enum: [1, 2] }}, id: {{ type: string, pattern: '^[A-Z]+$' }} }} }} }} }} }} }}
"
        )
    };
    let values =
        "get: the allowed values are not sent to the model: its server takes only texts (at `/properties/n`)";
    let pattern = "get: the pattern is not sent to the model: its server can't read it (at `/properties/id`)";
    let gemini = "https://generativelanguage.googleapis.com/v1beta/openai";
    let mut elsewhere = Overrides::default();
    elsewhere.base_url = Some("http://127.0.0.1:9/v1".into());
    let cases: [(String, Overrides, &[&str]); 6] = [
        ("name: m".into(), Overrides::default(), &[]),
        (format!("name: m, base_url: '{gemini}'"), Overrides::default(), &[values]),
        (format!("name: m, base_url: '{gemini}'"), elsewhere.clone(), &[]),
        (format!("name: m, base_url: '{gemini}', profile: openai"), Overrides::default(), &[]),
        ("name: m, profile: portable".into(), elsewhere, &[pattern, values]),
        ("name: m, profile: portable".into(), scripted("- text: hi"), &[]),
    ];
    for (model, overrides, told) in cases {
        let (manifest, problems) =
            Manifest::load(&text(&model), "shop.yaml", Path::new("."), &MapEnvironment::new());
        let manifest = manifest.unwrap_or_else(|| panic!("{problems:#?}"));
        let (agent, _) = agent_from_manifest(&manifest, &overrides).await.unwrap();
        let notes = schema_notes(&manifest, &overrides, &agent).unwrap();
        let notes: Vec<String> = notes.iter().map(|(tool, note)| format!("{tool}: {note}")).collect();
        assert_eq!(notes, told, "{model}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_told_with_its_cause() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.yaml");
    let error = ManifestFile::read(&missing, &MapEnvironment::new()).unwrap_err();
    assert!(matches!(&error, LoadError::Read { path, .. } if *path == missing));

    let large = folder.path().join("large.yaml");
    std::fs::write(&large, "#".repeat(1024 * 1024 + 1)).unwrap();
    let error = ManifestFile::read(&large, &MapEnvironment::new()).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(cause, "it is larger than 1 MiB");

    let binary = folder.path().join("binary.yaml");
    std::fs::write(&binary, [0xff, 0xfe, 0x00]).unwrap();
    assert!(ManifestFile::read(&binary, &MapEnvironment::new()).is_err());
}

#[test]
fn the_quickstart_and_the_starter_manifest_are_fine() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for file in ["examples/quickstart/backstop.yaml", "crates/backstop-cli/src/commands/init/backstop.yaml"] {
        let read = ManifestFile::read(&root.join(file), &MapEnvironment::new()).unwrap();
        assert_eq!(read.diagnostics, [], "{file}");
    }
}

#[test]
fn the_manifests_of_the_book_are_fine() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = ["book/manifests.md", "book/mcp.md"];
    let pages = pages.map(|page| std::fs::read_to_string(root.join(page)).unwrap()).join("\n");
    let blocks: Vec<&str> =
        pages.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 3, "{blocks:?}");
    for block in blocks {
        // A part of a manifest stands without its head.
        let head =
            if block.starts_with("version:") { "" } else { "version: 1\nname: x\nmodel: { name: m }\n" };
        let environment = MapEnvironment::new()
            .with_var("SHOP_TOKEN", "sesame-sesame")
            .with_var("TICKETS_TOKEN", "sesame-sesame");
        let text = format!("{head}{block}");
        let (_, problems) = Manifest::load(&text, "book", Path::new("."), &environment);
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems, [""; 0], "{text}");
    }
}

#[tokio::test]
async fn a_declared_circuit_breaker_leaves_a_tool_alone() {
    let text = "
version: 1
name: shop
model: { provider: scripted, script: script.yaml }
limits: { call_retries: 0 }
toolsets:
  a:
    circuit_breaker: { failures: 2, open_for: 1h }
    http: { base_url: 'http://127.0.0.1:9', endpoints: { get: { path: '/x/{id}', parameters: { id: { type: string } } } } }
";
    let (manifest, problems) =
        Manifest::load(text, "shop.yaml", Path::new("nowhere"), &MapEnvironment::new());
    let manifest = manifest.unwrap_or_else(|| panic!("{problems:#?}"));
    let script = "
- calls: [{ tool: get, arguments: { id: '1' } }]
- calls: [{ tool: get, arguments: { id: '2' } }]
- calls: [{ tool: get, arguments: { id: '3' } }]
- text: The shop is down.
";
    let (agent, _) = agent_from_manifest(&manifest, &scripted(script)).await.unwrap();
    let report = agent.run("Go.").await.unwrap();
    let last = report.calls().pop().unwrap();
    assert_eq!(
        last.view,
        "Tool \"get\" is not tried at the moment: it failed 2 times in a row.\n\
         There is no result: use another tool or tell the user, and do not make one up."
    );
    let codes: Vec<_> = report.failures().iter().map(|failure| failure.code.clone()).collect();
    assert_eq!(codes, [None, None, Some("circuit_open".to_owned())]);
}

const PETS: &str = r#"
openapi: 3.1.0
info: { title: Pets, version: '1' }
servers: [{ url: 'SERVER/v1' }]
security: [{ key: [] }]
components: { securitySchemes: { key: { type: apiKey, in: header, name: x-key } } }
paths:
  /pets/{id}:
    get: { operationId: getPet, summary: Finds a pet., parameters: [{ name: id, in: path, required: true, schema: { type: integer } }] }
    delete: { operationId: deletePet, parameters: [{ name: id, in: path, required: true, schema: { type: integer } }] }
  /broken: { get: { operationId: broken, parameters: [{ $ref: '#/nowhere' }] } }
"#;

fn pets(folder: &Path, more: &str) -> Manifest {
    let text = format!(
        "
version: 1
name: pets
model: {{ provider: scripted, script: script.yaml }}
toolsets:
  pets:
    prefix: p_
    openapi: {{ document: pets.yaml{more} }}
    tools: {{ deletePet: {{ effect: mutating, description: Deletes it. }} }}
"
    );
    let (manifest, problems) = Manifest::load(&text, "pets.yaml", folder, &MapEnvironment::new());
    manifest.unwrap_or_else(|| panic!("{problems:#?}"))
}

#[tokio::test]
async fn a_document_becomes_tools_under_the_whole_contract() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("pets.yaml"), PETS.replace("SERVER", "http://127.0.0.1:9")).unwrap();
    let script = "
- calls: [{ tool: p_getPet, arguments: { id: x } }]
- calls: [{ tool: p_deletePet, arguments: { id: 7 } }]
- text: done
";
    let (agent, problems) = agent_from_manifest(&pets(folder.path(), ""), &scripted(script)).await.unwrap();
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "toolset `pets`: operation `broken` is left out: `#/nowhere` refers to nothing (at `/paths/~1broken/get`)",
            "toolset `pets`: the service wants to know who calls, by a key in the header `x-key`: declare `auth`",
        ]
    );
    let catalog = agent.catalog();
    let tools: Vec<_> = catalog
        .entries()
        .iter()
        .map(|entry| (entry.name.as_str(), entry.spec.effect, entry.spec.description.as_str()))
        .collect();
    assert_eq!(
        tools,
        [
            ("p_getPet", Effect::ReadOnly, "Finds a pet."),
            ("p_deletePet", Effect::Mutating, "Deletes it."),
            (
                "read_result",
                Effect::ReadOnly,
                "Reads a part of a result of another tool that was too large to be shown whole."
            ),
        ]
    );
    let report = agent.run("Go.").await.unwrap();
    let views: Vec<String> = report.calls().into_iter().map(|call| call.view).collect();
    assert_eq!(
        views,
        [
            "Invalid value for parameter \"id\" of tool \"p_getPet\": must be an integer; got \"x\" (a string)\n\
             Call p_getPet again with \"id\" corrected.",
            "Tool \"p_deletePet\" is unavailable.\n\
             There is no result: use another tool or tell the user, and do not make one up.",
        ]
    );
}

#[tokio::test]
async fn a_document_that_is_none_leaves_no_agent_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let refused = async |more: &str| {
        let error =
            agent_from_manifest(&pets(folder.path(), more), &scripted("- text: hi")).await.err().unwrap();
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        format!("{error}: {source}").replace(&folder.path().display().to_string(), "FOLDER")
    };
    assert_eq!(
        refused("").await,
        "the document of toolset `pets` can't be used: `FOLDER/pets.yaml`: No such file or directory (os error 2)"
    );
    std::fs::write(folder.path().join("pets.yaml"), "openapi: 3.1.0\npaths: {}\n").unwrap();
    assert_eq!(
        refused("").await,
        "the document of toolset `pets` can't be used: it says nowhere where its service is: declare `base_url`"
    );
    let (agent, _) = agent_from_manifest(
        &pets(folder.path(), ", base_url: 'http://127.0.0.1:9'"),
        &scripted("- text: hi"),
    )
    .await
    .unwrap();
    assert_eq!(agent.catalog().entries().len(), 0);
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_out_of_the_folder_of_the_document_is_not_followed() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(outside.path().join("secret.yaml"), "get: { operationId: leaked }").unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret.yaml"), folder.path().join("link.yaml")).unwrap();
    let text = "openapi: 3.1.0\npaths: { /a: { $ref: link.yaml } }\n";
    std::fs::write(folder.path().join("pets.yaml"), text).unwrap();
    let manifest = pets(folder.path(), ", base_url: 'http://127.0.0.1:9'");
    let (_, problems) = agent_from_manifest(&manifest, &scripted("- text: hi")).await.unwrap();
    assert_eq!(
        problems[0].to_string(),
        "toolset `pets`: the file `link.yaml` can't be read: it is a link out of the folder of the document: \
         the path is left out (at `/paths/~1a`)"
    );
}
