//! Fallback strategies: what somebody declared for a failure.

use regex::Regex;
use serde_json::{Map, Value};

use super::{Backoff, Failure};
use crate::error::{Applied, ErrorClass, ToolErrorKind};

/// One rule: when it matches, what happens.
#[derive(Clone, Debug, PartialEq)]
pub struct Strategy {
    /// Which failures it is for.
    pub when: When,
    /// What happens with them.
    pub action: Action,
}

/// What a strategy does with a failure.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// The runtime makes the same call again, up to `max` times more, where that is safe.
    Retry {
        /// Attempts after the first one.
        max: u32,
        /// How long to wait in between.
        backoff: Backoff,
    },
    /// The model is told, with these instructions in place of the usual next step.
    Continue {
        /// What the model shall do.
        instructions: Option<String>,
    },
    /// The run ends; the model is not asked again.
    Stop {
        /// What the user reads instead of the usual sentence.
        message: Option<String>,
    },
    /// Another tool serves the call, and the model is told so. Not after a call of a mutating tool that may have
    /// taken effect: then the next strategy is looked at.
    UseTool {
        /// The tool, by the name that the model knows or by its own where that is unique.
        tool: String,
        /// Its arguments: values as they are, and a text that is `{name}` for the failed call's argument of that
        /// name, left out where it has none. Empty for the same arguments.
        arguments: Map<String, Value>,
    },
    /// This value takes the place of the result, and the model is told so.
    UseValue {
        /// The value.
        value: Value,
        /// What the model reads about it.
        note: Option<String>,
    },
    /// The run waits for a person's answer, which becomes the result.
    AskHuman {
        /// What the person is asked.
        question: String,
    },
}

/// Which failures a strategy is for. What is left empty matches everything; everything given must match.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct When {
    /// One of these kinds.
    pub kinds: Vec<ToolErrorKind>,
    /// One of these classes.
    pub classes: Vec<ErrorClass>,
    /// One of these upstream statuses.
    pub statuses: Vec<u16>,
    /// Whether the world may have changed.
    pub applied: Vec<Applied>,
    /// One of these tools, by the name that the model knows or the toolset's own.
    pub tools: Vec<String>,
    /// What the message says.
    pub text: Vec<TextMatch>,
}

/// A test of the message of a failure: what the model would read, the service's words and the operator's detail
/// are looked at, each on its own.
#[derive(Clone, Debug)]
pub enum TextMatch {
    /// It holds this text.
    Contains {
        /// The text.
        text: String,
        /// Whether upper and lower case differ.
        case_sensitive: bool,
    },
    /// It is this text.
    Equals {
        /// The text.
        text: String,
        /// Whether upper and lower case differ.
        case_sensitive: bool,
    },
    /// It matches this regular expression (linear time).
    Matches(Regex),
}

impl PartialEq for TextMatch {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Contains { text: a, case_sensitive: b },
                Self::Contains { text: c, case_sensitive: d },
            )
            | (Self::Equals { text: a, case_sensitive: b }, Self::Equals { text: c, case_sensitive: d }) => {
                (a, b) == (c, d)
            }
            (Self::Matches(a), Self::Matches(b)) => a.as_str() == b.as_str(),
            (Self::Contains { .. } | Self::Equals { .. } | Self::Matches(_), _) => false,
        }
    }
}

impl TextMatch {
    fn is_match(&self, message: &str) -> bool {
        let folded = |text: &str, case_sensitive: &bool| {
            if *case_sensitive { text.to_owned() } else { text.to_lowercase() }
        };
        match self {
            Self::Contains { text, case_sensitive: case } => {
                folded(message, case).contains(&folded(text, case))
            }
            Self::Equals { text, case_sensitive: case } => {
                folded(message.trim(), case) == folded(text.trim(), case)
            }
            Self::Matches(regex) => regex.is_match(message),
        }
    }
}

impl When {
    /// Every failure.
    pub fn always() -> Self {
        Self::default()
    }

    /// Failures of this kind.
    pub fn kind(kind: ToolErrorKind) -> Self {
        Self { kinds: vec![kind], ..Self::default() }
    }

    /// Failures of this class.
    pub fn class(class: ErrorClass) -> Self {
        Self { classes: vec![class], ..Self::default() }
    }

    /// Whether a failure is one of these.
    pub fn is_match(&self, failure: &Failure<'_>) -> bool {
        self.failed_test(failure).is_none()
    }

    /// The first test that a failure does not pass; `None` for a failure that is one of these.
    pub fn failed_test(&self, failure: &Failure<'_>) -> Option<WhenTest> {
        fn any<T: PartialEq>(wanted: &[T], found: Option<&T>) -> bool {
            wanted.is_empty() || found.is_some_and(|found| wanted.contains(found))
        }
        let error = failure.error;
        let is_named = |tool: &String| tool == failure.tool || tool == failure.own_name;
        let failed = |passed: bool, test: WhenTest| (!passed).then_some(test);
        failed(any(&self.kinds, Some(&error.kind())), WhenTest::Kind)
            .or_else(|| failed(any(&self.classes, Some(&error.class())), WhenTest::Class))
            .or_else(|| failed(any(&self.statuses, error.status().as_ref()), WhenTest::Status))
            .or_else(|| failed(any(&self.applied, Some(&error.applied())), WhenTest::Applied))
            .or_else(|| failed(self.tools.is_empty() || self.tools.iter().any(is_named), WhenTest::Tool))
            .or_else(|| {
                if self.text.is_empty() {
                    return None;
                }
                let messages = failure.messages();
                let says = |test: &TextMatch| messages.iter().any(|message| test.is_match(message));
                self.text.iter().position(|test| !says(test)).map(WhenTest::Text)
            })
    }
}

/// One test of a [`When`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenTest {
    /// [`When::kinds`].
    Kind,
    /// [`When::classes`].
    Class,
    /// [`When::statuses`].
    Status,
    /// [`When::applied`].
    Applied,
    /// [`When::tools`].
    Tool,
    /// [`When::text`], by its place.
    Text(usize),
}
