//! `required`: toolsets without which there is no agent.

use backstop::LoadError;

use super::kit::{ANYTHING, good, load, names, server, shown, with_causes};

#[tokio::test]
async fn there_is_no_agent_without_a_required_server() {
    let folder = tempfile::tempdir().unwrap();
    let mute = server(folder.path(), "mute", &[(ANYTHING, "")]);
    let clock = good(folder.path(), "clock", &["get_time"]);
    let toolsets = |required: bool| {
        format!(
            "  optional: {{ mcp: {{ command: [./no-such-program] }} }}
  mute: {{ required: {required}, mcp: {{ command: {mute}, start_timeout: 300ms }} }}
  clock: {{ required: true, mcp: {{ command: {clock} }} }}
"
        )
    };
    let (agent, problems) = load(folder.path(), &toolsets(false), "- text: hi").await.unwrap();
    assert_eq!(names(&agent), ["get_time", "read_result"]);
    assert_eq!(problems.len(), 2, "{}", shown(&problems));
    let error = load(folder.path(), &toolsets(true), "- text: hi").await.err().unwrap();
    assert!(matches!(&error, LoadError::Required { toolset, .. } if toolset == "mute"), "{error:?}");
    insta::assert_snapshot!(with_causes(&error));
}

#[tokio::test]
async fn a_document_that_can_not_be_fetched_is_missed_only_where_it_is_required() {
    let folder = tempfile::tempdir().unwrap();
    let toolsets = |required: &str| {
        format!("  pets: {{ {required} openapi: {{ document: 'http://127.0.0.1:9/openapi.json' }} }}\n")
    };
    let (agent, problems) = load(folder.path(), &toolsets(""), "- text: hi").await.unwrap();
    assert_eq!(names(&agent), [""; 0]);
    insta::assert_snapshot!(shown(&problems));
    let error = load(folder.path(), &toolsets("required: true,"), "- text: hi").await.err().unwrap();
    assert!(matches!(&error, LoadError::Document { toolset, .. } if toolset == "pets"), "{error:?}");
}
