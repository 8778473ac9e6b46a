//! `backstop mcp --add-to`: the block of configuration for the program that shall use the tools.

use std::{
    fs,
    io::{IsTerminal as _, Write as _},
    path::{Path, PathBuf},
};

use anstyle::{AnsiColor, Style};
use backstop::manifest::ProcessEnvironment;

use super::{
    super::{Exit, complain, manifest, say},
    host_file::{HostEntry, HostForm, Way},
};
use crate::{args::Gate, input};

const BOLD: Style = AnsiColor::Yellow.on_default().bold();
/// Bytes of a host's configuration at most.
const HOST_CAP: u64 = 4 * 1024 * 1024;

/// Adds the gateway to a host's configuration, after asking.
pub(super) async fn add(host: &Path, file: &Path, gate: &Gate) -> Result<Exit, Exit> {
    let name = manifest(file, &ProcessEnvironment)?.name.value;
    let entry = HostEntry { name, way: way(file, gate)? };
    let (text, form) = (read(host)?, HostForm::of_path(host));
    let changed = match entry.added_to(&text, form) {
        Ok(changed) => changed,
        Err(why) => {
            say(&entry.block(form));
            complain(&format!(
                "`{}` is left as it is: {why}\n  hint: add the block above by hand",
                host.display()
            ));
            return Ok(Exit::with(2));
        }
    };
    if changed == text {
        say(&format!("`{}` has it already", host.display()));
        return Ok(Exit::with(0));
    }
    say(&entry.block(form));
    if !gate.yes && !allowed(host).await {
        let _ = writeln!(anstream::stderr(), "`{}` is left as it is", host.display());
        return Ok(Exit::with(0));
    }
    write(host, &changed)
        .map_err(|error| Exit::failed(format!("can't write `{}`: {error}", host.display())))?;
    let _ = writeln!(anstream::stderr(), "wrote `{}`", host.display());
    Ok(Exit::with(0))
}

fn read(host: &Path) -> Result<String, Exit> {
    let failed = |error: std::io::Error| Exit::usage(format!("can't read `{}`: {error}", host.display()));
    match fs::metadata(host) {
        Ok(known) if known.len() > HOST_CAP => {
            Err(Exit::usage(format!("`{}` is larger than {HOST_CAP} bytes", host.display())))
        }
        Ok(_) => fs::read_to_string(host).map_err(failed),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(failed(error)),
    }
}

/// How the host starts the gateway, or reaches it.
fn way(file: &Path, gate: &Gate) -> Result<Way, Exit> {
    if let Some(address) = gate.http {
        return Ok(Way::Url(format!("http://{address}/mcp")));
    }
    let absolute = |path: PathBuf| path.canonicalize().unwrap_or(path).display().to_string();
    let program = std::env::current_exe().map(absolute).map_err(|error| Exit::error(&error))?;
    let mut args = vec!["mcp".to_owned(), absolute(file.to_owned())];
    if gate.host_approves {
        args.push("--host-approves".into());
    }
    Ok(Way::Program(program, args))
}

async fn allowed(host: &Path) -> bool {
    if !std::io::stdin().is_terminal() {
        let _ = writeln!(anstream::stderr(), "nobody can be asked: give `--yes` to write it");
        return false;
    }
    let _ = writeln!(anstream::stderr(), "{BOLD}?{BOLD:#} Add this to `{}`? (y/N)", host.display());
    let line = input::line_after_prompt(BOLD).await.ok().flatten().unwrap_or_default();
    matches!(line.trim(), "y" | "Y" | "yes")
}

/// Writes the whole file or nothing, through the link where it is one, with the rights that it has.
fn write(host: &Path, text: &str) -> std::io::Result<()> {
    let target = host.canonicalize().unwrap_or_else(|_| host.to_owned());
    let mut beside = target.clone().into_os_string();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = (|| {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&beside)?;
        if let Ok(known) = fs::metadata(&target) {
            file.set_permissions(known.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, &target)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}
