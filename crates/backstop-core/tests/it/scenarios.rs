//! Runs every file of `tests/scenarios`: events in, steps out.
//!
//! A file begins with comments, the tools, limits and strategies of the run. A line `> …` is an event; the indented
//! lines after it are what the run wants next, and those after the last one also what is left at the end.
//! `UPDATE_EXPECT=1` writes the indented lines anew: read the difference as you would read code.

use std::{fs, path::PathBuf};

use crate::{
    events::definition,
    scenario::{World, reread},
};

/// A scenario file taken apart.
pub(crate) struct Scenario {
    pub(crate) header: String,
    /// Events and the comments between them, as they stand in the file.
    lines: Vec<String>,
}

impl Scenario {
    pub(crate) fn parse(text: &str) -> Self {
        let start = text.find("\n>").expect("a scenario has events") + 1;
        let (header, body) = text.split_at(start);
        let mut lines: Vec<String> = Vec::new();
        for line in body.lines() {
            if let Some(more) = line.strip_prefix(">   ") {
                *lines.last_mut().unwrap() += &format!("\n{}", more.trim_start());
            } else if let Some(event) = line.strip_prefix("> ") {
                lines.push(event.to_owned());
            } else if line.starts_with("# ") {
                lines.push(line.to_owned());
            }
        }
        Self { header: header.to_owned(), lines }
    }

    /// Plays it; gives the file as it should be.
    pub(crate) fn play(&self) -> (String, World) {
        let mut world = World::new(definition(&self.header));
        let mut out = self.header.clone();
        for line in &self.lines {
            if line.starts_with('#') {
                out += &format!("\n{line}\n");
            } else {
                out += &format!("> {}\n", line.replace('\n', "\n>     "));
                out += &indented(&world.happens(line));
            }
        }
        out += "\n";
        out += &indented(&world.ending());
        (out, world)
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") }).collect()
}

/// The files of a folder of `tests`, by name.
pub(crate) fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    paths.sort();
    paths
}

#[test]
fn every_scenario_goes_as_its_file_says() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let files = files("scenarios", "txt");
    assert!(files.len() >= 20, "{} scenarios found", files.len());
    let mut wrong = Vec::new();
    for path in files {
        let expected = fs::read_to_string(&path).unwrap();
        let (found, _) = Scenario::parse(&expected).play();
        if found == expected {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if update {
            fs::write(&path, found).unwrap();
        } else {
            eprintln!("--- {name}, as it goes:\n{found}");
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "these go otherwise (UPDATE_EXPECT=1 accepts that): {}", wrong.join(", "));
}

#[test]
fn every_scenario_leaves_a_journal_that_replays_to_the_same() {
    for path in files("scenarios", "txt") {
        let (_, world) = Scenario::parse(&fs::read_to_string(&path).unwrap()).play();
        let replayed = backstop_core::Run::replay(
            std::sync::Arc::clone(world.run().definition()),
            &reread(world.journal()),
        )
        .unwrap();
        let run = world.run();
        assert_eq!(replayed.next_step(), run.next_step(), "{}", path.display());
        assert!(replayed.transcript().messages().eq(run.transcript().messages()), "{}", path.display());
        assert_eq!(
            (replayed.calls(), replayed.failures()),
            (run.calls(), run.failures()),
            "{}",
            path.display()
        );
    }
}
