//! Success that is no success: what is declared about answers, and what becomes of answers that are otherwise.

use backstop_core::{Applied, ToolError, ToolErrorKind, ToolOutput, ToolSpec};
use backstop_test::server::{Reply, Server};
use backstop_toolsets::http::{
    AnswerPath, AnswerRules, AnswerTest, Endpoint, FailWhen, HttpConfig, HttpToolset, Method, Parameter,
    Place,
};
use serde_json::{Value, json};

use super::client;
use crate::support::{call, view};

/// One endpoint, for which this is declared.
#[derive(Default)]
struct Declared {
    rules: AnswerRules,
    answers: Vec<String>,
    schema: Option<Value>,
    method: Option<Method>,
}

impl Declared {
    fn rules(change: impl FnOnce(&mut AnswerRules)) -> Self {
        let mut declared = Self::default();
        change(&mut declared.rules);
        declared
    }

    async fn toolset(&self, reply: Reply) -> (HttpToolset, Server) {
        let server = Server::start([reply]);
        let schema = json!({"type": "object", "properties": {"quantity": {"type": "integer"}}});
        let mut spec = ToolSpec::new("order", schema);
        spec.output_schema.clone_from(&self.schema);
        let method = self.method.clone().unwrap_or(Method::POST);
        let mut endpoint = Endpoint::new(spec, method, "/orders")
            .parameter(Parameter::new("quantity", Place::Body).wire_name("qty"));
        endpoint.answers.clone_from(&self.answers);
        endpoint.answer = self.rules.clone();
        let mut config = HttpConfig::new("s", server.url.parse().unwrap(), client());
        config.endpoints = vec![endpoint];
        (HttpToolset::new(config).unwrap(), server)
    }

    async fn call(&self, reply: Reply) -> Result<ToolOutput, ToolError> {
        let (toolset, server) = self.toolset(reply).await;
        let result = call(&toolset, "order", json!({})).await;
        server.only();
        result
    }

    /// Kind, whether the world may have changed, and what the model reads.
    async fn failure(&self, reply: Reply) -> (ToolErrorKind, Applied, String) {
        let (toolset, _server) = self.toolset(reply).await;
        let error = call(&toolset, "order", json!({})).await.unwrap_err();
        (error.kind(), error.applied(), view(&toolset, "order", &error).await)
    }
}

fn ok(body: &str) -> Reply {
    Reply::json("200 OK", body)
}

fn at(path: &str) -> AnswerTest {
    let mut test = AnswerTest::default();
    test.path = Some(AnswerPath::parse(path).unwrap());
    test
}

fn fails(test: AnswerTest, kind: ToolErrorKind) -> Declared {
    Declared::rules(|rules| rules.fail_when.push(FailWhen { test, kind }))
}

