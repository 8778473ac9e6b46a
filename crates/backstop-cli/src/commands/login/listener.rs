//! Where the browser comes back to: an address on this machine, for as long as a login takes (RFC 8252, section 7.3).

use std::{io, net::Ipv6Addr, time::Duration};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, Uri, header::CONTENT_TYPE},
    response::{IntoResponse as _, Response},
};
use backstop::mcp::login::{LoggedIn, LoginError};
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
    task::JoinSet,
};

/// Where it is, unless something else is declared.
const PATH: &str = "/callback";
/// Time for the last page to leave.
const FLUSH: Duration = Duration::from_millis(200);
/// Requests that wait.
const WAITING: usize = 8;

pub(super) struct Listener {
    redirect: String,
    callbacks: mpsc::Receiver<Callback>,
    /// It ends with this.
    _serving: JoinSet<io::Result<()>>,
}

/// A browser that came back, and waits for a page.
pub(super) struct Callback {
    pub(super) path_and_query: String,
    page: oneshot::Sender<Response>,
}

impl Listener {
    /// Listens at the declared address, or at any port.
    pub(super) async fn bind(declared: Option<&url::Url>) -> io::Result<Self> {
        let port = declared.and_then(url::Url::port).unwrap_or(0);
        let is_v6 = declared.is_some_and(|url| url.host_str() == Some("[::1]"));
        let listener = match is_v6 {
            true => TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await?,
            false => TcpListener::bind(("127.0.0.1", port)).await?,
        };
        let (redirect, path) = match declared {
            Some(url) => (url.to_string(), url.path().to_owned()),
            None => (format!("http://{}{PATH}", listener.local_addr()?), PATH.to_owned()),
        };
        let (sender, callbacks) = mpsc::channel(WAITING);
        let router = Router::new().fallback(come_back).with_state((path, sender));
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, router).await });
        Ok(Self { redirect, callbacks, _serving: serving })
    }

    pub(super) fn redirect(&self) -> &str {
        &self.redirect
    }

    /// The next browser that comes back.
    pub(super) async fn next(&mut self) -> Callback {
        match self.callbacks.recv().await {
            Some(callback) => callback,
            // Nobody can come any more: what is pasted still counts.
            None => std::future::pending().await,
        }
    }
}

impl Callback {
    /// Shows how it ended. The terminal says more.
    pub(super) async fn answer(self, ended: &Result<LoggedIn, LoginError>) {
        let (status, text) = match ended {
            Ok(_) => (StatusCode::OK, "You are logged in. This page can be closed."),
            Err(LoginError::Stray) => {
                (StatusCode::NOT_FOUND, "This is not the answer to a login that is on its way.")
            }
            Err(_) => (StatusCode::OK, "The login did not succeed: the terminal says why."),
        };
        let _ = self.page.send(page(status, text));
        tokio::time::sleep(FLUSH).await;
    }
}

async fn come_back(State((path, sender)): State<(String, mpsc::Sender<Callback>)>, uri: Uri) -> Response {
    let nothing = || page(StatusCode::NOT_FOUND, "There is nothing here.");
    if uri.path() != path {
        return nothing();
    }
    let (page, shown) = oneshot::channel();
    let path_and_query = uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    if sender.send(Callback { path_and_query, page }).await.is_err() {
        return nothing();
    }
    shown.await.unwrap_or_else(|_| nothing())
}

fn page(status: StatusCode, text: &str) -> Response {
    let page = format!(
        "<!doctype html><meta charset=utf-8><title>Backstop</title>\
         <p style=\"font:1.2em sans-serif;margin:3em\">{text}</p>\n"
    );
    (status, [(CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response()
}
