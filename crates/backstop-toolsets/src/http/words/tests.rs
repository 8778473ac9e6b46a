use std::fmt::Write as _;

use backstop_core::ToolSpec;
use reqwest::Method;
use serde_json::json;

use super::{
    super::{BodyForm, Parameter, Place},
    *,
};

/// An order in a shop: names differ between model and service, a list of items, a constant.
fn endpoint() -> Endpoint {
    let item = json!({"type": "object", "properties": {
        "sku": {"type": "string"}, "qty": {"type": "integer"}, "unit_price": {"type": "number"},
    }});
    let schema = json!({"type": "object", "properties": {
        "shop": {"type": "string"},
        "name": {"type": "string"},
        "quantity": {"type": "integer"},
        "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
        "page_size": {"type": "integer"},
    }, "$defs": {"item": item}});
    Endpoint::new(ToolSpec::new("create_order", schema), Method::POST, "/shops/{shopId}/orders")
        .parameter(Parameter::new("shop", Place::Path).wire_name("shopId"))
        .parameter(Parameter::new("name", Place::Body))
        .parameter(Parameter::new("quantity", Place::Body).wire_name("qty"))
        .parameter(Parameter::new("items", Place::Body))
        .parameter(Parameter::new("page_size", Place::Query).wire_name("pageSize"))
        .parameter(Parameter::new("channel", Place::Body).constant("agent"))
}

/// The same as one whole body.
fn whole() -> Endpoint {
    let order = json!({"type": "object", "properties": {"qty": {"type": "integer"}}});
    let schema = json!({"type": "object", "properties": {"order": order}});
    Endpoint::new(ToolSpec::new("create_order", schema), Method::POST, "/orders")
        .body(BodyForm::Whole { media_type: "application/json".into() })
        .parameter(Parameter::new("order", Place::Body))
}

fn said_of(endpoint: &Endpoint, content_type: &str, text: &str, status: u16) -> Said {
    let is_for_caller = (400..500).contains(&status);
    let media = Media::parse(content_type);
    said_in(&ErrorBody { media: &media, text, cut: false, status, is_for_caller }, endpoint)
}

fn said(content_type: &str, text: &str, status: u16) -> Said {
    said_of(&endpoint(), content_type, text, status)
}

fn json_words(text: &str) -> Option<String> {
    said("application/json", text, 400).words
}

