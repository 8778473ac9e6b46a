//! Journals that were written once and must replay for ever: `tests/golden/*.jsonl`, each with the set-up of its run
//! and what it came to in the `.txt` beside it.
//!
//! Neither file is ever changed. `WRITE_GOLDEN=1` writes those that are missing, from the scenario of the same name.

use std::{fs, path::Path};

use backstop_core::Record;

use crate::{
    events::definition,
    scenario::World,
    scenarios::{Scenario, files},
};

/// Scenarios whose journals hold everything that a journal can hold.
const KEPT: [&str; 16] = [
    "a_failing_sibling",
    "ask_human",
    "cancel",
    "crash",
    "cut_reply_with_calls",
    "every_field",
    "happy_path",
    "ids",
    "keyed_call",
    "malformed_arguments",
    "model_gives_up",
    "mutating_timeout",
    "repeats",
    "stop_strategy",
    "use_value",
    "wall_clock_during_tools",
];

/// What came of a run.
fn ending(world: &World) -> String {
    world.next_step() + &world.ending()
}

#[test]
fn old_journals_replay_to_what_they_came_to() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for name in KEPT {
        let (journal, text) = (format!("golden/{name}.jsonl"), format!("golden/{name}.txt"));
        if std::env::var_os("WRITE_GOLDEN").is_some() && !tests.join(&journal).exists() {
            let scenario = fs::read_to_string(tests.join(format!("scenarios/{name}.txt"))).unwrap();
            let scenario = Scenario::parse(&scenario);
            let (_, world) = scenario.play();
            let lines = world.journal().iter().map(|record| serde_json::to_string(record).unwrap() + "\n");
            fs::write(tests.join(&journal), lines.collect::<String>()).unwrap();
            fs::write(tests.join(&text), format!("{}> {}", scenario.header, ending(&world))).unwrap();
        }
    }
    let found = files("golden", "jsonl");
    assert_eq!(found.len(), KEPT.len());
    for path in found {
        let expected = fs::read_to_string(path.with_extension("txt")).unwrap();
        let (header, expected) = expected.split_once("\n> ").unwrap();
        let journal = fs::read_to_string(&path).unwrap();
        let records: Vec<Record> = journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let world = World::replayed(definition(header), records);
        assert_eq!(ending(&world), expected, "{}", path.display());
    }
}

#[test]
fn a_journal_that_is_none_is_refused_with_the_reason() {
    let replay = |lines: &[&str]| {
        let records: Vec<Record> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        backstop_core::Run::replay(std::sync::Arc::default(), &records).unwrap_err().to_string()
    };
    let started = r#"{"v":1,"seq":0,"at":0,"event":"started","run":"r1","seed":1,"input":[]}"#;
    assert_eq!(replay(&[]), "the journal can't be replayed: it is empty");
    assert_eq!(
        replay(&[r#"{"v":1,"seq":0,"at":0,"event":"cancelled"}"#]),
        "the journal can't be replayed: it begins with `cancelled`"
    );
    assert_eq!(
        replay(&[started, r#"{"v":1,"seq":2,"at":0,"event":"cancelled"}"#]),
        "the journal can't be replayed: record 1 is missing: found 2"
    );
    assert_eq!(
        replay(&[started, r#"{"v":2,"seq":1,"at":0,"event":"cancelled"}"#]),
        "the journal can't be replayed: record 1 has version 2, newer than this program"
    );
    assert_eq!(
        replay(&[started, r#"{"v":1,"seq":1,"at":0,"event":"answered","call":"c1","answer":"x"}"#]),
        "the journal can't be replayed: record 1: event `answered` does not fit: the run waits for the model"
    );
    assert_eq!(
        replay(&[started, started.replace("\"seq\":0", "\"seq\":1").as_str()]),
        "the journal can't be replayed: record 1: event `started` does not fit: the run waits for the model"
    );
}

#[test]
fn a_conversation_that_is_not_balanced_is_refused_with_the_calls() {
    let started = |input: &str| {
        let line =
            format!(r#"{{"v":1,"seq":0,"at":0,"event":"started","run":"r1","seed":1,"input":{input}}}"#);
        let record: Record = serde_json::from_str(&line).unwrap();
        backstop_core::Run::replay(std::sync::Arc::default(), [&record])
            .map(|_| ())
            .map_err(|e| e.to_string())
    };
    let call = |id: &str| format!(r#"{{"id":"{id}","name":"t","arguments":"{{}}"}}"#);
    let calls = |ids: &[&str]| {
        let calls: Vec<_> = ids.iter().map(|id| call(id)).collect();
        format!(r#"{{"role":"assistant","calls":[{}]}}"#, calls.join(","))
    };
    let result =
        |id: &str| format!(r#"{{"role":"tool","call":"{id}","content":{{"output":{{"text":"x"}}}}}}"#);
    let user = r#"{"role":"user","text":"go on"}"#;
    let cases = [
        (vec![calls(&["a", "b"]), result("a"), result("b"), user.into()], None),
        (vec![result("a")], Some("result `a` without a call")),
        (vec![calls(&["a"]), user.into()], Some("call `a` without a result")),
        (vec![calls(&["a"])], Some("call `a` without a result")),
        (vec![calls(&["a"]), result("a"), result("a")], Some("result `a` without a call")),
        (
            vec![calls(&["a"]), user.into(), result("a")],
            Some("call `a` without a result, result `a` without a call"),
        ),
        (
            vec![calls(&["a", "b"]), result("b"), result("a")],
            Some("result `b` where that of call `a` should be, result `a` where that of call `b` should be"),
        ),
        (vec![calls(&["a", "a"]), result("a"), result("a")], Some("call `a` twice")),
        // Several providers number the calls of each message anew.
        (vec![calls(&["a"]), result("a"), calls(&["a"]), result("a")], None),
    ];
    for (messages, wrong) in cases {
        let expected =
            wrong.map_or(Ok(()), |wrong| Err(format!("the conversation is not balanced: {wrong}")));
        assert_eq!(started(&format!("[{}]", messages.join(","))), expected);
    }
}
