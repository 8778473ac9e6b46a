//! The run as a state machine without hands.
//!
//! [`Run::next_step`] says what to do, [`Run::apply`] takes what happened; nothing else changes a run. A driver
//! performs steps, appends each event to the journal *before* it acts on it, and feeds it back, so recovery is
//! replay. The history that a run sends to its model is balanced by construction: a turn enters the transcript
//! only when each of its calls has a result.

mod call_state;
mod definition;
mod event;
mod failed;
mod finished;
mod limits;
mod outcome;
mod repeats;
mod replied;
mod settle;
mod standby;
mod state;
mod step;

pub use call_state::{CallReport, OpenCall};
pub use definition::Definition;
pub use event::{Event, RECORD_VERSION, Record, Started};
pub use limits::{ClassLimits, Limit, Limits};
pub use outcome::{Outcome, ProtocolError, Question, QuestionKind};
pub use state::Run;
pub use step::{ModelTurn, StartTool, Step};