/// Who writes so, content type, body.
const FORMS: &[(&str, &str, &str)] = &[
    ("message", "application/json", r#"{"message":"no such order"}"#),
    ("error", "application/json", r#"{"error":"name taken"}"#),
    ("text", "application/json", r#""plain words""#),
    ("plain text", "text/plain", "qty must be at least 1"),
    ("markup in text", "text/plain", "<p>qty must be <b>at least</b> 1 &amp; at most 9.</p>expected <id>"),
    (
        "markup in JSON",
        "application/json",
        r#"{"message":"<script>x()</script>No <em>such</em> order.<br/>Sorry"}"#,
    ),
    ("page", "text/html", "<html><head><title>\n Shop &mdash; Sign in </title></head><body>no</body></html>"),
    ("page without a title", "text/html", "<p>no</p>"),
    ("page in JSON", "application/json", r#"{"message":"<html><body>502</body></html>"}"#),
    ("XML", "application/xml", "<Error><Message>no</Message></Error>"),
    ("OAuth", "application/json", r#"{"error":"invalid_grant","error_description":"the grant is too old"}"#),
    (
        "RFC 9457",
        "application/problem+json",
        r##"{"type":"https://shop.example/invalid","title":"Invalid","detail":"The order is not valid.","status":422,"errors":[{"detail":"must be at least 1","pointer":"#/qty"},{"detail":"is taken","pointer":"#/name"}]}"##,
    ),
    ("RFC 9457, title alone", "application/problem+json", r#"{"type":"about:blank","title":"Gone"}"#),
    (
        "RFC 7807",
        "application/problem+json",
        r#"{"title":"Invalid","invalid-params":[{"name":"pageSize","reason":"must be positive"}]}"#,
    ),
    (
        "JSON:API",
        "application/vnd.api+json",
        r#"{"errors":[{"status":"422","code":"E17","title":"Invalid","detail":"must be at least 1","source":{"pointer":"/data/attributes/qty"}},{"title":"no such page","source":{"parameter":"pageSize"}}]}"#,
    ),
    (
        "GraphQL",
        "application/json",
        r#"{"errors":[{"message":"no such order","locations":[{"line":1,"column":2}],"path":["name"],"extensions":{"code":"NOT_FOUND"}}],"data":null}"#,
    ),
    (
        "OpenAI",
        "application/json",
        r#"{"error":{"message":"qty is too high","type":"invalid_request_error","param":"qty","code":"E_QTY"}}"#,
    ),
    (
        "Google",
        "application/json",
        r#"{"error":{"code":400,"message":"Request contains an invalid argument.","errors":[{"message":"Request contains an invalid argument.","domain":"global","reason":"badRequest"}],"status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"items[0].unitPrice","description":"must be positive"}]}]}}"#,
    ),
    (
        "Azure",
        "application/json",
        r#"{"error":{"code":"BadArgument","message":"Multiple errors.","target":"order","details":[{"code":"Null","target":"Name","message":"Name is empty"}],"innererror":{"trace":"x"}}}"#,
    ),
    (
        "AWS",
        "application/x-amz-json-1.0",
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#ValidationException","message":"One or more values are invalid"}"#,
    ),
    ("AWS, older", "application/json", r#"{"Code":"AccessDenied","Message":"not yours"}"#),
    (
        "Elasticsearch",
        "application/json",
        r#"{"error":{"root_cause":[{"type":"x","reason":"y"}],"type":"index_not_found_exception","reason":"no such index [orders]"},"status":404}"#,
    ),
    (
        "FastAPI",
        "application/json",
        r#"{"detail":[{"type":"greater_than","loc":["body","items",0,"qty"],"msg":"Input should be greater than 0","input":0},{"loc":["query","pageSize"],"msg":"Field required"}]}"#,
    ),
    ("FastAPI, whole body", "application/json", r#"{"detail":"there is no order 7"}"#),
    ("Rails", "application/json", r#"{"qty":["must be greater than 0"],"base":["Order is closed"]}"#),
    ("Rails, errors", "application/json", r#"{"errors":{"qty":["must be greater than 0","is odd"]}}"#),
    (
        "Rails, full messages",
        "application/json",
        r#"{"errors":["Qty must be greater than 0","Name is taken"]}"#,
    ),
    (
        "Spring",
        "application/json",
        r#"{"timestamp":"2026-10-21T07:28:00Z","status":400,"error":"Bad Request","message":"Validation failed for object='order'. Error count: 1","errors":[{"codes":["Min.order.qty"],"objectName":"order","field":"qty","rejectedValue":0,"defaultMessage":"must be greater than or equal to 1"}],"path":"/orders","trace":"at a.b"}"#,
    ),
    ("Spring, no list", "application/json", r#"{"status":400,"error":"Bad Request","path":"/orders"}"#),
    (
        "ASP.NET",
        "application/problem+json",
        r#"{"type":"https://tools.ietf.org/html/rfc9110#section-15.5.1","title":"One or more validation errors occurred.","status":400,"errors":{"$.items[0].unitPrice":["The JSON value could not be converted."],"Items[1].Sku":["The Sku field is required."]},"traceId":"00-1"}"#,
    ),
    (
        "Laravel",
        "application/json",
        r#"{"message":"The qty field is required. (and 1 more error)","errors":{"qty":["The qty field is required."],"items.0.qty":["The items.0.qty must be a number."]}}"#,
    ),
    (
        "Django REST",
        "application/json",
        r#"{"qty":["Ensure this value is greater than or equal to 1."],"items":[{},{"sku":["This field may not be blank."]}],"non_field_errors":["The shop is closed."]}"#,
    ),
    (
        "Zod",
        "application/json",
        r#"{"success":false,"error":{"issues":[{"code":"too_small","minimum":1,"path":["items",0,"qty"],"message":"Number must be greater than 0"}],"name":"ZodError"}}"#,
    ),
    (
        "Zod, as text",
        "application/json",
        r#"{"success":false,"error":{"name":"ZodError","message":"[{\"code\":\"too_small\",\"path\":[\"qty\"],\"message\":\"Too small\"}]"}}"#,
    ),
    ("Zod, flat", "application/json", r#"{"formErrors":[],"fieldErrors":{"qty":["Too small"]}}"#),
    (
        "ajv",
        "application/json",
        r#"{"errors":[{"instancePath":"/items/0","schemaPath":"x","keyword":"required","params":{"missingProperty":"sku"},"message":"must have required property 'sku'"},{"instancePath":"/qty","keyword":"minimum","params":{"limit":1},"message":"must be >= 1"}]}"#,
    ),
    (
        "jsonschema",
        "application/json",
        r#"[{"path":["qty"],"message":"0 is less than the minimum of 1","validator":"minimum"}]"#,
    ),
    (
        "NestJS",
        "application/json",
        r#"{"statusCode":400,"message":["qty must not be less than 1"],"error":"Bad Request"}"#,
    ),
    (
        "express-validator",
        "application/json",
        r#"{"errors":[{"type":"field","value":"0","msg":"Invalid value","path":"qty","location":"body"}]}"#,
    ),
    (
        "Joi",
        "application/json",
        r#"{"statusCode":400,"error":"Bad Request","message":"Validation failed","validation":{"body":{"source":"body","keys":["qty"],"message":"\"qty\" must be greater than 0"}}}"#,
    ),
    (
        "Marshmallow",
        "application/json",
        r#"{"code":422,"errors":{"json":{"qty":["Not a valid integer."]}},"status":"x"}"#,
    ),
    (
        "Stripe",
        "application/json",
        r#"{"error":{"code":"parameter_missing","message":"Missing required param: qty.","param":"qty","type":"invalid_request_error"}}"#,
    ),
    (
        "GitHub",
        "application/json",
        r#"{"message":"Validation Failed","errors":[{"resource":"Order","field":"name","code":"already_exists"}],"documentation_url":"https://docs.example"}"#,
    ),
    ("a constant", "application/json", r#"{"errors":{"channel":["is unknown"]}}"#),
    ("an unknown field", "application/json", r#"{"errors":{"colour":["is unknown"]}}"#),
    ("unknown JSON", "application/json", r#"{ "ok": false, "trace": "x.java:12" }"#),
];

#[test]
fn every_form_of_body() {
    let mut out = String::new();
    for (who, content_type, body) in FORMS {
        let Said { words, code, argument } = said(content_type, body, 400);
        let shown = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        writeln!(out, "{who}: {}\n    code {}, argument {}", shown(words), shown(code), shown(argument))
            .unwrap();
    }
    insta::assert_snapshot!(out);
}

#[test]
fn fields_of_a_whole_body_are_found_in_it() {
    let said =
        said_of(&whole(), "application/json", r#"{"detail":[{"loc":["body","qty"],"msg":"no"}]}"#, 422);
    assert_eq!(
        (said.words.as_deref(), said.argument.as_deref()),
        (Some("order.qty: no"), Some("/order/qty"))
    );
    let said = said_of(&whole(), "application/json", r#"{"detail":[{"loc":["body","x"],"msg":"no"}]}"#, 422);
    assert_eq!((said.words.as_deref(), said.argument.as_deref()), (Some("x: no"), None));
}

#[test]
fn one_argument_is_named_wherever_in_it_the_problems_are() {
    let argument = |body: &str| said("application/json", body, 400).argument;
    assert_eq!(
        argument(r#"{"errors":{"items[0].qty":["a"],"items[1].qty":["b"]}}"#).as_deref(),
        Some("/items")
    );
    assert_eq!(
        argument(r#"{"errors":{"items[0].qty":["a"],"closed":["b"]}}"#).as_deref(),
        Some("/items/0/qty")
    );
    assert_eq!(argument(r#"{"errors":{"items":["a"],"qty":["b"]}}"#), None);
}

#[test]
fn many_problems_are_counted() {
    let errors: Vec<String> = (0..250).map(|index| format!("e{index}")).collect();
    assert_eq!(
        json_words(&json!({"errors": errors}).to_string()).as_deref(),
        Some("e0; e1; e2; e3; e4; e5; e6; e7; e8; e9; and 90 more")
    );
}

#[test]
fn json_of_another_form_is_shown_of_client_errors_only() {
    assert_eq!(json_words(r#"{ "ok": true }"#).as_deref(), Some(r#"{"ok":true}"#));
    assert_eq!(said("application/json", r#"{"ok":true}"#, 500).words, None);
    assert_eq!(json_words(r#"{"stackTrace":"x.java:12"}"#), None);
    assert!(json_words(&format!(r#"{{"x":"{}"}}"#, "y".repeat(2000))).unwrap().len() <= JSON_CAP);
}

#[test]
fn traces_are_never_said() {
    assert_eq!(
        json_words(r#"{"message":"boom\n    at a.b.C.d(C.java:12)\n    at e"}"#).as_deref(),
        Some("boom")
    );
    assert_eq!(
        said("text/plain", "Traceback (most recent call last):\n  File \"a.py\", line 1", 500).words,
        None
    );
    assert_eq!(said("text/plain", &"x".repeat(501), 500).words, None);
    assert_eq!(said("text/plain", "try again later", 503).words.as_deref(), Some("try again later"));
    assert_eq!(said("application/json", "{\"message\":", 400).words, None);
}

#[test]
fn bodies_without_end_are_read_to_some_depth() {
    let body = format!("{}1{}", r#"{"error":"#.repeat(100), "}".repeat(100));
    assert_eq!(said("application/json", &body, 500).words, None);
    let body = format!("{}\"x\"{}", r#"{"errors":{"a":"#.repeat(40), "}}".repeat(40));
    assert_eq!(said("application/json", &body, 500).words, None);
}

#[test]
fn codes_are_kept_unless_they_repeat_the_status() {
    let code = |body: &str| said("application/json", body, 404).code;
    assert_eq!(code(r#"{"code":"E17","message":"x"}"#).as_deref(), Some("E17"));
    assert_eq!(code(r#"{"code":404,"message":"x"}"#), None);
    assert_eq!(code(r#"{"code":1017}"#).as_deref(), Some("1017"));
    assert_eq!(code(r#"{"error":{"code":404,"status":"NOT_FOUND"}}"#).as_deref(), Some("NOT_FOUND"));
    assert_eq!(
        code(r#"{"error":"invalid_grant","error_description":"x"}"#).as_deref(),
        Some("invalid_grant")
    );
    assert_eq!(code(r#"{"type":"https://shop.example/gone"}"#).as_deref(), Some("https://shop.example/gone"));
    assert_eq!(code(r#"{"type":"about:blank"}"#), None);
}
