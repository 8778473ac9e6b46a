//! Tools that are called for others, held against the tools that there are.

use crate::{good, problems, with};

/// Tools of two toolsets with names, effects and parameters that matter. `{}` is the list of `pay`.
fn bank(strategies: &str) -> String {
    let text = r#"toolsets:
  bank:
    prefix: b_
    http:
      base_url: http://h
      endpoints:
        pay:
          method: POST
          path: /p
          parameters: {id: {type: string, required: true}, cents: {type: integer, required: true}}
          fallback: [{}]
        transfer:
          method: POST
          path: /t
          parameters: {reference: {type: string, required: true}, cents: {type: integer, required: true}, note: {type: string}}
        find_payment: {path: "/p/{id}", parameters: {id: {type: string}}}
        look: {path: /l}
        get: {path: /g}
  shop: {http: {base_url: http://h, endpoints: {get: {path: /g}, look: {path: /l}}}}
  mall: {http: {base_url: http://h, endpoints: {get: {path: /g}, look: {path: /l}}}}
"#;
    with(&text.replace("{}", strategies))
}

#[test]
fn names_are_those_that_a_run_finds() {
    for name in ["transfer", "b_transfer"] {
        let arguments = r#"{reference: "{id}", cents: "{cents}"}"#;
        let list =
            format!("{{when: {{kind: conflict}}, use_tool: {{tool: {name}, arguments: {arguments}}}}}");
        good(&bank(&list));
    }
    // The model knows the first one of these, whose toolset has no prefix, by its own name.
    for name in ["get", "b_get", "mall_get"] {
        let list = format!(
            "{{when: {{kind: conflict}}, use_tool: {{tool: {name}, arguments: {{}}}}}}, {{stop: {{}}}}"
        );
        assert!(!problems(&bank(&list)).contains("unknown-tool"), "{name}");
    }
    insta::assert_snapshot!(problems(&bank(
        "{when: {kind: not_found}, use_tool: {tool: look2, arguments: {x: 1}}},
            {when: {kind: conflict}, use_tool: {tool: tranfser, arguments: {x: 1}}},
            {when: {kind: rejected}, use_tool: {tool: bank_transfer, arguments: {x: 1}}},
            {when: {kind: rate_limited}, use_tool: {tool: shop_look, arguments: {x: 1}}}"
    )));
    let prefixed = bank("{when: {kind: conflict}, use_tool: {tool: look}}")
        .replace("shop: {", "shop: {prefix: s_, ")
        .replace("mall: {", "mall: {prefix: m_, ");
    insta::assert_snapshot!("a_name_of_several", problems(&prefixed));
}

#[test]
fn arguments_are_those_that_the_other_tool_takes() {
    insta::assert_snapshot!(problems(&bank(
        r#"{when: {kind: conflict}, use_tool: {tool: transfer, arguments: {reference: "{idd}", cents: 5, note: "{memo}"}}},
            {when: {kind: rejected}, use_tool: {tool: transfer, arguments: {referenc: "{id}", cents: "{cents}"}}},
            {when: {kind: rate_limited}, use_tool: {tool: transfer}},
            {when: {kind: not_found}, use_tool: {tool: b_look}},
            {when: {kind: unauthenticated}, use_tool: {tool: b_look, arguments: {id: "a {id} b"}}}"#
    )));
}

#[test]
fn a_list_of_many_tools_is_only_told_of_what_holds_for_all() {
    let tools = |list: &str| {
        with(&format!(
            r#"toolsets:
  s:
    fallback: [{list}]
    http:
      base_url: http://h
      endpoints:
        find: {{path: /a, parameters: {{query: {{type: string, required: true}}}}}}
        list: {{path: /b, parameters: {{query: {{type: string}}, page: {{type: integer}}}}}}
        archive: {{path: /c, fallback: [], parameters: {{query: {{type: string, required: true}}, page: {{type: integer, required: true}}}}}}
"#
        ))
    };
    good(&tools("{use_tool: {tool: archive}}"));
    good(&tools(r#"{use_tool: {tool: archive, arguments: {query: "{query}", page: "{page}"}}}"#));
    insta::assert_snapshot!(problems(
        &tools("{use_tool: {tool: archive}}").replace("/c, ", "/c, effect: mutating, ").replace(
            "archive: {path: /c, effect: mutating, fallback: [], parameters: {query",
            "archive: {path: /c, effect: mutating, fallback: [], parameters: {text"
        )
    ));
}

#[test]
fn what_only_looks_is_not_served_by_what_changes_something() {
    insta::assert_snapshot!(problems(&with(
        r#"toolsets:
  s:
    fallback: [{when: {kind: not_found}, use_tool: {tool: create}}]
    http:
      base_url: http://h
      endpoints:
        get: {path: /a}
        list: {path: /a}
        create: {path: /a, method: POST}
        put: {path: /a, method: PUT, fallback: [{use_tool: {tool: create}}]}
        search: {path: /a, method: POST, effect: read_only, fallback: [{use_tool: {tool: put}}, {use_tool: {tool: list}}]}
        update: {path: /a, method: POST, fallback: [{when: {kind: conflict}, use_tool: {tool: get}}]}
"#
    )));
}

#[test]
fn what_finds_out_about_a_call_changes_nothing() {
    insta::assert_snapshot!(problems(&with(
        r#"toolsets:
  s:
    tools:
      pay: {reconcile: {tool: find, arguments: {ref: "{id}"}}}
    http:
      base_url: http://h
      endpoints:
        pay: {method: POST, path: /p, parameters: {id: {type: string, required: true}}}
        refund: {method: POST, path: /r, parameters: {id: {type: string}}, reconcile: {tool: remove}}
        find: {path: "/p/{id}", parameters: {id: {type: string}}, reconcile: {tool: refund}}
        remove: {method: DELETE, path: "/p/{id}", parameters: {id: {type: string}}, reconcile: {tool: fnd}}
"#
    )));
}

#[test]
fn tools_that_serve_each_other_in_a_circle_are_told_once() {
    insta::assert_snapshot!(problems(&with(
        r#"toolsets:
  s:
    http:
      base_url: http://h
      endpoints:
        a: {path: /a, fallback: [{when: {kind: timeout}, use_tool: {tool: b}}]}
        b: {path: /b, fallback: [{when: {tools: [other], kind: timeout}, use_tool: {tool: a}}, {use_tool: {tool: c}}]}
        c: {path: /c, fallback: [{use_tool: {tool: a}}]}
        alone: {path: /d, fallback: [{use_tool: {tool: alone}}]}
        into: {path: /e, fallback: [{use_tool: {tool: a}}]}
        last: {path: /f}
fallback: [{use_tool: {tool: last}}]
"#
    )));
}

#[test]
fn circles_go_through_the_lists_of_a_toolset_and_of_the_agent() {
    insta::assert_snapshot!(problems(&with(
        r#"toolsets:
  s:
    prefix: s_
    fallback: [{when: {tools: [a, a2]}, use_tool: {tool: b}}, {when: {tool: s_b}, use_tool: {tool: a}}]
    http:
      base_url: http://h
      endpoints: {a: {path: /a}, a2: {path: /a}, b: {path: /b}, get: {path: /g, fallback: [{use_tool: {tool: t_get}}]}}
  t:
    prefix: t_
    http: {base_url: http://h, endpoints: {get: {path: /a}, it: {path: /i}}}
fallback: [{when: {tool: it}, use_tool: {tool: it}}, {use_tool: {tool: s_get}}]
"#
    )));
}

#[test]
fn nothing_is_said_where_tools_are_listed_by_a_document() {
    let text = |tool: &str, more: &str| {
        with(&format!(
            r#"toolsets:
  docs:
    prefix: d_
    openapi: {{document: shop.yaml}}
    tools:
      pay: {{effect: mutating, reconcile: {{tool: find}}, fallback: [{{when: {{kind: conflict}}, use_tool: {{tool: look{more}}}}}]}}
  s:
    http:
      base_url: http://h
      endpoints:
        find: {{path: /f, parameters: {{id: {{type: string, required: true}}}}}}
        look: {{path: /l, fallback: [{{use_tool: {{tool: {tool}}}}}]}}
"#
        ))
    };
    for tool in ["nothing", "d_pay", "pay"] {
        good(&text(tool, ""));
    }
    // What is known is checked all the same.
    insta::assert_snapshot!(problems(&text("find", ", arguments: {x: 1}")));
    // Where a document may have taken the name, it is not known whose it is.
    good(&text("find", ", arguments: {x: 1}").replace("prefix: d_", "prefix: ''"));
}
