//! Questions of a server to a person (MCP: elicitation).

use std::fmt;

use async_trait::async_trait;
use backstop_core::{
    schema::CompiledSchema,
    text::{clean, head},
};
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value};

use super::McpConfig;

/// Bytes of a question at most.
const QUESTION_CAP: usize = 4 * 1024;

/// Who answers when a server asks a person something in the middle of a call.
///
/// The call waits for the answer, within its own time.
#[async_trait]
pub trait AskPerson: Send + Sync + 'static {
    /// Asks, and gives what the person filled in; `None` where they would rather not, or nobody is there.
    async fn ask(&self, asked: &Asked) -> Option<Map<String, Value>>;
}

/// What a server asks a person. It is a stranger's text: say whose it is, and open no address by yourself.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Asked {
    /// The toolset whose server asks.
    pub toolset: String,
    /// The question.
    pub message: String,
    /// JSON Schema of what is to be filled in: an object of texts, numbers and choices. `None` where the person is to
    /// visit [`url`](Self::url).
    pub schema: Option<Value>,
    /// The address that the person is to visit; the answer is then whether they will.
    pub url: Option<String>,
}

impl fmt::Debug for dyn AskPerson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AskPerson")
    }
}

/// Answers what a server asks a person.
pub(super) async fn answer(config: &McpConfig, params: ElicitRequestParams) -> ElicitResult {
    let Some(person) = &config.person else { return ElicitResult::new(ElicitationAction::Decline) };
    let mut asked = Asked { toolset: config.name.clone(), message: String::new(), schema: None, url: None };
    match params {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            asked.message = message;
            asked.schema = serde_json::to_value(requested_schema).ok();
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            asked.message = message;
            asked.url = Some(url);
        }
        _ => return ElicitResult::new(ElicitationAction::Decline),
    }
    asked.message = clean(&head(&asked.message, QUESTION_CAP));
    let Some(mut content) = person.ask(&asked).await else {
        return ElicitResult::new(ElicitationAction::Decline);
    };
    let Some(schema) = &asked.schema else { return ElicitResult::new(ElicitationAction::Accept) };
    fill(&mut content, schema);
    let content = Value::Object(content);
    let misfit = CompiledSchema::compile(schema).ok().and_then(|schema| schema.misfit(&content));
    if let Some(misfit) = misfit {
        let toolset = &config.name;
        tracing::warn!(target: "backstop::mcp", toolset, "an answer to the server does not fit what it asked: {misfit}");
        return ElicitResult::new(ElicitationAction::Decline);
    }
    ElicitResult::new(ElicitationAction::Accept).with_content(content)
}

/// Puts in what the schema says of fields that were left out.
fn fill(content: &mut Map<String, Value>, schema: &Value) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        if let Some(default) = property.get("default").filter(|_| !content.contains_key(name)) {
            content.insert(name.clone(), default.clone());
        }
    }
}
