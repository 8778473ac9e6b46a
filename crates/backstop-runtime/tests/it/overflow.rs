//! Large results: kept under a handle, shown in part, read back by range.

use std::{sync::Arc, time::Duration};

use backstop_core::{
    CallContext, Catalog, Effect, Part, Redactor, RunId, ToolCall, ToolError, ToolErrorKind, ToolOutput,
    ToolPolicy, Toolset, ValidCall, catalog::CatalogSource, text::MODEL_TEXT_CAP,
};
use backstop_runtime::{LargeResults, Overflow, ReadResult, ToolsetOptions};
use backstop_test::{TestModel, TestToolset, conformance::toolset::Fixture};
use serde_json::{Value, json};

use crate::kit::{builder, built, n, spec, tools};

mod overflow_conformance {
    use super::{Arc, Fixture, LargeResults, Overflow, tools};

    backstop_test::toolset_conformance!(|| async {
        let toolset = Arc::new(Overflow::new(Arc::new(tools()), LargeResults::default()));
        Fixture { toolset, tool: "echo", arguments: r#"{"n":1}"# }
    });
}

mod read_result_conformance {
    use super::{Arc, Fixture, LargeResults, ReadResult, bench, big};

    backstop_test::toolset_conformance!(|| async {
        let bench = bench(LargeResults::default());
        bench.call("conformance", "call_1", "text", big(100)).await.unwrap();
        let toolset = Arc::new(ReadResult::new(bench.results));
        Fixture { toolset, tool: "read_result", arguments: r#"{"result":"rc9b9c430"}"# }
    });
}

fn big(kib: u64) -> Value {
    json!({"n": kib})
}

/// Lines of 16 bytes, as many KiB as were asked for; `json` gives them as a list, `image` beside an image.
fn large() -> TestToolset {
    let text = |kib: u64| -> String { (0..kib * 64).map(|line| format!("line {line:0>10}\n")).collect() };
    TestToolset::new("t")
        .tool(spec("text", Effect::ReadOnly), move |call, _| async move {
            Ok(ToolOutput::Text(text(n(call.arguments()))))
        })
        .tool(spec("json", Effect::ReadOnly), move |call, _| async move {
            let lines: Vec<String> = text(n(call.arguments())).lines().map(str::to_owned).collect();
            Ok(ToolOutput::Json(json!(lines)))
        })
        .tool(spec("image", Effect::ReadOnly), move |call, _| async move {
            let image = Part::blob("image/png", &[0; 2048], Some("shot.png".into()));
            let text = Part::Text { text: text(n(call.arguments())) };
            Ok(ToolOutput::Parts(vec![image, text]))
        })
        .tool(spec("umlauts", Effect::ReadOnly), |call, _| async move {
            Ok(ToolOutput::Text("aü€".repeat(n(call.arguments()) as usize * 1024 / 6)))
        })
        .tool(spec("no", Effect::ReadOnly), |_, _| async { Err(ToolError::not_found("nothing")) })
}

struct Bench {
    toolset: Overflow,
    results: LargeResults,
}

fn bench(results: LargeResults) -> Bench {
    Bench { toolset: Overflow::new(Arc::new(large()), results.clone()), results }
}

async fn valid(toolset: &dyn Toolset, id: &str, tool: &str, arguments: &Value) -> ValidCall {
    let specs = toolset.list().await.unwrap().into_iter().map(|spec| (spec, ToolPolicy::default())).collect();
    let (catalog, _) = Catalog::build(vec![CatalogSource::new("t", specs)]);
    catalog.validate(&ToolCall::new(id, tool, arguments.to_string())).unwrap()
}

fn context(run: &str) -> CallContext {
    CallContext::new(RunId::new(run), 1, Duration::from_secs(1), "k")
}

impl Bench {
    async fn call(&self, run: &str, id: &str, tool: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let call = valid(&self.toolset, id, tool, &arguments).await;
        self.toolset.call(&call, &context(run)).await
    }

