//! A row, and the check of a table.

use std::fmt::Write;

use futures_util::future::{BoxFuture, join_all};

use super::surface::{Case, Surface};

/// What came of a scene, line by line.
pub(super) type Lines = Vec<String>;

/// One case of a table.
pub(super) struct Row {
    pub(super) id: &'static str,
    what: &'static str,
    scene: Scene,
    expected: &'static [&'static str],
    /// Why ours is not what the system does that the table is from.
    differs: Option<&'static str>,
    exceptions: Vec<Exception>,
}

enum Scene {
    /// Tools that are called on each surface.
    EachSurface(fn() -> Case),
    /// Something that surfaces have no part in.
    Own(fn() -> BoxFuture<'static, Lines>),
}

/// A surface whose lines are others.
struct Exception {
    surface: Surface,
    why: &'static str,
    expected: &'static [&'static str],
}

impl Row {
    pub(super) fn on_surfaces(
        id: &'static str,
        what: &'static str,
        case: fn() -> Case,
        expected: &'static [&'static str],
    ) -> Self {
        Self { id, what, scene: Scene::EachSurface(case), expected, differs: None, exceptions: Vec::new() }
    }

    pub(super) fn own(
        id: &'static str,
        what: &'static str,
        scene: fn() -> BoxFuture<'static, Lines>,
        expected: &'static [&'static str],
    ) -> Self {
        Self { id, what, scene: Scene::Own(scene), expected, differs: None, exceptions: Vec::new() }
    }

    /// Says in one sentence why ours is not what the other system does.
    pub(super) fn differs(mut self, why: &'static str) -> Self {
        self.differs = Some(why);
        self
    }

    /// Says what one surface does, and why it can't be what the others do.
    pub(super) fn except(
        mut self,
        surface: Surface,
        why: &'static str,
        expected: &'static [&'static str],
    ) -> Self {
        self.exceptions.push(Exception { surface, why, expected });
        self
    }

    /// What is wrong with it, surface by surface.
    async fn wrong(&self) -> Vec<String> {
        match self.scene {
            Scene::Own(scene) => self.compared("", self.expected, &scene().await).into_iter().collect(),
            Scene::EachSurface(case) => {
                let compared = Surface::ALL.map(|surface| async move {
                    let got = case().run(surface).await;
                    let exception = self.exceptions.iter().find(|exception| exception.surface == surface);
                    let expected = exception.map_or(self.expected, |exception| exception.expected);
                    let why = exception.map_or("", |exception| exception.why);
                    self.compared(&format!(" on {surface:?} {why}"), expected, &got)
                });
                join_all(compared).await.into_iter().flatten().collect()
            }
        }
    }

    fn compared(&self, place: &str, expected: &[&str], got: &[String]) -> Option<String> {
        if expected == got {
            return None;
        }
        let mut text = format!("{} {}{place}\n", self.id, self.what);
        if let Some(why) = self.differs {
            let _ = writeln!(text, "  differs: {why}");
        }
        for (name, lines) in
            [("expected", expected.to_vec()), ("got", got.iter().map(String::as_str).collect())]
        {
            let _ = writeln!(text, "  {name}:");
            for line in lines {
                let _ = writeln!(text, "    {line}");
            }
        }
        Some(text)
    }
}

/// Runs all rows and fails with all that are wrong.
pub(super) async fn check(rows: Vec<Row>) {
    let mut wrong = Vec::new();
    // One after the other: rows with a time limit must not wait for the others.
    for row in &rows {
        wrong.extend(row.wrong().await);
    }
    assert!(wrong.is_empty(), "{} rows are wrong:\n\n{}", wrong.len(), wrong.join("\n"));
}

/// Texts as lines, for scenes of their own.
pub(super) fn lines<T: ToString>(texts: impl IntoIterator<Item = T>) -> Lines {
    texts
        .into_iter()
        .flat_map(|text| text.to_string().lines().map(str::to_owned).collect::<Lines>())
        .collect()
}
