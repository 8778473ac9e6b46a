//! OpenAPI's schemas as JSON Schema.

use backstop_core::{
    Catalog, Effect, Reference, ToolCall, ToolPolicy, catalog::CatalogSource, error::ViewFacts,
};
use backstop_toolsets::openapi::OpenApi;
use serde_json::Value;

use super::{api, document, shown};

fn parameter(version: &str, schema: &str) -> Value {
    let text = format!(
        "openapi: {version}\ninfo: {{}}\npaths: {{/a: {{get: {{parameters: [{{name: x, in: query, schema: {schema}}}]}}}}}}"
    );
    let api = api(&text);
    assert_eq!(api.problems, []);
    api.endpoints[0].spec.input_schema["properties"]["x"].clone()
}

#[test]
fn what_3_0_says_in_its_own_way_is_upgraded() {
    for (written, upgraded) in [
        ("{type: string, nullable: true}", r#"{"type":["string","null"]}"#),
        (
            "{type: string, enum: [a, b], nullable: true}",
            r#"{"type":["string","null"],"enum":["a","b",null]}"#,
        ),
        (
            "{allOf: [{type: string}], nullable: true}",
            r#"{"anyOf":[{"allOf":[{"type":"string"}]},{"type":"null"}]}"#,
        ),
        ("{nullable: true}", "{}"),
        (
            "{type: integer, minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false}",
            r#"{"type":"integer","maximum":9,"exclusiveMinimum":1}"#,
        ),
        (
            "{type: string, example: x, xml: {name: y}, externalDocs: {url: z}, x-more: 1}",
            r#"{"type":"string"}"#,
        ),
        (
            "{type: object, properties: {nullable: {type: boolean, readOnly: true}, example: {type: string}}, required: [nullable, example]}",
            r#"{"type":"object","properties":{"example":{"type":"string"}},"required":["example"]}"#,
        ),
        (
            "{type: array, items: {type: string, format: uuid}, default: [{nullable: true}]}",
            r#"{"type":"array","items":{"type":"string","format":"uuid"},"default":[{"nullable":true}]}"#,
        ),
    ] {
        assert_eq!(parameter("3.0.0", written).to_string(), upgraded, "{written}");
    }
}

#[test]
fn what_3_1_says_stays() {
    for (written, kept) in [
        (
            "{type: [string, 'null'], examples: [x], const: null}",
            r#"{"type":["string","null"],"examples":["x"],"const":null}"#,
        ),
        (
            "{exclusiveMinimum: 3, $comment: x, deprecated: true, default: null}",
            r#"{"exclusiveMinimum":3,"default":null}"#,
        ),
        (
            "{prefixItems: [{type: string}], items: false}",
            r#"{"prefixItems":[{"type":"string"}],"items":false}"#,
        ),
        ("true", "{}"),
    ] {
        assert_eq!(parameter("3.1.0", written).to_string(), kept, "{written}");
    }
}

fn told(api: &OpenApi, arguments: &str) -> String {
    let tools = api.endpoints.iter().map(|endpoint| (endpoint.spec.clone(), ToolPolicy::default())).collect();
    let (catalog, problems) = Catalog::build(vec![CatalogSource::new("t", tools)]);
    assert_eq!(problems, []);
    let name = &api.endpoints[0].spec.name;
    match catalog.validate(&ToolCall::new("c", name, arguments)) {
        Ok(call) => Value::from(call.into_arguments()).to_string(),
        Err(error) => {
            ViewFacts::new(name, Effect::ReadOnly, Reference::new(0)).view(&error, None).as_str().to_owned()
        }
    }
}

const TASKS: &str = r##"
paths:
  /tasks: {post: {operationId: plan, requestBody: {required: true, content: {application/json: {schema: {type: object, required: [task], properties: {
    task: {$ref: '#/components/schemas/Task'}, also: {$ref: '#/components/schemas/Task/properties/sub/items'}, gone: {$ref: '#/components/schemas/Missing'}}}}}}}}
components:
  schemas:
    Task: {type: object, required: [title], properties: {title: {type: string}, 'a~b/c': {type: integer}, sub: {type: array, items: {$ref: '#/components/schemas/Task'}}, other: {$ref: '#/components/schemas/A'}}}
    A: {type: object, properties: {b: {$ref: '#/components/schemas/B'}}}
    B: {description: Back again., allOf: [{$ref: '#/components/schemas/A'}]}
"##;

#[test]
fn references_stay_with_the_definitions_that_are_used() {
    insta::assert_snapshot!(shown(&api(&document(TASKS))));
}

#[test]
fn recursion_is_checked_to_any_depth() {
    let api = api(&document(TASKS));
    assert_eq!(
        told(&api, r#"{"task":{"title":"t","sub":[{}]}}"#),
        "Parameter \"task.sub[0].title\" is mandatory for tool \"plan\".\n\
         Call plan again with \"task.sub[0].title\" added."
    );
    let deep = r#"{"task":{"title":"t","sub":[{"title":"u","sub":[{"title":1}]}]},"gone":7}"#;
    assert_eq!(
        told(&api, deep),
        "Invalid value for parameter \"task.sub[0].sub[0].title\" of tool \"plan\": must be a string; got 1 (an integer)\n\
         Call it again with: plan {\"task\":{\"title\":\"t\",\"sub\":[{\"title\":\"u\",\"sub\":[{\"title\":\"1\"}]}]},\"gone\":7}"
    );
}

#[test]
fn a_discriminator_says_which_branch_is_meant() {
    let api = api(&document(
        r##"
paths:
  /pets: {post: {operationId: add, requestBody: {required: true, content: {application/json: {schema: {type: object, required: [pet], properties: {pet: {$ref: '#/components/schemas/Pet'}}}}}}}}
components:
  schemas:
    Pet: {oneOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}], discriminator: {propertyName: kind, mapping: {feline: '#/components/schemas/Cat'}}}
    Cat: {type: object, required: [lives], properties: {kind: {type: string}, lives: {type: integer}}}
    Dog: {type: object, required: [bark], properties: {kind: {type: string}, bark: {type: string}}}
"##,
    ));
    assert_eq!(
        told(&api, r#"{"pet":{"kind":"feline","lives":9}}"#),
        r#"{"pet":{"kind":"feline","lives":9}}"#
    );
    assert_eq!(
        told(&api, r#"{"pet":{"kind":"Dog","bark":"wuff"}}"#),
        r#"{"pet":{"kind":"Dog","bark":"wuff"}}"#
    );
    insta::assert_snapshot!(
        [
            told(&api, r#"{"pet":{"kind":"Dog"}}"#),
            told(&api, r#"{"pet":{"kind":"feline","lives":"9"}}"#),
            told(&api, r#"{"pet":{"kind":"fish","lives":9}}"#),
        ]
        .join("\n\n")
    );
}

#[test]
fn a_branch_that_holds_its_own_parent_is_checked() {
    let api = api(&document(
        r##"
paths:
  /pets: {post: {operationId: add, requestBody: {required: true, content: {application/json: {schema: {type: object, required: [pet], properties: {pet: {$ref: '#/components/schemas/Pet'}}}}}}}}
components:
  schemas:
    Pet: {type: object, oneOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}], discriminator: {propertyName: kind}}
    Cat: {allOf: [{$ref: '#/components/schemas/Pet'}, {type: object, required: [lives], properties: {lives: {type: integer}}}]}
    Dog: {allOf: [{$ref: '#/components/schemas/Pet'}, {type: object, required: [bark], properties: {bark: {type: string}}}]}
"##,
    ));
    assert_eq!(told(&api, r#"{"pet":{"kind":"Cat","lives":9}}"#), r#"{"pet":{"kind":"Cat","lives":9}}"#);
    assert_eq!(
        told(&api, r#"{"pet":{"kind":"Dog"}}"#),
        "Parameter \"pet.bark\" is mandatory for tool \"add\".\nCall add again with \"pet.bark\" added."
    );
}

#[test]
fn the_schema_of_an_answer_is_that_of_its_json() {
    let output = |content: &str| {
        let text = document(&format!(
            "paths: {{/a: {{get: {{responses: {{default: {{}}, 4XX: {{}}, 2XX: {{content: {content}}}}}}}}}}}"
        ));
        api(&text).endpoints[0].spec.output_schema.clone().map(|schema| schema.to_string())
    };
    let integer = Some(r#"{"type":"integer"}"#.to_owned());
    assert_eq!(output("{'Application/JSON; charset=utf-8': {schema: {type: integer}}}"), integer);
    assert_eq!(
        output("{text/plain: {schema: {type: string}}, application/hal+json: {schema: {type: integer}}}"),
        integer
    );
    assert_eq!(output("{application/json: {schema: {}}}"), None);
    assert_eq!(output("{application/json: {schema: {$ref: '#/components/schemas/Gone'}}}"), None);
    assert_eq!(
        output(&format!("{{application/json: {{schema: {{const: {}}}}}}}", "x".repeat(300 * 1024))),
        None
    );
}

#[test]
fn a_keyword_that_nothing_can_be_checked_with_is_left_out_and_told() {
    insta::assert_snapshot!(shown(&api(&document(
        r#"
paths:
  /a: {get: {operationId: a, parameters: [
    {name: id, in: query, schema: {type: string, pattern: '([', maxLength: 5}},
    {name: n, in: query, schema: {type: number, minimum: 'three', exclusiveMinimum: true}}]}}
"#
    ))));
}
