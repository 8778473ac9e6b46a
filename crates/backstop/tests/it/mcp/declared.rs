//! What a manifest declares of a server and of its tools.

use std::fs;

use backstop::Effect;

use super::kit::{good, initialized, load, names, server, shown, text, tools};

#[tokio::test]
async fn tools_are_picked_and_what_is_declared_of_them_holds() {
    let folder = tempfile::tempdir().unwrap();
    let clock = good(folder.path(), "clock", &["get_time", "get_zone", "set_time", "get_admin"]);
    let toolsets = format!(
        "  clock:
    prefix: clock_
    mcp: {{ command: {clock}, allow: [get_*], deny: '*_admin' }}
    tools:
      get_time: {{ effect: read_only, timeout: 5s, description: Tells the time. }}
      get_zne: {{ effect: read_only }}
"
    );
    let (agent, problems) = load(folder.path(), &toolsets, "- text: hi").await.unwrap();
    assert_eq!(names(&agent), ["clock_get_time", "clock_get_zone", "read_result"]);
    assert_eq!(
        shown(&problems),
        "toolset `clock`: there is no tool `get_zne`, for which something is declared: did you mean `get_zone`?"
    );
    let catalog = agent.catalog();
    let entries = catalog.entries();
    let (time, zone) = (&entries[0], &entries[1]);
    assert_eq!((time.spec.effect, time.spec.description.as_str()), (Effect::ReadOnly, "Tells the time."));
    assert_eq!((zone.spec.effect, zone.policy.timeout), (Effect::Mutating, None));
}

#[tokio::test]
async fn failures_that_look_like_successes_are_told_apart_by_what_is_declared() {
    let folder = tempfile::tempdir().unwrap();
    let answer = text(r#"{\"ok\":false,\"error\":\"no such zone\",\"data\":{\"time\":\"12:00\"}}"#);
    let clock = server(
        folder.path(),
        "clock",
        &[("initialize", &initialized()), ("tools/list", &tools(&["a", "b", "c"])), ("tools/call", &answer)],
    );
    let toolsets = format!(
        "  clock:
    mcp: {{ command: {clock} }}
    tools:
      a: {{ fail_when: {{ contains: no such, kind: not_found }} }}
      b: {{ success_when: {{ path: /ok, equals: true }} }}
      c: {{ result: /data/time }}
"
    );
    let (agent, problems) = load(folder.path(), &toolsets, "- text: hi").await.unwrap();
    assert_eq!(shown(&problems), "");
    let mut views = Vec::new();
    for tool in ["a", "b", "c"] {
        let call = agent.call(tool, "{}", None).await.unwrap().calls().remove(0);
        views.push(format!("{tool} {:?}: {}", call.kind, call.view));
    }
    insta::assert_snapshot!(views.join("\n"));
}

#[tokio::test]
async fn a_program_runs_beside_the_manifest_with_the_environment_that_is_declared() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    let says = |what: &str| {
        format!(
            r#"printf '{{"jsonrpc":"2.0","id":%s,"result":{{"content":[{{"type":"text","text":"%s"}}]}}}}\n' "$id" "{what}""#
        )
    };
    let answer = says("$(pwd -P) $LEVEL $TOKEN");
    server(
        folder.path(),
        "server.sh",
        &[("initialize", &initialized()), ("tools/list", &tools(&["look"])), ("tools/call", &answer)],
    );
    let toolsets = "  beside: { prefix: a_, mcp: { command: [/bin/sh, server.sh], env: { LEVEL: high, TOKEN: '${secret:KEY}' } } }
  below: { prefix: b_, mcp: { command: [/bin/sh, ../server.sh], cwd: data, roots: [data, nowhere] } }
";
    let (agent, problems) = load(folder.path(), toolsets, "- text: hi").await.unwrap();
    let whole = folder.path().canonicalize().unwrap().display().to_string();
    let hidden =
        |text: &str| text.replace(&folder.path().display().to_string(), "FOLDER").replace(&whole, "FOLDER");
    assert_eq!(
        hidden(&shown(&problems)),
        "toolset `below`: the root `FOLDER/nowhere` is no folder, so the server is not told of it"
    );
    let view = async |tool: &str| hidden(&agent.call(tool, "{}", None).await.unwrap().calls().remove(0).view);
    // The secret is one of the run: whoever gives it back finds it taken out.
    assert_eq!(view("a_look").await, "FOLDER high [secret]");
    assert_eq!(view("b_look").await.trim(), "FOLDER/data");
}

#[tokio::test]
async fn the_model_of_the_agent_answers_a_server_that_may_ask_it() {
    let folder = tempfile::tempdir().unwrap();
    // It asks in the middle of a call, and gives back what it hears.
    let asks = r#"printf '{"jsonrpc":"2.0","id":900,"method":"sampling/createMessage","params":{"maxTokens":9,"messages":[{"role":"user","content":{"type":"text","text":"What time?"}}]}}\n'
        IFS= read -r heard; said=$(printf '%s' "$heard" | sed -n -e 's/.*"text":"\([^"]*\)".*/\1/p' -e 's/.*"message":"\([^"]*\)".*/\1/p')
        printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}\n' "$id" "$said""#;
    let command = server(
        folder.path(),
        "server",
        &[("initialize", &initialized()), ("tools/list", &tools(&["look"])), ("tools/call", asks)],
    );
    let mut views = Vec::new();
    for sampling in [true, false] {
        let toolsets = format!("  a: {{ mcp: {{ command: {command}, sampling: {sampling} }} }}\n");
        let (agent, problems) = load(folder.path(), &toolsets, "- text: It is noon.").await.unwrap();
        assert_eq!(shown(&problems), "");
        views.push(agent.call("look", "{}", None).await.unwrap().calls().remove(0).view);
    }
    assert_eq!(views, ["It is noon.", "no model answers this server"]);
}

#[tokio::test]
async fn what_a_server_says_too_much_of_is_kept_for_reading() {
    let folder = tempfile::tempdir().unwrap();
    let long = r#"long=$(head -c 100000 /dev/zero | tr '\0' x); printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}\n' "$id" "$long""#;
    let command = server(
        folder.path(),
        "server",
        &[("initialize", &initialized()), ("tools/list", &tools(&["look"])), ("tools/call", long)],
    );
    let kept = format!("  a: {{ mcp: {{ command: {command} }} }}\n");
    let (agent, _) = load(folder.path(), &kept, "- text: hi").await.unwrap();
    let view = agent.call("look", "{}", None).await.unwrap().calls().remove(0).view;
    assert!(view.contains("read_result"), "{}", &view[view.len() - 300..]);
    let cut = format!("  a: {{ large_results: cut, mcp: {{ command: {command}, max_message: 64KiB }} }}\n");
    let (agent, _) = load(folder.path(), &cut, "- text: hi").await.unwrap();
    assert_eq!(names(&agent), ["look"]);
    let call = agent.call("look", "{}", None).await.unwrap().calls().remove(0);
    assert_eq!(call.kind.map(|kind| kind.as_str()), Some("invalid_output"), "{}", call.view);
}
