//! A process that dies at any record: replay, close what was running, go on.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use backstop_core::{
    Action, Effect, Message, Outcome, Record, RunStore, Strategy, ToolError, ToolOutput, When,
};
use backstop_runtime::{Answer, MemoryStore};
use backstop_test::{Reply, TestModel, TestToolset};

use crate::kit::{builder, built, spec};

fn toolset(paid: &Arc<AtomicUsize>) -> TestToolset {
    let (paid, reads) = (Arc::clone(paid), Arc::new(AtomicUsize::new(0)));
    TestToolset::new("t")
        .tool(spec("pay", Effect::Mutating), move |_, _| {
            paid.fetch_add(1, Ordering::SeqCst);
            async { Ok(ToolOutput::text("paid")) }
        })
        .tool(spec("read", Effect::ReadOnly), move |_, _| {
            let first = reads.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                if first {
                    Err(ToolError::unavailable("down for a moment"))
                } else {
                    Ok(ToolOutput::text("read"))
                }
            }
        })
}

#[tokio::test(start_paused = true)]
async fn a_run_that_dies_after_any_record_goes_on_and_never_pays_twice() {
    // The whole run, for its journal.
    let script = || [Reply::calls(&[("pay", "{}"), ("read", "{}")]), Reply::text("done")];
    let paid = Arc::new(AtomicUsize::new(0));
    let store = Arc::new(MemoryStore::default());
    let model = TestModel::new(script());
    let agent = built(builder(&model).toolset(toolset(&paid))).await;
    let whole = agent.start("go").store(Arc::clone(&store) as Arc<dyn RunStore>).drive().await.unwrap();
    assert_eq!(whole.answer(), Some("done"));
    let journal = store.load(whole.run()).await.unwrap();
    assert!(journal.len() >= 8, "{journal:#?}");

    for kept in 1..=journal.len() {
        let replies = journal[..kept].iter().filter(|r| r.event.as_str() == "model_replied").count();
        let paid_before = journal[..kept].iter().any(is_start_of_first_call);
        let paid = Arc::new(AtomicUsize::new(usize::from(paid_before)));
        let model = TestModel::new(script().into_iter().skip(replies));
        let agent = built(builder(&model).toolset(toolset(&paid))).await;
        let store = Arc::new(MemoryStore::default());
        for record in &journal[..kept] {
            store.append(whole.run(), record).await.unwrap();
        }
        let resumed =
            agent.resume(Arc::clone(&store) as Arc<dyn RunStore>, whole.run().clone()).drive().await.unwrap();
        assert_eq!(resumed.answer(), Some("done"), "after record {kept}");
        assert_eq!(paid.load(Ordering::SeqCst), 1, "after record {kept}");
        // What was written after the crash replays as well.
        let again = backstop_core::Run::replay(
            Arc::new(backstop_core::Definition::default()),
            &store.load(whole.run()).await.unwrap()[..1],
        );
        assert!(again.is_ok());
    }
}

fn is_start_of_first_call(record: &Record) -> bool {
    matches!(&record.event, backstop_core::Event::ToolStarted { call, .. } if call.as_str() == "c1")
}

#[tokio::test(start_paused = true)]
async fn a_question_puts_the_run_aside_and_its_answer_takes_it_on() {
    let ask =
        Strategy { when: When::always(), action: Action::AskHuman { question: "What is the price?".into() } };
    let model = TestModel::new([Reply::calls(&[("down", "{}")]), Reply::text("It costs 7.")]);
    let tools = TestToolset::new("t")
        .tool(spec("down", Effect::ReadOnly), |_, _| async { Err(ToolError::rejected("no price")) });
    let agent = built(builder(&model).toolset(tools).fallback(vec![ask])).await;
    let store: Arc<dyn RunStore> = Arc::new(MemoryStore::default());
    let asked = agent.start("go").store(Arc::clone(&store)).drive().await.unwrap();
    let Outcome::NeedsAnswer { question } = asked.outcome() else { panic!("{:?}", asked.outcome()) };
    assert_eq!((question.text.as_str(), question.tool.as_str()), ("What is the price?", "down"));
    assert_eq!(asked.messages(), [Message::user("go")]);

    let resumed = agent
        .resume(store, asked.run().clone())
        .answer(question.call.clone(), Answer::Text("7 euros".into()));
    let report = resumed.drive().await.unwrap();
    assert_eq!(report.answer(), Some("It costs 7."));
    assert_eq!(model.last_results(), ["A person answered in place of the tool:\n7 euros"]);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_ends_the_run_before_anything_more_is_done() {
    struct Full(AtomicUsize);
    #[async_trait::async_trait]
    impl RunStore for Full {
        async fn append(
            &self,
            _: &backstop_core::RunId,
            _: &Record,
        ) -> Result<(), backstop_core::StoreError> {
            match self.0.fetch_add(1, Ordering::SeqCst) {
                0 | 1 => Ok(()),
                _ => Err(backstop_core::StoreError::new("no space left on device")),
            }
        }
        async fn load(&self, _: &backstop_core::RunId) -> Result<Vec<Record>, backstop_core::StoreError> {
            Ok(Vec::new())
        }
        async fn list(&self) -> Result<Vec<backstop_core::RunId>, backstop_core::StoreError> {
            Ok(Vec::new())
        }
    }
    let paid = Arc::new(AtomicUsize::new(0));
    let model = TestModel::new([Reply::calls(&[("pay", "{}")]), Reply::text("never asked")]);
    let agent = built(builder(&model).toolset(toolset(&paid))).await;
    let error = agent.start("go").store(Arc::new(Full(AtomicUsize::new(0)))).drive().await.unwrap_err();
    assert_eq!(error.to_string(), "the run store failed: no space left on device");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(paid.load(Ordering::SeqCst), 0);
}
