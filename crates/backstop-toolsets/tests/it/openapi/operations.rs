//! Operations: which become tools, what they are called, and where they go.

use backstop_toolsets::openapi::{OpenApiOptions, Selector, read};

use super::{Files, api, document, shown};

#[test]
fn operations_become_tools_with_names_effects_and_short_descriptions() {
    insta::assert_snapshot!(shown(&api(&document(
        r#"
paths:
  /pets:
    get: {operationId: listPets, tags: [pets], summary: Lists pets., description: Long.}
    post: {operationId: createPet, description: "Creates a **pet**.\n\nAnd says much about it."}
  /pets/{petId}:
    parameters: [{name: petId, in: path, required: true, schema: {type: integer}}]
    get: {tags: [pets]}
    put: {operationId: listPets}
    patch: {deprecated: true}
    delete: {summary: "<p>Deletes a pet.</p>"}
    head: {}
    trace: {}
    x-extra: {}
"#
    ))));
}

fn options(text: &str, options: &OpenApiOptions) -> String {
    let api = read(text, options, &Files::default()).unwrap();
    let names: Vec<&str> = api.endpoints.iter().map(|endpoint| endpoint.spec.name.as_str()).collect();
    let problems: Vec<String> = api.problems.iter().map(ToString::to_string).collect();
    [names.join(" "), problems.join("\n")].join("\n").trim_end().to_owned()
}

const SHOP: &str = r#"
paths:
  /orders: {get: {operationId: orders/list, tags: [orders]}, post: {operationId: orders/create, tags: [orders]}}
  /orders/{id}: {get: {operationId: orders/get, tags: [orders], parameters: [{name: id, in: path}]}}
  /users: {get: {operationId: users/list, tags: [users]}}
"#;

#[test]
fn operations_are_picked_and_renamed() {
    let text = document(SHOP);
    let selector = |operation: &str, tag: &str, path: &str, method: &str| {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Selector { operation: some(operation), tag: some(tag), path: some(path), method: some(method) }
    };
    let mut picks = OpenApiOptions::default();
    picks.include = vec![selector("", "orders", "", ""), selector("users/*", "", "", "")];
    picks.exclude = vec![selector("", "", "", "post")];
    picks.rename = vec![("orders/list".into(), "list_orders".into())];
    assert_eq!(options(&text, &picks), "list_orders orders/get users/list");

    picks.include = vec![selector("", "", "/orders/*", "get"), selector("nothing*", "", "/x", "")];
    picks.exclude = vec![];
    picks.rename = vec![("order/get".into(), "get".into()), ("users/list".into(), "users".into())];
    assert_eq!(
        options(&text, &picks),
        "orders/get\n\
         `include` picks no operation: operation `nothing*`, path `/x` (at `/paths`)\n\
         `rename`: there is no operation `order/get`, did you mean `orders/get`? (at `/paths`)\n\
         `rename`: there is no operation `users/list` (at `/paths`)"
    );
}

#[test]
fn what_names_nothing_is_told_with_what_is_near() {
    let text = document(SHOP);
    let mut picks = OpenApiOptions::default();
    picks.include = vec![
        Selector { operation: Some("order/list".into()), ..Selector::default() },
        Selector { tag: Some("user".into()), ..Selector::default() },
        Selector { path: Some("/order".into()), ..Selector::default() },
        Selector { method: Some("PATCH".into()), ..Selector::default() },
    ];
    assert_eq!(
        options(&text, &picks),
        "\n`include` picks no operation: operation `order/list`, did you mean `orders/list`? (at `/paths`)\n\
         `include` picks no operation: tag `user`, did you mean `users`? (at `/paths`)\n\
         `include` picks no operation: path `/order`, did you mean `/orders`? (at `/paths`)\n\
         `include` picks no operation: method `PATCH` (at `/paths`)"
    );
}

#[test]
fn new_names_are_given_by_method_and_path_too_and_are_there_once() {
    let text = document(SHOP);
    let mut picks = OpenApiOptions::default();
    let renamed = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect::<Vec<_>>()
    };
    picks.rename =
        renamed(&[("GET /orders", "orders/get"), ("orders/get", "orders/list"), ("users/list", "users")]);
    assert_eq!(options(&text, &picks), "orders/get orders/create orders/list users");
    picks.rename =
        renamed(&[("orders/list", "users/list"), ("orders/get", "one"), ("GET /orders/{id}", "two")]);
    assert_eq!(
        options(&text, &picks),
        "orders/list orders/create one users/list\n\
         `rename`: two operations are called `users/list` (at `/paths`)\n\
         `rename`: `orders/get` has two new names (at `/paths`)"
    );
}

