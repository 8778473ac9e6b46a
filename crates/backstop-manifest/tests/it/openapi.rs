//! `openapi` toolsets, and what endpoints say about forms.

use backstop_manifest::v1::{Auth, DocumentPlace, OpenApiConfig, ToolsetKind};

use crate::{good, problems, with};

fn openapi(text: &str) -> OpenApiConfig {
    let manifest = good(&with(text));
    match &manifest.toolsets[0].kind {
        ToolsetKind::OpenApi(openapi) => openapi.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_document_is_a_file_beside_the_manifest_or_an_address() {
    let whole = openapi(
        r#"toolsets:
  pets:
    prefix: pets_
    openapi:
      document: api/pets.yaml
      base_url: https://${HOST}/v1
      auth: {bearer: "${secret:TOKEN}"}
      headers: {X-A: b}
      idempotency_header: X-Key
      include: [listPets, {tag: pets, method: GET}, {path: "/pets/**"}]
      exclude: [{operation: "*Beta"}]
      rename: {listPets: list_pets}
    tools: {anything: {effect: read_only, timeout: 3s}}
    fallback: [{when: {tools: [anything_else]}, retry: {}}, {use_tool: {tool: whatever}}]
"#,
    );
    assert_eq!(whole.document.value, DocumentPlace::File("base/api/pets.yaml".into()));
    assert_eq!(whole.base_url.unwrap().value.to_string(), "https://shop.example.test/v1");
    assert!(matches!(whole.auth, Auth::Bearer(_)));
    assert_eq!(whole.idempotency_header, "X-Key");
    insta::assert_debug_snapshot!((whole.include, whole.exclude, whole.rename));

    let remote = openapi("toolsets: {a: {openapi: {document: 'https://h.example/openapi.json?v=2'}}}");
    let DocumentPlace::Url(url) = remote.document.value else { panic!() };
    assert_eq!(url.to_string(), "https://h.example/openapi.json?v=2");
    assert!(remote.base_url.is_none());
}

#[test]
fn what_is_wrong_is_told_at_its_place() {
    insta::assert_snapshot!(problems(&with(
        r#"toolsets:
  a: {openapi: {}}
  b: {openapi: {document: x.yaml, include: [{}, {operaton: x}, [y]], rename: {a: same, b: same, c: "not fit"}, base_url: "ftp://h"}}
  c: {openapi: {document: x.yaml}, http: {base_url: "http://h"}}
"#
    )));
}

#[test]
fn endpoints_say_how_values_are_written() {
    let manifest = good(&with(
        r#"toolsets:
  s:
    http:
      base_url: http://h
      endpoints:
        form:
          method: POST
          path: /f
          body: form
          parameters:
            ids: {type: array, items: {type: integer}, style: space_delimited, explode: false}
            session: {in: cookie}
            where: {in: query, schema: {type: object}, style: deep_object}
        upload: {method: POST, path: /u, body: multipart, parameters: {note: {media_type: text/markdown}}}
        text: {method: POST, path: /t, body: text, parameters: {body: {}}}
        csv: {method: PUT, path: /c, body: {media_type: text/csv}, parameters: {rows: {in: body}}}
"#,
    ));
    let ToolsetKind::Http(http) = &manifest.toolsets[0].kind else { panic!() };
    let shown: Vec<_> = http
        .endpoints
        .iter()
        .map(|endpoint| {
            let parameters = endpoint.parameters.iter().map(|parameter| {
                (
                    parameter.name.value.clone(),
                    parameter.place,
                    parameter.style,
                    parameter.explode,
                    parameter.media_type.clone(),
                )
            });
            (endpoint.name.value.clone(), endpoint.body.clone(), parameters.collect::<Vec<_>>())
        })
        .collect();
    insta::assert_debug_snapshot!(shown);
}

#[test]
fn forms_that_do_not_fit_are_told() {
    insta::assert_snapshot!(problems(&with(
        r#"toolsets:
  s:
    http:
      base_url: http://h
      endpoints:
        a: {path: "/a/{p}", parameters: {p: {style: form}, q: {style: matrix}, r: {in: header, style: deep}}}
        b: {method: POST, path: /b, body: text, parameters: {x: {}, y: {}}}
        c: {method: POST, path: /c, body: xml}
        d: {method: POST, path: /d, body: {media: text/csv}}
"#
    )));
}

#[test]
fn templates_name_parameters_that_go_nowhere_else() {
    let manifest = good(&with(
        r#"toolsets:
  s:
    http:
      base_url: http://h
      endpoints:
        search:
          path: /s
          query: {q: "{term} in:title", page: 1}
          headers: {X-Ref: "r-{id}"}
          parameters: {term: {required: true}, id: {type: integer}, sort: {}}
        order:
          method: POST
          path: /o
          body: {template: {filter: {id: "{id}"}, text: "{{as it is}}"}}
          parameters: {id: {type: integer}}
"#,
    ));
    let ToolsetKind::Http(http) = &manifest.toolsets[0].kind else { panic!() };
    let shown: Vec<_> = http
        .endpoints
        .iter()
        .map(|endpoint| {
            let places: Vec<_> =
                endpoint.parameters.iter().map(|it| (it.name.value.clone(), it.place)).collect();
            (endpoint.query.clone(), endpoint.headers.clone(), endpoint.body.clone(), places)
        })
        .collect();
    insta::assert_debug_snapshot!(shown);
}

#[test]
fn templates_that_name_nothing_are_told() {
    insta::assert_snapshot!(problems(&with(
        r#"toolsets:
  s:
    http:
      base_url: http://h
      endpoints:
        a: {path: /a, query: {q: "{terms}"}, parameters: {term: {}}}
        b: {path: /b, headers: {"a b": "{x}", Host: "{x}"}, parameters: {x: {}}}
        c: {method: POST, path: /c, body: {template: "{x}"}, parameters: {x: {const: 1}, y: {}}}
        d: {path: /d, parameters: {x: {in: template}}}
"#
    )));
}
