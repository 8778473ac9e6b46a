//! Spans and the one event per failure, in the terms of OpenTelemetry's GenAI conventions.

use backstop_core::{Limit, OperatorView, run::StartTool};

/// The span of one attempt of a call.
pub(crate) fn tool_span(start: &StartTool) -> tracing::Span {
    tracing::info_span!(
        "execute_tool",
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = start.call.tool(),
        gen_ai.tool.call.id = start.call.id().as_str(),
        attempt = start.attempt,
    )
}

/// The operator's view of a failure as one structured event.
pub(crate) fn failure(view: &OperatorView) {
    if !tracing::enabled!(target: "backstop::failure", tracing::Level::WARN) {
        return;
    }
    tracing::event!(
        target: "backstop::failure",
        tracing::Level::WARN,
        reference = %view.reference,
        "error.type" = view.kind.as_str(),
        class = view.class.as_str(),
        tool = view.tool,
        toolset = view.toolset,
        run = %view.run,
        call = %view.call,
        attempt = view.attempt,
        elapsed_ms = view.elapsed_ms,
        applied = view.applied.as_str(),
        status = view.status,
        code = view.code,
        request_id = view.request_id,
        retry_after_ms = view.retry_after_ms,
        pointer = view.pointer,
        decision = view.decision,
        limit = view.limit.map(Limit::as_str),
        wait_ms = view.wait_ms,
        said = view.said,
        causes = view.causes.join(": "),
        "{}",
        view.message,
    );
}
