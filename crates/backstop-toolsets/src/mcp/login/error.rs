//! Why nobody is logged in.

use std::{error::Error, time::Duration};

use backstop_core::text::escaped;
use rmcp::transport::AuthError;

use super::{TokenFileError, client::Failures};

/// Letters of what others say that operators get to see.
const SHOWN_CAP: usize = 300;

/// Why a login did not succeed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The server did not answer.
    #[error("{0}")]
    Unreachable(String, #[source] backstop_core::ToolError),
    /// The server takes requests of anybody, and says nothing about a login.
    #[error("{0} asks for no login, and publishes nothing about one")]
    NotAsked(String),
    /// Where to log in was not found.
    #[error("where to log in to {0} was not found")]
    Discovery(String, #[source] Said),
    /// The authorization server does not know this client.
    #[error(
        "the client has no id at the authorization server: register it there, and declare `client_id` and, where it \
         has one, `client_secret`"
    )]
    Registration(#[source] Said),
    /// The person, or the authorization server, refused.
    #[error("the login was refused: {0}")]
    Refused(String),
    /// What came back belongs to another login. This one goes on.
    #[error("this is not the answer to this login")]
    Stray,
    /// There was no token for what came back.
    #[error("the authorization server gave no token")]
    Exchange(#[source] Said),
    /// It did not come to an end in time.
    #[error("the authorization server did not answer within {0:?}")]
    Timeout(Duration),
    /// The token can't be kept.
    #[error(transparent)]
    File(#[from] TokenFileError),
}

/// What the library, or the authorization server, says: escaped and short.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Said(String);

impl Said {
    pub(super) fn new(error: &AuthError, failures: &Failures) -> Self {
        let layers = std::iter::successors(Some(error as &dyn Error), |layer: &&dyn Error| (*layer).source());
        let text = layers.map(ToString::to_string).collect::<Vec<_>>().join(": ");
        let last = failures.last().map(|last| format!(" ({last})"));
        Self(shown(&text) + &last.unwrap_or_default())
    }
}

/// What somebody else says, for operators.
pub(super) fn shown(text: &str) -> String {
    escaped(text, SHOWN_CAP)
}
