//! C34, C35, C39.5: requests to servers that each refuse something else, and what is checked all the same.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use backstop_core::{
    CallId, Catalog, Message, Model, ModelRequest, ToolCall, ToolPolicy, ToolSpec, Transcript,
    catalog::CatalogSource,
    message::{PastCall, ResultContent},
};
use backstop_test::server::Server;
use backstop_toolsets::deployment::{OpenAiModel, SchemaProfile};
use serde_json::{Value, json};

use super::{
    choice, config,
    schemas::{PROFILES, recursive, six},
    strict::{accepted, each, like_gemini, like_llama_cpp, like_openai},
};

fn catalog(tools: Vec<(&str, Value)>) -> Catalog {
    let specs = tools.into_iter().map(|(name, schema)| (ToolSpec::new(name, schema), ToolPolicy::default()));
    let (catalog, problems) = Catalog::build(vec![CatalogSource::new("t", specs.collect())]);
    assert_eq!(problems, []);
    catalog
}

async fn sent(profile: SchemaProfile, messages: Vec<Message>, tools: &Catalog) -> Value {
    let server = Server::start([choice("{\"content\":\"ok\"}", "\"stop\"")]);
    let model = OpenAiModel::new(config(&server.url).profile(profile)).unwrap();
    let transcript = Transcript::new(Arc::new(messages));
    model.respond(ModelRequest::new(&transcript, tools, Duration::from_secs(20)), None).await.unwrap();
    serde_json::from_str(&server.seen()[0].body).unwrap()
}

