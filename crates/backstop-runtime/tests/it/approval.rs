//! Calls that a person must allow first.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use backstop_core::{
    Action, Applied, Approve, Effect, Outcome, RunStore, Strategy, ToolErrorKind, When,
    run::{Question, QuestionKind},
};
use backstop_runtime::{Agent, Answer, Answerer, CallState, MemoryStore, ToolsetOptions};
use backstop_test::{Reply, TestModel};
use serde_json::json;

use crate::kit::{builder, built, tools};

/// Says the same to every question, and keeps what it was asked.
struct Says(Option<Answer>, Mutex<Vec<Question>>);

#[async_trait]
impl Answerer for Says {
    async fn ask(&self, question: &Question) -> Option<Answer> {
        self.1.lock().unwrap().push(question.clone());
        self.0.clone()
    }
}

fn says(answer: Option<Answer>) -> Arc<Says> {
    Arc::new(Says(answer, Mutex::default()))
}

/// An agent whose `echo` needs approval, as if it changed something.
async fn agent(model: &TestModel) -> Agent {
    let options = ToolsetOptions::default().adjust(|spec, policy| {
        if spec.name == "echo" {
            spec.effect = Effect::Mutating;
        }
        policy.approve = Approve::Mutating;
    });
    built(builder(model).toolset_with(Arc::new(tools()), options)).await
}

fn script() -> TestModel {
    TestModel::new([Reply::calls(&[("echo", r#"{"n":1}"#), ("slow", r#"{"n":0}"#)]), Reply::text("done")])
}

#[tokio::test(start_paused = true)]
async fn an_allowed_call_is_made_after_a_person_saw_its_arguments() {
    let (model, person) = (script(), says(Some(Answer::Approve)));
    let report = agent(&model)
        .await
        .start("go")
        .answerer(Arc::clone(&person) as Arc<dyn Answerer>)
        .drive()
        .await
        .unwrap();
    assert_eq!(report.answer(), Some("done"));
    assert_eq!(model.last_results(), ["1", "0"]);
    let asked = person.1.lock().unwrap();
    let asked: Vec<_> = asked.iter().map(|q| (q.kind, q.tool.as_str(), q.arguments.as_str())).collect();
    assert_eq!(asked, [(QuestionKind::Approval, "echo", r#"{"n":1}"#)]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_is_not_made_and_the_model_reads_why() {
    let (model, person) = (script(), says(Some(Answer::Refuse { reason: Some("Not on Fridays.".into()) })));
    let report = agent(&model).await.start("go").answerer(person).drive().await.unwrap();
    assert_eq!(
        model.last_results(),
        [
            "A person did not allow the call of tool \"echo\": Not on Fridays.\n\
             Do not repeat the call: go on without it, or tell the user.",
            "0"
        ]
    );
    let call = &report.calls()[0];
    assert_eq!((call.kind, call.attempts), (Some(ToolErrorKind::Denied), 0));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_nobody_allows_is_put_aside_and_goes_on_with_the_answer() {
    let model = script();
    let agent = agent(&model).await;
    let store: Arc<dyn RunStore> = Arc::new(MemoryStore::default());
    let asked = agent.start("go").store(Arc::clone(&store)).drive().await.unwrap();
    let Outcome::NeedsAnswer { question } = asked.outcome() else { panic!("{:?}", asked.outcome()) };
    let resumed = agent.resume(store, asked.run().clone()).answer(question.call.clone(), Answer::Approve);
    assert_eq!(resumed.drive().await.unwrap().answer(), Some("done"));
    assert_eq!(model.last_results(), ["1", "0"]);
}

#[tokio::test(start_paused = true)]
async fn the_report_of_a_run_that_waits_has_every_call_of_its_turn() {
    let report = agent(&script()).await.run("go").await.unwrap();
    let calls: Vec<_> = report
        .calls()
        .into_iter()
        .map(|call| (call.tool, call.arguments, call.state, call.attempts, call.ok, call.kind, call.view))
        .collect();
    let waiting = ("echo".into(), json!({"n": 1}), CallState::Waiting, 0, false, None, String::new());
    let settled = ("slow".into(), json!({"n": 0}), CallState::Settled, 1, true, None, "0".into());
    assert_eq!(calls, [waiting, settled]);
}

#[tokio::test(start_paused = true)]
async fn the_report_says_what_a_person_is_asked_about() {
    let strategy = Strategy { when: When::default(), action: Action::AskHuman { question: "Lost?".into() } };
    let model = TestModel::new([Reply::calls(&[("pay", r#"{"n":3}"#)])]);
    let report =
        built(builder(&model).toolset(tools()).fallback(vec![strategy])).await.run("go").await.unwrap();
    let [call] = &report.calls()[..] else { panic!("{:?}", report.calls()) };
    let failure = &report.failures()[0];
    assert_eq!((call.state, call.attempts, call.ok), (CallState::Waiting, 1, false));
    assert_eq!(
        (call.kind, call.applied, call.reference),
        (Some(ToolErrorKind::UpstreamFailure), Some(Applied::Unknown), Some(failure.reference))
    );
}

#[tokio::test(start_paused = true)]
async fn whoever_makes_a_call_by_hand_has_allowed_it() {
    let report = agent(&TestModel::new([])).await.call("echo", r#"{"n":4}"#, None).await.unwrap();
    assert_eq!(report.calls()[0].output, Some(4.into()));
}
