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
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};

use super::{Gateway, Tokens};

/// Time for the body of a request to come.
const BODY: Duration = Duration::from_secs(30);
/// Requests that are served at the same time, open streams among them.
pub(super) const REQUESTS: usize = 1024;
/// What is asked of those that are too many.
const AGAIN: &str = "5";

/// What the guard knows.
pub(super) struct Guard {
    pub(super) tokens: Tokens,
    pub(super) max_body: usize,
    pub(super) requests: Arc<Semaphore>,
    pub(super) sessions: Arc<LocalSessionManager>,
    /// Sessions at most.
    pub(super) max_sessions: usize,
    /// They are opened one by one, so that of many at the same time none overlooks the others.
    pub(super) opening: Mutex<()>,
    pub(super) gateway: Gateway,
}

/// Lets a request through that may come now.
pub(super) async fn pass(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    if !guard.tokens.allow(request.headers()) {
        let wants = [(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))];
        return (StatusCode::UNAUTHORIZED, wants, "a bearer token is needed").into_response();
    }
    let Ok(place) = Arc::clone(&guard.requests).try_acquire_owned() else { return busy() };
    let posts = request.method() == Method::POST;
    let (head, body) = request.into_parts();
    let body = match tokio::time::timeout(BODY, to_bytes(body, guard.max_body)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            return (StatusCode::PAYLOAD_TOO_LARGE, "the request is too large, or broke off").into_response();
        }
        Err(_) => return (StatusCode::REQUEST_TIMEOUT, "the request did not come in time").into_response(),
    };
    let method = if posts { method(&body) } else { None };
    if method.as_deref() == Some("tools/call") && guard.gateway.is_full() {
        return busy();
    }
    // Whatever protocol it names: this is what opens a session.
    let _opening = if method.as_deref() == Some("initialize") {
        let opening = guard.opening.lock().await;
        if guard.sessions.sessions.read().await.len() >= guard.max_sessions {
            return busy();
        }
        Some(opening)
    } else {
        None
    };
    let response = next.run(Request::from_parts(head, Body::from(body))).await;
    // A stream holds its place to its end.
    response.map(|body| Body::new(Held { body, _place: place }))
}

/// What a message asks for; of a name that is said twice, the last counts, as it does for whoever reads it next.
fn method(body: &[u8]) -> Option<String> {
    let message: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(body).ok()?;
    Some(message.get("method")?.as_str()?.to_owned())
}

fn busy() -> Response {
    let again = [(RETRY_AFTER, HeaderValue::from_static(AGAIN))];
    (StatusCode::SERVICE_UNAVAILABLE, again, "too many requests at the same time").into_response()
}

/// A body, and the place that it holds.
struct Held {
    body: Body,
    _place: OwnedSemaphorePermit,
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
