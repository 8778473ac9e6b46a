//! What servers ask back in the middle of a call.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use backstop_core::{ToolError, ToolOutput, Toolset};
use backstop_test::{Reply, TestModel, mcp::Behaviour};
use backstop_toolsets::mcp::{AskPerson, Asked, McpConfig, McpToolset};
use serde_json::{Map, Value, json};

use crate::kit::{Fake, act};

struct Person(Option<Value>, Arc<Mutex<Vec<Asked>>>);

#[async_trait]
impl AskPerson for Person {
    async fn ask(&self, asked: &Asked) -> Option<Map<String, Value>> {
        self.1.lock().unwrap().push(asked.clone());
        self.0.as_ref()?.as_object().cloned()
    }
}

async fn asked(
    behaviour: Behaviour,
    change: impl FnOnce(&mut McpConfig),
) -> (Result<ToolOutput, ToolError>, Value) {
    let fake = Fake::new(behaviour);
    let mut config = fake.config();
    change(&mut config);
    let toolset = McpToolset::new(config).unwrap();
    toolset.list().await.unwrap();
    let result = act(&toolset).await;
    let greeting = fake.log().into_iter().find(|message| message["method"] == "initialize").unwrap();
    (result, greeting["params"]["capabilities"].clone())
}

fn told(result: Result<ToolOutput, ToolError>) -> Value {
    serde_json::from_str(&result.unwrap().model_text()).unwrap()
}

#[tokio::test]
async fn a_person_answers_a_server() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let answers = |answer: Option<Value>| {
        let seen = Arc::clone(&seen);
        move |config: &mut McpConfig| config.person = Some(Arc::new(Person(answer, seen)))
    };
    let (result, capabilities) = asked(Behaviour::AsksPerson, answers(Some(json!({"size": "L"})))).await;
    assert_eq!(told(result), json!({"action": "accept", "content": {"size": "L", "gift": false}}));
    assert_eq!(capabilities, json!({"elicitation": {"form": {}, "url": {}}}));
    let (result, _) = asked(Behaviour::AsksPerson, answers(None)).await;
    assert_eq!(told(result), json!({"action": "decline"}));
    // What does not fit is not sent.
    let (result, _) = asked(Behaviour::AsksPerson, answers(Some(json!({"size": "XXL"})))).await;
    assert_eq!(told(result), json!({"action": "decline"}));
    let asked = seen.lock().unwrap();
    assert_eq!(asked.len(), 3);
    assert_eq!(
        (asked[0].toolset.as_str(), asked[0].message.as_str(), &asked[0].url),
        ("fake", "Which size?", &None)
    );
}

#[tokio::test]
async fn a_server_is_told_that_nobody_answers() {
    let (result, capabilities) = asked(Behaviour::AsksPerson, |_| {}).await;
    assert_eq!(told(result), json!({"action": "decline"}));
    assert_eq!(capabilities, json!({}));
    let (result, _) = asked(Behaviour::AsksModel, |_| {}).await;
    assert_eq!(told(result), json!({"code": -32600, "message": "no model answers this server"}));
}

#[tokio::test]
async fn a_model_answers_a_server() {
    let model = TestModel::new([Reply::text("It is seven.")]);
    let shared = Arc::new(model.clone());
    let (result, capabilities) = asked(Behaviour::AsksModel, move |config| config.model = Some(shared)).await;
    assert_eq!(
        told(result),
        json!({
            "model": "test",
            "stopReason": "endTurn",
            "role": "assistant",
            "content": {"type": "text", "text": "It is seven."},
        })
    );
    assert_eq!(capabilities, json!({"sampling": {}}));
    let requests = model.requests();
    assert_eq!(
        requests,
        [vec![backstop_core::Message::system("Be short."), backstop_core::Message::user("Sum it up.")]]
    );
}

#[tokio::test]
async fn a_server_is_told_where_it_may_work() {
    let (result, capabilities) = asked(Behaviour::AsksRoots, |config| {
        config.roots = vec!["file:///data/notes".parse().unwrap()];
    })
    .await;
    assert_eq!(told(result), json!({"roots": [{"uri": "file:///data/notes", "name": "notes"}]}));
    assert_eq!(capabilities, json!({"roots": {}}));
}
