//! Calls that a person must allow first.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use backstop_core::{
    Approve, Effect, Outcome, RunStore, ToolErrorKind,
    run::{Question, QuestionKind},
};
use backstop_runtime::{Agent, Answer, Answerer, MemoryStore, ToolsetOptions};
use backstop_test::{Reply, TestModel};

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
async fn whoever_makes_a_call_by_hand_has_allowed_it() {
    let report = agent(&TestModel::new([])).await.call("echo", r#"{"n":4}"#, None).await.unwrap();
    assert_eq!(report.calls()[0].output, Some(4.into()));
}