#[tokio::test]
async fn a_declared_failure_under_a_good_status_has_the_services_words() {
    let declared = fails(at("$.error"), ToolErrorKind::Rejected);
    let (kind, applied, view) = declared.failure(ok(r#"{"error":"the shop is closed"}"#)).await;
    assert_eq!((kind, applied), (ToolErrorKind::Rejected, Applied::No));
    assert_eq!(
        view,
        "POST /orders answered 200 OK: the shop is closed\n\
         Change the call accordingly, or tell the user: the same call fails again."
    );
    let (_, _, view) = declared.failure(ok(r#"{"error":{"message":"too high","param":"qty"}}"#)).await;
    assert_eq!(
        view,
        "Invalid value for parameter \"quantity\" of tool \"order\": POST /orders answered 200 OK: too high\n\
         Call order again with another \"quantity\", or tell the user."
    );
    // Nothing there is no failure.
    for body in [r#"{"id":7}"#, r#"{"error":null,"id":7}"#] {
        assert!(declared.call(ok(body)).await.is_ok(), "{body}");
    }
}

#[tokio::test]
async fn a_failure_is_of_the_declared_kind() {
    let mut gone = at("/status");
    gone.equals = Some(json!("unknown_order"));
    let declared = fails(gone, ToolErrorKind::NotFound);
    let (kind, _, view) = declared.failure(ok(r#"{"status":"unknown_order"}"#)).await;
    assert_eq!(kind, ToolErrorKind::NotFound);
    assert_eq!(
        view,
        "POST /orders answered 200 OK: {\"status\":\"unknown_order\"}\n\
         Change the call accordingly, or tell the user: the same call fails again."
    );
    assert!(declared.call(ok(r#"{"status":"paid"}"#)).await.is_ok());
    let error = declared.call(ok(r#"{"status":"unknown_order"}"#)).await.unwrap_err();
    let detail = error.detail().split_once("/orders: ").unwrap().1;
    assert_eq!(detail, r#"OK, body `{"status":"unknown_order"}`, which is declared to be a failure"#);

    // What concerns an operator stays with operators.
    let mut login = AnswerTest::default();
    login.contains = Some("session expired".into());
    let declared = fails(login, ToolErrorKind::Unauthenticated);
    let reply = Reply::new("200 OK", &[("content-type", "text/plain")], "session expired: sk-12");
    let (kind, applied, view) = declared.failure(reply).await;
    assert_eq!((kind, applied), (ToolErrorKind::Unauthenticated, Applied::No));
    assert_eq!(
        view,
        "The service behind tool \"order\" did not accept the credentials it is set up with. (status 200) \
         (error reference: 1a2b3c4d)\n\
         There is no result: use another tool or tell the user, and do not make one up."
    );
}

#[tokio::test]
async fn a_failure_of_an_error_status_can_be_declared_too_and_stays_open_where_it_was() {
    let mut test = AnswerTest::default();
    test.statuses = vec![400..=400, 500..=599];
    test.contains = Some("no such order".into());
    let declared = fails(test, ToolErrorKind::NotFound);
    let body = r#"{"message":"no such order"}"#;
    let (kind, applied, view) = declared.failure(Reply::json("400 Bad Request", body)).await;
    assert_eq!((kind, applied), (ToolErrorKind::NotFound, Applied::No));
    assert!(view.starts_with("POST /orders answered 400 Bad Request: no such order\n"), "{view}");
    let (kind, applied, _) = declared.failure(Reply::json("500 Internal Server Error", body)).await;
    assert_eq!((kind, applied), (ToolErrorKind::NotFound, Applied::Unknown));
    let (kind, ..) = declared.failure(Reply::json("400 Bad Request", r#"{"message":"no"}"#)).await;
    assert_eq!(kind, ToolErrorKind::Rejected);
}

#[tokio::test]
async fn what_is_not_the_declared_success_is_rejected() {
    let mut test = at("$.ok");
    test.equals = Some(json!(true));
    let declared = Declared::rules(|rules| rules.success_when = Some(test));
    assert!(declared.call(ok(r#"{"ok":true,"id":7}"#)).await.is_ok());
    let (kind, applied, view) = declared.failure(ok(r#"{"ok":false,"message":"channel_not_found"}"#)).await;
    assert_eq!((kind, applied), (ToolErrorKind::Rejected, Applied::No));
    assert!(view.starts_with("POST /orders answered 200 OK: channel_not_found\n"), "{view}");

    let mut test = AnswerTest::default();
    test.media_types = vec!["application/json".into()];
    let declared = Declared::rules(|rules| rules.success_when = Some(test));
    let reply = Reply::new("200 OK", &[("content-type", "text/plain")], "queue is full");
    let (_, _, view) = declared.failure(reply).await;
    assert!(view.starts_with("POST /orders answered 200 OK: queue is full\n"), "{view}");
}

#[tokio::test]
async fn a_status_that_success_names_is_one() {
    let mut test = AnswerTest::default();
    test.statuses = vec![200..=299, 404..=404];
    let declared = Declared::rules(|rules| rules.success_when = Some(test));
    let reply = || Reply::json("404 Not Found", r#"{"items":[]}"#);
    assert_eq!(declared.call(reply()).await, Ok(ToolOutput::Json(json!({"items": []}))));
    let (kind, ..) = declared.failure(Reply::json("400 Bad Request", "{}")).await;
    assert_eq!(kind, ToolErrorKind::Rejected);
    // A status that it does not name is no success, though it is 2xx.
    let mut test = AnswerTest::default();
    test.statuses = vec![201..=201];
    let declared = Declared::rules(|rules| rules.success_when = Some(test));
    let (kind, _, view) = declared.failure(ok(r#"{"message":"nothing was made"}"#)).await;
    assert_eq!(kind, ToolErrorKind::Rejected);
    assert!(view.starts_with("POST /orders answered 200 OK: nothing was made\n"), "{view}");
}

#[tokio::test]
async fn a_graphql_answer_with_errors_and_no_data_is_a_failure() {
    let declared = Declared::default();
    let refused = r#"{"errors":[{"message":"Cannot query field \"x\"","locations":[]}]}"#;
    let (kind, applied, view) = declared.failure(ok(refused)).await;
    assert_eq!((kind, applied), (ToolErrorKind::Rejected, Applied::No));
    assert!(view.starts_with("POST /orders answered 200 OK: Cannot query field \"x\"\n"), "{view}");
    // It was begun, and may have done something.
    let (_, applied, view) = declared.failure(ok(r#"{"errors":[{"message":"late"}],"data":null}"#)).await;
    assert_eq!(applied, Applied::Unknown);
    assert!(
        view.ends_with("\nThe call may have taken effect: verify before repeating it, or tell the user.")
    );
    for good in [
        r#"{"errors":[{"message":"no price"}],"data":{"id":7}}"#,
        r#"{"errors":[]}"#,
        r#"{"errors":[{"message":"row 2"}],"imported":1}"#,
        r#"{"errors":["row 2"]}"#,
    ] {
        assert!(declared.call(ok(good)).await.is_ok(), "{good}");
    }
}

#[tokio::test]
async fn a_part_of_an_answer_is_the_result() {
    let shaped = |path: &str| {
        let path = AnswerPath::parse(path).unwrap();
        Declared::rules(|rules| rules.result = Some(path))
    };
    let body = r#"{"data":{"items":[{"name":"a"},{"name":"b"}]}}"#;
    for (path, result) in [
        ("/data/items/0", json!({"name": "a"})),
        ("$.data.items[*].name", json!(["a", "b"])),
        ("$.data.items[?@.name == 'c']", json!([])),
    ] {
        assert_eq!(shaped(path).call(ok(body)).await, Ok(ToolOutput::Json(result)), "{path}");
    }
    let error = shaped("/data/orders").call(ok(body)).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.status(), error.words()),
        (ToolErrorKind::InvalidOutput, Some(200), None)
    );
    let detail = error.detail().split_once(": ").unwrap().1;
    assert_eq!(detail, format!("nothing is at `/data/orders` of `{body}`"));
    let reply = Reply::new("200 OK", &[("content-type", "text/plain")], "hello");
    assert_eq!(shaped("/data").call(reply).await.unwrap_err().kind(), ToolErrorKind::InvalidOutput);
}

/// What operators are told of an answer to a strict endpoint; a lenient one passes it on.
async fn broken(mut declared: Declared, reply: Reply) -> String {
    let error = declared.call(reply.clone()).await.unwrap_err();
    assert_eq!((error.kind(), error.words()), (ToolErrorKind::InvalidOutput, None));
    declared.rules.lenient = true;
    assert!(declared.call(reply).await.is_ok());
    error.detail().split_once("/orders: ").unwrap().1.to_owned()
}

fn promised(answers: &[&str]) -> Declared {
    Declared { answers: answers.iter().map(|kind| (*kind).to_owned()).collect(), ..Declared::default() }
}

#[tokio::test]
async fn an_answer_of_another_content_type_is_no_result() {
    let csv = || Reply::new("200 OK", &[("content-type", "text/csv")], "a,b");
    assert_eq!(
        broken(promised(&["application/pdf", "image/*"]), csv()).await,
        "expected application/pdf or image/*, got (text/csv) `a,b`"
    );
    assert_eq!(broken(promised(&["application/json"]), csv()).await, "expected JSON, got (text/csv) `a,b`");
    let json = r#"{"a":1}"#;
    assert_eq!(
        broken(promised(&["application/pdf"]), ok(json)).await,
        "expected application/pdf, got (application/json) `{\"a\":1}`"
    );
    for (answers, content_type, body) in [
        (&["application/json"][..], "application/hal+json", json),
        (&["application/json"], "text/plain", json),
        (&["text/csv", "application/json"], "text/csv", "a,b"),
        (&["application/json", "text/html"], "text/html", "<html><p>promised</p></html>"),
        (&["*/*"], "text/csv", "a,b"),
    ] {
        let reply = Reply::new("200 OK", &[("content-type", content_type)], body);
        assert!(promised(answers).call(reply).await.is_ok(), "{answers:?} {content_type}");
    }
}

#[tokio::test]
async fn nothing_where_content_was_promised_is_no_result() {
    let detail = broken(promised(&["application/json"]), ok("")).await;
    assert_eq!(detail, "content was promised, and there is none");
    for status in ["202 Accepted", "204 No Content"] {
        assert!(promised(&["application/json"]).call(Reply::json(status, "")).await.is_ok(), "{status}");
    }
    let head = Declared { method: Some(Method::HEAD), ..promised(&["application/json"]) };
    let reply = Reply::bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n");
    assert_eq!(head.call(reply).await, Ok(ToolOutput::text("200 OK, no content")));
}

#[tokio::test]
async fn an_answer_that_does_not_fit_its_schema_is_no_result() {
    let schema = json!({"type": "object", "properties": {"items": {"type": "array", "items": {"type": "object",
        "properties": {"qty": {"type": "integer"}}, "required": ["qty"]}}}, "required": ["items"]});
    let declared = || Declared { schema: Some(schema.clone()), ..Declared::default() };
    assert!(declared().call(ok(r#"{"items":[{"qty":1}]}"#)).await.is_ok());
    for (body, why) in [
        (r#"{"items":[{"qty":"x"}]}"#, "`items[0].qty` must be an integer; got \"x\" (a string)"),
        (r#"{"items":[{}]}"#, "`items[0].qty` is missing"),
        ("{}", "`items` is missing"),
        ("[]", "it must be an object; got [] (an array)"),
    ] {
        let detail = broken(declared(), ok(body)).await;
        assert_eq!(detail, format!("the answer does not fit its schema: {why}"));
    }
}

#[tokio::test]
async fn the_schema_of_a_whole_answer_is_not_offered_for_a_part_of_it() {
    use backstop_core::Toolset as _;
    let path = AnswerPath::parse("/items").unwrap();
    let mut declared = Declared::rules(|rules| rules.result = Some(path));
    declared.schema = Some(json!({"type": "object", "required": ["items"]}));
    let (toolset, _server) = declared.toolset(ok(r#"{"items":[1]}"#)).await;
    assert_eq!(toolset.list().await.unwrap()[0].output_schema, None);
    assert_eq!(call(&toolset, "order", json!({})).await, Ok(ToolOutput::Json(json!([1]))));
    assert_eq!(declared.call(ok("{}")).await.unwrap_err().kind(), ToolErrorKind::InvalidOutput);
}
