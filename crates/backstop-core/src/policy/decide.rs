//! The one decision. Nothing else in the system decides what happens after a failure.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{Action, Backoff, NoRetry, Strategy, Verdict};
use crate::{
    error::{Applied, ErrorClass, ToolError, ToolErrorKind, ViewFacts},
    id::Reference,
    spec::Effect,
};

/// One failed attempt, as the decision sees it.
#[derive(Clone, Copy, Debug)]
pub struct Failure<'a> {
    /// What went wrong.
    pub error: &'a ToolError,
    /// The tool, by the name that the model knows.
    pub tool: &'a str,
    /// The toolset's own name for it.
    pub own_name: &'a str,
    /// The attempt that failed, counted from 1.
    pub attempt: u32,
    /// Whether the call carries an idempotency key that the upstream honours.
    pub keyed: bool,
}

impl Failure<'_> {
    /// The texts that a matcher looks at.
    pub(super) fn messages(&self) -> Vec<String> {
        let view = ViewFacts::new(self.tool, Effect::ReadOnly, Reference::new(0)).view(self.error, Some("-"));
        let what = view.as_str().trim_end_matches("\n\n-").to_owned();
        let words = self.error.words().map(str::to_owned);
        let mut messages = vec![what, self.error.detail().to_owned()];
        messages.extend(words);
        messages.extend(self.error.causes());
        messages
    }
}

/// What is left to spend on one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Retries that a call may have when no strategy says otherwise.
    pub call_retries: u32,
    /// Retries left in the whole run.
    pub run_retries: u32,
    /// Time left in the run.
    pub time: Duration,
    /// The random part of a backoff, 0 to 999 per mille.
    pub jitter: u16,
}

/// What happens with a failure.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The runtime makes the same call again.
    Retry {
        /// After this time.
        after: Duration,
    },
    /// The model is told.
    Continue {
        /// In place of the usual next step.
        instructions: Option<String>,
    },
    /// A declared value takes the place of the result.
    Substitute {
        /// The value.
        value: Value,
        /// What the model reads about it.
        note: Option<String>,
    },
    /// Another tool serves the call.
    UseTool {
        /// The tool, as it was declared.
        tool: String,
        /// Its arguments, as they were declared.
        arguments: Map<String, Value>,
    },
    /// A person is asked for the result.
    Ask {
        /// What they are asked.
        question: String,
    },
    /// The run ends.
    Stop {
        /// What the user reads instead of the usual sentence.
        message: Option<String>,
    },
    /// The run was cancelled.
    Abort,
}

impl Decision {
    /// The stable name, for logs.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Retry { .. } => "retry",
            Self::Continue { .. } => "continue",
            Self::Substitute { .. } => "substitute",
            Self::UseTool { .. } => "use_tool",
            Self::Ask { .. } => "ask",
            Self::Stop { .. } => "stop",
            Self::Abort => "abort",
        }
    }
}

/// Decides what happens with a failure. Pure and total.
///
/// 1. A cancelled call aborts.
/// 2. The first strategy whose `when` matches decides; a retry that is unsafe or spent falls through to the next.
/// 3. Without a match: a retry where that is safe and the budget allows it, else the model is told.
///
/// # Example
///
/// ```
/// use backstop_core::{Budget, Decision, Effect, Failure, ToolError, decide};
/// use std::time::Duration;
///
/// let error = ToolError::timeout(Duration::from_secs(30), "no answer");
/// let failure = Failure { error: &error, tool: "pay", own_name: "pay", attempt: 1, keyed: false };
/// let budget = Budget { call_retries: 2, run_retries: 20, time: Duration::from_secs(600), jitter: 0 };
/// // Nobody knows whether the money has moved: the runtime never repeats the call.
/// assert_eq!(decide(&failure, Effect::Mutating, &[], &budget), Decision::Continue { instructions: None });
/// assert!(matches!(decide(&failure, Effect::ReadOnly, &[], &budget), Decision::Retry { .. }));
/// ```
pub fn decide(failure: &Failure<'_>, effect: Effect, strategies: &[Strategy], budget: &Budget) -> Decision {
    walk(failure, effect, strategies, budget, |_, _| ())
}

