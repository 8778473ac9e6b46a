//! The token that requests carry: taken from its file, and renewed there.

use std::time::Duration;

use backstop_core::ToolError;
use reqwest::Client;
use rmcp::transport::auth::{
    AuthError, CredentialStore as _, InMemoryCredentialStore, OAuthClientConfig, StoredCredentials,
};
use secrecy::SecretString;
use tokio::{
    sync::Mutex,
    task::JoinSet,
    time::{Instant, timeout_at},
};
use url::Url;

use super::{
    LoginConfig, TokenFileError, bare, client,
    error::Said,
    file::{Kept, TokenFile},
};

/// Time to renew a token, whoever waits for it.
const RENEW: Duration = Duration::from_secs(60);

/// The tokens for one server.
pub(in super::super) struct Grants {
    source: Source,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    kept: Option<Kept>,
    /// At most one, which goes on if the call is given up that began it: an old token may not be good for a second try.
    renewal: JoinSet<Result<Kept, ToolError>>,
}

/// Where they come from.
#[derive(Clone)]
struct Source {
    server: Url,
    file: TokenFile,
    client: Client,
}

impl Grants {
    pub(in super::super) fn new(config: &LoginConfig, server: &Url, client: &Client) -> Self {
        let client = config.client.as_ref().unwrap_or(client).clone();
        let source = Source { server: bare(server), file: config.file.clone(), client };
        Self { source, state: Mutex::default() }
    }

    /// A token that holds; another one than `refused`, which the server did not take. Waited for until `until`.
    ///
    /// # Errors
    ///
    /// `unauthenticated` where somebody must log in, `unavailable` where the authorization server does not answer;
    /// nothing has been asked of the server itself then.
    pub(in super::super) async fn token(
        &self,
        refused: Option<&SecretString>,
        until: Instant,
    ) -> Result<SecretString, ToolError> {
        let late = |_| ToolError::unavailable("the token did not come in time");
        let found = async {
            let mut state = timeout_at(until, self.state.lock()).await.map_err(late)?;
            let mut is_own = false;
            loop {
                if let Some(token) = state.kept.as_ref().and_then(|kept| kept.usable(refused)) {
                    return Ok(token);
                }
                if state.renewal.is_empty() {
                    if is_own {
                        return Err(self.source.nobody("the server takes no token: nobody is logged in"));
                    }
                    is_own = true;
                    state.kept = None;
                    state.renewal.spawn(self.source.clone().renew(refused.cloned()));
                }
                match timeout_at(until, state.renewal.join_next()).await.map_err(late)? {
                    Some(Ok(Ok(kept))) => state.kept = Some(kept),
                    Some(Ok(Err(error))) if is_own => return Err(error),
                    Some(Err(broken)) if is_own => {
                        return Err(ToolError::internal("the token was not renewed").with_source(broken));
                    }
                    // What became of somebody else's is no answer for this one.
                    Some(_) | None => {}
                }
            }
        };
        found.await.map_err(ToolError::not_applied)
    }
}

impl Source {
    async fn renew(self, refused: Option<SecretString>) -> Result<Kept, ToolError> {
        let until = Instant::now() + RENEW;
        let kept = self.read().await?;
        if kept.usable(refused.as_ref()).is_some() {
            return Ok(kept);
        }
        let _lock = self.file.lock(until).await.map_err(unusable)?;
        // Another process may have renewed them.
        let kept = self.read().await?;
        if kept.usable(refused.as_ref()).is_some() {
            return Ok(kept);
        }
        let late = |_| ToolError::unavailable("the authorization server did not answer in time");
        let kept = timeout_at(until, self.refreshed(kept)).await.map_err(late)??;
        let (file, new) = (self.file.clone(), kept.clone());
        blocking(move || file.write(&new)).await?;
        Ok(kept)
    }

    async fn read(&self) -> Result<Kept, ToolError> {
        let (file, server) = (self.file.clone(), self.server.clone());
        let kept = blocking(move || file.read(&server)).await?;
        kept.ok_or_else(|| self.nobody("nobody is logged in"))
    }

    fn nobody(&self, why: &str) -> ToolError {
        let server = crate::http::shown(&self.server);
        ToolError::unauthenticated(format!("{why} to {server}: `backstop login` does that"))
    }

    /// What the authorization server gives for the tokens.
    async fn refreshed(&self, mut kept: Kept) -> Result<Kept, ToolError> {
        if !kept.is_renewable() {
            return Err(self.nobody("the token holds no longer, and can't be renewed: nobody is logged in"));
        }
        let (mut manager, failures) = client::manager(&self.server, &self.client)
            .await
            .map_err(|error| ToolError::misconfigured("the token can't be renewed").with_source(error))?;
        let failed = |error: AuthError| {
            let said = Said::new(&error, &failures);
            match error {
                AuthError::TokenRefreshRejected(_) | AuthError::AuthorizationRequired => {
                    self.nobody("the token can't be renewed any more: nobody is logged in")
                }
                // Such as a client that is not known any more.
                AuthError::TokenRefreshFailed(_) if failures.is_refusal() => {
                    self.nobody("the token can't be renewed any more: nobody is logged in")
                }
                AuthError::TokenRefreshFailed(_)
                | AuthError::DiscoveryRequestFailed { .. }
                | AuthError::AuthorizationServersUnavailable { .. } => {
                    ToolError::unavailable("the token can't be renewed now")
                }
                _ => ToolError::misconfigured("the token can't be renewed"),
            }
            .with_source(said)
        };
        let challenge = kept.challenge.as_deref();
        let found = manager.resolve_metadata_from_challenge(challenge).await.map_err(failed)?;
        if let (Some(was), Some(is)) = (&kept.credentials.issuer, &found.metadata.issuer)
            && was != is
        {
            return Err(self.nobody("the server has another authorization server now: nobody is logged in"));
        }
        manager.set_metadata(found.metadata);
        let mut config = OAuthClientConfig::new(&kept.client_id, &kept.redirect);
        config.client_secret.clone_from(&kept.client_secret);
        manager.configure_client(config).map_err(failed)?;
        let store = InMemoryCredentialStore::new();
        store.save(kept.credentials.clone()).await.map_err(failed)?;
        manager.set_credential_store(store.clone());
        manager.refresh_token().await.map_err(failed)?;
        let renewed: Option<StoredCredentials> = store.load().await.map_err(failed)?;
        kept.credentials = renewed.unwrap_or(kept.credentials);
        Ok(kept)
    }
}

fn unusable(error: TokenFileError) -> ToolError {
    let detail = error.to_string();
    ToolError::misconfigured(detail).with_source(error.into_cause())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TokenFileError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(unusable),
        Err(broken) => Err(ToolError::internal("the file of tokens was not used").with_source(broken)),
    }
}
