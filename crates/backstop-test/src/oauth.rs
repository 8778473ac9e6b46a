//! An MCP server that wants to know who asks, and the authorization server that it names, at one address on loopback.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::json;
use url::{Url, form_urlencoded};

use crate::{
    mcp::{Behaviour, answer},
    server::{Reply, Request, Server},
};

/// What such a server does with a login, and with what it brought.
#[derive(Clone, Debug)]
pub struct Manner {
    /// Seconds that a token is said to hold.
    pub expires_in: u64,
    /// Whether it can be renewed.
    pub renewable: bool,
    /// Whether the person refuses.
    pub refuses: bool,
    /// The issuer that the browser brings back; the true one where there is none.
    pub issuer: Option<String>,
    /// Whether clients can register themselves.
    pub registers: bool,
    /// Time that a renewal takes.
    pub renewal: Duration,
    /// What is answered to every renewal, in place of a token.
    pub breaks: Option<Reply>,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            expires_in: 3600,
            renewable: true,
            refuses: false,
            issuer: None,
            registers: true,
            renewal: Duration::ZERO,
            breaks: None,
        }
    }
}

/// A running server.
#[derive(Debug)]
pub struct Guarded {
    /// What it was asked.
    pub server: Server,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    manner: Manner,
    issued: u32,
    valid: HashSet<String>,
    refresh: Option<String>,
    challenge: Option<String>,
}

impl Guarded {
    /// Starts one.
    pub fn start(manner: Manner) -> Self {
        let state = Arc::new(Mutex::new(State { manner, ..State::default() }));
        let shared = Arc::clone(&state);
        Self { server: Server::answering(move |request| locked(&shared).reply(request)), state }
    }

    /// The address of the MCP server.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.server.url)
    }

    /// Takes no token any more that was given so far; they can still be renewed.
    pub fn forget(&self) {
        locked(&self.state).valid.clear();
    }

    /// Changes what it does.
    pub fn change(&self, change: impl FnOnce(&mut Manner)) {
        change(&mut locked(&self.state).manner);
    }

    /// The bodies of the requests for tokens so far.
    pub fn token_requests(&self) -> Vec<BTreeMap<String, String>> {
        let asked = self.server.seen();
        asked
            .iter()
            .filter(|request| request.line() == "POST /token")
            .map(|request| form(&request.body))
            .collect()
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn form(text: &str) -> BTreeMap<String, String> {
    form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

impl State {
    fn reply(&mut self, request: &Request) -> Reply {
        let base = format!("http://{}", request.header("host").unwrap_or_default());
        let (path, query) = request.target().split_once('?').unwrap_or((request.target(), ""));
        match path {
            "/mcp" => self.mcp(&base, request),
            "/.well-known/oauth-protected-resource/mcp" => Reply::json(
                "200 OK",
                json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]}),
            ),
            "/.well-known/oauth-authorization-server" => Reply::json("200 OK", self.metadata(&base)),
            "/register" => {
                Reply::json("201 Created", json!({"client_id": "registered", "redirect_uris": []}))
            }
            "/authorize" => self.authorize(&form(query)),
            "/token" => self.token(&form(&request.body)),
            _ => Reply::json("404 Not Found", "{}"),
        }
    }

    fn mcp(&self, base: &str, request: &Request) -> Reply {
        let token = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        if !token.is_some_and(|token| self.valid.contains(token)) {
            let wants = format!(
                "Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\", scope=\"read\""
            );
            return Reply::new("401 Unauthorized", &[("www-authenticate", &wants)], "");
        }
        if !request.line().starts_with("POST ") {
            return Reply::json("405 Method Not Allowed", "{}");
        }
        match answer(&request.json(), Behaviour::Good) {
            None => Reply::new("202 Accepted", &[], ""),
            Some(answer) => Reply::json("200 OK", answer),
        }
    }

    fn metadata(&self, base: &str) -> serde_json::Value {
        let mut metadata = json!({
            "issuer": base,
            "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
        });
        if self.manner.registers {
            metadata["registration_endpoint"] = format!("{base}/register").into();
        }
        metadata
    }

    fn authorize(&mut self, asked: &BTreeMap<String, String>) -> Reply {
        let text = |name: &str| asked.get(name).cloned().unwrap_or_default();
        let Ok(mut back) = Url::parse(&text("redirect_uri")) else {
            return Reply::json("400 Bad Request", "{}");
        };
        self.challenge = Some(text("code_challenge"));
        let resource = Url::parse(&text("resource"));
        let issuer = resource.map(|url| url.origin().ascii_serialization()).unwrap_or_default();
        back.query_pairs_mut().append_pair("state", &text("state"));
        match self.manner.refuses {
            true => back
                .query_pairs_mut()
                .append_pair("error", "access_denied")
                .append_pair("error_description", "not\u{1b}[31m today"),
            false => back.query_pairs_mut().append_pair("code", "code-1"),
        };
        back.query_pairs_mut().append_pair("iss", self.manner.issuer.as_ref().unwrap_or(&issuer));
        Reply::new("302 Found", &[("location", back.as_str())], "")
    }

    fn token(&mut self, asked: &BTreeMap<String, String>) -> Reply {
        let text = |name: &str| asked.get(name).map(String::as_str);
        let granted = match text("grant_type") {
            Some("authorization_code") => {
                text("code") == Some("code-1")
                    && text("code_verifier").is_some()
                    && self.challenge.take().is_some()
            }
            Some("refresh_token") => {
                if let Some(reply) = &self.manner.breaks {
                    return reply.clone();
                }
                self.refresh.is_some() && text("refresh_token") == self.refresh.as_deref()
            }
            _ => false,
        };
        if !granted {
            return Reply::json("400 Bad Request", json!({"error": "invalid_grant"}));
        }
        self.issued += 1;
        let token = format!("access-{}", self.issued);
        self.valid.insert(token.clone());
        let mut answer =
            json!({"access_token": token, "token_type": "Bearer", "expires_in": self.manner.expires_in});
        if self.manner.renewable {
            let refresh = format!("refresh-{}", self.issued);
            answer["refresh_token"] = refresh.clone().into();
            self.refresh = Some(refresh);
        }
        let reply = Reply::json("200 OK", answer);
        match self.manner.renewal {
            Duration::ZERO => reply,
            renewal => reply.drip(128, renewal / 2),
        }
    }
}
