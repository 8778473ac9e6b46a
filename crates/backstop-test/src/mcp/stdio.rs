//! The server as a program.

use std::{
    fs::OpenOptions,
    io::{BufRead, StdoutLock, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio, exit},
    thread::sleep,
    time::Duration,
};

use serde_json::{Value, json};

use super::{Behaviour, answer};

/// The variable with the behaviour.
pub const ACT: &str = "BACKSTOP_FAKE_MCP";
/// The variable with the file in which the server writes what it reads, a message a line.
pub const LOG: &str = "BACKSTOP_FAKE_MCP_LOG";
/// The name of the test that becomes a server: it calls [`serve_if_asked`], and does nothing otherwise.
pub const PROGRAM_TEST: &str = "the_fake_server_serves_if_it_is_asked";

/// Program, arguments and environment of a server. What the harness of tests writes before the server takes over is
/// noise on its output.
pub fn program(behaviour: Behaviour, log: &Path) -> (PathBuf, Vec<String>, Vec<(String, String)>) {
    let program = std::env::current_exe().expect("the test's own executable");
    let args = ["--exact", PROGRAM_TEST, "--nocapture", "--test-threads=1"].map(str::to_owned).to_vec();
    let env = vec![(ACT.into(), behaviour.as_str().into()), (LOG.into(), log.display().to_string())];
    (program, args, env)
}

/// Serves on standard input and output until the input ends, where the environment asks for it.
pub fn serve_if_asked() {
    let Ok(name) = std::env::var(ACT) else { return };
    let behaviour: Behaviour = name.parse().unwrap_or_else(|()| panic!("no behaviour is called {name}"));
    Fake { behaviour, log: std::env::var_os(LOG).map(PathBuf::from), owed: None }.serve();
    exit(0);
}

struct Fake {
    behaviour: Behaviour,
    log: Option<PathBuf>,
    /// An answer that is given with the next message.
    owed: Option<Value>,
}

impl Fake {
    fn serve(mut self) {
        match self.behaviour {
            Behaviour::ExitsAtStart => {
                eprintln!("no licence was found");
                exit(3);
            }
            Behaviour::IgnoresEnd => ignore_end(),
            Behaviour::Grandchild => {
                let left =
                    Command::new("sleep").arg("300").stdin(Stdio::null()).stderr(Stdio::null()).spawn();
                self.note(&json!({"grandchild": left.expect("sleep starts").id()}));
            }
            _ => {}
        }
        self.note(&json!({"started": std::process::id()}));
        // The harness of tests does not end the line on which it says what it runs.
        let _ = std::io::stdout().lock().write_all(b"\n");
        let mut lines = std::io::stdin().lock().lines();
        while let Some(Ok(line)) = lines.next() {
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            self.note(&message);
            let mut out = std::io::stdout().lock();
            if let Some(owed) = self.owed.take() {
                write(&mut out, &owed);
            }
            let acts = message["method"] == "tools/call" && message["params"]["name"] == "act";
            match (message["method"].as_str().unwrap_or_default(), self.behaviour) {
                ("server/discover", Behaviour::ExitsAtDiscover) => exit(1),
                ("server/discover", Behaviour::IgnoresDiscover)
                | ("initialize" | "server/discover", Behaviour::SilentAtStart)
                | ("tools/list", Behaviour::SilentAtList) => continue,
                _ => {}
            }
            let Some(answer) = answer(&message, self.behaviour) else { continue };
            if acts {
                self.act(&mut out, &message, answer, &mut lines)
            } else {
                write(&mut out, &answer)
            }
            if self.behaviour == Behaviour::Noise {
                let _ = out.write_all(b"DEBUG done\n{\"level\":\"info\"}\n\n");
            }
        }
        if self.behaviour == Behaviour::IgnoresEnd {
            sleep(Duration::from_secs(300));
        }
    }

