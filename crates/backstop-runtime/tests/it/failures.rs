//! A tool that fails, hangs, panics or gets bad arguments: what the model and the operator read.

use std::time::Duration;

use backstop_core::{
    Applied, Effect, Limit, Limits, ModelError, ModelErrorKind, Outcome, Redactor, ToolError, ToolErrorKind,
    ToolOutput,
};
use backstop_test::{Reply, TestModel, TestToolset};
use tokio::time::Instant;

use crate::kit::{agent, builder, built, spec, tools};

#[tokio::test(start_paused = true)]
async fn a_service_that_answers_503_is_retried_and_then_told() {
    let model = TestModel::new([Reply::calls(&[("down", "{}")]), Reply::text("The shop is closed.")]);
    let report = agent(&model).await.run("go").await.unwrap();
    assert_eq!(
        model.last_results(),
        [
            "Shop closed. (status 503)\nThere is no result: use another tool or tell the user, and do not make one up."
        ]
    );
    let decisions: Vec<&str> = report.failures().iter().map(|failure| failure.decision.as_str()).collect();
    assert_eq!(decisions, ["retry", "retry", "continue"]);
    let last = report.failures().last().unwrap();
    assert_eq!((last.attempt, last.status, last.kind), (3, Some(503), ToolErrorKind::Unavailable));
    assert_eq!(last.message, "the shop did not accept a connection");
    assert_eq!(report.answer(), Some("The shop is closed."));
}

