//! Who answers what a run asks a person.

use async_trait::async_trait;
use backstop_core::{CallId, Event, Question};

/// What a person said.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Words that take the place of a tool's result.
    Text(String),
    /// The call may be made.
    Approve,
    /// The call may not be made, or the question is not answered; the model reads why.
    Refuse {
        /// Why.
        reason: Option<String>,
    },
}

impl Answer {
    pub(crate) fn event(self, call: &CallId) -> Event {
        let call = call.clone();
        match self {
            Self::Text(answer) => Event::Answered { call, answer },
            Self::Approve => Event::Approved { call },
            Self::Refuse { reason } => Event::Refused { call, reason },
        }
    }
}

/// Brings a run's questions to a person while it is driven.
#[async_trait]
pub trait Answerer: Send + Sync + 'static {
    /// Asks a person; `None` where there is nobody: the run is put aside then.
    async fn ask(&self, question: &Question) -> Option<Answer>;
}
