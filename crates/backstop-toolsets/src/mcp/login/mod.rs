//! Logging in to a server with a browser: OAuth 2.1 with discovery and PKCE, as the protocol asks for.
//!
//! [`Login`] is one login on its way. What it brings is kept in a [`TokenFile`], from where toolsets take it, and
//! where they put what they renew.
//!
//! The server says where its authorization server is (RFC 9728), which says what it offers (RFC 8414, or OpenID
//! Connect Discovery); a client that has no id of its own there registers itself (RFC 7591). A token is asked for one
//! server (RFC 8707) and is sent to no other.

mod client;
mod error;
mod file;
mod flow;
mod grant;

use secrecy::SecretString;

pub use self::{
    error::LoginError,
    file::{TokenFile, TokenFileError},
    flow::{LoggedIn, Login},
};
pub(super) use self::{file::bare, grant::Grants};

/// That requests carry a token, which a person gave by a [`Login`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoginConfig {
    /// Where it is kept.
    pub file: TokenFile,
    /// The client's id at the authorization server: what it was registered as, or the URL of its metadata document.
    /// It registers itself where there is none.
    pub client_id: Option<String>,
    /// The client's secret, where it has one.
    pub client_secret: Option<SecretString>,
    /// What may be done with the token; what the server itself asks for where it is empty.
    pub scopes: Vec<String>,
    /// Makes the requests to the authorization server, which is where the server says; the server's client where there
    /// is none.
    pub client: Option<reqwest::Client>,
}

impl LoginConfig {
    /// A client that registers itself, and asks for what the server wants.
    pub fn new(file: TokenFile) -> Self {
        Self { file, client_id: None, client_secret: None, scopes: Vec::new(), client: None }
    }
}
