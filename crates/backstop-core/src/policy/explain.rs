//! Why the decision about one failure is what it is: the walk that [`decide`](super::decide()) takes, kept.

use std::{fmt, time::Duration};

use super::{Budget, Decision, Failure, Strategy, WhenTest, decide::walk};
use crate::{error::ErrorClass, run::Limit, spec::Effect};

/// The way to the decision about one failure, step by step.
///
/// # Example
///
/// ```
/// use backstop_core::{Applied, Budget, Decision, Effect, Failure, ToolError, explain, policy::{NoRetry, Verdict}};
/// use std::time::Duration;
///
/// let error = ToolError::timeout(Duration::from_secs(30), "no answer");
/// let failure = Failure { error: &error, tool: "pay", own_name: "pay", attempt: 1, keyed: false };
/// let budget = Budget { call_retries: 2, run_retries: 20, time: Duration::from_secs(600), jitter: 0 };
/// let explained = explain(&failure, Effect::Mutating, &[], &budget);
/// assert_eq!(explained.usual, Some(Verdict::NotRetried(NoRetry::MayHaveApplied)));
/// assert_eq!(explained.decision, Decision::Continue { instructions: None });
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// What became of each strategy that was looked at, in their order. Those after one that decided were not.
    pub strategies: Vec<Verdict>,
    /// What the rule that holds without a match said, if it came to that: [`Verdict::Decides`] for a retry, and
    /// [`Verdict::NotRetried`] where the model is told.
    pub usual: Option<Verdict>,
    /// What happens.
    pub decision: Decision,
}

impl Explanation {
    /// The place of the strategy that decided; `None` where the usual rule did, or the call was cancelled.
    pub fn decided_by(&self) -> Option<usize> {
        self.strategies.iter().position(|verdict| *verdict == Verdict::Decides)
    }

    /// The limit because of which the call is not made again, where one is the reason.
    pub fn limit(&self) -> Option<Limit> {
        let spent = |verdict: &Verdict| match verdict {
            Verdict::NotRetried(why) => why.limit(),
            Verdict::NotMatched(_) | Verdict::Decides => None,
        };
        self.strategies.iter().chain(&self.usual).find_map(spent)
    }
}

/// What became of one strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is for other failures: this test of its `when` is the first that failed.
    NotMatched(WhenTest),
    /// It matches and says to retry, or to use another tool, which can't be: the next one is looked at.
    NotRetried(NoRetry),
    /// It matches and decides.
    Decides,
}

/// Why a retry is not made, or another tool not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRetry {
    /// Failures of this class do not pass by themselves.
    DoesNotPass(ErrorClass),
    /// The tool changes the world each time, this attempt may have done so, and no idempotency key keeps a
    /// second one from doing it again.
    MayHaveApplied,
    /// The same, of another tool in this one's place: it would do it a second time, and no key is the same for both.
    WouldRepeat,
    /// As many retries as were allowed are made.
    Spent {
        /// So many.
        max: u32,
    },
    /// A strategy said how often to retry, so the usual rule does not add to it.
    DeclaredAreAll,
    /// The retries of the whole run are spent.
    RunSpent,
    /// The run ends before the wait does.
    NoTime {
        /// The wait.
        after: Duration,
    },
}

impl NoRetry {
    /// The limit that is reached, where one is the reason.
    pub const fn limit(self) -> Option<Limit> {
        match self {
            // Where none is allowed, none is spent.
            Self::Spent { max: 0 }
            | Self::DoesNotPass(_)
            | Self::MayHaveApplied
            | Self::WouldRepeat
            | Self::DeclaredAreAll => None,
            Self::Spent { .. } => Some(Limit::CallRetries),
            Self::RunSpent => Some(Limit::Retries),
            Self::NoTime { .. } => Some(Limit::WallClock),
        }
    }
}

impl fmt::Display for NoRetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DoesNotPass(class) => {
                write!(f, "failures of the class `{class}` do not pass by themselves")
            }
            Self::MayHaveApplied => {
                f.write_str("the attempt may have taken effect, the tool is mutating, and there is no key")
            }
            Self::WouldRepeat => {
                f.write_str("the attempt may have taken effect, and another tool would do it a second time")
            }
            Self::Spent { max: 0 } => f.write_str("no retry is allowed"),
            Self::Spent { max: 1 } => f.write_str("the one retry is spent"),
            Self::Spent { max } => write!(f, "the {max} retries are spent"),
            Self::DeclaredAreAll => f.write_str("a strategy said how often to retry"),
            Self::RunSpent => f.write_str("the retries of the run are spent"),
            Self::NoTime { after } => {
                write!(f, "the run ends before a wait of {}", crate::text::duration(*after))
            }
        }
    }
}

/// Explains what happens with a failure. The decision is that of [`decide`](super::decide()): both take the same
/// walk.
pub fn explain(
    failure: &Failure<'_>,
    effect: Effect,
    strategies: &[Strategy],
    budget: &Budget,
) -> Explanation {
    let mut seen = Vec::new();
    let mut usual = None;
    let decision = walk(failure, effect, strategies, budget, |strategy, verdict| match strategy {
        Some(_) => seen.push(verdict),
        None => usual = Some(verdict),
    });
    Explanation { strategies: seen, usual, decision }
}
