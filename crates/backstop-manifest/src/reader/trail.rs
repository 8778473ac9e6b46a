//! The way from the root of the text to a value.

use std::rc::Rc;

/// The way from the root to a value.
#[derive(Clone, Default)]
pub(crate) struct Trail(Option<Rc<(Trail, Step)>>);

pub(super) enum Step {
    Key(String),
    Index(usize),
}

impl Trail {
    pub(super) fn then(&self, step: Step) -> Self {
        Self(Some(Rc::new((self.clone(), step))))
    }

    /// As diagnostics show it.
    pub(crate) fn render(&self) -> String {
        let mut steps = Vec::new();
        let mut trail = self;
        while let Some(step) = &trail.0 {
            steps.push(&step.1);
            trail = &step.0;
        }
        let mut out = String::new();
        for step in steps.into_iter().rev() {
            match step {
                Step::Key(key) if out.is_empty() => out.push_str(key),
                Step::Key(key) => out.extend([".", key]),
                Step::Index(index) => out.push_str(&format!("[{index}]")),
            }
        }
        out
    }
}
