//! The way to a server that is an address: streamable HTTP.
//!
//! The library keeps the session and the streams; each request is made and each answer is judged here, so that all
//! that can go wrong has one reading.

mod failure;
mod request;
mod stream;

use std::{collections::HashMap, sync::Arc, time::Duration};

use backstop_core::{Applied, ToolError};
use bytes::Bytes;
use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use rmcp::{
    RoleClient,
    model::{
        ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, GetExtensions as _, JsonRpcMessage,
        ServerJsonRpcMessage,
    },
    transport::{
        Transport,
        common::client_side_sse::SseRetryPolicy,
        streamable_http_client::{
            SseError, StreamableHttpClient, StreamableHttpClientTransport,
            StreamableHttpClientTransportConfig, StreamableHttpError, StreamableHttpPostResponse,
        },
    },
};
use sse_stream::Sse;
use tokio::time::timeout;

use self::failure::HttpFailure;
pub(super) use self::failure::http_failure;
pub(super) use self::request::Requests;
use super::{HttpServer, errand::Errand};
use crate::http::Media;

/// Bytes of an error body that are read.
const ERROR_BODY: usize = 64 * 1024;
/// Time to take leave of a session, or to see what else an address could be.
const ASIDE: Duration = Duration::from_secs(3);
/// Milliseconds before each try to go on with a stream.
const RESUME: [u64; 5] = [100, 300, 1000, 2000, 2000];
/// Calls at the same time; each waits in a request of its own.
const CONCURRENT: usize = 256;
const EVENTS: &str = "text/event-stream";
const BOTH: &str = "application/json, text/event-stream";
const SESSION: &str = "mcp-session-id";

type Failure = StreamableHttpError<HttpFailure>;

/// The transport to a server.
///
/// # Errors
///
/// `misconfigured` where no request can be made from what is declared.
pub(super) fn transport(
    server: &HttpServer,
    max_message: usize,
) -> Result<impl Transport<RoleClient> + use<>, ToolError> {
    let client = Client { requests: Arc::new(Requests::new(server)?), max_message };
    // The address of each request is put together here.
    let mut config = StreamableHttpClientTransportConfig::with_uri(crate::http::shown(&server.url))
        .max_concurrent_requests(CONCURRENT)
        .reinit_on_expired_session(true);
    config.retry_config = Arc::new(Resume);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// When a stream that broke off is asked for again. Nothing is made twice by that: the server goes on with what it
/// had begun to say. One that is not there any more is soon given up, and so is the call that waits for it.
#[derive(Debug)]
struct Resume;

impl SseRetryPolicy for Resume {
    fn retry(&self, times: usize) -> Option<Duration> {
        RESUME.get(times).copied().map(Duration::from_millis)
    }
}

#[derive(Clone, Debug)]
struct Client {
    requests: Arc<Requests>,
    max_message: usize,
}

impl StreamableHttpClient for Client {
    type Error = HttpFailure;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let posted = Posted::of(&message);
        let body = serde_json::to_vec(&message)?;
        let mut headers = headers(BOTH, session.as_deref(), custom)?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let errand = posted.errand.clone().unwrap_or_default();
        let sent = self.requests.send(Method::POST, headers, Some(Bytes::from(body)), &errand).await;
        let response = sent.map_err(|error| posted.failed(error))?;
        let given = response.headers().get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) && !posted.is_request {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !status.is_success() {
            let said = failure::read(response, ERROR_BODY).await;
            return self.refused(posted, said, session.is_some()).await;
        }
        let media = Media::of(response.headers());
        if media.essence == EVENTS {
            return Ok(StreamableHttpPostResponse::Sse(stream::events(response, self.max_message), given));
        }
        let what = self.requests.what(&Method::POST);
        let body = failure::body(response, &what, self.max_message).await;
        match body.and_then(|body| failure::message(&what, &media, &body)) {
            Ok(message) => Ok(StreamableHttpPostResponse::Json(message, given)),
            // Nothing is waited for.
            Err(_) if !posted.is_request => Ok(StreamableHttpPostResponse::Accepted),
            Err(error) => Err(posted.failed(error)),
        }
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        _: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let mut headers = headers(EVENTS, session.as_deref(), custom)?;
        if let Some(last) = last.and_then(|last| HeaderValue::from_str(&last).ok()) {
            headers.insert("last-event-id", last);
        }
        let sent = self.requests.send(Method::GET, headers, None, &Errand::default()).await;
        let response = sent.map_err(HttpFailure::from)?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if !status.is_success() => {
                let said = failure::read(response, ERROR_BODY).await;
                Err(HttpFailure(failure::of_status(&self.requests.what(&Method::GET), &said)).into())
            }
            _ if Media::of(response.headers()).essence != EVENTS => {
                Err(StreamableHttpError::ServerDoesNotSupportSse)
            }
            _ => Ok(stream::events(response, self.max_message)),
        }
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        let headers = headers(BOTH, Some(&session), custom)?;
        let errand = Errand::default();
        // Whatever the server says: the session is over.
        let _ = timeout(ASIDE, self.requests.send(Method::DELETE, headers, None, &errand)).await;
        Ok(())
    }
}

