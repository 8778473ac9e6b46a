//! Texts, versions, and files that refer to each other.

use backstop_toolsets::openapi::{OpenApiOptions, read};

use super::{Files, api, shown, try_read};

#[test]
fn texts_that_are_no_document_are_refused_with_the_reason() {
    let refused = |text: &str| try_read(text).unwrap_err().to_string();
    assert_eq!(refused("[]"), "the document is not an object");
    assert_eq!(refused("{}"), "the document has no `openapi` and no `swagger` version");
    assert_eq!(refused("openapi: 4.0.0"), "OpenAPI 4.0.0 is not known: 2.0 and 3.x are");
    assert_eq!(refused("swagger: '1.2'"), "Swagger 1.2 is not known: 2.0 is");
    assert_eq!(
        refused("{\"openapi\": "),
        "not a JSON or YAML document: EOF while parsing a value at line 1 column 12"
    );
    assert!(refused("a: [").starts_with("not a JSON or YAML document: "), "{}", refused("a: ["));
    assert!(
        refused("<!doctype html>").starts_with("the document is not an object"),
        "{}",
        refused("<!doctype html>")
    );
}

#[test]
fn versions_are_read_as_they_are_written() {
    for text in [
        "openapi: 3.0.0\npaths: {/a: {get: {}}}",
        "openapi: 3.1\npaths: {/a: {get: {}}}",
        "openapi: '3.2.0'\npaths: {/a: {get: {}}}",
        "\u{feff}{\"openapi\": \"3.0.3\", \"paths\": {\"/a\": {\"get\": {}}}}",
        "swagger: 2.0\npaths: {/a: {get: {}}}",
    ] {
        assert_eq!(api(text).endpoints.len(), 1, "{text}");
    }
}

#[test]
fn a_key_that_is_there_twice_is_told() {
    let json = r#"{"openapi": "3.1.0", "paths": {"/a/b": {"get": {"summary": "One.", "summary": "Two."}}}}"#;
    let yaml = "openapi: 3.1.0\npaths:\n  /a/b:\n    get:\n      summary: One.\n      summary: Two.\n";
    for text in [json, yaml] {
        let api = api(text);
        assert_eq!(api.endpoints[0].spec.description, "Two.");
        let problems: Vec<String> = api.problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            problems,
            ["the key is there twice: the last one counts (at `/paths/~1a~1b/get/summary`)"],
            "{text}"
        );
    }
}

#[test]
fn what_only_yaml_has_is_read() {
    let text = "
openapi: 3.1.0
info: {}
x-common: &common {summary: Merged., tags: [t]}
paths:
  /a:
    get:
      <<: *common
      operationId: a
      parameters:
        - {name: x, in: query, schema: {enum: [on, off, yes, n, 0x1F, 1e3, 2020-01-01, 99999999999999999999, .inf]}}
      responses: {200: {content: {application/json: {schema: {type: integer}}}}}
";
    insta::assert_snapshot!(shown(&api(text)));
}

#[test]
fn files_of_the_same_folder_are_followed_and_others_are_not() {
    let files = Files(
        [
            ("paths/pets.yaml", "get: {operationId: list, parameters: [{$ref: '../params.json#/limit'}]}\npost: {operationId: add, requestBody: {required: true, content: {application/json: {schema: {$ref: '../schemas/pet.yaml'}}}}}"),
            ("params.json", r#"{"limit": {"name": "limit", "in": "query", "schema": {"type": "integer"}}}"#),
            ("schemas/pet.yaml", "type: object\nproperties: {name: {type: string}, friend: {$ref: pet.yaml}, owner: {$ref: 'person.yaml#/$defs/P'}}"),
            ("schemas/person.yaml", "$defs: {P: {type: object, properties: {pet: {$ref: pet.yaml}}}}"),
        ]
        .into(),
    );
    let text = "
openapi: 3.1.0
info: {}
paths:
  /pets: {$ref: paths/pets.yaml}
  /out: {$ref: ../secret.yaml}
  /gone: {$ref: gone.yaml}
  /far: {$ref: 'https://h.example/a.yaml'}
";
    insta::assert_snapshot!(shown(&read(text, &OpenApiOptions::default(), &files).unwrap()));
}

#[test]
fn what_swagger_2_shares_is_found() {
    insta::assert_snapshot!(shown(&api(r##"
swagger: '2.0'
info: {title: T, version: '1'}
host: h.example
basePath: v1
schemes: [ws, http]
produces: [application/xml, application/json]
securityDefinitions: {oauth: {type: oauth2, flow: application, tokenUrl: 'https://h.example/token', scopes: {}}}
security: [{oauth: []}]
parameters:
  'a/b': {name: ids, in: query, type: array, items: {type: integer}, collectionFormat: ssv, description: Those., required: true}
  File: {name: file, in: formData, type: file}
responses: {Found: {description: Found., schema: {$ref: '#/definitions/Thing'}}}
definitions: {Thing: {type: object, properties: {name: {type: string}}}}
paths:
  /things: {get: {operationId: find, parameters: [{$ref: '#/parameters/a~1b'}], responses: {'200': {$ref: '#/responses/Found'}}}}
  /files: {post: {operationId: upload, parameters: [{$ref: '#/parameters/File'}]}}
  /gone: {get: {operationId: gone, parameters: [{$ref: '#/parameters/Gone'}]}}
"##)));
}

#[test]
fn swagger_2_comes_to_the_same() {
    insta::assert_snapshot!(shown(&api(r##"
swagger: '2.0'
info: {title: Pets, version: '1'}
host: h.example
basePath: /v1
schemes: [http, https]
consumes: [application/json]
produces: [application/json]
securityDefinitions: {key: {type: apiKey, in: query, name: key}, basic: {type: basic}}
security: [{key: []}]
parameters:
  Limit: {name: limit, in: query, type: integer, maximum: 9}
  Pet: {name: pet, in: body, required: true, schema: {$ref: '#/definitions/Pet'}}
paths:
  /pets:
    parameters: [{$ref: '#/parameters/Limit'}]
    get:
      operationId: list
      parameters: [{name: tags, in: query, type: array, items: {type: string}, collectionFormat: pipes}, {name: key, in: query, type: string}]
      responses: {'200': {schema: {type: array, items: {$ref: '#/definitions/Pet'}}}}
    post: {operationId: add, parameters: [{$ref: '#/parameters/Pet'}]}
  /pets/{id}/photo:
    post:
      operationId: upload
      consumes: [multipart/form-data]
      parameters:
        - {name: id, in: path, required: true, type: array, items: {type: string}, collectionFormat: csv}
        - {name: file, in: formData, required: true, type: file, description: The photo.}
        - {name: tags, in: formData, type: array, items: {type: string}, collectionFormat: multi}
  /login:
    post: {operationId: login, parameters: [{name: user, in: formData, type: string, required: true}]}
definitions:
  Pet: {type: object, required: [name], properties: {name: {type: string, x-nullable: true}, id: {type: integer, readOnly: true}}}
"##)));
}
