//! Parameters and bodies, flattened into the arguments of one tool.

use super::{api, document, shown};

#[test]
fn parameters_keep_their_styles() {
    insta::assert_snapshot!(shown(&api(&document(
        r#"
paths:
  /items/{id}{more}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: string}}
      - {name: more, in: path, required: true, style: matrix, explode: true, schema: {type: object}}
      - {name: tags, in: query, description: From the path., schema: {type: string}}
    get:
      operationId: find
      parameters:
        - {name: tags, in: query, style: form, explode: false, schema: {type: array, items: {type: string}}}
        - {name: ids, in: query, style: pipeDelimited, explode: false, schema: {type: array, items: {type: integer}}}
        - {name: 'filter', in: query, style: deepObject, explode: true, schema: {type: object}}
        - {name: plain, in: query, schema: {type: array, items: {type: string}}}
        - {name: where, in: query, content: {application/json: {schema: {type: object}}}}
        - {name: 'page[size]', in: query, allowReserved: true, schema: {type: integer, default: 10}, required: true}
        - {name: X-Trace, in: header, description: "A  <b>trace</b>.\n", schema: {type: string, description: Not this.}}
        - {name: session, in: cookie, schema: {type: string}}
"#
    ))));
}

#[test]
fn names_that_clash_have_their_place_in_front() {
    insta::assert_snapshot!(shown(&api(&document(
        r#"
paths:
  /things/{id}:
    put:
      operationId: put
      parameters:
        - {name: id, in: query, schema: {type: integer}}
        - {name: id, in: header, schema: {type: string}}
        - {name: id, in: path, required: true, schema: {type: string}}
      requestBody:
        required: true
        content: {application/json: {schema: {type: object, required: [id], properties: {id: {type: boolean}, $x: {type: string}, x: {type: string}}}}}
"#
    ))));
}

#[test]
fn a_placeholder_that_is_not_declared_is_a_required_text_and_an_undeclared_one_goes() {
    insta::assert_snapshot!(shown(&api(&document(
        "paths: {'/orders/{orderId}/{action}': {get: {operationId: act, parameters: \
         [{name: action, in: path, required: true, schema: {type: string}}, {name: other, in: path, schema: {}}]}}}"
    ))));
}

#[test]
fn bodies_of_every_form() {
    insta::assert_snapshot!(shown(&api(&document(
        r##"
paths:
  /a: {post: {operationId: flat, requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/New'}}}}}}
  /b: {post: {operationId: optional_with_required, requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/New'}}}}}}
  /c: {post: {operationId: optional, requestBody: {content: {application/json: {schema: {type: object, properties: {a: {type: string}}}}}}}}
  /d: {post: {operationId: list, requestBody: {required: true, description: The items., content: {application/vnd.x+json: {schema: {type: array, items: {$ref: '#/components/schemas/Tag'}}}}}}}
  /e: {post: {operationId: choice, requestBody: {required: true, content: {application/json: {schema: {oneOf: [{type: string}, {type: integer}]}}}}}}
  /f: {post: {operationId: form, requestBody: {required: true, content: {application/x-www-form-urlencoded: {schema: {type: object, properties: {a: {type: array, items: {type: string}}, b: {type: object}}}, encoding: {a: {style: spaceDelimited, explode: false}, b: {contentType: application/json}}}}}}}
  /g: {post: {operationId: upload, requestBody: {required: true, content: {multipart/form-data: {schema: {type: object, required: [file], properties: {file: {type: string, format: binary}, note: {type: string}}}, encoding: {note: {contentType: text/markdown}}}}}}}
  /h: {post: {operationId: text, requestBody: {required: true, content: {text/plain: {schema: {type: string}}}}}}
  /i: {post: {operationId: binary, requestBody: {content: {image/png: {}, application/octet-stream: {schema: {type: string, format: binary}}}}}}
  /j: {post: {operationId: best, requestBody: {required: true, content: {text/plain: {}, application/xml: {}, application/json: {schema: {type: object, properties: {a: {}}}}}}}}
  /k: {post: {operationId: merged, requestBody: {required: true, content: {application/json: {schema: {allOf: [{$ref: '#/components/schemas/Tag'}, {type: object, required: [b], properties: {b: {type: string}}}]}}}}}}
components:
  schemas:
    New:
      type: object
      required: [id, name]
      properties:
        id: {type: integer, readOnly: true}
        name: {type: string, minLength: 1}
        secret: {type: string, writeOnly: true}
        tag: {$ref: '#/components/schemas/Tag'}
    Tag: {type: object, properties: {label: {type: string}, parent: {$ref: '#/components/schemas/Tag'}}}
"##
    ))));
}

#[test]
fn bodies_of_several_parts_and_files() {
    insta::assert_snapshot!(shown(&api(&document(
        r##"
paths:
  /a: {post: {operationId: narrowed, requestBody: {required: true, content: {application/json: {schema: {allOf: [{$ref: '#/components/schemas/Tag'}, {required: [label]}, {description: A tag.}]}}}}}}
  /b: {post: {operationId: read_only_is_needed, requestBody: {content: {application/json: {schema: {type: object, required: [id], properties: {id: {type: string, readOnly: true}, name: {type: string}}}}}}}}
  /c: {post: {operationId: form_that_may_be_missing, requestBody: {content: {application/x-www-form-urlencoded: {schema: {type: object, required: [a], properties: {a: {type: string}}}}}}}}
  /d: {post: {operationId: files, requestBody: {required: true, content: {multipart/form-data: {schema: {type: object, properties: {
    files: {type: array, items: {type: string, format: binary}}, one: {$ref: '#/components/schemas/File'}, other: {type: string, contentMediaType: application/octet-stream}}}}}}}}
  /e: {post: {operationId: nothing_but_read_only, requestBody: {required: true, content: {application/json: {schema: {type: object, properties: {id: {type: string, readOnly: true}}}}}}}}
components: {schemas: {Tag: {type: object, properties: {label: {type: string}}}, File: {type: string, format: binary, description: A file.}}}
"##
    ))));
}

#[test]
fn a_query_in_a_path_is_sent_and_a_fragment_is_not() {
    insta::assert_snapshot!(shown(&api(&document(
        "paths: {'/?Action=Get&Version=1%202': {get: {operationId: a}}, '/x#one': {get: {operationId: one}}, \
         '/x#two': {get: {operationId: two}}}"
    ))));
}
