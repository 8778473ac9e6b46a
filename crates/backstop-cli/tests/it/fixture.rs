//! The manifests that most tests run.

use backstop::{
    Catalog, Definition, ManifestFile, Outcome, Record, Run, Step, catalog::CatalogSource,
    manifest::MapEnvironment,
};
use serde_json::Value;

use crate::shell::Folder;

/// An agent with a scripted model, and a shop at `${SHOP_URL}`.
pub(crate) const SHOP: &str = "version: 1
name: clerk
model: { provider: scripted, script: script.yaml }
limits: { turns: 4 }
toolsets:
  shop:
    timeout: 10s
    http:
      base_url: ${SHOP_URL:-http://127.0.0.1:9}
      endpoints:
        get_order:
          path: /orders/{order_id}
          parameters: { order_id: { type: string, pattern: '^A-[0-9]{4}$' } }
        refund_order:
          method: POST
          path: /orders/{order_id}/refunds
          check_with: list_refunds
          parameters:
            order_id: { type: string, pattern: '^A-[0-9]{4}$' }
            amount: { type: number, required: true, minimum: 0.01 }
            reason: { type: string, required: true, enum: [damaged, late] }
        list_refunds:
          path: /orders/{order_id}/refunds
          parameters: { order_id: { type: string } }
";

/// An agent without tools and the model that `base_url` serves.
pub(crate) fn talker(base_url: &str) -> String {
    format!(
        "version: 1
name: talker
model:
  base_url: {base_url}/v1
  api_key: ${{secret:OPENAI_API_KEY:-}}
  name: test-model
limits: {{ model_retries: 0 }}
"
    )
}

/// A folder with the agent of the shop and what its model says.
pub(crate) fn shop(script: &str) -> Folder {
    Folder::new().with("backstop.yaml", SHOP).with("script.yaml", script)
}

/// How the run of a journal ended that was printed, worked out again from what the manifest says of its tools.
pub(crate) fn replay(folder: &Folder, environment: &MapEnvironment, lines: &[Value]) -> Outcome {
    let read = ManifestFile::read(&folder.path("backstop.yaml"), environment).unwrap();
    let manifest = read.manifest.unwrap();
    let sources = manifest.toolsets.iter().map(|toolset| {
        let tools = toolset.specs().into_iter().map(|spec| {
            let policy = manifest.policy_for(&toolset.name, &spec.name);
            (spec, policy)
        });
        CatalogSource::new(toolset.name.value.clone(), tools.collect()).prefix(toolset.prefix.clone())
    });
    let (catalog, problems) = Catalog::build(sources.collect());
    assert_eq!(problems, []);
    let strategies = manifest.fallback.as_ref().map(|list| list.strategies.clone()).unwrap_or_default();
    let definition = Definition::new(catalog).limits(manifest.limits.clone()).fallback(strategies);
    let records: Vec<Record> =
        lines.iter().map(|line| serde_json::from_value(line.clone()).unwrap()).collect();
    match Run::replay(definition.into(), &records).unwrap().next_step() {
        Step::Done(outcome) => outcome,
        other => panic!("it goes on with {other:?}"),
    }
}
