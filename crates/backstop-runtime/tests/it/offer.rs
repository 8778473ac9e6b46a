//! Toolsets whose tools become others while a run goes on.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use backstop_core::{
    Approve, CallContext, DeltaSink, Effect, Model, ModelError, ModelReply, ModelRequest, ToolError,
    ToolOutput, ToolSpec, Toolset, ValidCall,
};
use backstop_runtime::{Agent, Answer, MemoryStore, ToolsetOptions};
use backstop_test::{Reply, TestModel};

use crate::kit::{built, spec};

/// A call of `swap` puts `new` in the place of `old`; a call of `break` makes it silent about its tools.
#[derive(Default)]
struct Changing {
    changes: AtomicU64,
    state: Mutex<State>,
    listed: AtomicUsize,
}

#[derive(Clone, Copy, Default)]
enum State {
    #[default]
    Old,
    New,
    Broken,
}

#[async_trait]
impl Toolset for Changing {
    fn name(&self) -> &str {
        "changing"
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        self.listed.fetch_add(1, Ordering::SeqCst);
        let mut specs = vec![spec("swap", Effect::ReadOnly), spec("break", Effect::ReadOnly)];
        match *self.state.lock().unwrap() {
            State::Old => specs.push(spec("old", Effect::ReadOnly)),
            State::New => specs.push(spec("new", Effect::Mutating)),
            State::Broken => return Err(ToolError::unavailable("the key sk-123 was not taken")),
        }
        Ok(specs)
    }

    async fn call(&self, call: &ValidCall, _: &CallContext) -> Result<ToolOutput, ToolError> {
        let state = match call.own_name() {
            "swap" => State::New,
            "break" => State::Broken,
            own => return Ok(ToolOutput::text(format!("{own} was called"))),
        };
        *self.state.lock().unwrap() = state;
        self.changes.fetch_add(1, Ordering::SeqCst);
        Ok(ToolOutput::text("done"))
    }

    fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }
}

/// Keeps what it was offered.
#[derive(Clone)]
struct Watching(TestModel, Arc<Mutex<Vec<String>>>);

impl Watching {
    fn new(script: impl IntoIterator<Item = Reply>) -> Self {
        Self(TestModel::new(script), Arc::default())
    }

    fn offered(&self) -> Vec<String> {
        self.1.lock().unwrap().clone()
    }
}

#[async_trait]
impl Model for Watching {
    fn name(&self) -> &str {
        "watching"
    }

    async fn respond(
        &self,
        request: ModelRequest<'_>,
        sink: Option<&dyn DeltaSink>,
    ) -> Result<ModelReply, ModelError> {
        let names: Vec<&str> = request.tools.entries().iter().map(|entry| entry.name.as_str()).collect();
        self.1.lock().unwrap().push(names.join(" "));
        self.0.respond(request, sink).await
    }
}

#[tokio::test(start_paused = true)]
async fn what_changes_in_a_call_is_offered_with_the_next_turn() {
    let model = Watching::new([
        Reply::calls(&[("swap", "{}"), ("old", "{}")]),
        Reply::calls(&[("new", "{}"), ("old", "{}")]),
        Reply::text("Done."),
    ]);
    let toolset = Arc::new(Changing::default());
    let agent = built(
        Agent::builder(model.clone()).toolset_with(Arc::clone(&toolset) as _, ToolsetOptions::default()),
    )
    .await;
    let report = agent.run("Go.").await.unwrap();
    assert_eq!(report.answer(), Some("Done."));
    assert_eq!(model.offered(), ["swap break old", "swap break new", "swap break new"]);
    // The turn that was going on had the tools that it was made of.
    let requests = model.0.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(
        model.0.last_results(),
        [
            "done",
            "old was called",
            "new was called",
            "Tool \"old\" was not found, please use one of these: swap, break, new.\n\
             Call one of these tools instead, or answer without a tool."
        ]
    );
    // Once at the start, and once for the change.
    assert_eq!(toolset.listed.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn tools_that_cannot_be_listed_again_stay_on_offer() {
    let model = Watching::new([
        Reply::calls(&[("break", "{}")]),
        Reply::calls(&[("old", "{}")]),
        Reply::calls(&[("swap", "{}")]),
        Reply::text("Done."),
    ]);
    let toolset = Arc::new(Changing::default());
    let agent = built(
        Agent::builder(model.clone()).toolset_with(Arc::clone(&toolset) as _, ToolsetOptions::default()),
    )
    .await;
    let report = agent.run("Go.").await.unwrap();
    assert_eq!(report.answer(), Some("Done."));
    assert_eq!(model.offered(), ["swap break old", "swap break old", "swap break old", "swap break new"]);
    assert_eq!(model.0.last_results(), ["done", "old was called", "done"]);
    // Not again each turn: it told of one change.
    assert_eq!(toolset.listed.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn a_later_run_begins_with_the_tools_that_there_are_then() {
    let model = Watching::new([
        Reply::calls(&[("swap", "{}")]),
        Reply::text("First."),
        Reply::calls(&[("new", "{}")]),
        Reply::text("Second."),
    ]);
    let agent = built(Agent::builder(model.clone()).toolset(Changing::default())).await;
    assert_eq!(agent.run("Go.").await.unwrap().answer(), Some("First."));
    assert_eq!(agent.run("Go.").await.unwrap().answer(), Some("Second."));
    assert_eq!(model.offered().last().unwrap(), "swap break new");
    assert!(!agent.has_changed());
}

#[tokio::test(start_paused = true)]
async fn a_call_by_hand_sees_the_tools_that_there_are() {
    let agent = built(Agent::builder(TestModel::new([])).toolset(Changing::default())).await;
    let done = agent.call("swap", "{}", None).await.unwrap();
    assert_eq!(done.calls().len(), 1);
    assert!(agent.has_changed());
    let done = agent.call("new", "{}", None).await.unwrap();
    assert_eq!(done.failures(), []);
    assert!(!agent.has_changed());
}

#[tokio::test(start_paused = true)]
async fn a_change_while_a_person_is_asked_waits_for_the_end_of_the_turn() {
    let model = Watching::new([Reply::calls(&[("old", "{}")]), Reply::text("Done.")]);
    let toolset = Arc::new(Changing::default());
    let asks = ToolsetOptions::default().adjust(|spec, policy| {
        if spec.name == "old" {
            policy.approve = Approve::Always;
        }
    });
    let agent = built(Agent::builder(model.clone()).toolset_with(Arc::clone(&toolset) as _, asks)).await;
    let store = Arc::new(MemoryStore::default());
    let waits = agent.start("Go.").store(Arc::clone(&store) as _).drive().await.unwrap();
    *toolset.state.lock().unwrap() = State::New;
    toolset.changes.fetch_add(1, Ordering::SeqCst);
    let done = agent
        .resume(store, waits.run().clone())
        .answer(backstop_core::CallId::new("c1"), Answer::Approve)
        .drive()
        .await
        .unwrap();
    assert_eq!(done.answer(), Some("Done."));
    assert_eq!(model.0.last_results(), ["old was called"]);
    assert_eq!(model.offered(), ["swap break old", "swap break new"]);
}