#[test]
fn deprecated_operations_are_left_out_on_demand() {
    let text = document("paths: {/a: {get: {deprecated: true}, put: {}}}");
    let mut picks = OpenApiOptions::default();
    assert_eq!(options(&text, &picks), "get_a put_a");
    picks.without_deprecated = true;
    assert_eq!(options(&text, &picks), "put_a");
}

#[test]
fn a_name_that_is_made_gives_way_to_one_that_is_written() {
    let text = document("paths: {/a: {get: {}}, /b: {get: {operationId: get_a}}}");
    assert_eq!(options(&text, &OpenApiOptions::default()), "get_a_2 get_a");
}

#[test]
fn another_base_takes_the_place_of_the_servers_of_the_document() {
    let text = document(
        "paths: {/a: {get: {servers: [{url: 'https://h.example/v1/beta'}]}}, /b: {get: {servers: [{url: 'https://other.example'}]}}}",
    );
    let mut picks = OpenApiOptions::default();
    picks.base_url = Some("http://127.0.0.1:4010".parse().unwrap());
    insta::assert_snapshot!(shown(&read(&text, &picks, &Files::default()).unwrap()));
}

#[test]
fn a_name_is_the_same_whatever_else_is_picked() {
    let text = document("paths: {/a: {get: {operationId: same}}, /b: {get: {operationId: same}}}");
    let mut picks = OpenApiOptions::default();
    picks.include = vec![Selector { path: Some("/b".into()), ..Selector::default() }];
    assert_eq!(options(&text, &picks), "same_2");
}

#[test]
fn one_broken_operation_leaves_the_others() {
    insta::assert_snapshot!(shown(&api(&document(
        r##"
paths:
  /good: {get: {operationId: good}}
  /a: {get: {operationId: bad_place, parameters: [{name: x, in: body}]}}
  /b: {get: {operationId: no_name, parameters: [{in: query}]}}
  /c: {get: {operationId: gone, parameters: [{$ref: '#/components/parameters/Gone'}]}}
  /d: {get: {operationId: circle, parameters: [{$ref: '#/components/parameters/A'}]}}
  /e: {get: 5}
  /f: 7
  /g: {$ref: '#/components/pathItems/Gone'}
  /h/{}: {get: {operationId: empty_placeholder}}
  /i/../j: {get: {operationId: climbs}}
  no-slash: {get: {operationId: no_slash}}
  /k: {get: {operationId: elsewhere, servers: [{url: 'https://other.example/v1'}]}}
  /l: {post: {operationId: gone_body, requestBody: {$ref: '#/components/requestBodies/Gone'}}}
  /also: {get: {operationId: also_good}}
components: {parameters: {A: {$ref: '#/components/parameters/B'}, B: {$ref: '#/components/parameters/A'}}}
"##
    ))));
}

#[test]
fn servers_and_what_they_need() {
    insta::assert_snapshot!(shown(&api(r#"
openapi: 3.0.3
info: {title: T, version: '1'}
servers: [{url: 'https://{region}.h.example/{base}', variables: {region: {default: eu}, base: {enum: [v2], default: v2}}}]
security: [{key: []}, {token: []}]
paths:
  /a: {get: {operationId: a}}
  /b: {get: {operationId: open, security: []}}
  /c: {get: {operationId: below, servers: [{url: 'https://eu.h.example/v2/beta'}], security: [{oauth: [read]}]}}
  /d: {get: {operationId: keys, security: [{basic: []}], parameters: [
    {name: X-Key, in: header, schema: {type: string}}, {name: q, in: query, schema: {type: string}},
    {name: Idempotency-Key, in: header, schema: {type: string}}, {name: Accept, in: header, schema: {type: string}},
    {name: Host, in: header, schema: {type: string}}]}}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: x-key}
    token: {type: http, scheme: Bearer}
    basic: {type: http, scheme: basic}
    oauth: {type: oauth2, flows: {clientCredentials: {tokenUrl: 'https://h.example/token', scopes: {}}}}
"#)));
}

#[test]
fn a_relative_server_needs_the_address_of_the_document() {
    let text = "openapi: 3.1.0\ninfo: {}\nservers: [{url: ../v2}]\npaths: {/a: {get: {}}}";
    assert_eq!(api(text).base_url, None);
    let mut options = OpenApiOptions::default();
    options.document_url = Some("https://h.example/docs/openapi.yaml".parse().unwrap());
    let read = read(text, &options, &Files::default()).unwrap();
    assert_eq!(read.base_url.unwrap().as_str(), "https://h.example/v2");
}
