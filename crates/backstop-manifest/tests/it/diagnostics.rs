//! Every code has a text that leads to it, and every code that is used is listed.

use std::collections::BTreeSet;

use backstop_manifest::code;

use crate::{endpoints, load, shown, with};

fn texts() -> Vec<String> {
    let toolset = |rest: &str| with(&format!("toolsets: {{s: {rest}}}\n"));
    let strategy = |rest: &str| with(&format!("fallback: [{rest}]\n"));
    vec![
        "a: [1".into(),
        "x".repeat(1024 * 1024 + 1),
        "[".repeat(100),
        with(&"? x\n".repeat(0)) + &(0..300).map(|key| format!("k{key}: 1\n")).collect::<String>(),
        "version: 1\n---\na: 1\n".into(),
        with("description: !x y\n"),
        with("description: x\ndescription: y\n"),
        with("instruction: x\n"),
        "name: a\n".into(),
        with("limits: 5\n"),
        with("instructions: x\nmodel: {}\n").replace("'http://h/v1'", "'http://h/v1', extra: {model: x}"),
        strategy("{when: {kind: time_out}, stop: {}}"),
        with("limits: {turns: 0}\n"),
        with("limits: {wall_clock: 30}\n"),
        "version: 1\nname: A b\nmodel: {name: m}\n".into(),
        "version: 1\nname: a\nmodel: {name: m, base_url: here}\n".into(),
        toolset("{http: {base_url: 'http://h', headers: {'a b': c}, endpoints: {a: {path: /a}}}}"),
        strategy("{when: {matches: '('}, stop: {}}"),
        endpoints("{a: {path: a}}"),
        endpoints("{a: {path: /a, parameters: {p: {schema: {type: strange}}}}}"),
        "version: 2\nfoo: bar\n".into(),
        "version: 1\nname: a\nmodel: {provider: dial}\n".into(),
        toolset("{files: shop}"),
        strategy("{retry: {}, stop: {}}"),
        with("description: ${NOPE}\n"),
        toolset("{http: {base_url: 'http://h', auth: {bearer: ${secret:NOPE}}, endpoints: {a: {path: /a}}}}"),
        toolset(
            "{http: {base_url: 'http://h', auth: {bearer: ${secret:file:no}}, endpoints: {a: {path: /a}}}}",
        ),
        with("description: ${secret:KEY}\n"),
        with("description: a ${KEY-x} b\n"),
        endpoints("{a: {path: '/{id}'}}"),
        endpoints("{a: {path: /a, parameters: {id: {in: path}}}}"),
        endpoints("{a: {path: /a, parameters: {p: {}, q: {wire_name: p}}}}"),
        endpoints("{aa: {path: /a, find_with: ab}}"),
        strategy("{when: {kind: []}, stop: {}}"),
        strategy("{stop: {}}, {continue: {}}"),
        strategy("{when: {kind: timeout, class: answer}, stop: {}}"),
        strategy("{when: {kind: not_found}, retry: {}}"),
        endpoints("{a: {path: /a, method: POST, fallback: [{retry: {}}]}}"),
        endpoints("{a: {path: /a, method: POST, reconcile: {tool: b}}, b: {path: /b, method: POST}}"),
        endpoints("{a: {path: /a, fallback: [{use_tool: {tool: a}}]}}"),
        endpoints(
            "{a: {path: /a, fallback: [{use_tool: {tool: b, arguments: {id: x}}}]}, b: {path: /b, method: POST}}",
        ),
        with("limits: {retries: 1}\nfallback: [{retry: {max: 2}}]\n"),
        toolset("{http: {base_url: 'http://h', auth: {bearer: hunter2}, endpoints: {a: {path: /a}}}}"),
        toolset("{http: {base_url: 'http://h', endpoints: {}}}"),
        endpoints("{'a.b': {path: /a}}"),
        with("limits: {wall_clock: 10s, tool_timeout: 20s}\n"),
        strategy("{when: {case_sensitive: true}, stop: {}}"),
        quickapps("hooks: [x]"),
        quickapps("tool_sets: [{type: mcp, enabled: false}]"),
        quickapps(
            "tool_sets: [{type: rest-api, name: S!, tools: [{TOOL, fallback_configuration: {strategies: [{type: stop}]}}]}]",
        ),
        quickapps(
            "tool_sets: [{type: rest-api, name: s, tools: [{TOOL, fallback_configuration: {strategies: []}}]}]",
        ),
    ]
}

fn quickapps(rest: &str) -> String {
    let tool = "open_ai_tool: {function: {name: a}}, rest_api_method_info: {method_url: 'http://h/a', method_type: get}";
    format!("orchestrator: {{deployment: {{name: m}}}}\n{}\n", rest.replace("TOOL", tool))
}

#[test]
fn every_code_has_a_text_that_leads_to_it() {
    let mut seen = BTreeSet::new();
    let mut report = String::new();
    for text in texts() {
        let (_, problems) = load(&text);
        let fresh: Vec<_> = problems.into_iter().filter(|problem| seen.insert(problem.code)).collect();
        if !fresh.is_empty() {
            report.push_str(&shown(&fresh));
            report.push('\n');
        }
    }
    assert_eq!(seen, code::ALL.iter().copied().collect::<BTreeSet<_>>());
    insta::assert_snapshot!(report);
}
