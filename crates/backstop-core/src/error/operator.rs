//! What the operator reads about a failure: everything.

use serde::{Deserialize, Serialize};

use super::{Applied, ErrorClass, ToolError, ToolErrorKind};
use crate::{
    id::{CallId, Reference, RunId},
    run::Limit,
    schema::Violation,
};

/// One structured record of one failed attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OperatorView {
    /// The id that the user or the model may have been shown.
    pub reference: Reference,
    /// What went wrong.
    pub kind: ToolErrorKind,
    /// Who can fix it.
    pub class: ErrorClass,
    /// The tool, by the name that the model knows.
    pub tool: String,
    /// The toolset it belongs to; empty for a name that no toolset offers.
    pub toolset: String,
    /// The run.
    pub run: RunId,
    /// The call.
    pub call: CallId,
    /// The attempt, counted from 1; 0 for a call that was never made.
    pub attempt: u32,
    /// Time the attempt took, in milliseconds.
    pub elapsed_ms: u64,
    /// Whether the world may have changed.
    pub applied: Applied,
    /// Whether it is [safe](crate::policy::is_safe_to_retry) to make the same call again, be it that nobody does.
    #[serde(default)]
    pub retryable: bool,
    /// The upstream's status code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The upstream's own error code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The upstream's id of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// How long the upstream asked to wait, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The argument at fault, as a JSON Pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// What the schema says against the arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
    /// What was done about it: `retry`, `continue`, `stop`, ….
    pub decision: String,
    /// The limit because of which the call was not made, or not made again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Of a retry: the wait before it, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// The operator's detail.
    pub message: String,
    /// The words of the service that were shown to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// The whole source chain, outermost first.
    pub causes: Vec<String>,
}

impl OperatorView {
    /// The record of `error`, as far as the error itself knows; the caller fills in the rest.
    pub fn new(error: &ToolError, reference: Reference, run: RunId, call: CallId) -> Self {
        let parts = error.parts();
        Self {
            reference,
            kind: error.kind(),
            class: error.class(),
            tool: String::new(),
            toolset: String::new(),
            run,
            call,
            attempt: 0,
            elapsed_ms: 0,
            applied: error.applied(),
            retryable: false,
            status: parts.status,
            code: parts.code.clone(),
            request_id: parts.request_id.clone(),
            retry_after_ms: parts.retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            pointer: parts.pointer.clone(),
            violations: parts.violations.clone(),
            decision: String::new(),
            limit: None,
            wait_ms: None,
            message: parts.detail.clone(),
            said: parts.words.clone(),
            causes: error.causes(),
        }
    }
}
