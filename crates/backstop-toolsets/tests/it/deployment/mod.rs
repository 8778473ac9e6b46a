//! Model deployments against servers that answer byte for byte as they are told.

mod conformance;
mod errors;
mod replies;
mod requests;
mod schema_properties;
mod schema_requests;
mod schemas;
mod secrets;
mod streams;
mod strict;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use backstop_core::{
    Catalog, Delta, DeltaSink, Message, Model, ModelError, ModelReply, ModelRequest, Transcript,
};
use backstop_test::server::Reply;
use backstop_toolsets::{
    client::http_client,
    deployment::{OpenAiConfig, OpenAiModel},
};

fn config(url: &str) -> OpenAiConfig {
    OpenAiConfig::new(format!("{url}/v1").parse().unwrap(), "test-model", http_client().unwrap())
}

fn model(url: &str) -> OpenAiModel {
    OpenAiModel::new(config(url)).unwrap()
}

/// A reply whose one choice has this message, both in JSON.
fn choice(message: &str, finish: &str) -> Reply {
    let body = format!(r#"{{"choices":[{{"index":0,"message":{message},"finish_reason":{finish}}}]}}"#);
    Reply::json("200 OK", body)
}

async fn ask(model: &dyn Model) -> Result<ModelReply, ModelError> {
    ask_within(model, None, Duration::from_secs(20)).await
}

async fn ask_streamed(model: &dyn Model) -> (Result<ModelReply, ModelError>, Vec<String>) {
    let heard = Heard::default();
    let reply = ask_within(model, Some(&heard), Duration::from_secs(20)).await;
    (reply, heard.lines())
}

async fn ask_within(
    model: &dyn Model,
    sink: Option<&dyn DeltaSink>,
    timeout: Duration,
) -> Result<ModelReply, ModelError> {
    let transcript = Transcript::new(Arc::new(vec![Message::user("Hello")]));
    let tools = Catalog::default();
    model.respond(ModelRequest::new(&transcript, &tools, timeout), sink).await
}

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Heard {
    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl DeltaSink for Heard {
    fn delta(&self, delta: Delta<'_>) {
        let line = match delta {
            Delta::Text(text) => format!("text {text}"),
            Delta::Reasoning(text) => format!("reasoning {text}"),
            Delta::CallStarted { name } => format!("call {name}"),
            other => format!("{other:?}"),
        };
        self.0.lock().unwrap().push(line);
    }
}
