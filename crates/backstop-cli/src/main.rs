//! The `backstop` command. Exit codes: 0 fine, 1 ended otherwise, 2 usage or manifest error, 130 cancelled.

mod args;
mod commands;
mod input;
mod output;
mod person;
mod shop;
mod signal;
mod terminal;

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::{EnvFilter, layer::SubscriberExt, util::SubscriberInitExt};

use crate::{
    args::{Cli, Command},
    commands::Exit,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // Whoever starts a server does not see it work: what fails is in its log.
    start_log(if matches!(cli.command, Command::Mcp { .. }) { "backstop=warn" } else { "off" });
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Exit::usage(format!("the async runtime can't start: {error}")).code(),
    };
    let exit = runtime.block_on(run(cli.command)).unwrap_or_else(|exit| exit);
    // A read of stdin can't be interrupted: it must not hold up the end.
    runtime.shutdown_background();
    exit.code()
}

async fn run(command: Command) -> Result<Exit, Exit> {
    match command {
        Command::Init { dir } => commands::init::run(&dir),
        Command::Check { files, json, strict } => commands::check::run(&files, json, strict).await,
        Command::Migrate { file, out, json } => commands::migrate::run(&file, out.as_deref(), json),
        Command::Tools { file, json } => commands::tools::run(&file, json).await,
        Command::Call { file, tool, arguments, json } => {
            commands::call::run(&file, &tool, arguments.as_deref(), json).await
        }
        Command::Explain { file, tool, failure, json } => {
            commands::explain::run(&file, &tool, &failure, json).await
        }
        Command::Run { file, prompt, output, model, approval } => {
            commands::run::run(&file, prompt.as_deref(), output, &model, approval).await
        }
        Command::Chat { file, model, approval, verbose } => {
            commands::chat::run(&file, &model, approval, verbose).await
        }
        Command::Login { file, toolset, flags } => {
            commands::login::login(&file, toolset.as_deref(), &flags).await
        }
        Command::Logout { file, toolset } => commands::login::logout(&file, toolset.as_deref()),
        Command::Mcp { file, gate } => commands::mcp::run(&file, &gate).await,
        Command::Quickstart { prompt, serve, output } => {
            commands::quickstart::run(&prompt, serve, output).await
        }
    }
}

/// Logs go to stderr: those that `BACKSTOP_LOG` asks for, the usual ones where it asks for none.
fn start_log(usual: &str) {
    let filter = EnvFilter::try_from_env("BACKSTOP_LOG").unwrap_or_else(|_| EnvFilter::new(usual));
    let json = std::env::var("BACKSTOP_LOG_FORMAT").is_ok_and(|format| format == "json");
    let colours = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let registry = tracing_subscriber::registry().with(filter);
    if json {
        registry.with(tracing_subscriber::fmt::layer().json().with_writer(std::io::stderr)).init();
    } else {
        registry
            .with(tracing_subscriber::fmt::layer().with_ansi(colours).with_writer(std::io::stderr))
            .init();
    }
}
