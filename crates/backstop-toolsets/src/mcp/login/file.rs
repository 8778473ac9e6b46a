//! Where tokens are kept: a file for each server, which only its owner may read.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use oauth2::TokenResponse as _;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::transport::auth::StoredCredentials;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};
use url::Url;

/// Bytes of a file at most.
const CAP: u64 = 1024 * 1024;
/// What names of files may have in them everywhere.
const NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');
/// Bytes of the name of a file that every system takes.
const NAME_CAP: usize = 240;
/// Time between two looks at a file that another process holds.
const LOOK: Duration = Duration::from_millis(50);
/// Taken off the time that a token holds: it must not end on the way.
const MARGIN: Duration = Duration::from_secs(30);

/// The file of one server's tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenFile(PathBuf);

/// A file of tokens that can't be used.
#[derive(Debug, thiserror::Error)]
#[error("can't {what} the tokens in `{}`", .path.display())]
pub struct TokenFileError {
    what: &'static str,
    path: PathBuf,
    #[source]
    source: io::Error,
}

impl TokenFileError {
    pub(super) fn into_cause(self) -> io::Error {
        self.source
    }
}

impl TokenFile {
    /// The file of the server at this address, in this folder. What stands behind `?` in the address makes no
    /// difference.
    pub fn new(dir: &Path, server: &Url) -> Self {
        let name: String = utf8_percent_encode(bare(server).as_str(), NAME).collect();
        Self(dir.join(format!("{name}.json")))
    }

    /// The folder for the tokens of this user: that of the variable `BACKSTOP_TOKENS`, or `backstop/tokens` where the
    /// data of programs are (`XDG_DATA_HOME`, `~/.local/share`; `LOCALAPPDATA` on Windows).
    pub fn usual_dir() -> Option<PathBuf> {
        let var = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(dir) = var("BACKSTOP_TOKENS") {
            return Some(dir);
        }
        let data = if cfg!(windows) { var("LOCALAPPDATA") } else { var("XDG_DATA_HOME") };
        let data = data.or_else(|| Some(std::env::home_dir()?.join(".local/share")))?;
        Some(data.join("backstop/tokens"))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Forgets the tokens; `false` where there are none.
    ///
    /// # Errors
    ///
    /// When the file can't be removed.
    pub fn forget(&self) -> Result<bool, TokenFileError> {
        match std::fs::remove_file(&self.0) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.failed("remove", error)),
        }
    }

    fn failed(&self, what: &'static str, source: io::Error) -> TokenFileError {
        TokenFileError { what, path: self.0.clone(), source }
    }

    pub(super) fn read(&self, server: &Url) -> Result<Option<Kept>, TokenFileError> {
        let file = match File::open(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(|error| self.failed("read", error))?,
        };
        let mut text = String::new();
        file.take(CAP).read_to_string(&mut text).map_err(|error| self.failed("read", error))?;
        // What is wrong with it is not told: that would show the tokens.
        let kept: Kept = serde_json::from_str(&text).map_err(|_| {
            let wrong = "it is no file of tokens, or one of another version of this program: log in again";
            self.failed("read", io::Error::new(io::ErrorKind::InvalidData, wrong))
        })?;
        if kept.server != bare(server) {
            let wrong = format!("they belong to {}", crate::http::shown(&kept.server));
            return Err(self.failed("use", io::Error::new(io::ErrorKind::InvalidData, wrong)));
        }
        Ok(Some(kept))
    }

    pub(super) fn write(&self, kept: &Kept) -> Result<(), TokenFileError> {
        let write = || -> io::Result<()> {
            let dir = self.make_dir()?;
            let text = serde_json::to_vec_pretty(kept)?;
            // Whole or not at all, and never readable for others.
            let mut file = tempfile::NamedTempFile::new_in(dir)?;
            file.write_all(&text)?;
            file.as_file().sync_all()?;
            file.persist(&self.0)?;
            Ok(())
        };
        write().map_err(|error| self.failed("keep", error))
    }

    /// Makes sure that no other process renews the tokens meanwhile, for as long as the file lives that is given back.
    pub(super) async fn lock(&self, until: Instant) -> Result<File, TokenFileError> {
        let open = || -> io::Result<File> {
            self.make_dir()?;
            OpenOptions::new().create(true).truncate(false).write(true).open(self.0.with_extension("lock"))
        };
        let file = open().map_err(|error| self.failed("lock", error))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(LOOK).await,
                Err(TryLockError::WouldBlock) => {
                    let held = io::Error::new(io::ErrorKind::TimedOut, "another process holds them");
                    return Err(self.failed("lock", held));
                }
                Err(TryLockError::Error(error)) => return Err(self.failed("lock", error)),
            }
        }
    }

    fn make_dir(&self) -> io::Result<&Path> {
        let dir = self.0.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if self.0.file_name().is_some_and(|name| name.len() > NAME_CAP) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidFilename,
                "the address of the server is too long",
            ));
        }
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(dir)?;
        Ok(dir)
    }
}

/// What a login brought.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) server: Url,
    pub(super) client_id: String,
    pub(super) client_secret: Option<String>,
    /// Where the browser went back to.
    pub(super) redirect: String,
    /// What the server said that it wants, from which the authorization server is found again.
    pub(super) challenge: Option<String>,
    pub(super) credentials: StoredCredentials,
}

impl Kept {
    pub(super) fn token(&self) -> Option<SecretString> {
        Some(self.credentials.token_response.as_ref()?.access_token().secret().clone().into())
    }

    pub(super) fn is_renewable(&self) -> bool {
        self.credentials.token_response.as_ref().is_some_and(|token| token.refresh_token().is_some())
    }

    /// When the token ends, where that is known.
    pub(super) fn ends(&self) -> Option<SystemTime> {
        let holds = self.credentials.token_response.as_ref()?.expires_in()?;
        SystemTime::UNIX_EPOCH
            .checked_add(Duration::from_secs(self.credentials.token_received_at?))?
            .checked_add(holds)
    }

    /// The token, if it holds and is not the one that was refused.
    pub(super) fn usable(&self, refused: Option<&SecretString>) -> Option<SecretString> {
        let token = self.token()?;
        if refused.is_some_and(|refused| refused.expose_secret() == token.expose_secret()) {
            return None;
        }
        let holds = self.credentials.token_response.as_ref()?.expires_in().unwrap_or(Duration::MAX);
        let margin = MARGIN.min(holds / 2);
        self.ends().is_none_or(|ends| ends > SystemTime::now() + margin).then_some(token)
    }
}

/// The address without what is not the server: user, password, query.
pub(in super::super) fn bare(server: &Url) -> Url {
    let mut bare = server.clone();
    bare.set_query(None);
    bare.set_fragment(None);
    // They fail only for an address without a host, which has none of them.
    let _ = bare.set_username("");
    let _ = bare.set_password(None);
    bare
}
