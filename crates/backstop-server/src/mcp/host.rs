//! What only a person can say, asked through the host.

use std::time::Duration;

use async_trait::async_trait;
use backstop::{Answer, Answerer, Question, run::QuestionKind};
use rmcp::{
    RoleServer,
    model::{ElicitRequestParams, ElicitationAction, ElicitationSchema},
    service::Peer,
};
use serde_json::{Value, json};

/// Time for a person to answer.
const ANSWER: Duration = Duration::from_secs(300);

/// Whoever sits at the host.
pub(super) struct Host {
    /// The way to them, where the host can ask.
    pub(super) peer: Option<Peer<RoleServer>>,
    /// Whether the host asks before each call by itself.
    pub(super) approves: bool,
}

#[async_trait]
impl Answerer for Host {
    async fn ask(&self, question: &Question) -> Option<Answer> {
        if question.kind == QuestionKind::Approval && self.approves {
            return Some(Answer::Approve);
        }
        let nobody = "nobody can be asked here".to_owned();
        let Some(peer) = &self.peer else { return Some(Answer::Refuse { reason: Some(nobody) }) };
        Some(asked(peer, question).await.unwrap_or(Answer::Refuse { reason: None }))
    }
}

/// What a person says; nothing where they would rather not.
async fn asked(peer: &Peer<RoleServer>, question: &Question) -> Option<Answer> {
    let approval = question.kind == QuestionKind::Approval;
    let schema = match approval {
        true => json!({
            "type": "object",
            "properties": {"allow": {"type": "boolean", "title": "Allow the call"}},
            "required": ["allow"],
        }),
        false => json!({
            "type": "object",
            "properties": {"answer": {"type": "string", "title": "Answer"}},
            "required": ["answer"],
        }),
    };
    let requested_schema: ElicitationSchema = serde_json::from_value(schema).ok()?;
    let message = format!("{}\n{} {}", question.text, question.tool, question.arguments);
    let params = ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
    let reply = peer.create_elicitation_with_timeout(params, Some(ANSWER)).await;
    let reply = reply
        .inspect_err(|cause| tracing::warn!(target: "backstop::mcp", %cause, "the host could not ask"))
        .ok()?;
    let given = reply.content.filter(|_| reply.action == ElicitationAction::Accept)?;
    match approval {
        true => (given.get("allow") == Some(&Value::Bool(true))).then_some(Answer::Approve),
        false => given.get("answer").and_then(Value::as_str).map(|text| Answer::Text(text.to_owned())),
    }
}