    /// Answers a call of `act`.
    fn act(
        &mut self,
        out: &mut StdoutLock<'_>,
        call: &Value,
        answer: Value,
        lines: &mut impl Iterator<Item = std::io::Result<String>>,
    ) {
        let notification = |method: &str| json!({"jsonrpc": "2.0", "method": method});
        match self.behaviour {
            Behaviour::NeverAnswers => return,
            Behaviour::AnswersTwice => write(out, &answer),
            Behaviour::WrongId | Behaviour::NoId | Behaviour::TextId => {
                let mut answer = answer;
                answer["id"] = match self.behaviour {
                    Behaviour::WrongId => json!(4711),
                    Behaviour::NoId => Value::Null,
                    _ => json!(call["id"].to_string()),
                };
                return write(out, &answer);
            }
            Behaviour::AnswersLate => {
                self.owed = Some(answer);
                return;
            }
            Behaviour::HugeNoise => {
                let _ = out.write_all(&[b'x'; 3 * 1024 * 1024]);
                let _ = out.write_all(b"\n");
            }
            Behaviour::HalfAnswer => {
                let text = answer.to_string();
                let _ = out.write_all(&text.as_bytes()[..text.len() / 2]);
                let _ = out.flush();
                exit(0);
            }
            Behaviour::NoUtf8 => drop(out.write_all(b"\xff\xfe\x00 not text\n")),
            Behaviour::Exits => exit(7),
            Behaviour::ExitsAfter => {
                write(out, &answer);
                exit(0);
            }
            Behaviour::Panics => {
                eprintln!(
                    "Traceback (most recent call last):\n  File \"server.py\", line 7, in act\nKeyError: 'id'"
                );
                exit(1);
            }
            Behaviour::Floods => {
                let mut log = notification("notifications/message");
                log["params"] = json!({"level": "debug", "data": "still here"});
                for _ in 0..20_000 {
                    write(out, &log);
                }
            }
            Behaviour::ListChanged => write(out, &notification("notifications/tools/list_changed")),
            Behaviour::Progress => {
                for step in 1..=10 {
                    let mut progress = notification("notifications/progress");
                    let token = &call["params"]["_meta"]["progressToken"];
                    progress["params"] = json!({"progressToken": token, "progress": step, "total": 10});
                    write(out, &progress);
                    sleep(Duration::from_millis(50));
                }
            }
            Behaviour::AsksPerson | Behaviour::AsksModel | Behaviour::AsksRoots => {
                write(out, &question(self.behaviour));
                let answered = lines.find_map(|line| {
                    let message: Value = serde_json::from_str(&line.ok()?).ok()?;
                    (message["id"] == "q1").then_some(message)
                });
                let answered = answered.unwrap_or_default();
                self.note(&answered);
                let told = answered.get("result").or_else(|| answered.get("error")).cloned();
                let text = told.unwrap_or_default().to_string();
                return write(
                    out,
                    &super::result(call, json!({"content": [{"type": "text", "text": text}]})),
                );
            }
            Behaviour::ClosesOutput => {
                // Only a new program image closes it for good.
                drop(replace_by("exec 1>&-; exec sleep 300"));
            }
            Behaviour::StopsReading => sleep(Duration::from_secs(300)),
            _ => {}
        }
        write(out, &answer);
    }

    fn note(&self, message: &Value) {
        let Some(log) = &self.log else { return };
        let file = OpenOptions::new().create(true).append(true).open(log);
        // One write, so that lines of servers that follow each other don't mix.
        let _ = file.and_then(|mut file| file.write_all(format!("{message}\n").as_bytes()));
    }
}

/// Writes a message in one piece.
fn write(out: &mut StdoutLock<'_>, message: &Value) {
    let _ = out.write_all(format!("{message}\n").as_bytes());
    let _ = out.flush();
}

/// What a server asks in the middle of a call.
fn question(behaviour: Behaviour) -> Value {
    let (method, params) = match behaviour {
        Behaviour::AsksPerson => (
            "elicitation/create",
            json!({
                "mode": "form",
                "message": "Which size?",
                "requestedSchema": {
                    "type": "object",
                    "properties": {
                        "size": {"type": "string", "enum": ["S", "L"]},
                        "gift": {"type": "boolean", "default": false},
                    },
                    "required": ["size"],
                },
            }),
        ),
        Behaviour::AsksModel => (
            "sampling/createMessage",
            json!({
                "messages": [{"role": "user", "content": {"type": "text", "text": "Sum it up."}}],
                "systemPrompt": "Be short.",
                "maxTokens": 100,
            }),
        ),
        _ => ("roots/list", json!({})),
    };
    json!({"jsonrpc": "2.0", "id": "q1", "method": method, "params": params})
}

/// Neither the end of its input nor a request to end it ends this process from now on.
fn ignore_end() {
    drop(replace_unless_done("trap '' TERM; exec \"$0\" \"$@\""));
}

/// Puts a shell that runs this in the place of this process.
fn replace_by(script: &str) -> std::io::Error {
    use std::os::unix::process::CommandExt as _;
    Command::new("/bin/sh").args(["-c", script]).exec()
}

/// Starts this program once more from a shell that first does this.
fn replace_unless_done(script: &str) -> Option<std::io::Error> {
    use std::os::unix::process::CommandExt as _;
    const DONE: &str = "BACKSTOP_FAKE_MCP_AGAIN";
    if std::env::var_os(DONE).is_some() {
        return None;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let program = std::env::current_exe().ok()?;
    Some(Command::new("/bin/sh").arg("-c").arg(script).arg(program).args(args).env(DONE, "1").exec())
}
