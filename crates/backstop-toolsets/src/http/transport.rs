//! Requests that got no whole answer, and what may have happened to the world.

use std::{error::Error, time::Duration};

use backstop_core::ToolError;

use crate::guard::Refused;

/// The error for a request that got no answer. `what` names method, host and path.
///
/// Without a connection nothing was sent. After that nobody can say: the request may have been read and acted on.
pub(crate) fn no_answer(cause: reqwest::Error, what: &str, limit: Duration) -> ToolError {
    // The URL may hold keys, and `what` names it without them.
    let cause = cause.without_url();
    let error = if let Some(refused) = refusal(&cause) {
        ToolError::misconfigured(format!("{what}: {refused}")).not_applied()
    } else if cause.is_connect() {
        let reason = if cause.is_timeout() { "no connection in time" } else { "no connection" };
        ToolError::unavailable(format!("{what}: {reason}")).not_applied()
    } else if cause.is_timeout() {
        ToolError::timeout(limit, format!("{what}: no answer in time"))
    } else if cause.is_builder() {
        ToolError::misconfigured(format!("{what}: the request can't be made"))
    } else {
        ToolError::unavailable(format!("{what}: the connection broke before an answer came"))
    };
    error.with_source(cause)
}

/// What a guard has against the address, if that is why there is no connection.
fn refusal(cause: &reqwest::Error) -> Option<&Refused> {
    let mut layer = cause.source();
    while let Some(error) = layer {
        if let Some(refused) = error.downcast_ref() {
            return Some(refused);
        }
        layer = error.source();
    }
    None
}

/// The error for an answer that began well and did not end.
pub(crate) fn cut_off(cause: reqwest::Error, what: &str, status: u16, limit: Duration) -> ToolError {
    let cause = cause.without_url();
    let error = if cause.is_timeout() {
        ToolError::timeout(limit, format!("{what}: the answer did not end in time"))
    } else {
        ToolError::upstream_failure(format!("{what}: the answer was cut off"))
    };
    error.with_status(status).with_source(cause)
}
