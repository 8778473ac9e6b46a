//! How endpoints say where values go and how they are written.

use backstop_manifest::v1::{Body, ParameterPlace};

use crate::{endpoints, good, http, problems};

#[test]
fn a_get_has_a_body_where_somebody_says_so() {
    let manifest = good(&endpoints(
        r#"{search: {path: /s, body: json, parameters: {size: {}, query: {in: body, schema: {type: object}}}}}"#,
    ));
    let endpoint = &http(&manifest).endpoints[0];
    let places: Vec<_> = endpoint.parameters.iter().map(|parameter| parameter.place).collect();
    assert_eq!(places, [ParameterPlace::Query, ParameterPlace::Body]);
    assert_eq!(endpoint.body, Body::Json);
}

#[test]
fn values_that_can_not_be_where_they_are_said_to_be_are_told() {
    insta::assert_snapshot!(problems(&endpoints(
        r#"
        a: {path: /a, parameters: {x: {in: body}, y: {in: cookie, wire_name: "a b"}, "ä": {in: cookie}}}
        b: {method: HEAD, path: /b, body: json}
        c: {path: /c, parameters: {kind: {in: header, wire_name: Content-Type}, expect: {in: header}}}
        d: {method: POST, path: /d, body: {media_type: csv}, parameters: {x: {}}}
        e: {method: POST, path: /e, body: multipart, parameters: {x: {media_type: "text/csv\r\nX-A: b"}, y: {media_type: "text/"}}}
"#
    )));
}

#[test]
fn forms_that_change_nothing_are_told() {
    insta::assert_snapshot!(problems(&endpoints(
        r#"
        a:
          method: POST
          path: /a
          query: {q: "{t}"}
          parameters:
            j: {style: deep_object, media_type: text/csv}
            q: {in: query, wire_name: other, style: form, explode: false, media_type: text/csv}
            t: {explode: true}
        b: {method: POST, path: /b, body: multipart, parameters: {p: {media_type: text/csv, explode: true}}}
        c: {method: POST, path: /c, body: form, parameters: {p: {style: deep_object, explode: true}}}
"#
    )));
}

#[test]
fn templates_that_can_not_be_meant_are_told_at_their_text() {
    insta::assert_snapshot!(problems(&endpoints(
        r#"
        a:
          method: POST
          path: /a
          query: {q: "{term", same: "{x}", fixed: 1}
          headers: {X-A: "{x}", x-a: "a", Content-Type: text/csv, X-B: "a\nb", X-C: "{}"}
          body: {template: {filter: [{id: "{idd}"}, "a {key} b"], "{x}": 1, braces: "{{idd}}", bad: "a}"}}
          parameters:
            x: {}
            id: {in: template}
            key: {in: query, const: 7}
            same: {in: query}
            far: {in: header, wire_name: X-A}
"#
    )));
}