/// The way to the decision. `seen` is told what became of each strategy that is looked at, by its place, and of
/// the usual rule.
pub(super) fn walk(
    failure: &Failure<'_>,
    effect: Effect,
    strategies: &[Strategy],
    budget: &Budget,
    mut seen: impl FnMut(Option<usize>, Verdict),
) -> Decision {
    if failure.error.kind() == ToolErrorKind::Cancelled {
        return Decision::Abort;
    }
    let mut declared = false;
    for (place, strategy) in strategies.iter().enumerate() {
        if let Some(test) = strategy.when.failed_test(failure) {
            seen(Some(place), Verdict::NotMatched(test));
            continue;
        }
        let decision = match &strategy.action {
            Action::Retry { max, backoff } => match retry(failure, effect, *max, backoff, budget) {
                Ok(retry) => retry,
                Err(why) => {
                    // Whoever said how often to retry did not mean that often and then as usual.
                    declared = true;
                    seen(Some(place), Verdict::NotRetried(why));
                    continue;
                }
            },
            Action::Continue { instructions } => Decision::Continue { instructions: instructions.clone() },
            Action::Stop { message } => Decision::Stop { message: message.clone() },
            // A second tool would do it a second time.
            Action::UseTool { .. }
                if effect == Effect::Mutating && failure.error.applied() != Applied::No =>
            {
                seen(Some(place), Verdict::NotRetried(NoRetry::WouldRepeat));
                continue;
            }
            Action::UseTool { tool, arguments } => {
                Decision::UseTool { tool: tool.clone(), arguments: arguments.clone() }
            }
            Action::UseValue { value, note } => {
                Decision::Substitute { value: value.clone(), note: note.clone() }
            }
            Action::AskHuman { question } => Decision::Ask { question: question.clone() },
        };
        seen(Some(place), Verdict::Decides);
        return decision;
    }
    let usual = match refused(failure, effect) {
        Some(why) => Err(why),
        None if declared => Err(NoRetry::DeclaredAreAll),
        None => retry(failure, effect, budget.call_retries, &Backoff::default(), budget),
    };
    match usual {
        Ok(retry) => {
            seen(None, Verdict::Decides);
            retry
        }
        Err(why) => {
            seen(None, Verdict::NotRetried(why));
            Decision::Continue { instructions: None }
        }
    }
}

/// A retry, where it is safe, not spent, and fits in the time that is left.
fn retry(
    failure: &Failure<'_>,
    effect: Effect,
    max: u32,
    backoff: &Backoff,
    budget: &Budget,
) -> Result<Decision, NoRetry> {
    if let Some(why) = refused(failure, effect) {
        return Err(why);
    }
    if failure.attempt > max {
        return Err(NoRetry::Spent { max });
    }
    if budget.run_retries == 0 {
        return Err(NoRetry::RunSpent);
    }
    let own = backoff.wait(failure.attempt, budget.jitter);
    let after = failure.error.retry_after().map_or(own, |asked| asked.max(own));
    if after >= budget.time {
        return Err(NoRetry::NoTime { after });
    }
    Ok(Decision::Retry { after })
}

/// Why it is not safe to make a failed call again, if it is not.
fn refused(failure: &Failure<'_>, effect: Effect) -> Option<NoRetry> {
    let class = failure.error.class();
    if class != ErrorClass::Transient {
        Some(NoRetry::DoesNotPass(class))
    } else if effect == Effect::Mutating && failure.error.applied() != Applied::No && !failure.keyed {
        Some(NoRetry::MayHaveApplied)
    } else {
        None
    }
}

/// Whether the runtime may make a failed call again: it may pass by itself, and a second execution does no harm.
///
/// A call of a mutating tool that may have taken effect is never repeated, unless the upstream honours the
/// idempotency key that it carries.
pub fn is_safe_to_retry(failure: &Failure<'_>, effect: Effect) -> bool {
    refused(failure, effect).is_none()
}