#[tokio::test(start_paused = true)]
async fn a_mutating_call_whose_reply_is_lost_is_made_once() {
    let model = TestModel::new([Reply::calls(&[("pay", "{}")]), Reply::text("unsure")]);
    let report = agent(&model).await.run("go").await.unwrap();
    assert_eq!(
        model.last_results(),
        ["The service behind tool \"pay\" failed. (status 502)\n\
          The call may have taken effect: verify before repeating it, or tell the user."]
    );
    let call = &report.calls()[0];
    assert_eq!((call.attempts, call.applied), (1, Some(Applied::Unknown)));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_hangs_is_bounded_by_its_deadline() {
    let model =
        TestModel::new([Reply::calls(&[("hang", "{}"), ("echo", r#"{"n":1}"#)]), Reply::text("sorry")]);
    let mut limits = Limits::default();
    limits.tool_timeout = Duration::from_secs(30);
    let agent = built(builder(&model).toolset(tools()).limits(limits)).await;
    let started = Instant::now();
    agent.run("go").await.unwrap();
    assert_eq!(
        model.last_results(),
        [
            "Tool call \"hang\" timed out after 30 seconds.\n\
             The call may have taken effect: verify before repeating it, or tell the user.",
            "1"
        ]
    );
    assert_eq!(started.elapsed().as_secs(), 30);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_blocks_its_thread_is_bounded_too() {
    let tools = TestToolset::new("t").tool(spec("block", Effect::ReadOnly), |_, _| async {
        std::thread::sleep(Duration::from_millis(600));
        Ok(ToolOutput::text("late"))
    });
    let model = TestModel::new([Reply::calls(&[("block", "{}")]), Reply::text("sorry")]);
    let mut limits = Limits::default();
    limits.tool_timeout = Duration::from_millis(50);
    limits.call_retries = 0;
    let agent = built(builder(&model).toolset(tools).limits(limits)).await;
    let report = agent.run("go").await.unwrap();
    let failure = &report.failures()[0];
    assert_eq!(failure.kind, ToolErrorKind::Timeout);
    assert!(failure.elapsed_ms < 400, "waited {} ms", failure.elapsed_ms);
}

#[tokio::test]
async fn a_panic_is_private_and_leaves_its_siblings_alone() {
    let model = TestModel::new([
        Reply::calls(&[("echo", r#"{"n":1}"#), ("boom", "{}"), ("echo", r#"{"n":2}"#)]),
        Reply::text("done"),
    ]);
    let report = agent(&model).await.run("go").await.unwrap();
    let failure = &report.failures()[0];
    assert_eq!(
        model.last_results(),
        [
            "1".to_owned(),
            format!(
                "An error occurred while executing tool \"boom\". (error reference: {})",
                failure.reference
            ),
            "2".to_owned()
        ]
    );
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (ToolErrorKind::Internal, "the tool panicked: boom at 10.1.2.3")
    );
}

#[tokio::test]
async fn bad_arguments_are_explained_and_never_reach_the_tool() {
    let model = TestModel::new([
        Reply::calls(&[("echo", r#"{"n":"one"}"#), ("ecko", "{}"), ("echo", "{not json")]),
        Reply::text("done"),
    ]);
    let report = agent(&model).await.run("go").await.unwrap();
    assert_eq!(
        model.last_results(),
        [
            "Invalid value for parameter \"n\" of tool \"echo\": must be an integer; got \"one\" (a string)\n\
             Call echo again with \"n\" corrected.",
            "Tool \"ecko\" was not found, please use one of these: echo, slow, hang, boom, down, pay. \
             Did you mean \"echo\"?\nCall it again with: echo {}",
            "The arguments of tool \"echo\" are not valid JSON: key must be a string at column 2; got {not json\n\
             Send all arguments again as one JSON object.",
        ]
    );
    assert!(report.calls().iter().all(|call| call.attempts == 0));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_fails_for_a_moment_is_asked_again() {
    let busy = ModelError::new(ModelErrorKind::RateLimited, "429").with_retry_after(Duration::from_secs(7));
    let model = TestModel::new([Reply::Fail(busy.clone()), Reply::text("hi")]);
    let started = Instant::now();
    assert_eq!(agent(&model).await.run("go").await.unwrap().answer(), Some("hi"));
    assert_eq!(started.elapsed().as_secs(), 7);

    let denied = ModelError::new(ModelErrorKind::Unauthenticated, "401").say("Wrong key.");
    let model = TestModel::new([Reply::Fail(denied.clone())]);
    let report = agent(&model).await.run("go").await.unwrap();
    assert_eq!(report.outcome(), &Outcome::ModelFailed { error: denied });
}

#[tokio::test(start_paused = true)]
async fn a_model_that_hangs_or_panics_ends_in_a_typed_outcome() {
    let mut limits = Limits::default();
    limits.model_timeout = Duration::from_secs(20);
    limits.model_retries = 0;
    let model = TestModel::new([Reply::Hang]);
    let report = built(builder(&model).limits(limits.clone())).await.run("go").await.unwrap();
    let Outcome::ModelFailed { error } = report.outcome() else { panic!("{:?}", report.outcome()) };
    assert_eq!(error.to_string(), "the model did not answer in time: no reply within 20 seconds");

    limits.wall_clock = Duration::from_secs(5);
    let model = TestModel::new([Reply::Hang]);
    let report = built(builder(&model).limits(limits.clone())).await.run("go").await.unwrap();
    assert_eq!(report.outcome(), &Outcome::LimitReached { which: Limit::WallClock });

    let model = TestModel::new([Reply::Panic]);
    let report = built(builder(&model).limits(limits)).await.run("go").await.unwrap();
    let Outcome::ModelFailed { error } = report.outcome() else { panic!("{:?}", report.outcome()) };
    assert_eq!(error.detail(), "the model client panicked: the test model panics");
}

#[tokio::test]
async fn a_secret_that_a_tool_echoes_reaches_nobody() {
    let tools = TestToolset::new("t")
        .tool(spec("leak", Effect::ReadOnly), |_, _| async {
            Ok(ToolOutput::text("token=hunter2hunter2 ok"))
        })
        .tool(spec("fail", Effect::ReadOnly), |_, _| async {
            let cause = std::io::Error::other("GET /?key=hunter2hunter2");
            let error =
                backstop_core::ToolError::rejected("sent hunter2hunter2").say("bad key hunter2hunter2");
            Err(error.with_source(cause))
        });
    let model = TestModel::new([Reply::calls(&[("leak", "{}"), ("fail", "{}")]), Reply::text("done")]);
    let agent = built(builder(&model).toolset(tools).redactor(Redactor::new(["hunter2hunter2"]))).await;
    let report = agent.run("go").await.unwrap();
    let everything = format!("{:?} {:?} {:?}", model.requests(), report.failures(), report.calls());
    assert!(!everything.contains("hunter2"), "{everything}");
    assert_eq!(model.last_results()[0], "token=[secret] ok");
}

#[tokio::test(start_paused = true)]
async fn one_call_by_hand_goes_through_the_whole_contract() {
    let agent = agent(&TestModel::new([])).await;
    let report = agent.call("down", "{}", None).await.unwrap();
    let call = &report.calls()[0];
    assert_eq!((call.ok, call.attempts, call.kind), (false, 3, Some(ToolErrorKind::Unavailable)));
    let report = agent.call("echo", r#"{"n":4}"#, None).await.unwrap();
    assert_eq!(report.calls()[0].output, Some(4.into()));
}

#[tokio::test(start_paused = true)]
async fn each_failure_says_whether_the_same_call_may_be_made_again() {
    let lost = || ToolError::upstream_failure("reply lost").with_status(502);
    let tools =
        tools().tool(spec("keyed", Effect::Mutating).honours_idempotency_key(), move |_, _| async move {
            Err(lost())
        });
    let made = |tool: &'static str| {
        let model = TestModel::new([Reply::calls(&[(tool, "{}")]), Reply::text("done")]);
        let mut limits = Limits::default();
        limits.call_retries = 1;
        let agent = builder(&model).toolset(tools.clone()).limits(limits);
        async move {
            let report = built(agent).await.run("go").await.unwrap();
            let failures = report.failures().iter();
            failures.map(|failure| (failure.decision.clone(), failure.retryable)).collect::<Vec<_>>()
        }
    };
    let (retry, told) = (|may| ("retry".to_owned(), may), |may| ("continue".to_owned(), may));
    // Once the retries are spent, it still could be made again.
    assert_eq!(made("down").await, [retry(true), told(true)]);
    assert_eq!(made("keyed").await, [retry(true), told(true)]);
    assert_eq!(made("pay").await, [told(false)]);
    assert_eq!(made("boom").await, [told(false)]);
    assert_eq!(made("nothing").await, [told(false)]);
}
