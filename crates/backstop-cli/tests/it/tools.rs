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

const LOSSY: &str = "version: 1
name: a
model: { name: m, base_url: 'http://127.0.0.1:9/v1', profile: portable }
toolsets:
  shop:
    http:
      base_url: https://shop.example.test
      endpoints:
        find: { path: /orders, parameters: { id: { type: string, pattern: '^[A-Z]+$' }, n: { type: integer, enum: [1, 2] } } }
";

#[test]
fn what_the_server_is_not_told_is_a_warning() {
    let folder = Folder::new().with("backstop.yaml", LOSSY);
    let told =
        [&["tools", "backstop.yaml"][..], &["check", "backstop.yaml"], &["check", "backstop.yaml", "--json"]];
    let told = told.map(|arguments| folder.backstop(arguments).run().to_string());
    assert_snapshot!(told.join("\n"));
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