    async fn read(&self, run: &str, arguments: Value) -> Result<String, ToolError> {
        let reader = ReadResult::new(self.results.clone());
        let call = valid(&reader, "call_r", "read_result", &arguments).await;
        Ok(reader.call(&call, &context(run)).await?.model_text())
    }
}

/// The handle and the place to go on, out of the first order in a text.
fn order(text: &str) -> (String, u64) {
    let (_, from) = text.split_once("read_result {").unwrap();
    let arguments: Value = serde_json::from_str(&format!("{{{}}}", from.split_once('}').unwrap().0)).unwrap();
    let result = arguments.get("result").and_then(Value::as_str).unwrap().to_owned();
    (result, arguments.get("from").and_then(Value::as_u64).unwrap())
}

#[tokio::test]
async fn what_fits_and_what_fails_is_left_alone() {
    let bench = bench(LargeResults::default());
    let whole = bench.call("r", "c1", "text", big(64)).await.unwrap();
    assert_eq!(whole.whole_text().len(), MODEL_TEXT_CAP);
    assert_eq!(whole, large_output("text", 64).await);
    assert_eq!(bench.call("r", "c1", "no", json!({})).await.unwrap_err().kind(), ToolErrorKind::NotFound);
}

async fn large_output(tool: &str, kib: u64) -> ToolOutput {
    let call = valid(&large(), "c1", tool, &big(kib)).await;
    large().call(&call, &context("r")).await.unwrap()
}

#[tokio::test]
async fn head_and_tail_are_shown_and_how_to_read_the_rest() {
    let bench = bench(LargeResults::default());
    let shown = bench.call("r", "call_1", "text", big(184)).await.unwrap();
    let shown = shown.model_text();
    assert!(shown.len() <= MODEL_TEXT_CAP);
    let marker = "[… 120.2 KiB of 184 KiB left out; read them with read_result \
                  {\"result\":\"rc9b9c430\",\"from\":32640} …]";
    let (head, tail) = shown.split_once(&format!("\n{marker}\n")).unwrap();
    assert!(head.starts_with("line 0000000000\nline 0000000001\n") && head.ends_with("line 0000002039\n"));
    assert!(tail.ends_with("line 0000011775\n"));
}

#[tokio::test]
async fn all_of_it_can_be_read_in_order() {
    for tool in ["text", "json", "umlauts"] {
        let bench = bench(LargeResults::default());
        let shown = bench.call("r", "c1", tool, big(200)).await.unwrap().model_text();
        let (handle, mut from) = order(&shown);
        let mut read = shown.split_once("\n[… ").unwrap().0.to_owned();
        assert_eq!(read.len() as u64, from);
        loop {
            let part =
                bench.read("r", json!({"result": handle, "from": from, "length": 16384})).await.unwrap();
            let (text, note) = part.rsplit_once("\n[bytes ").unwrap();
            read.push_str(text);
            if note.ends_with("the result ends here]") {
                break;
            }
            assert_eq!(order(note).0, handle);
            from = order(note).1;
        }
        assert_eq!(read, large_output(tool, 200).await.whole_text(), "{tool}");
    }
}

#[tokio::test]
async fn a_part_says_what_it_is_and_how_to_go_on() {
    let bench = bench(LargeResults::default());
    bench.call("r", "call_1", "umlauts", big(96)).await.unwrap();
    // From the middle of a letter to the middle of another.
    let part = bench.read("r", json!({"result": "rc9b9c430", "from": 2, "length": 9})).await.unwrap();
    assert_eq!(
        part,
        "ü€aü€\n[bytes 1 to 12 of 98304; go on with read_result {\"result\":\"rc9b9c430\",\"from\":12}]"
    );
    let end = bench.read("r", json!({"result": "rc9b9c430", "from": 98300})).await.unwrap();
    assert_eq!(end, "ü€\n[bytes 98299 to 98304 of 98304; the result ends here]");
}

#[tokio::test]
async fn unknown_handles_and_places_behind_the_end_are_told() {
    let bench = bench(LargeResults::default());
    bench.call("r", "call_1", "text", big(96)).await.unwrap();
    let error = bench.read("r", json!({"result": "r00000000"})).await.unwrap_err();
    assert_eq!((error.kind(), error.pointer()), (ToolErrorKind::NotFound, Some("/result")));
    assert_eq!(error.words(), Some("no such result is kept; the oldest ones are given up first"));
    // Nobody reads the results of another run.
    assert_eq!(bench.read("other", json!({"result": "rc9b9c430"})).await.unwrap_err(), error);
    let error = bench.read("r", json!({"result": "rc9b9c430", "from": 98304})).await.unwrap_err();
    assert_eq!((error.kind(), error.pointer()), (ToolErrorKind::InvalidArguments, Some("/from")));
    assert_eq!(error.words(), Some("the result has 98304 bytes"));
}

#[tokio::test]
async fn the_oldest_results_are_given_up_first() {
    let bench = bench(LargeResults::default());
    let mut handles = Vec::new();
    for id in 0..5 {
        let shown = bench.call("r", &format!("c{id}"), "text", big(7 * 1024)).await.unwrap();
        handles.push(order(&shown.model_text()).0);
    }
    assert!(bench.read("r", json!({"result": handles[0]})).await.is_err());
    for handle in &handles[1..] {
        assert!(bench.read("r", json!({"result": handle})).await.is_ok(), "{handle}");
    }
}

#[tokio::test]
async fn content_that_is_no_text_stays() {
    let bench = bench(LargeResults::default());
    let output = bench.call("r", "call_1", "image", big(96)).await.unwrap();
    let ToolOutput::Parts(parts) = &output else { panic!("{output:?}") };
    assert_eq!(parts.len(), 2);
    assert_eq!(parts[1], Part::blob("image/png", &[0; 2048], Some("shot.png".into())));
    assert!(parts[0].model_text().contains("left out; read them with read_result"));
}

#[tokio::test]
async fn a_secret_is_taken_out_before_anything_is_cut() {
    let secret = "line 0000002039\nline 0000002040";
    let results = LargeResults::new(Redactor::new([secret]));
    let bench = bench(results);
    let shown = bench.call("r", "call_1", "text", big(96)).await.unwrap().model_text();
    assert!(!shown.contains("0000002039") && !shown.contains("0000002040"));
    let part = bench.read("r", json!({"result": "rc9b9c430", "from": 32600, "length": 200})).await.unwrap();
    assert!(part.contains("line 0000002038\n[secret]\nline 0000002041"), "{part}");
}

#[tokio::test]
async fn the_tool_is_offered_only_where_something_is_kept() {
    let model = TestModel::new([]);
    let names = |agent: &backstop_runtime::Agent| -> Vec<String> {
        agent.catalog().entries().iter().map(|entry| entry.name.clone()).collect()
    };
    let cut = built(builder(&model).toolset(large())).await;
    assert_eq!(names(&cut), ["text", "json", "image", "umlauts", "no"]);
    let keeping = || ToolsetOptions::default().keep_large_results();
    let kept = built(builder(&model).toolset_with(Arc::new(large()), keeping())).await;
    assert_eq!(names(&kept), ["text", "json", "image", "umlauts", "no", "read_result"]);

    // The model is told the name that it knows.
    let own = TestToolset::new("mine")
        .tool(spec("read_result", Effect::ReadOnly), |_, _| async { Ok(ToolOutput::from(1)) });
    let clash = builder(&model).toolset(own).toolset_with(Arc::new(large()), keeping());
    let clash = built(clash).await;
    assert_eq!(names(&clash).last().unwrap(), "results_read_result");
    let report = clash.call("text", r#"{"n":96}"#, None).await.unwrap();
    let told = format!("{report:?}");
    assert!(told.contains("read them with results_read_result {"), "{}", &told[..500]);
}
