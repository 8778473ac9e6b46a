//! Servers that start badly, and what they say that they offer.

use std::time::{Duration, Instant};

use backstop_core::{Catalog, ToolPolicy, Toolset, catalog::CatalogSource};
use backstop_test::mcp::Behaviour;
use backstop_toolsets::mcp::{McpConfig, McpToolset, Protocol, Server, StdioServer};
use globset::{Glob, GlobSet, GlobSetBuilder};
use serde_json::json;

use crate::kit::{Fake, echo, shown};

fn globs(patterns: &[&str]) -> Option<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(Glob::new(pattern).unwrap());
    }
    Some(set.build().unwrap())
}

#[tokio::test]
async fn a_server_that_cannot_start_is_told_with_its_last_words() {
    let mut table = String::new();
    for behaviour in
        [Behaviour::ExitsAtStart, Behaviour::SilentAtStart, Behaviour::SilentAtList, Behaviour::EndlessList]
    {
        let fake = Fake::new(behaviour);
        let mut config = fake.config();
        config.start_timeout =
            Duration::from_secs(if behaviour == Behaviour::SilentAtStart { 1 } else { 20 });
        config.list_timeout = Duration::from_secs(if behaviour == Behaviour::SilentAtList { 1 } else { 20 });
        let begun = Instant::now();
        let error = McpToolset::new(config).unwrap().list().await.unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(15), "{}: {:?}", behaviour.as_str(), begun.elapsed());
        table += &format!("## {}\n{}\n\n", behaviour.as_str(), shown(&Err(error)));
    }
    for (program, cwd) in
        [("no-such-program-anywhere", None), ("/etc/passwd", None), ("sh", Some("/no/such/folder"))]
    {
        let mut server = StdioServer::new(program);
        server.cwd = cwd.map(Into::into);
        let toolset = McpToolset::new(McpConfig::new("fake", Server::Stdio(server))).unwrap();
        table += &format!("## {program}\n{}\n\n", shown(&Err(toolset.list().await.unwrap_err())));
    }
    insta::assert_snapshot!(table);
}

#[tokio::test]
async fn the_protocol_of_a_server_is_found_once_and_remembered() {
    for (behaviour, starts) in
        [(Behaviour::Stateless, 1), (Behaviour::Good, 1), (Behaviour::ExitsAtDiscover, 2)]
    {
        let fake = Fake::new(behaviour);
        let toolset = fake.toolset();
        toolset.list().await.unwrap();
        assert_eq!(echo(&toolset).await.unwrap().model_text(), "still here", "{}", behaviour.as_str());
        assert_eq!(fake.pids().len(), starts, "{}", behaviour.as_str());
        let (asked, greeted) = (fake.count("server/discover"), fake.count("initialize"));
        assert_eq!(
            (asked, greeted),
            (1, usize::from(behaviour != Behaviour::Stateless)),
            "{}",
            behaviour.as_str()
        );
        // Lost, and connected to again: nothing is asked that is known.
        let pid = *fake.pids().last().unwrap();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid as i32), nix::sys::signal::Signal::SIGKILL)
            .unwrap();
        crate::kit::within("the server is gone", || !crate::kit::lives(pid)).await;
        let _ = echo(&toolset).await;
        assert_eq!(echo(&toolset).await.unwrap().model_text(), "still here", "{}", behaviour.as_str());
        assert_eq!(fake.pids().len(), starts + 1, "{}", behaviour.as_str());
        let expected = if behaviour == Behaviour::Stateless { (2, 0) } else { (1, 2) };
        assert_eq!(
            (fake.count("server/discover"), fake.count("initialize")),
            expected,
            "{}",
            behaviour.as_str()
        );
    }
}

/// Some ignore what they don't know: they are asked in the old way while there is time.
#[tokio::test]
async fn a_server_that_ignores_the_newest_protocol_is_asked_for_an_older_one() {
    let fake = Fake::new(Behaviour::IgnoresDiscover);
    let mut config = fake.config();
    config.start_timeout = Duration::from_secs(3);
    let toolset = McpToolset::new(config).unwrap();
    let begun = Instant::now();
    toolset.list().await.unwrap();
    assert!(begun.elapsed() < Duration::from_millis(2500), "{:?}", begun.elapsed());
    assert_eq!(echo(&toolset).await.unwrap().model_text(), "still here");
    assert_eq!((fake.pids().len(), fake.count("server/discover"), fake.count("initialize")), (1, 1, 1));

    // Where nothing else will do, the whole time is its own.
    let mut config = fake.config();
    (config.start_timeout, config.protocol) = (Duration::from_millis(900), Protocol::Stateless);
    let error = McpToolset::new(config).unwrap().list().await.unwrap_err();
    assert_eq!(error.detail(), "the server did not start within 900 milliseconds");
}

