//! What is declared about answers.

use backstop_core::ToolErrorKind;
use backstop_manifest::v1::LargeResults;
use serde_json::json;

use crate::{endpoints, good, problems, with};

#[test]
fn what_is_declared_of_an_answer_is_read() {
    let manifest = good(&endpoints(
        r"{a: {path: /a,
          success_when: {status: [200-204, 404, 3xx], path: $.ok, equals: true},
          fail_when: [{path: /error}, {content_type: [text/html, 'image/*'], contains: Sign in, kind: unauthenticated},
            {path: $.id, exists: false}],
          result: '$.items[*].name', check_output: false}}",
    ));
    let answer = manifest.toolsets[0].settings("a").answer;
    let success = answer.success_when.unwrap();
    assert_eq!(success.statuses, [200..=204, 404..=404, 300..=399]);
    assert_eq!(
        (success.path.as_deref(), success.equals, success.exists),
        (Some("$.ok"), Some(json!(true)), true)
    );
    let fails = answer.fail_when.unwrap();
    let kinds: Vec<ToolErrorKind> = fails.iter().map(|(_, kind)| *kind).collect();
    assert_eq!(kinds, [ToolErrorKind::Rejected, ToolErrorKind::Unauthenticated, ToolErrorKind::Rejected]);
    assert_eq!(fails[1].0.content_types, ["text/html", "image/*"]);
    assert_eq!(fails[1].0.contains.as_deref(), Some("Sign in"));
    assert!(!fails[2].0.exists);
    assert_eq!(answer.result.as_deref(), Some("$.items[*].name"));
    assert_eq!(answer.check_output, Some(false));
}

#[test]
fn what_stands_under_tools_goes_before_what_an_endpoint_says() {
    let manifest = good(&with(
        "toolsets: {s: {http: {base_url: 'http://h', endpoints: {a: {path: /a, result: /a, fail_when: {path: /e}}}}, \
         tools: {a: {result: /b}}}}",
    ));
    let answer = manifest.toolsets[0].settings("a").answer;
    assert_eq!(answer.result.as_deref(), Some("/b"));
    assert_eq!(answer.fail_when.unwrap().len(), 1);
}

#[test]
fn large_results_are_cut_unless_a_document_gives_them() {
    let of =
        |toolset: &str| good(&with(&format!("toolsets: {{s: {{{toolset}}}}}"))).toolsets[0].large_results;
    let http = "http: {base_url: 'http://h', endpoints: {a: {path: /a}}}";
    assert_eq!(of(http), LargeResults::Cut);
    assert_eq!(of(&format!("{http}, large_results: keep")), LargeResults::Keep);
    assert_eq!(of("openapi: {document: a.yaml}"), LargeResults::Keep);
    assert_eq!(of("openapi: {document: a.yaml}, large_results: cut"), LargeResults::Cut);
}

#[test]
fn whatever_can_not_be_meant_is_told_with_its_place() {
    insta::assert_snapshot!(problems(&with(
        r"toolsets:
  s:
    large_results: drop
    http:
      base_url: http://h
      endpoints:
        a: {path: /a, success_when: {}, fail_when: [], result: items}
        b: {path: /b, success_when: {status: 999}, fail_when: {status: 500-400}}
        c: {path: /c, success_when: {status: 6xx, equals: 1}, fail_when: {kind: timeout, path: '$.a['}}
        d: {path: /d, fail_when: [{path: /a, equals: 1, exists: true}, {content_type: json}, {header: x}]}
        e: {path: /e, check_output: maybe, fail_when: {contains: ''}, result: ['/a']}
",
    )));
}
