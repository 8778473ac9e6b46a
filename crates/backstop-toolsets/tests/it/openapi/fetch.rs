//! Documents at an address.

use backstop_test::server::{Reply, Server};
use backstop_toolsets::{
    client::http_client,
    openapi::{OpenApi, OpenApiError, OpenApiOptions, fetch},
};

use super::shown;

fn text(body: &str) -> Reply {
    Reply::new("200 OK", &[("content-type", "application/yaml")], body)
}

async fn fetched(server: &Server, path: &str) -> Result<OpenApi, OpenApiError> {
    let url = format!("{}{path}", server.url).parse().unwrap();
    fetch(&url, &OpenApiOptions::default(), &http_client().unwrap()).await
}

#[tokio::test]
async fn a_document_is_fetched_with_its_files_and_nothing_above_them() {
    let server = Server::answering(|request| match request.target() {
        "/docs/openapi.yaml?v=1" => text(
            "openapi: 3.1.0\nservers: [{url: ../api}]\npaths:\n  /a: {$ref: 'paths/a.yaml'}\n  /up: {$ref: ../secret.yaml}\n  \
             /coded: {$ref: '%252e%252e/secret.yaml'}\n  /gone: {$ref: gone.yaml}\n",
        ),
        "/docs/paths/a.yaml" => {
            text("get: {operationId: a, parameters: [{$ref: '../parameters.yaml#/limit'}]}")
        }
        "/docs/parameters.yaml" => text("limit: {name: limit, in: query, schema: {type: integer}}"),
        _ => Reply::new("404 Not Found", &[], ""),
    });
    let api = fetched(&server, "/docs/openapi.yaml?v=1").await.unwrap();
    let mut lines: Vec<String> = server.seen().iter().map(|request| request.line().to_owned()).collect();
    lines.sort();
    assert_eq!(
        lines,
        [
            "GET /docs/%252e%252e/secret.yaml",
            "GET /docs/gone.yaml",
            "GET /docs/openapi.yaml?v=1",
            "GET /docs/parameters.yaml",
            "GET /docs/paths/a.yaml",
        ]
    );
    insta::assert_snapshot!(shown(&api).replace(&server.url, "SERVER"));
}

#[tokio::test]
async fn what_is_no_document_is_told_with_its_address() {
    let refused = async |reply: Reply| {
        let server = Server::start([reply]);
        let error = fetched(&server, "/openapi.yaml").await.unwrap_err().to_string();
        assert_eq!(server.seen().len(), 1);
        error.replace(&server.url, "SERVER")
    };
    assert_eq!(
        refused(Reply::new("404 Not Found", &[], "")).await,
        "SERVER/openapi.yaml answered 404 Not Found"
    );
    assert_eq!(
        refused(Reply::new("302 Found", &[("location", "http://127.0.0.1:9/other.yaml")], "")).await,
        "SERVER/openapi.yaml answered 302 Found"
    );
    assert_eq!(refused(text("<!doctype html>")).await, "the document is not an object");
    assert_eq!(refused(Reply::new("200 OK", &[], [b'a', 0xff])).await, "SERVER/openapi.yaml is not UTF-8");
}
