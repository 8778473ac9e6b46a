//! What is declared beside strategies: `arguments` and `approve` on each level, `circuit_breaker`, and limits by
//! class.

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
    http: {{ base_url: 'http://h', endpoints: {{ a: {{ path: '/a/{{id}}', parameters: {{ id: {{}} }} }}, b: {{ path: '/b/{{id}}', method: POST, parameters: {{ id: {{}} }}, approve: always, reconcile: {{ tool: a, arguments: {{ id: '{{id}}' }} }} }} }} }}
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

#[test]
fn a_circuit_breaker_is_declared_by_toolset_or_switched_off() {
    let text = format!(
        "{HEAD}
limits: {{ failures_of: {{ model: 4, operator: 1 }} }}
toolsets:
  a: {{ circuit_breaker: off, http: {{ base_url: 'http://h', endpoints: {{ a: {{ path: /a }} }} }} }}
  b: {{ circuit_breaker: {{ failures: 3, open_for: 2m }}, http: {{ base_url: 'http://h', endpoints: {{ b: {{ path: /b }} }} }} }}
  c: {{ http: {{ base_url: 'http://h', endpoints: {{ c: {{ path: /c }} }} }} }}
"
    );
    let (manifest, problems) = load(&text);
    let manifest = manifest.unwrap_or_else(|| panic!("{problems:#?}"));
    let breakers: Vec<_> = manifest
        .toolsets
        .iter()
        .map(|toolset| toolset.circuit_breaker.map(|breaker| (breaker.failures, breaker.open_for)))
        .collect();
    assert_eq!(
        breakers,
        [None, Some((Some(3), Some(std::time::Duration::from_secs(120)))), Some((None, None))]
    );
    let of = manifest.limits.failures_of;
    assert_eq!(
        (of.model, of.answer, of.transient, of.operator, of.policy),
        (Some(4), None, None, Some(1), None)
    );
}

#[test]
fn a_wrong_circuit_breaker_and_a_class_that_is_none_are_located() {
    let text = format!(
        "{HEAD}
limits: {{ failures_of: {{ modle: 4, policy: 0 }} }}
toolsets:
  a: {{ circuit_breaker: always, http: {{ base_url: 'http://h', endpoints: {{ a: {{ path: /a }} }} }} }}
  b: {{ circuit_breaker: {{ failures: 0, open_for: 2 }}, http: {{ base_url: 'http://h', endpoints: {{ b: {{ path: /b }} }} }} }}
"
    );
    let (_, problems) = load(&text);
    insta::assert_snapshot!(problems.join("\n"));
}