impl Client {
    /// What becomes of a request that the server answered with an error status.
    async fn refused(
        &self,
        posted: Posted,
        said: failure::Said,
        in_session: bool,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let status = said.status.as_u16();
        if in_session && is_gone(&said) {
            return Err(StreamableHttpError::SessionExpired);
        }
        let error = said.error();
        // What the protocol itself says of a request is what counts, as long as it is no matter of the way there.
        if let (Some(id), 400 | 404..=410 | 415 | 422) = (&posted.id, status)
            && let Some(error) = error.clone().or_else(|| posted.as_unknown(&said))
        {
            return Ok(StreamableHttpPostResponse::Json(
                ServerJsonRpcMessage::error(error, Some(id.clone())),
                None,
            ));
        }
        if posted.is_initialize && matches!(status, 400 | 404 | 405) && self.is_old().await {
            let detail = format!(
                "{}: the server speaks the HTTP+SSE transport of 2024-11-05, which is not spoken here: declare its \
                 streamable HTTP address, or put a proxy in front of it",
                self.requests.what(&Method::POST)
            );
            return Err(posted.failed(ToolError::misconfigured(detail).with_status(status)));
        }
        Err(posted.failed(failure::of_status(&self.requests.what(&Method::POST), &said)))
    }

    /// Whether the address is one of the transport that streamable HTTP took the place of.
    async fn is_old(&self) -> bool {
        let look = async {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(EVENTS));
            let response = self.requests.send(Method::GET, headers, None, &Errand::default()).await.ok()?;
            if !response.status().is_success() || Media::of(response.headers()).essence != EVENTS {
                return None;
            }
            let mut events = stream::events(response, ERROR_BODY);
            let first = futures_util::StreamExt::next(&mut events).await?.ok()?;
            (first.event.as_deref() == Some("endpoint")).then_some(())
        };
        timeout(ASIDE, look).await.is_ok_and(|found| found.is_some())
    }
}

/// What is known of a message that is posted.
struct Posted {
    id: Option<rmcp::model::RequestId>,
    is_request: bool,
    is_initialize: bool,
    is_discover: bool,
    errand: Option<Errand>,
}

impl Posted {
    fn of(message: &ClientJsonRpcMessage) -> Self {
        let JsonRpcMessage::Request(request) = message else {
            return Self {
                id: None,
                is_request: false,
                is_initialize: false,
                is_discover: false,
                errand: None,
            };
        };
        Self {
            id: Some(request.id.clone()),
            is_request: true,
            is_initialize: matches!(request.request, ClientRequest::InitializeRequest(_)),
            is_discover: matches!(request.request, ClientRequest::DiscoverRequest(_)),
            errand: request.request.extensions().get::<Errand>().cloned(),
        }
    }

    /// How a server that does not know the newest protocol answers the question whether it does, in its own way.
    fn as_unknown(&self, said: &failure::Said) -> Option<ErrorData> {
        self.is_discover.then(|| {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("the server answered {}", said.status), None)
        })
    }

    /// The failure of a request. One that did not leave has done nothing.
    fn failed(&self, error: ToolError) -> Failure {
        let stayed = self.errand.as_ref().is_some_and(|errand| errand.applied() == Applied::No);
        HttpFailure(if stayed { error.not_applied() } else { error }).into()
    }
}

/// Whether a session is over: the protocol says so with 404, and the SDK for TypeScript with a 400 and these words.
fn is_gone(said: &failure::Said) -> bool {
    match said.status {
        StatusCode::NOT_FOUND => true,
        StatusCode::BAD_REQUEST => said.error().is_some_and(|error| {
            error.message.contains("session ID") || error.message.contains("Server not initialized")
        }),
        _ => false,
    }
}

fn headers(
    accept: &'static str,
    session: Option<&str>,
    custom: HashMap<HeaderName, HeaderValue>,
) -> Result<HeaderMap, Failure> {
    let mut headers: HeaderMap = custom.into_iter().collect();
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    if let Some(session) = session {
        let id = HeaderValue::from_str(session).map_err(|_| {
            HttpFailure(
                ToolError::misconfigured("the id of the session can't be sent in a header").not_applied(),
            )
        })?;
        headers.insert(SESSION, id);
    }
    Ok(headers)
}
