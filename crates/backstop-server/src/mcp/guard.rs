//! What stands before the gateway on HTTP: who may ask, and how much at once.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{
        HeaderValue, Method, StatusCode,
        header::{RETRY_AFTER, WWW_AUTHENTICATE},
    },
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::sync::Semaphore;

use super::{Gateway, Tokens};

/// Time for the body of a request to come.
const BODY: Duration = Duration::from_secs(30);
/// Requests that are served at the same time, open streams among them.
pub(super) const REQUESTS: usize = 1024;
/// Sessions at the same time.
pub(super) const SESSIONS: usize = 1024;
/// The first version of the protocol that has none.
const NO_SESSIONS: &[u8] = b"2026-07-28";
/// What is asked of those that are too many.
const AGAIN: &str = "5";

/// What the guard knows.
pub(super) struct Guard {
    pub(super) tokens: Tokens,
    pub(super) max_body: usize,
    pub(super) requests: Arc<Semaphore>,
    pub(super) sessions: Arc<LocalSessionManager>,
    pub(super) gateway: Gateway,
}

/// Lets a request through that may come now.
pub(super) async fn pass(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    if !guard.tokens.allow(request.headers()) {
        let wants = [(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))];
        return (StatusCode::UNAUTHORIZED, wants, "a bearer token is needed").into_response();
    }
    let Ok(place) = Arc::clone(&guard.requests).try_acquire_owned() else { return busy() };
    let (posts, headers) = (request.method() == Method::POST, request.headers());
    // The newest protocol has no sessions.
    let stateless =
        headers.get("mcp-protocol-version").is_some_and(|version| version.as_bytes() >= NO_SESSIONS);
    let opens = posts && !stateless && !headers.contains_key("mcp-session-id");
    if opens && guard.sessions.sessions.read().await.len() >= SESSIONS {
        return busy();
    }
    let (head, body) = request.into_parts();
    let body = match tokio::time::timeout(BODY, to_bytes(body, guard.max_body)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            return (StatusCode::PAYLOAD_TOO_LARGE, "the request is too large, or broke off").into_response();
        }
        Err(_) => return (StatusCode::REQUEST_TIMEOUT, "the request did not come in time").into_response(),
    };
    if posts && guard.gateway.is_full() && is_call(&body) {
        return busy();
    }
    let response = next.run(Request::from_parts(head, Body::from(body))).await;
    // A stream holds its place to its end.
    response.map(|body| Body::new(Held { body, _place: place }))
}

/// Whether a message is a call of a tool.
fn is_call(body: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Message {
        method: String,
    }
    serde_json::from_slice(body).is_ok_and(|message: Message| message.method == "tools/call")
}

fn busy() -> Response {
    let again = [(RETRY_AFTER, HeaderValue::from_static(AGAIN))];
    (StatusCode::SERVICE_UNAVAILABLE, again, "too many requests at the same time").into_response()
}

/// A body, and the place that it holds.
struct Held {
    body: Body,
    _place: tokio::sync::OwnedSemaphorePermit,
}

impl http_body::Body for Held {
    type Data = <Body as http_body::Body>::Data;
    type Error = <Body as http_body::Body>::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Self::Data>, Self::Error>>> {
        std::pin::Pin::new(&mut self.body).poll_frame(cx)
    }
}
