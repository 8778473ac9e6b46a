//! `arguments`: what may be changed about the arguments of a call, on each level.

use std::path::Path;

use backstop_core::{Approve, schema::ArgumentRules};
use backstop_manifest::{Manifest, MapEnvironment};

fn load(text: &str) -> (Option<Manifest>, Vec<String>) {
    let (manifest, problems) = Manifest::load(text, "agent.yaml", Path::new("."), &MapEnvironment::new());
    (manifest, problems.iter().map(ToString::to_string).collect())
}

const HEAD: &str = "
version: 1
name: a
model: { provider: scripted, script: s.yaml }
";

#[test]
fn the_nearest_declaration_holds() {
    let text = format!(
        "{HEAD}
arguments: {{ coerce: safe }}
toolsets:
  strict:
    arguments: {{}}
    http: {{ base_url: 'http://h', endpoints: {{ a: {{ path: /a }}, b: {{ path: /b, arguments: {{ repair: syntax }} }} }} }}
    tools: {{ a: {{ arguments: {{ repair: syntax, coerce: safe }} }} }}
  usual:
    http: {{ base_url: 'http://h', endpoints: {{ c: {{ path: /c }} }} }}
"
    );
    let (manifest, problems) = load(&text);
    let manifest = manifest.unwrap_or_else(|| panic!("{problems:#?}"));
    let rules = |toolset: &str, tool: &str| manifest.policy_for(toolset, tool).arguments;
    let off = ArgumentRules::default();
    assert_eq!(rules("strict", "a"), off.repair().coerce());
    assert_eq!(rules("strict", "b"), off.repair());
    assert_eq!(rules("usual", "c"), off.coerce());
}

#[test]
fn approval_is_declared_on_each_level_too() {
    let text = format!(
        "{HEAD}
approve: mutating
toolsets:
  a:
    approve: never
    http: {{ base_url: 'http://h', endpoints: {{ a: {{ path: /a }}, b: {{ path: /b, approve: always, reconcile: {{ tool: a, arguments: {{ id: '{{id}}' }} }} }} }} }}
  c:
    http: {{ base_url: 'http://h', endpoints: {{ c: {{ path: /c }} }} }}
"
    );
    let (manifest, problems) = load(&text);
    let manifest = manifest.unwrap_or_else(|| panic!("{problems:#?}"));
    let approve = |toolset: &str, tool: &str| manifest.policy_for(toolset, tool).approve;
    assert_eq!(
        [approve("a", "a"), approve("a", "b"), approve("c", "c")],
        [Approve::Never, Approve::Always, Approve::Mutating]
    );
    let reconcile = manifest.policy_for("a", "b").reconcile.unwrap();
    assert_eq!((reconcile.tool.as_str(), &reconcile.arguments["id"]), ("a", &"{id}".into()));
}

#[test]
fn what_is_no_rule_is_told_with_its_place() {
    let (manifest, problems) = load(&format!("{HEAD}arguments: {{ repair: always, corce: safe }}\n"));
    assert!(manifest.is_none());
    assert_eq!(
        problems,
        [
            "5:22: error[unknown-value]: arguments.repair: unknown value `always`\n  hint: use one of `off` or `syntax`",
            "5:30: error[unknown-key]: arguments.corce: unknown key `corce`\n  hint: did you mean `coerce`?",
        ]
    );
}
