//! The `backstop` command on MCP servers of others: what each of them makes of a failure, and what we make of that.

use std::{
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    server::{Server, counterpart},
    shell::{Manifest, Ran},
};

/// A manifest with one server; `more` are further keys of its toolset.
fn manifest(mcp: &Value, more: &Value) -> Manifest {
    let mut toolset = json!({"mcp": mcp});
    toolset.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let manifest = json!({
        "version": 1,
        "name": "mcp",
        "model": {"name": "none", "base_url": "http://127.0.0.1:9"},
        "limits": {"call_retries": 0},
        "toolsets": {"own": toolset},
    });
    Manifest::new(&manifest.to_string())
}

fn npm(name: &str) -> String {
    counterpart(&format!("npm-mcp/node_modules/.bin/{name}")).display().to_string()
}

fn program(command: &[&str]) -> Value {
    json!({"command": command})
}

/// The names of its tools.
fn tools(manifest: &Manifest) -> String {
    let ran = manifest.ran("tools", &["--json"]);
    let document = ran.document();
    let tools = document.as_array().unwrap_or_else(|| panic!("{ran}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

/// What came of a call, for the model and for programs.
fn shown(ran: &Ran) -> String {
    let document = ran.document();
    let error = &document["error"];
    if error.is_null() {
        let output = match &document["output"] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        return format!("ok: {}", output.chars().take(300).collect::<String>());
    }
    let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
    let view = text("model_view").replace('\n', "\n    ");
    format!("{} ({}), applied {}\n    {view}", text("kind"), text("class"), text("applied"))
}

/// The tools, and what comes of each call; `folder` is a path that differs from run to run.
fn table(manifest: &Manifest, folder: &Path, calls: &[(&str, Value)]) -> String {
    let mut table = format!("tools: {}\n", tools(manifest));
    for (tool, arguments) in calls {
        let ran = manifest.call(tool, &arguments.to_string());
        table += &format!("\n{tool} {arguments}\n  {}\n", shown(&ran));
    }
    // A path and what a system makes of it.
    let real = folder.canonicalize().unwrap();
    table.replace(&real.display().to_string(), "FOLDER").replace(&folder.display().to_string(), "FOLDER")
}

#[test]
fn everything_is_read_over_stdio() {
    let folder = TempDir::new().unwrap();
    let manifest = manifest(&program(&[&npm("mcp-server-everything")]), &json!({}));
    let calls = [
        ("echo", json!({"message": "hi"})),
        ("get-sum", json!({"a": 1, "b": 2})),
        ("get-structured-content", json!({"location": "Chicago"})),
        ("get-tiny-image", json!({})),
        ("get-resource-links", json!({"count": 2})),
        ("nope", json!({})),
        ("echo", json!({})),
        ("get-sum", json!({"a": "one", "b": 2})),
        ("get-annotated-message", json!({"messageType": "error", "includeImage": false})),
    ];
    insta::assert_snapshot!(table(&manifest, folder.path(), &calls));
}

#[test]
fn filesystem_says_what_is_not_there_and_not_allowed() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a.txt"), "one\ntwo\n").unwrap();
    let real = folder.path().canonicalize().unwrap();
    let path = |name: &str| real.join(name).display().to_string();
    let manifest = manifest(
        &program(&[&npm("mcp-server-filesystem"), &real.display().to_string()]),
        &json!({"tools": {"read_text_file": {"find_with": "list_directory"}}}),
    );
    let calls = [
        ("read_text_file", json!({"path": path("a.txt")})),
        ("read_text_file", json!({"path": path("missing.txt")})),
        ("read_text_file", json!({"path": "/etc/passwd"})),
        ("read_text_file", json!({})),
        ("create_directory", json!({"path": path("a.txt")})),
        ("edit_file", json!({"path": path("a.txt"), "edits": [{"oldText": "three", "newText": "3"}]})),
        ("nope", json!({})),
    ];
    insta::assert_snapshot!(table(&manifest, folder.path(), &calls));
}

#[test]
fn memory_refuses_what_does_not_fit() {
    let folder = TempDir::new().unwrap();
    let mut mcp = program(&[&npm("mcp-server-memory")]);
    mcp["env"] = json!({"MEMORY_FILE_PATH": folder.path().join("memory.json").display().to_string()});
    let manifest = manifest(&mcp, &json!({}));
    let ada = json!({"name": "Ada", "entityType": "person", "observations": ["counts"]});
    let calls = [
        ("create_entities", json!({"entities": [ada]})),
        ("search_nodes", json!({"query": "Ada"})),
        ("add_observations", json!({"observations": [{"entityName": "Bob", "contents": ["x"]}]})),
        ("create_entities", json!({"entities": [{"name": "Bob"}]})),
        ("nope", json!({})),
    ];
    insta::assert_snapshot!(table(&manifest, folder.path(), &calls));
}

#[test]
fn the_servers_of_the_python_sdk_are_read() {
    let folder = TempDir::new().unwrap();
    let git = |arguments: &[&str]| {
        let done = Command::new("git").current_dir(folder.path()).args(arguments).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    let repository = folder.path().canonicalize().unwrap().display().to_string();
    let python = |name: &str| counterpart(&format!("mcp/bin/{name}")).display().to_string();

    let time = manifest(&program(&[&python("mcp-server-time"), "--local-timezone", "UTC"]), &json!({}));
    let calls = [
        ("convert_time", json!({"source_timezone": "UTC", "time": "noon", "target_timezone": "UTC"})),
        ("get_current_time", json!({"timezone": "Mars/Base"})),
        ("get_current_time", json!({})),
        ("nope", json!({})),
    ];
    let mut all = format!("# time\n{}", table(&time, folder.path(), &calls));

    let git = manifest(&program(&[&python("mcp-server-git"), "--repository", &repository]), &json!({}));
    let calls = [
        ("git_status", json!({"repo_path": repository})),
        ("git_show", json!({"repo_path": repository, "revision": "nope"})),
        ("git_status", json!({"repo_path": "/no/such/repository"})),
        ("nope", json!({})),
    ];
    all += &format!("\n# git\n{}", table(&git, folder.path(), &calls));

    let fetch = manifest(&program(&[&python("mcp-server-fetch"), "--allow-private-ips"]), &json!({}));
    let calls = [("fetch", json!({"url": "http://127.0.0.1:9/x"})), ("fetch", json!({"url": "nope"}))];
    all += &format!("\n# fetch\n{}", table(&fetch, folder.path(), &calls));
    insta::assert_snapshot!(all);
}

/// These two hide failures in successes: what the manifest declares finds them.
#[test]
fn failures_that_are_hidden_in_successes_are_found() {
    let folder = TempDir::new().unwrap();
    let database = folder.path().join("shop.db").display().to_string();
    let sqlite =
        program(&[&counterpart("mcp1/bin/mcp-server-sqlite").display().to_string(), "--db-path", &database]);
    let fail_when = |tools: &[&str], test: Value| {
        let tools: serde_json::Map<_, _> =
            tools.iter().map(|tool| ((*tool).to_owned(), json!({"fail_when": test}))).collect();
        json!({"tools": tools})
    };
    let calls = [
        ("create_table", json!({"query": "CREATE TABLE orders (id INTEGER)"})),
        ("read_query", json!({"query": "SELECT * FROM missing"})),
        ("read_query", json!({"query": "DELETE FROM orders"})),
        ("read_query", json!({})),
        ("nope", json!({})),
    ];
    let plain = manifest(&sqlite, &json!({}));
    let mut all = format!("# sqlite as it is\n{}", table(&plain, folder.path(), &calls[1..2]));
    let declared =
        manifest(&sqlite, &fail_when(&["read_query", "create_table"], json!({"contains": "rror: "})));
    all += &format!("\n# sqlite with fail_when\n{}", table(&declared, folder.path(), &calls));

    let mut tau = program(&[&counterpart("mcp/bin/tau2-mock-mcp").display().to_string()]);
    // What it did before is otherwise kept for every run of this machine.
    tau["env"] = json!({"TAU2_MOCK_MCP_STATE_DIR": folder.path().join("tau2").display().to_string()});
    let calls = [
        ("create_task", json!({"user_id": "user_1", "title": "Call Ada"})),
        ("create_task", json!({"user_id": "nobody", "title": "Call Ada"})),
        ("update_task_status", json!({"task_id": "none", "status": "completed"})),
    ];
    let declared = manifest(
        &tau,
        &fail_when(&["create_task", "update_task_status"], json!({"path": "/ok", "equals": false})),
    );
    all += &format!("\n# tau2\n{}", table(&declared, folder.path(), &calls));
    insta::assert_snapshot!(all);
}

/// The server of the SDK for TypeScript over HTTP, on a port of its own.
struct Everything {
    child: std::process::Child,
    port: u16,
}

impl Everything {
    fn start(port: u16) -> Self {
        let child = Command::new(npm("mcp-server-everything"))
            .arg("streamableHttp")
            .env("PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_secs(30);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "the server did not get ready");
            thread::sleep(Duration::from_millis(20));
        }
        Self { child, port }
    }

    fn end(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn everything_is_read_over_http_and_a_lost_call_is_told() {
    let folder = TempDir::new().unwrap();
    let port = free_port();
    let server = Everything::start(port);
    let manifest = manifest(&json!({"url": format!("http://127.0.0.1:{}/mcp", server.port)}), &json!({}));
    let calls = [
        ("echo", json!({"message": "hi"})),
        ("get-sum", json!({"a": 1, "b": 2})),
        ("get-tiny-image", json!({})),
        ("echo", json!({})),
        ("nope", json!({})),
    ];
    insta::assert_snapshot!(table(&manifest, folder.path(), &calls));

    // Killed in the middle of a call.
    let long = json!({"duration": 30, "steps": 60}).to_string();
    let running = manifest.started("call", &["trigger-long-running-operation", &long, "--json"], "");
    thread::sleep(Duration::from_secs(2));
    server.end();
    let ran = running.ended();
    assert!(ran.took < Duration::from_secs(20), "{ran}");
    let document = ran.document();
    assert_eq!(
        (&document["error"]["kind"], &document["error"]["applied"]),
        (&json!("unavailable"), &json!("unknown")),
        "{ran}"
    );
    // And there again.
    let server = Everything::start(port);
    assert_eq!(shown(&manifest.call("echo", r#"{"message":"back"}"#)), "ok: Echo: back");
    server.end();
}

/// The first server that is found dead, by its own hand, with the words of the manifest.
#[test]
fn a_program_that_is_killed_in_a_call_is_told() {
    let manifest = manifest(&program(&[&npm("mcp-server-everything")]), &json!({}));
    let long = json!({"duration": 30, "steps": 60}).to_string();
    let running = manifest.started("call", &["trigger-long-running-operation", &long, "--json"], "");
    let until = Instant::now() + Duration::from_secs(20);
    let killed = loop {
        // The child of the command, and its own: whatever runs under the name of the server.
        let found = Command::new("pgrep").args(["-P", &running.id().to_string()]).output().unwrap();
        let found = String::from_utf8(found.stdout).unwrap();
        let servers: Vec<&str> = found.split_whitespace().filter(|pid| is_node(pid)).collect();
        if let Some(pid) = servers.first() {
            thread::sleep(Duration::from_secs(1));
            break Command::new("kill").args(["-KILL", pid]).status().unwrap().success();
        }
        assert!(Instant::now() < until, "no server was started");
        thread::sleep(Duration::from_millis(20));
    };
    assert!(killed);
    let ran = running.ended();
    let document = ran.document();
    let error = &document["error"];
    assert_eq!((&error["kind"], &error["applied"]), (&json!("unavailable"), &json!("unknown")), "{ran}");
    let told = error["operator_view"]["message"].as_str().unwrap();
    assert!(told.contains("the server was ended by signal 9"), "{told}");
}

fn is_node(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/cmdline"))
        .unwrap_or_default()
        .contains("mcp-server-everything")
}

/// A server of FastMCP, and one of the SDK's own file form, over HTTP.
#[test]
fn servers_that_are_files_are_read_over_http() {
    let folder = TempDir::new().unwrap();
    let mut all = String::new();
    for kind in ["sdk", "fastmcp"] {
        let mut command = Command::new(counterpart("mcp/bin/python"));
        command.arg(root().join("tests/counterparts/mcp_servers.py")).arg(kind).env("PYTHONUNBUFFERED", "1");
        let server = Server::start(command, "Uvicorn running on ", Duration::from_secs(60));
        let manifest = manifest(&json!({"url": format!("{}/mcp", server.url())}), &json!({}));
        let calls = [
            ("add", json!({"a": 1, "b": 2})),
            ("add", json!({"a": "one", "b": 2})),
            ("pick", json!({"id": 7})),
            ("fail", json!({})),
            ("nope", json!({})),
        ];
        all += &format!("# {kind}\n{}\n", table(&manifest, folder.path(), &calls));
    }
    insta::assert_snapshot!(all);
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}
