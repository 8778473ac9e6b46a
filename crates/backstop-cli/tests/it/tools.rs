//! `backstop tools`: what a model will see.

use insta::assert_snapshot;

use crate::shell::Folder;

const MANIFEST: &str = "version: 1
name: a
model: { provider: scripted, script: script.yaml }
toolsets:
  shop:
    prefix: shop_
    http:
      base_url: https://shop.example.test
      endpoints:
        find: { path: /orders, parameters: { status: { type: string, enum: [open, sent] } } }
        refund:
          method: POST
          path: /orders/{id}/refunds
          description: |
            Pays money back.
            In euros.
          check_with: find
          parameters: { id: { type: string }, amount: { type: number, required: true } }
";

fn folder() -> Folder {
    Folder::new().with("backstop.yaml", MANIFEST).with("script.yaml", "- text: Hello.\n")
}

#[test]
fn tools_are_shown_as_a_model_sees_them() {
    assert_snapshot!(folder().backstop(&["tools", "backstop.yaml"]).run());
}

#[test]
fn tools_are_data_with_json() {
    assert_snapshot!(folder().backstop(&["tools", "backstop.yaml", "--json"]).run());
}

#[test]
fn an_agent_may_have_none() {
    let manifest = MANIFEST.split("toolsets").next().unwrap();
    let folder = folder().with("backstop.yaml", manifest);
    let text = folder.backstop(&["tools", "backstop.yaml"]).run();
    let json = folder.backstop(&["tools", "backstop.yaml", "--json"]).run();
    assert_snapshot!(format!("{text}\n{json}"));
}

#[test]
fn a_broken_manifest_has_no_tools() {
    let folder =
        Folder::new().with("backstop.yaml", "version: 1\nname: a\nmodel: { provider: opneai, name: m }\n");
    assert_snapshot!(folder.backstop(&["tools", "backstop.yaml"]).run());
}
