//! C10: a server that never answers does not hold up the others, and the limit that ends something is the one that was
//! declared.

use std::time::{Duration, Instant};

use super::kit::{ANYTHING, good, initialized, load, names, result, server, shown, text, tools, with_causes};

#[tokio::test]
async fn silent_servers_are_left_out_within_their_time_and_the_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut toolsets = String::new();
    // Ten of them: one after the other they would take ten seconds.
    for index in 0..5 {
        let mute = server(folder.path(), &format!("mute{index}"), &[(ANYTHING, "")]);
        toolsets += &format!("  mute{index}: {{ mcp: {{ command: {mute}, start_timeout: 1s }} }}\n");
        let lists_nothing = server(
            folder.path(),
            &format!("half{index}"),
            &[("initialize", &initialized()), ("tools/list", "")],
        );
        toolsets += &format!(
            "  half{index}: {{ mcp: {{ command: {lists_nothing}, list_timeout: 1s, protocol: handshake }} }}\n"
        );
    }
    let clock = good(folder.path(), "clock", &["get_time", "set_time"]);
    toolsets += &format!("  clock: {{ prefix: clock_, mcp: {{ command: {clock} }} }}\n");
    let start = Instant::now();
    let script = "[{calls: [{tool: clock_get_time, arguments: {}}]}, {text: It is late.}]";
    let (agent, problems) = load(folder.path(), &toolsets, script).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
    assert_eq!(names(&agent), ["clock_get_time", "clock_set_time", "read_result"]);
    insta::assert_snapshot!(shown(&problems));
    let report = agent.run("What time is it?").await.unwrap();
    let views: Vec<String> = report.calls().into_iter().map(|call| call.view).collect();
    assert_eq!(views, ["done"]);
}

#[tokio::test]
async fn servers_that_are_gone_or_talk_nonsense_are_left_out_and_told_in_the_order_of_the_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let dies = server(folder.path(), "dies", &[(ANYTHING, "echo 'no license' >&2; exit 3")]);
    let toolsets = format!(
        "  absent: {{ mcp: {{ command: [./no-such-program] }} }}
  dies: {{ mcp: {{ command: {dies} }} }}
  refused: {{ mcp: {{ url: 'http://127.0.0.1:9/mcp' }} }}
  clock: {{ mcp: {{ command: {} }} }}
",
        good(folder.path(), "clock", &["get_time"])
    );
    let (agent, problems) = load(folder.path(), &toolsets, "- text: hi").await.unwrap();
    assert_eq!(names(&agent), ["get_time", "read_result"]);
    insta::assert_snapshot!(shown(&problems).replace(&folder.path().display().to_string(), "FOLDER"));
}

#[tokio::test]
async fn a_call_ends_with_the_time_of_its_tool_and_says_which() {
    let folder = tempfile::tempdir().unwrap();
    let slow = format!("sleep 0.6; {}", text("slowly"));
    let slow = server(
        folder.path(),
        "slow",
        &[("initialize", &initialized()), ("tools/list", &tools(&["long", "short"])), ("tools/call", &slow)],
    );
    let toolsets = format!(
        "  slow:
    circuit_breaker: off
    mcp: {{ command: {slow} }}
    tools:
      long: {{ timeout: 20s, effect: read_only }}
      short: {{ timeout: 200ms, effect: read_only, fallback: [{{ continue: {{}} }}] }}
"
    );
    let (agent, problems) = load(folder.path(), &toolsets, "- text: hi").await.unwrap();
    assert_eq!(shown(&problems), "");
    let view = async |tool: &str| agent.call(tool, "{}", None).await.unwrap().calls().remove(0).view;
    assert_eq!(view("long").await, "slowly");
    assert_eq!(
        view("short").await,
        "Tool call \"short\" timed out after 200 milliseconds.\n\
         There is no result: use another tool or tell the user, and do not make one up."
    );
}

#[tokio::test]
async fn a_list_in_pages_that_never_end_is_given_up_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let page =
        result(r#"{"tools":[{"name":"again","inputSchema":{"type":"object"}}],"nextCursor":"CURSOR"}"#);
    let endless = format!("sleep 0.2; {}", page.replace("CURSOR", "'\"$id\"'"));
    let endless =
        server(folder.path(), "endless", &[("initialize", &initialized()), ("tools/list", &endless)]);
    let toolsets = format!(
        "  endless: {{ required: true, mcp: {{ command: {endless}, start_timeout: 1s, list_timeout: 500ms, protocol: handshake }} }}\n"
    );
    let start = Instant::now();
    let error = load(folder.path(), &toolsets, "- text: hi").await.err().unwrap();
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
    assert_eq!(
        with_causes(&error),
        "the toolset `endless` is required, and did not list its tools: timeout: \
         the toolset did not list its tools within 2.5 seconds"
    );
}
