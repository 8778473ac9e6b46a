//! `backstop init`.

use std::{fs::OpenOptions, io::Write, path::Path};

use super::{Exit, say};

const FILES: [(&str, &str); 2] = [
    ("backstop.yaml", include_str!("init/backstop.yaml")),
    ("script.yaml", include_str!("init/script.yaml")),
];

pub(crate) fn run(dir: &Path) -> Result<Exit, Exit> {
    let fail = |path: &Path, error: std::io::Error| {
        Exit::failed(format!("can't write `{}`: {error}", path.display()))
    };
    // Nothing that is there is touched, and nothing is half done for it.
    if let Some((name, _)) = FILES.iter().find(|(name, _)| dir.join(name).exists()) {
        return Err(Exit::usage(format!(
            "`{}` is there already; it is left as it is",
            dir.join(name).display()
        )));
    }
    std::fs::create_dir_all(dir).map_err(|error| fail(dir, error))?;
    for (name, text) in FILES {
        let path = dir.join(name);
        let written = OpenOptions::new().write(true).create_new(true).open(&path);
        written.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| fail(&path, error))?;
    }
    let manifest = dir.join("backstop.yaml");
    let manifest = manifest.display();
    say(&format!(
        "wrote {manifest} and its script. Next:\n  \
         backstop check {manifest}\n  \
         backstop tools {manifest}\n  \
         backstop run {manifest} \"Where is order A-1001?\"\n\
         The tools ask a shop that `backstop quickstart --serve` starts; without it you see how an outage ends."
    ));
    Ok(Exit::with(0))
}
