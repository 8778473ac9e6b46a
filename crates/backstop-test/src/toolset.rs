//! A toolset under a test's control.

use std::{collections::HashMap, future::Future, pin::Pin, sync::Arc};

use async_trait::async_trait;
use backstop_core::{CallContext, ToolError, ToolErrorKind, ToolOutput, ToolSpec, Toolset, ValidCall};

type Body = Arc<
    dyn Fn(ValidCall, CallContext) -> Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send>>
        + Send
        + Sync,
>;

/// A toolset of closures.
#[derive(Clone, Default)]
pub struct TestToolset {
    name: String,
    specs: Vec<ToolSpec>,
    bodies: HashMap<String, Body>,
}

impl TestToolset {
    /// An empty toolset of this name.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool<F, Fut>(mut self, spec: ToolSpec, body: F) -> Self
    where
        F: Fn(ValidCall, CallContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        let body: Body = Arc::new(move |call, cx| Box::pin(body(call, cx)));
        self.bodies.insert(spec.name.clone(), body);
        self.specs.push(spec);
        self
    }
}

#[async_trait]
impl Toolset for TestToolset {
    fn name(&self) -> &str {
        &self.name
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(self.specs.clone())
    }

    async fn call(&self, call: &ValidCall, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        match self.bodies.get(call.own_name()) {
            Some(body) => body(call.clone(), cx.clone()).await,
            None => Err(ToolError::new(ToolErrorKind::UnknownTool, format!("no tool `{}`", call.own_name()))),
        }
    }
}
