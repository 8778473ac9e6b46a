//! `mcp` toolsets: programs and addresses, and what is said of their tools.

use std::{path::PathBuf, time::Duration};

use backstop_manifest::v1::{
    Auth, LargeResults, Login, McpConfig, McpHttp, McpProgram, McpProtocol, McpRoot, McpServer, Network,
    ToolsetKind,
};

use crate::{good, load, problems, with};

fn mcp(text: &str) -> McpConfig {
    let manifest = good(&with(text));
    match &manifest.toolsets[0].kind {
        ToolsetKind::Mcp(mcp) => mcp.as_ref().clone(),
        other => panic!("{other:?}"),
    }
}

fn program(text: &str) -> McpProgram {
    match mcp(text).server {
        McpServer::Program(program) => program,
        other => panic!("{other:?}"),
    }
}

fn address(text: &str) -> McpHttp {
    match mcp(text).server {
        McpServer::Http(http) => *http,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_with_everything_that_can_be_said() {
    let text = with(
        r#"toolsets:
  clock:
    required: true
    prefix: clock_
    mcp:
      command: [./bin/clock, --zone, "${HOST}", "", "7"]
      env: { TOKEN: "${secret:TOKEN}", LEVEL: debug, PORT: 80, EMPTY: "", npm_config_x.y-z: a }
      cwd: ./dir
      protocol: handshake
      allow: ["get_*", "{now,then}"]
      deny: "*_admin"
      trusted: true
      resources: true
      prompts: true
      roots: [./data, /abs, "https://h.example/x", "file:///srv"]
      start_timeout: 1m
      list_timeout: 5s
      idle_timeout: 20s
      max_message: 16 MiB
      elicitation: false
      sampling: true
    tools:
      get_now: { effect: read_only, timeout: 5s, fail_when: { contains: "no such zone", kind: not_found }, result: /time }
    fallback: [{ when: { kind: unknown_tool }, continue: {} }]
"#,
    );
    let manifest = good(&text);
    let toolset = &manifest.toolsets[0];
    assert!(toolset.required);
    assert_eq!(toolset.large_results, LargeResults::Keep);
    assert!(toolset.specs().is_empty() && !toolset.declares_its_tools());
    let ToolsetKind::Mcp(mcp) = &toolset.kind else { panic!() };
    let McpServer::Program(program) = &mcp.server else { panic!() };
    assert_eq!(program.program, PathBuf::from("base/./bin/clock"));
    assert_eq!(program.args, ["--zone", "shop.example.test", "", "7"]);
    assert_eq!(program.cwd, Some(PathBuf::from("base/./dir")));
    let env: Vec<_> = program.env.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
    assert_eq!(
        env,
        [
            ("TOKEN", "tok-SECRET-1"),
            ("LEVEL", "debug"),
            ("PORT", "80"),
            ("EMPTY", ""),
            ("npm_config_x.y-z", "a")
        ]
    );
    assert_eq!(mcp.protocol, McpProtocol::Handshake);
    assert_eq!(mcp.allow.as_ref().unwrap().texts(), ["get_*", "{now,then}"]);
    assert_eq!(mcp.deny.texts(), ["*_admin"]);
    let offered = ["get_now", "then", "get_admin", "set_now", "get_a/b", "read_resource", "get_prompt"]
        .map(|tool| mcp.offers(tool));
    assert_eq!(offered, [true, true, false, false, true, true, true]);
    assert!(mcp.trusted && mcp.resources && mcp.prompts && mcp.sampling && !mcp.elicitation);
    let roots: Vec<McpRoot> = mcp.roots.iter().map(|root| root.value.clone()).collect();
    assert_eq!(
        roots,
        [
            McpRoot::Folder("base/./data".into()),
            McpRoot::Folder("/abs".into()),
            McpRoot::Url("https://h.example/x".parse().unwrap()),
            McpRoot::Url("file:///srv".parse().unwrap()),
        ]
    );
    let seconds = |time: Option<Duration>| time.unwrap().as_secs();
    assert_eq!([mcp.start_timeout, mcp.list_timeout, mcp.idle_timeout].map(seconds), [60, 5, 20]);
    assert_eq!(mcp.max_message, Some(16 * 1024 * 1024));
    let shown = format!("{manifest:?}");
    assert!(!shown.contains("SECRET"), "{shown}");
}

#[test]
fn what_is_not_said_has_a_default() {
    let text = "toolsets: {a: {mcp: {command: mcp-server-time}}}";
    assert!(!good(&with(text)).toolsets[0].required);
    insta::assert_debug_snapshot!(mcp(text));
    // A name is looked up where programs are.
    assert_eq!(program(text).program, PathBuf::from("mcp-server-time"));
}

#[test]
fn an_address_is_reached_like_any_service() {
    let http = address(
        r#"toolsets:
  docs:
    mcp:
      url: https://${HOST}/mcp?v=2
      headers: { X-Tenant: t1, X-Sig: "${secret:KEY}" }
      auth: { bearer: "${secret:TOKEN}" }
      caller_headers: [X-User]
      connection: { network: public, connect_timeout: 2s }
"#,
    );
    assert_eq!(http.url.to_string(), "https://shop.example.test/mcp?v=2");
    let headers: Vec<_> =
        http.headers.iter().map(|header| (header.name.as_str(), header.value.expose())).collect();
    assert_eq!(headers, [("X-Tenant", "t1"), ("X-Sig", "key-SECRET-2")]);
    assert!(matches!(&http.auth, Auth::Bearer(token) if token.expose() == "tok-SECRET-1"));
    assert_eq!(http.caller_headers, ["X-User"]);
    assert_eq!(http.connection.network, Some(Network::Public(Vec::new())));
    assert_eq!(http.connection.connect_timeout, Some(Duration::from_secs(2)));
}

#[test]
fn every_mistake_of_a_server_is_told_at_its_place() {
    insta::assert_snapshot!(problems(&with(
        r#"toolsets:
  a: {mcp: {}}
  b: {mcp: {command: [x], url: "http://h/mcp", env: {A: b}, headers: {"a b": c}}}
  c: {mcp: {url: "http://h/mcp", env: {A: b}, cwd: /tmp}}
  d: {mcp: {command: x, headers: {A: b}, auth: {bearer: "${secret:TOKEN}"}, caller_headers: X-A, connection: {}}}
  e: {mcp: {command: "npx -y @scope/server --port=80"}}
  f: {mcp: {command: 'sh -c "a b"'}}
  g: {mcp: {command: "${HOST} x"}}
  h: {mcp: {command: []}}
  i: {mcp: {command: ["", {}, "a\0"], args: [a]}}
  j: {mcp: {command: [x, "${secret:TOKEN}"], env: {"A=B": c, "": d, A b: e, OK: {}, N: "\0", API_KEY: hunter2}}}
  k: {mcp: {command: x, protocol: sse, allow: ["[", ""], deny: {a: b}, trusted: maybe, comand: x, roots: [""]}}
  l: {mcp: {command: x, start_timeout: 5, idle_timeout: 2d, max_message: 8MB}}
  m: {mcp: {command: x, max_message: 1}, required: sure}
  n: {mcp: {command: x, max_message: 1GiB}}
  o: {mcp: {command: x, max_message: 1000000MiB}}
  p: {mcp: {url: "ftp://h"}, http: {base_url: "http://h"}}
  q: {mcp: shop}
"#
    )));
}

#[test]
fn what_is_legal_and_surely_not_meant_is_told() {
    insta::assert_snapshot!(problems(&with(
        r#"toolsets:
  a:
    mcp: {command: x, allow: [get_*], deny: [get_secret]}
    tools:
      get_time: {success_when: {status: 200, path: /ok}, fail_when: [{content_type: text/html}, {contains: no}]}
      get_secret: {timeout: 5s}
      read_resource: {timeout: 5s}
      set_time: {effect: mutating}
  b: {mcp: {command: x, allow: []}}
  c: {mcp: {url: "http://h/mcp", connection: {rate: 10/s, concurrency: 2, first_byte: 1s}}}
  d: {http: {base_url: "http://h", endpoints: {a: {path: /a}}}, required: true}
"#
    )));
}

#[test]
fn values_that_look_like_credentials_are_kept_secret_however_they_are_written() {
    let (manifest, problems) = load(&with(
        "toolsets: {a: {mcp: {command: x, env: {GITHUB_TOKEN: hunter2, db_password: '${HOST}', LEVEL: info}}}}",
    ));
    assert_eq!(
        crate::shown(&problems),
        "4:54: warning[plain-secret]: toolsets.a.mcp.env.GITHUB_TOKEN: the value of `GITHUB_TOKEN` is written out\n  \
         hint: keep it out of the file: `${secret:NAME}` reads the variable NAME"
    );
    let manifest = manifest.unwrap();
    let kept: Vec<&str> = manifest.secrets.iter().map(|secret| secret.expose()).collect();
    assert_eq!(kept, ["hunter2", "shop.example.test"]);
}

fn login(auth: &str) -> Login {
    let http = address(&format!("toolsets: {{a: {{mcp: {{url: https://h.example/mcp, auth: {auth}}}}}}}"));
    assert!(matches!(http.auth, Auth::None));
    http.login.unwrap()
}

#[test]
fn a_login_says_who_asks_for_what() {
    let usual = login("login");
    assert_eq!(usual.client_id, None);
    assert!(usual.client_secret.is_none() && usual.scopes.is_empty() && usual.redirect.is_none());
    assert_eq!(login("{login: {}}").client_id, None);
    let declared = login(
        r#"{login: {client_id: "${HOST}", client_secret: "${secret:TOKEN}", scopes: [read, "a:b"], redirect: "http://localhost:3030/cb"}}"#,
    );
    assert_eq!(declared.client_id.as_deref(), Some("shop.example.test"));
    assert_eq!(declared.client_secret.unwrap().expose(), "tok-SECRET-1");
    assert_eq!(declared.scopes, ["read", "a:b"]);
    assert_eq!(declared.redirect.unwrap().as_str(), "http://localhost:3030/cb");
    assert_eq!(login("{login: {scopes: read}}").scopes, ["read"]);
}

#[test]
fn what_is_wrong_with_a_login_is_told() {
    let found = problems(&with(
        r#"toolsets:
  a: {mcp: {url: "https://h.example/a", auth: {login: {client_secret: "${secret:TOKEN}"}}}}
  b: {mcp: {url: "https://h.example/b", auth: {login: {scopes: ["read write", ""], redirect: "https://h.example/cb"}}}}
  c: {mcp: {url: "https://h.example/c", auth: {login: {redirect: "http://127.0.0.1/cb"}}}}
  d: {mcp: {url: "https://h.example/d", auth: {login: {client: x}}}}
  e: {mcp: {url: "https://h.example/e", auth: logn}}
  f: {mcp: {url: "https://h.example/f", auth: {login: {}, bearer: "${secret:TOKEN}"}}}
  g: {mcp: {url: "https://h.example/g", auth: login, caller_headers: [Authorization]}}
  h: {mcp: {url: "https://h.example/h", auth: {login: 7}}}
  i: {http: {base_url: "https://h.example", auth: login, endpoints: {}}}
"#,
    ));
    insta::assert_snapshot!(found);
}