#[tokio::test]
async fn a_declared_protocol_is_the_one_that_is_spoken() {
    let old = Fake::new(Behaviour::Good);
    let mut config = old.config();
    config.protocol = Protocol::Handshake;
    let toolset = McpToolset::new(config).unwrap();
    toolset.list().await.unwrap();
    assert_eq!((old.count("server/discover"), old.count("initialize")), (0, 1));

    let old = Fake::new(Behaviour::Good);
    let mut config = old.config();
    config.protocol = Protocol::Stateless;
    let error = McpToolset::new(config).unwrap().list().await.unwrap_err();
    insta::assert_snapshot!(shown(&Err(error)));
}

#[tokio::test]
async fn tools_that_cannot_be_used_take_no_other_with_them() {
    let mut table = String::new();
    for behaviour in [Behaviour::DuplicateNames, Behaviour::IllegalNames, Behaviour::IllegalSchemas] {
        let fake = Fake::new(behaviour);
        let specs = fake.toolset().list().await.unwrap();
        let tools = specs.into_iter().map(|spec| (spec, ToolPolicy::default())).collect();
        let (catalog, problems) = Catalog::build(vec![CatalogSource::new("fake", tools)]);
        let names: Vec<_> = catalog.entries().iter().map(|entry| entry.name.as_str()).collect();
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        table += &format!("## {}\n{}\n  {}\n\n", behaviour.as_str(), names.join(" "), problems.join("\n  "));
    }
    insta::assert_snapshot!(table);
}

#[tokio::test]
async fn tools_are_let_through_by_their_names() {
    let fake = Fake::new(Behaviour::Good);
    for (allow, deny, left) in [
        (None, None, vec!["act", "echo", "add"]),
        (globs(&["a*"]), None, vec!["act", "add"]),
        (None, globs(&["a*"]), vec!["echo"]),
        (globs(&["a*", "echo"]), globs(&["act"]), vec!["echo", "add"]),
    ] {
        let mut config = fake.config();
        (config.allow, config.deny) = (allow, deny);
        let toolset = McpToolset::new(config).unwrap();
        let names: Vec<_> = toolset.list().await.unwrap().into_iter().map(|spec| spec.name).collect();
        assert_eq!(names, left);
        if !left.contains(&"act") {
            let error = crate::kit::act(&toolset).await.unwrap_err();
            assert_eq!(error.detail(), "toolset `fake` has no tool `act`");
        }
    }
}

#[tokio::test]
async fn nothing_is_inherited_but_what_programs_need() {
    let mut server = StdioServer::new("sh");
    // It says its environment in the place of its name.
    let script = "read -r line; env=$(env | cut -d= -f1 | sort | tr '\\n' ' '); \
                  printf '{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":-32000,\"message\":\"%s\"}}\\n' \"$env\"; sleep 5";
    server.args = vec!["-c".into(), script.into()];
    server.env = vec![("TOKEN".into(), "t".to_owned().into())];
    let mut config = McpConfig::new("fake", Server::Stdio(server));
    config.protocol = Protocol::Handshake;
    let error = McpToolset::new(config).unwrap().list().await.unwrap_err();
    let message = error.detail().to_owned();
    let names: Vec<&str> = message.split('`').nth(1).unwrap().split_whitespace().collect();
    assert!(names.contains(&"TOKEN") && names.contains(&"PATH"), "{names:?}");
    // The shell makes these by itself.
    let known = |name: &&&str| {
        StdioServer::INHERITED.contains(name) || ["TOKEN", "PWD", "SHLVL", "_", "OLDPWD"].contains(*name)
    };
    assert_eq!(names.iter().filter(|name| !known(name)).collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[tokio::test]
async fn an_endless_list_is_told_as_what_it_is() {
    let fake = Fake::new(Behaviour::EndlessList);
    let error = fake.toolset().list().await.unwrap_err();
    assert_eq!(error.detail(), "tools/list: the list leads back to an earlier page");
    assert_eq!(json!(error.kind().as_str()), json!("misconfigured"));
}