#[tokio::test]
async fn no_server_refuses_the_request_because_of_a_tool() {
    let mut tools = six();
    tools.push(("tree", {
        let mut tree = recursive();
        tree["properties"].as_object_mut().unwrap().shift_remove("gone");
        tree
    }));
    let tools = catalog(tools);
    for profile in PROFILES {
        let body = sent(profile, vec![Message::user("a")], &tools).await;
        let sent = body["tools"].as_array().unwrap();
        let names: Vec<&str> = sent.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
        assert_eq!(
            names,
            ["formats", "mail", "bare", "none", "plain", "loose", "tree"],
            "{}",
            profile.name()
        );
        for tool in sent {
            assert_eq!(
                accepted(profile, &tool["function"]["parameters"]),
                Ok(()),
                "{} {tool}",
                profile.name()
            );
        }
    }
    // The checks can fail: each server refuses what was declared.
    let declared = |name: &str| &tools.get(name).unwrap().spec.input_schema;
    assert_eq!(
        each(declared("formats"), "", like_openai).unwrap_err(),
        "array schema missing items at `/properties/formats`"
    );
    assert_eq!(each(declared("loose"), "", like_gemini).unwrap_err(), "not an object at `/properties/data`");
    assert_eq!(
        each(declared("tree"), "", like_llama_cpp).unwrap_err(),
        "Unsupported ref at `/properties/task`"
    );
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn what_is_lost_is_logged_once_for_all_turns() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber =
        tracing_subscriber::fmt().json().without_time().with_writer(move || writer.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let tools = catalog(six());
    for _ in 0..3 {
        sent(SchemaProfile::openai(), vec![Message::user("a")], &tools).await;
    }
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lines: Vec<&Value> = lines.iter().filter(|line| line["target"] == "backstop::schema").collect();
    let message = "the pattern is not sent to the model: its server can't read it (at `/properties/to`)";
    assert_eq!(
        lines,
        [&json!({
            "level": "WARN",
            "target": "backstop::schema",
            "fields": {"message": message, "tool": "mail", "toolset": "t", "profile": "openai"},
        })]
    );
}

#[tokio::test]
async fn a_pattern_that_is_not_sent_is_checked_all_the_same() {
    let tools = catalog(six());
    let notes = SchemaProfile::openai().notes(&tools);
    let notes: Vec<String> = notes.iter().map(|(tool, note)| format!("{tool}: {note}")).collect();
    let note = "mail: the pattern is not sent to the model: its server can't read it (at `/properties/to`)";
    assert_eq!(notes, [note]);
    let body = sent(SchemaProfile::openai(), vec![Message::user("a")], &tools).await;
    let parameters = json!({"type": "object", "properties": {"to": {"type": "string"}}});
    assert_eq!(body["tools"][1]["function"]["parameters"], parameters);

    assert!(tools.validate(&ToolCall::new("c", "mail", r#"{"to":"abc@x"}"#)).is_ok());
    for wrong in ["ab@x", ".abc@x", "abc@y"] {
        let error =
            tools.validate(&ToolCall::new("c", "mail", json!({"to": wrong}).to_string())).unwrap_err();
        let places: Vec<&str> =
            error.violations().iter().map(|violation| violation.pointer.as_str()).collect();
        assert_eq!(places, ["/to"], "{wrong}");
    }
}

#[test]
fn arguments_are_checked_by_the_schema_as_declared() {
    let mut tree = recursive();
    tree["properties"].as_object_mut().unwrap().shift_remove("gone");
    let tools = catalog(vec![("tree", tree)]);
    let call = ToolCall::new("c", "tree", r#"{"task":{"title":"t","sub":[{}]}}"#);
    let error = tools.validate(&call).unwrap_err();
    let places: Vec<&str> = error.violations().iter().map(|violation| violation.pointer.as_str()).collect();
    assert_eq!(places, ["/task/sub/0/title"]);
}

#[tokio::test]
async fn a_tool_that_can_not_be_sent_leaves_the_others_alone() {
    let declared = || {
        vec![
            ("3d_print", json!({"type": "object"})),
            ("text", json!({"type": "string"})),
            ("add", json!({"type": "object", "properties": {"a": {"type": "integer"}}})),
        ]
    };
    let tools = catalog(declared());
    let notes = SchemaProfile::gemini().notes(&tools);
    let notes: Vec<String> = notes.iter().map(|(tool, note)| format!("{tool}: {note}")).collect();
    assert_eq!(
        notes,
        [
            "3d_print: the tool is not sent to the model: its server takes no name that begins so",
            "text: the tool is not sent to the model: its arguments can't be an object",
        ]
    );
    let names = |body: &Value| -> Vec<String> {
        let tools = body["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&sent(SchemaProfile::gemini(), vec![Message::user("a")], &tools).await), ["add"]);
    let tools = catalog(declared());
    assert_eq!(
        names(&sent(SchemaProfile::openai(), vec![Message::user("a")], &tools).await),
        ["3d_print", "add"]
    );

    let only = catalog(vec![("text", json!({"type": "string"}))]);
    let body = sent(SchemaProfile::openai(), vec![Message::user("a")], &only).await;
    assert_eq!(body.get("tools"), None, "an empty list of tools is refused");
}

#[tokio::test]
async fn a_message_with_calls_and_no_text_has_the_content_that_the_server_takes() {
    let call = PastCall { id: CallId::new("c1"), name: "plain".into(), arguments: "{}".into() };
    let messages = vec![
        Message::user("a"),
        Message::Assistant { text: None, calls: vec![call], extra: serde_json::Map::new() },
        Message::Tool { call: CallId::new("c1"), content: ResultContent::Output("b".into()) },
        Message::Assistant { text: None, calls: Vec::new(), extra: serde_json::Map::new() },
    ];
    let contents = PROFILES.map(|profile| {
        let messages = messages.clone();
        async move {
            let body = sent(profile, messages, &Catalog::default()).await;
            (profile.name(), body["messages"][1]["content"].clone(), body["messages"][3]["content"].clone())
        }
    });
    let contents = futures_util::future::join_all(contents).await;
    assert_eq!(
        contents,
        [
            // Refuses a missing content, and takes `null`.
            ("openai", Value::Null, json!("")),
            // Refuses `null`.
            ("gemini", json!(""), json!("")),
            ("llama_cpp", Value::Null, json!("")),
            ("portable", json!(""), json!("")),
        ]
    );
}

#[tokio::test]
async fn two_models_of_different_profiles_share_tools_and_a_conversation() {
    let tools = catalog(six());
    let transcript = Transcript::new(Arc::new(vec![Message::user("a")]));
    let server = Server::start([choice("{\"content\":\"ok\"}", "\"stop\"")]);
    for profile in [SchemaProfile::openai(), SchemaProfile::gemini(), SchemaProfile::openai()] {
        let model = OpenAiModel::new(config(&server.url).profile(profile)).unwrap();
        model.respond(ModelRequest::new(&transcript, &tools, Duration::from_secs(20)), None).await.unwrap();
    }
    let seen: Vec<Value> =
        server.seen().iter().map(|seen| serde_json::from_str(&seen.body).unwrap()).collect();
    assert_eq!(seen[0], seen[2]);
    for (body, profile) in seen.iter().zip([SchemaProfile::openai(), SchemaProfile::gemini()]) {
        for tool in body["tools"].as_array().unwrap() {
            assert_eq!(accepted(profile, &tool["function"]["parameters"]), Ok(()));
        }
    }
}
