//! What becomes of a call that failed or was closed: the decision carried out.

use std::time::Duration;

use super::{
    Limit, Outcome, Run,
    call_state::{CallState, FailureFacts, Reconciling, Settled, Turn},
};
use crate::{
    error::{Applied, OperatorView, ToolError, ToolErrorKind, ViewFacts},
    id::Reference,
    message::ResultContent,
    output::ToolOutput,
    policy::{Budget, Decision, Failure, explain, is_safe_to_retry, stop_message, substitute_note},
    spec::Effect,
    text,
};

impl Run {
    /// Decides about a failed attempt of a call and carries it out.
    pub(super) fn call_failed(&mut self, turn: &mut Turn, index: usize, error: &ToolError, elapsed_ms: u64) {
        self.decide_about(turn, index, error, elapsed_ms, false);
    }

    /// Like [`call_failed`](Self::call_failed); `settled_by_check` where it was tried to find out whether the call
    /// took effect.
    pub(super) fn decide_about(
        &mut self,
        turn: &mut Turn,
        index: usize,
        error: &ToolError,
        elapsed_ms: u64,
        settled_by_check: bool,
    ) {
        let Some(call) = turn.calls.get(index) else { return };
        let mut numbers = self.seed.at([self.turns.into(), index as u64, call.attempts.into(), 0]);
        let (reference, jitter) = (numbers.reference(), numbers.permille());
        let entry = call.serving().and_then(|valid| self.definition.catalog.entries().get(valid.entry()));
        let entry = entry.or_else(|| self.definition.catalog.get(&call.asked.name));
        let effect = entry.map_or(Effect::ReadOnly, |entry| entry.spec.effect);
        let strategies = self.definition.strategies_for(entry);
        let limits = &self.definition.limits;
        let own_error = error;
        // What an earlier attempt may have done stays done when a later one did nothing.
        let error = match error.applied() {
            Applied::No if call.may_have_applied => &error.clone().with_applied(Applied::Unknown),
            Applied::No | Applied::Yes | Applied::Unknown => error,
        };
        let failure = Failure {
            error,
            tool: call.tool(),
            own_name: entry.map_or("", |entry| entry.spec.name.as_str()),
            attempt: call.attempts_of_tool(),
            keyed: entry.is_some_and(|entry| entry.spec.honours_idempotency_key),
        };
        let retryable = is_safe_to_retry(&failure, effect);
        if effect == Effect::Mutating && own_error.applied() == Applied::Unknown && call.reconciling.is_none()
        {
            let reconcile = entry.and_then(|entry| entry.policy.reconcile.as_ref());
            let found =
                reconcile.filter(|_| !settled_by_check).map(|reconcile| self.reconcile(call, reconcile));
            if let Some(Ok(valid)) = found {
                let mut operator = self.operator_view(turn, index, own_error, reference, elapsed_ms);
                operator.retryable = retryable;
                operator.decision = "reconcile".to_owned();
                self.failures.push(operator);
                if let Some(call) = turn.calls.get_mut(index) {
                    call.reconciling =
                        Some(Reconciling { valid, error: own_error.clone(), reference, elapsed_ms });
                    call.may_have_applied = true;
                    call.state = CallState::Ready;
                }
                return;
            }
        }
        let budget = Budget {
            call_retries: limits.call_retries,
            run_retries: limits.retries.saturating_sub(self.retries),
            time: self.deadline().since(self.now),
            jitter,
        };
        let explained = explain(&failure, effect, strategies, &budget);
        let (limit, decision) = (explained.limit(), explained.decision);
        let mut operator = self.operator_view(turn, index, own_error, reference, elapsed_ms);
        operator.retryable = retryable;
        operator.decision = decision.as_str().to_owned();
        operator.limit = limit;
        if let Decision::Retry { after } = &decision {
            operator.wait_ms = Some(u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
        }
        self.failures.push(operator);

        let may_have_applied = effect != Effect::ReadOnly && error.applied() != Applied::No;
        let facts = FailureFacts { kind: error.kind(), applied: error.applied(), reference };
        let view = |instructions: Option<&str>| {
            let facts = ViewFacts::new(failure.tool, effect, reference)
                .find_with(entry.and_then(|entry| entry.spec.find_with.as_deref()))
                .check_with(entry.and_then(|entry| entry.spec.check_with.as_deref()));
            let view = facts.view(error, instructions);
            ResultContent::Failure(match call.valid.as_ref().and_then(|valid| valid.mended.as_deref()) {
                Some(note) => view.with_note(note),
                None => view,
            })
        };
        let mut standby = None;
        let state = match decision {
            Decision::Retry { after } => {
                self.retries += 1;
                CallState::Waiting(self.now.after(after))
            }
            Decision::Continue { instructions } => {
                self.failed.call(error.class());
                CallState::Settled(Settled { content: view(instructions.as_deref()), failure: Some(facts) })
            }
            Decision::Substitute { value, note } => {
                let note = substitute_note(note.as_deref(), failure.tool);
                let content = ResultContent::Substitute { output: ToolOutput::Json(value), note };
                CallState::Settled(Settled { content, failure: Some(facts) })
            }
            Decision::UseTool { tool, arguments } => match self.standby(call, &tool, &arguments, facts) {
                Ok(found) => {
                    let entry = self.definition.catalog.entries().get(found.valid.entry());
                    let asks = entry.is_some_and(|entry| entry.policy.approve.is_needed(entry.spec.effect));
                    standby = Some(found);
                    if asks { CallState::Unapproved } else { CallState::Ready }
                }
                Err(why) => {
                    if let Some(operator) = self.failures.last_mut() {
                        operator.decision = format!("continue: {why}");
                    }
                    self.failed.call(error.class());
                    CallState::Settled(Settled { content: view(None), failure: Some(facts) })
                }
            },
            Decision::Ask { question } => CallState::Asking(question),
            Decision::Stop { message } => {
                self.failed.call(error.class());
                let message = stop_message(message.as_deref(), reference);
                let content = view(None);
                turn.ends(Outcome::Stopped { message, reference });
                CallState::Settled(Settled { content, failure: Some(facts) })
            }
            Decision::Abort => {
                let content = view(None);
                turn.ends(Outcome::Cancelled);
                CallState::Settled(Settled { content, failure: Some(facts) })
            }
        };
        let Some(call) = turn.calls.get_mut(index) else { return };
        if let CallState::Settled(Settled { failure: Some(_), .. }) = &state {
            self.repeats.failed(call.key);
        }
        call.may_have_applied = may_have_applied;
        if standby.is_some() {
            call.standby = standby;
        }
        call.state = state;
    }

    /// A person did not allow the call.
    pub(super) fn call_refused_by_person(&mut self, turn: &mut Turn, index: usize, reason: Option<String>) {
        let Some(call) = turn.calls.get(index) else { return };
        let reason =
            reason.map(|reason| text::clean(&text::head(&reason, 500))).filter(|reason| !reason.is_empty());
        let said = reason.map(|reason| format!(": {reason}")).unwrap_or_else(|| ".".into());
        if matches!(call.state, CallState::Asking(_)) {
            let words = format!("Nobody answered for tool \"{}\", which failed{said}", call.tool());
            let mut error =
                ToolError::denied("nobody answered the question about the call").with_words(words);
            if call.may_have_applied {
                error = error.with_applied(Applied::Unknown);
            }
            // Its strategies have had their say: one of them asked.
            return self.close_call(turn, index, &error);
        }
        let words = format!("A person did not allow the call of tool \"{}\"{said}", call.tool());
        let error = ToolError::denied("a person did not allow the call").with_words(words);
        self.call_failed(turn, index, &error, 0);
    }

    /// Answers a call that is not made because of a limit.
    pub(super) fn call_refused(
        &mut self,
        turn: &mut Turn,
        index: usize,
        limit: Limit,
        words: String,
        order: &str,
    ) {
        let error = ToolError::new(ToolErrorKind::LimitReached, "the call was not made because of a limit")
            .with_words(words)
            .with_next_step(order.to_owned());
        self.close_call(turn, index, &error);
        if let Some(operator) = self.failures.last_mut() {
            operator.limit = Some(limit);
        }
        self.failed.call(error.class());
    }

    /// Closes every call of the turn that is not settled: the run ends for `why`.
    pub(super) fn close_turn(&mut self, turn: &mut Turn, why: &str) {
        for index in 0..turn.calls.len() {
            let Some(call) = turn.calls.get(index).filter(|call| !call.is_settled()) else { continue };
            let tool = text::escaped(call.tool(), 100);
            let started = matches!(call.state, CallState::Running);
            let (words, applied) = if started {
                (
                    format!("The call of tool \"{tool}\" was interrupted while it was running: {why}."),
                    Applied::Unknown,
                )
            } else if call.attempts > 0 {
                let applied = if call.may_have_applied { Applied::Unknown } else { Applied::No };
                (format!("The call of tool \"{tool}\" failed and was not made again: {why}."), applied)
            } else {
                (format!("The call of tool \"{tool}\" was not started: {why}."), Applied::No)
            };
            let error = ToolError::new(ToolErrorKind::Cancelled, why).with_words(words).with_applied(applied);
            self.close_call(turn, index, &error);
        }
    }

    /// Settles a call with an error that nothing is decided about.
    fn close_call(&mut self, turn: &mut Turn, index: usize, error: &ToolError) {
        let Some(call) = turn.calls.get(index) else { return };
        let reference = self.seed.at([self.turns.into(), index as u64, call.attempts.into(), 1]).reference();
        let mut operator = self.operator_view(turn, index, error, reference, 0);
        let decision = match error.kind() == ToolErrorKind::Cancelled {
            true => Decision::Abort,
            false => Decision::Continue { instructions: None },
        };
        operator.decision = decision.as_str().to_owned();
        self.failures.push(operator);
        let Some(call) = turn.calls.get_mut(index) else { return };
        let entry = call.serving().and_then(|valid| self.definition.catalog.entries().get(valid.entry()));
        let effect = entry.map_or(Effect::ReadOnly, |entry| entry.spec.effect);
        let view = ViewFacts::new(call.tool(), effect, reference)
            .check_with(entry.and_then(|entry| entry.spec.check_with.as_deref()))
            .view(error, None);
        let facts = FailureFacts { kind: error.kind(), applied: error.applied(), reference };
        call.state =
            CallState::Settled(Settled { content: ResultContent::Failure(view), failure: Some(facts) });
    }

    fn operator_view(
        &self,
        turn: &Turn,
        index: usize,
        error: &ToolError,
        reference: Reference,
        elapsed_ms: u64,
    ) -> OperatorView {
        let Some(call) = turn.calls.get(index) else {
            return OperatorView::new(error, reference, self.id.clone(), crate::CallId::new(""));
        };
        let entry = call.serving().and_then(|valid| self.definition.catalog.entries().get(valid.entry()));
        let entry = entry.or_else(|| self.definition.catalog.get(&call.asked.name));
        let mut view = OperatorView::new(error, reference, self.id.clone(), call.id.clone());
        view.tool = text::head(call.tool(), 200);
        view.toolset = entry.map(|entry| entry.toolset_name.clone()).unwrap_or_default();
        view.attempt = call.attempts;
        view.elapsed_ms = elapsed_ms;
        view
    }

    /// The time that attempts of a tool have.
    pub(super) fn tool_timeout(&self, entry: usize) -> Duration {
        let own = self.definition.catalog.entries().get(entry).and_then(|entry| entry.policy.timeout);
        own.unwrap_or(self.definition.limits.tool_timeout)
    }

    /// The limit that ends the run after a settled turn, if one does.
    pub(super) fn spent(&self) -> Option<Limit> {
        let limits = &self.definition.limits;
        self.failed.reached(limits).or_else(|| (self.turns >= limits.turns.max(1)).then_some(Limit::Turns))
    }
}
