//! `backstop login` and `backstop logout`: who is known at the MCP servers of a manifest.

mod listener;

use std::{path::Path, time::SystemTime};

use anstyle::Style;
use backstop::{
    LoginServer, Overrides, login_servers,
    manifest::ProcessEnvironment,
    mcp::login::{LoggedIn, Login, LoginError},
    text,
};
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use self::listener::{Callback, Listener};
use super::{Exit, manifest, say, say_json, with_causes};
use crate::{
    args::LoginFlags,
    input,
    output::{spinner::Spinner, stdout::plain},
    signal::Signals,
};

const BOLD: Style = Style::new().bold();

pub(crate) async fn login(file: &Path, toolset: Option<&str>, flags: &LoginFlags) -> Result<Exit, Exit> {
    let mut found = chosen(file, toolset)?;
    if !flags.scope.is_empty() {
        found.login.scopes.clone_from(&flags.scope);
    }
    let mut listener = Listener::bind(found.redirect.as_ref())
        .await
        .map_err(|error| Exit::failed(format!("the browser can't come back to this machine: {error}")))?;
    let spinner = Spinner::new();
    spinner.busy(format!("asking {} where to log in", found.toolset));
    let begun = Login::begin(&found.server, &found.login, listener.redirect()).await;
    spinner.hide();
    let login = begun.map_err(|error| failed(&error))?;
    invite(&login, flags.no_browser);
    let mut signals = Signals::listen();
    let logged_in = tokio::select! {
        () = signals.next() => return Ok(Exit::with(130)),
        ended = timeout_at(Instant::now() + flags.timeout(), answered(&login, &mut listener)) => match ended {
            Ok(ended) => ended?,
            Err(_) => {
                let waited = text::duration(flags.timeout());
                return Err(Exit::failed(format!("nobody logged in within {waited}")));
            }
        },
    };
    tell(&found, &logged_in, flags.json);
    Ok(Exit::with(0))
}

pub(crate) fn logout(file: &Path, toolset: Option<&str>) -> Result<Exit, Exit> {
    let found = chosen(file, toolset)?;
    let was = found.login.file.forget().map_err(|error| Exit::failed(with_causes(&error)))?;
    let toolset = &found.toolset;
    say(&match was {
        true => format!("logged out of {BOLD}{toolset}{BOLD:#}: its tokens are forgotten"),
        false => format!("nobody was logged in to {BOLD}{toolset}{BOLD:#}"),
    });
    Ok(Exit::with(0))
}

/// The toolset that is meant, of those that one logs in to.
fn chosen(file: &Path, toolset: Option<&str>) -> Result<LoginServer, Exit> {
    let manifest = manifest(file, &ProcessEnvironment)?;
    let mut found = login_servers(&manifest, &Overrides::default()).map_err(|error| Exit::error(&error))?;
    let names = found.iter().map(|found| format!("`{}`", found.toolset)).collect::<Vec<_>>().join(", ");
    if found.is_empty() {
        let hint = "declare `auth: login` beside the `url` of an `mcp` toolset";
        return Err(Exit::usage(format!("`{}` has no toolset to log in to: {hint}", file.display())));
    }
    match toolset {
        Some(name) => found.retain(|found| found.toolset == name),
        None if found.len() > 1 => return Err(Exit::usage(format!("say which toolset is meant: {names}"))),
        None => {}
    }
    found.pop().ok_or_else(|| {
        let name = plain(toolset.unwrap_or_default());
        Exit::usage(format!("there is no toolset `{name}` to log in to: there is {names}"))
    })
}

fn invite(login: &Login, no_browser: bool) {
    // The address is a URL, so there is nothing in it that a terminal could take for something else.
    let mut lines = format!("open this address to log in:\n\n  {}\n\n", login.url());
    if !no_browser && open::that_detached(login.url().as_str()).is_ok() {
        lines.push_str("a browser should have opened. ");
    }
    lines.push_str("a browser of another machine ends at an address that does not answer: paste it here\n");
    let _ = std::io::Write::write_all(&mut anstream::stderr(), lines.as_bytes());
}

/// Waits for the browser, or for the address that somebody pastes.
async fn answered(login: &Login, listener: &mut Listener) -> Result<LoggedIn, Exit> {
    let mut reads = true;
    loop {
        let (came_back, callback): (String, Option<Callback>) = tokio::select! {
            callback = listener.next() => (callback.path_and_query.clone(), Some(callback)),
            line = input::line(), if reads => match line {
                Ok(Some(line)) if line.trim().is_empty() => continue,
                Ok(Some(line)) => (line, None),
                _ => {
                    reads = false;
                    continue;
                }
            },
        };
        let ended = login.finish(&came_back).await;
        match (&ended, callback) {
            (_, Some(callback)) => callback.answer(&ended).await,
            (Err(LoginError::Stray), None) => {
                super::warn("this is not the address of this login: paste the whole of it");
            }
            (_, None) => {}
        }
        match ended {
            Ok(logged_in) => return Ok(logged_in),
            Err(LoginError::Stray) => {}
            Err(error) => return Err(failed(&error)),
        }
    }
}

fn failed(error: &LoginError) -> Exit {
    Exit::failed(with_causes(error))
}

fn tell(found: &LoginServer, logged_in: &LoggedIn, as_json: bool) {
    let holds = logged_in.ends.and_then(|ends| ends.duration_since(SystemTime::now()).ok());
    if as_json {
        say_json(&json!({
            "toolset": found.toolset,
            "client_id": logged_in.client_id,
            "scopes": logged_in.scopes,
            "expires_in": holds.map(|holds| holds.as_secs()),
            "renewable": logged_in.renewable,
            "file": found.login.file.path(),
        }));
        return;
    }
    let mut text = format!("logged in to {BOLD}{}{BOLD:#}", found.toolset);
    if !logged_in.scopes.is_empty() {
        text.push_str(&format!(", for {}", plain(&logged_in.scopes.join(", "))));
    }
    text.push_str(&match (holds, logged_in.renewable) {
        (_, true) => "; the token is renewed by itself".to_owned(),
        (Some(holds), false) => format!("; the token ends in {}", text::duration(holds)),
        (None, false) => String::new(),
    });
    say(&text);
}
