//! `backstop mcp`.

mod host;
mod host_file;

use std::{io::Write as _, net::SocketAddr, path::Path};

use backstop::{CancellationToken, manifest::ProcessEnvironment};
use backstop_server::mcp::{Gateway, GatewayOptions, HttpOptions, Tokens, serve_http, serve_stdio};

use super::{Exit, built, manifest, overrides};
use crate::{
    args::{Gate, ModelFlags},
    signal::Signals,
};

/// Bytes of a file with tokens at most.
const TOKENS_CAP: usize = 64 * 1024;

pub(crate) async fn run(file: &Path, gate: &Gate) -> Result<Exit, Exit> {
    if let Some(host) = &gate.add_to {
        return host::add(host, file, gate).await;
    }
    // Read before anything is started, so that a mistake costs nothing.
    let options = http_options(gate)?;
    let mut behaviour = GatewayOptions::default();
    behaviour.host_approves = gate.host_approves;
    let manifest = manifest(file, &ProcessEnvironment)?;
    let agent = built(&manifest, &overrides(&ModelFlags::default())).await?;
    let tools = agent.catalog().entries().len();
    let gateway = Gateway::new(agent, behaviour);
    let stop = CancellationToken::new();
    let mut signals = Signals::listen();
    match gate.http {
        Some(address) => {
            let serving = serve_http(gateway, address, options, stop.clone(), |bound| {
                let _ = writeln!(anstream::stderr(), "serving {tools} tools at http://{bound}/mcp");
            });
            signals.cancelling(&stop, serving).await.map_err(|error| Exit::error(&error))?;
        }
        None => {
            let serving = serve_stdio(gateway, stop.clone());
            signals
                .cancelling(&stop, serving)
                .await
                .map_err(|error| Exit::failed(format!("the handshake failed: {error}")))?;
        }
    }
    Ok(Exit::with(0))
}

fn http_options(gate: &Gate) -> Result<HttpOptions, Exit> {
    let mut tokens = Vec::new();
    for name in &gate.token_env {
        let token = std::env::var(name).ok().filter(|token| !token.trim().is_empty());
        tokens.push(token.ok_or_else(|| Exit::usage(format!("the variable `{name}` holds no token")))?);
    }
    if let Some(file) = &gate.token_file {
        let failed =
            |why: String| Exit::usage(format!("the tokens in `{}` can't be read: {why}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
        if text.len() > TOKENS_CAP {
            return Err(failed(format!("it is larger than {TOKENS_CAP} bytes")));
        }
        let own: Vec<String> = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(str::to_owned)
            .collect();
        if own.is_empty() {
            return Err(failed("it holds none".into()));
        }
        tokens.extend(own);
    }
    let mut options = HttpOptions::default();
    options.tokens = Tokens::new(tokens);
    options.hosts.clone_from(&gate.allow_host);
    options.origins.clone_from(&gate.allow_origin);
    if gate.http.is_some_and(|address| !address.ip().is_loopback()) && options.tokens.is_empty() {
        let address: Option<SocketAddr> = gate.http;
        let shown = address.map(|address| address.to_string()).unwrap_or_default();
        return Err(Exit::usage(format!(
            "{shown} can be reached from elsewhere: a token is needed\n  hint: set one in a variable and give `--token-env NAME`"
        )));
    }
    Ok(options)
}
