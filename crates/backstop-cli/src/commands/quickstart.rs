//! `backstop quickstart`.

use std::{io::Write, net::SocketAddr, path::Path};

use backstop::{
    Overrides,
    manifest::{Environment, Manifest, ProcessEnvironment},
};
use tokio::net::TcpListener;

use super::{Exit, built, run::drive};
use crate::{
    args::{Approval, Output},
    output::diagnostics,
    shop,
    signal::Signals,
};

const MANIFEST: &str = include_str!("../../../../examples/quickstart/backstop.yaml");
const SCRIPT: &str = include_str!("../../../../examples/quickstart/script.yaml");

pub(crate) async fn run(prompt: &str, serve: Option<SocketAddr>, output: Output) -> Result<Exit, Exit> {
    let address = serve.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0)));
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| Exit::failed(format!("the shop can't listen on {address}: {error}")))?;
    let address = listener
        .local_addr()
        .map_err(|error| Exit::failed(format!("the shop's address is not known: {error}")))?;
    let shop = shop::serve(listener);
    if serve.is_some() {
        let mut signals = Signals::listen();
        note(&format!("the shop is at http://{address}, until Ctrl-C"));
        return tokio::select! {
            served = shop => Err(Exit::failed(format!("the shop ended: {served:?}"))),
            () = signals.next() => Ok(Exit::with(0)),
        };
    }
    let agent = async {
        let environment = WithShop(format!("http://{address}"));
        let (manifest, problems) = Manifest::load(MANIFEST, "quickstart", Path::new("."), &environment);
        let Some(manifest) = manifest else {
            let shown = diagnostics::rendered(Path::new("quickstart"), MANIFEST, &problems);
            return Err(Exit::usage(format!("the quickstart can't be used with these variables\n{shown}")));
        };
        let set = |name: &str| environment.var(name).is_some_and(|value| !value.is_empty());
        let mut overrides = Overrides::default();
        if set("OPENAI_BASE_URL") || set("OPENAI_API_KEY") {
            note("using the model that OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL name");
        } else {
            note("no model is set (OPENAI_BASE_URL or OPENAI_API_KEY), so a scripted one answers");
            overrides.script = Some(SCRIPT.to_owned());
        }
        let agent = built(&manifest, &overrides).await?;
        note(&format!("the shop is at http://{address}; you say: {prompt}"));
        drive(&agent, prompt.to_owned(), output, Approval::default()).await
    };
    tokio::select! {
        exit = agent => exit,
        served = shop => Err(Exit::failed(format!("the shop ended: {served:?}"))),
    }
}

fn note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// The environment of this process, and the shop's address.
struct WithShop(String);

impl Environment for WithShop {
    fn var(&self, name: &str) -> Option<String> {
        if name == "SHOP_URL" { Some(self.0.clone()) } else { ProcessEnvironment.var(name) }
    }

    fn read_file(&self, path: &Path) -> std::io::Result<String> {
        ProcessEnvironment.read_file(path)
    }
}
