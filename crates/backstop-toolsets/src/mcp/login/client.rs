//! The requests to an authorization server.

use std::{
    error::Error,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use reqwest::Client;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture,
    OAuthHttpRequest,
};
use url::Url;

use crate::http::{body, shown};

/// Time for one answer.
const WAIT: Duration = Duration::from_secs(20);
/// Bytes of one answer at most.
const CAP: usize = 1024 * 1024;

/// The one that knows the protocol, for this server, and asks by this client.
pub(super) async fn manager(
    server: &Url,
    client: &Client,
) -> Result<(AuthorizationManager, Failures), AuthError> {
    let failures = Failures::default();
    let requests = Requests { client: client.clone(), failures: failures.clone() };
    let made = AuthorizationManager::new_with_oauth_http_client(server.clone(), Arc::new(requests)).await?;
    Ok((made, failures))
}

/// What went wrong on the way, which the library does not tell.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures(Arc<Mutex<Option<Failure>>>);

#[derive(Debug)]
struct Failure {
    status: Option<http::StatusCode>,
    what: String,
}

impl Failures {
    /// The last of them.
    pub(super) fn last(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|last| last.what.clone())
    }

    /// Whether the last was a refusal, which asking again does not change: of the client, or of what it asked for
    /// (RFC 6749, section 5.2).
    pub(super) fn is_refusal(&self) -> bool {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref()
            .and_then(|last| last.status)
            .is_some_and(|status| matches!(status.as_u16(), 400 | 401 | 403))
    }

    fn note(&self, status: Option<http::StatusCode>, what: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Failure { status, what });
    }
}

struct Requests {
    client: Client,
    failures: Failures,
}

impl Requests {
    async fn answer(
        &self,
        request: OAuthHttpRequest,
    ) -> Result<http::Response<Vec<u8>>, OAuthHttpClientError> {
        let mut request = reqwest::Request::try_from(request.request)?;
        *request.timeout_mut() = Some(WAIT);
        let mut response = self.client.execute(request).await.map_err(reqwest::Error::without_url)?;
        let body = body::read(&mut response, CAP).await.map_err(reqwest::Error::without_url)?;
        if body.cut {
            return Err("the answer is larger than 1 MiB".into());
        }
        let mut made = http::Response::new(body.bytes);
        *made.status_mut() = response.status();
        *made.headers_mut() = std::mem::take(response.headers_mut());
        Ok(made)
    }
}

impl OAuthHttpClient for Requests {
    /// No redirect is followed, whoever would: what goes along is for the address that was found.
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let (method, uri) = (request.request.method().clone(), request.request.uri().to_string());
            let place = Url::parse(&uri).map_or_else(|_| "?".to_owned(), |url| shown(&url));
            let answer = self.answer(request).await;
            match &answer {
                // What is looked for may be elsewhere.
                Ok(answer) if answer.status().is_success() || method == http::Method::GET => {}
                // Its body may hold what nobody is to see.
                Ok(answer) => {
                    let status = answer.status();
                    self.failures.note(Some(status), format!("{method} {place}: status {status}"));
                }
                Err(cause) => {
                    let cause: &(dyn Error + 'static) = cause.as_ref();
                    let layers = std::iter::successors(Some(cause), |layer: &&(dyn Error + 'static)| {
                        (*layer).source()
                    });
                    let layers: Vec<String> = layers.map(ToString::to_string).collect();
                    self.failures.note(None, format!("{method} {place}: {}", layers.join(": ")));
                }
            }
            answer
        })
    }
}
