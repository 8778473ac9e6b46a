//! Drives a Backstop run on tokio: model turns, tool calls, retries, deadlines, cancellation
