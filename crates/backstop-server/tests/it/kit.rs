//! What the tests share: an agent of tools that fail in every way, and clients.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use backstop::{
    Action, Agent, Approve, CallContext, Effect, Limits, Part, Strategy, ToolError, ToolOutput, ToolSpec,
    Toolset, ToolsetOptions, ValidCall, When, async_trait,
};
use backstop_server::mcp::{Gateway, GatewayOptions};
use backstop_test::{TestModel, TestToolset};
use rmcp::{
    RoleClient, ServiceExt,
    model::{CallToolRequestParams, CallToolResult},
    service::RunningService,
};
use serde_json::{Value, json};

/// What is counted of the tools.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) paid: AtomicUsize,
    pub(crate) read: AtomicUsize,
    /// Calls of `hang` that were dropped.
    pub(crate) dropped: AtomicUsize,
    pub(crate) changes: AtomicU64,
}

fn spec(name: &str, effect: Effect) -> ToolSpec {
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}, "required": ["n"]});
    ToolSpec::new(name, schema).effect(effect).description(format!("Does {name}."))
}

struct Dropped(Arc<Counts>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

/// A toolset that offers one tool more after each change.
struct Growing(Arc<Counts>);

#[async_trait]
impl Toolset for Growing {
    fn name(&self) -> &str {
        "growing"
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        let extra =
            (0..self.0.changes.load(Ordering::SeqCst)).map(|n| spec(&format!("extra_{n}"), Effect::ReadOnly));
        Ok(std::iter::once(spec("grow", Effect::Mutating)).chain(extra).collect())
    }

    async fn call(&self, call: &ValidCall, _: &CallContext) -> Result<ToolOutput, ToolError> {
        if call.own_name() == "grow" {
            self.0.changes.fetch_add(1, Ordering::SeqCst);
        }
        Ok(ToolOutput::text("grown"))
    }

    fn changes(&self) -> u64 {
        self.0.changes.load(Ordering::SeqCst)
    }
}

pub(crate) async fn agent(counts: &Arc<Counts>) -> Agent {
    let sum = json!({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]});
    let mut add = spec("add", Effect::ReadOnly);
    add.output_schema = Some(sum);
    let (pay, read, hang) = (Arc::clone(counts), Arc::clone(counts), Arc::clone(counts));
    let shop = TestToolset::new("shop")
        .tool(add, |call, _| async move {
            let n = call.arguments()["n"].as_i64().unwrap_or(0);
            Ok(ToolOutput::Json(json!({"sum": n + 1})))
        })
        .tool(spec("pay", Effect::Mutating), move |_, _| {
            pay.paid.fetch_add(1, Ordering::SeqCst);
            async { Err(ToolError::upstream_failure("reply lost").with_status(502)) }
        })
        .tool(spec("read", Effect::ReadOnly), move |_, _| {
            let first = read.read.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                if first {
                    Err(ToolError::unavailable("down for a moment"))
                } else {
                    Ok(ToolOutput::text("read"))
                }
            }
        })
        .tool(spec("boom", Effect::ReadOnly), |_, _| async move { panic!("boom at 10.1.2.3") })
        .tool(spec("hang", Effect::ReadOnly), move |_, _| {
            let dropped = Dropped(Arc::clone(&hang));
            async move {
                let _dropped = dropped;
                std::future::pending().await
            }
        })
        .tool(spec("stop", Effect::ReadOnly), |_, _| async move {
            Err(ToolError::rejected("no").say("No more today."))
        })
        .tool(spec("value", Effect::ReadOnly), |_, _| async move { Err(ToolError::rejected("no")) })
        .tool(spec("guarded", Effect::Mutating), |_, _| async move { Ok(ToolOutput::text("done")) })
        .tool(
            spec("large", Effect::ReadOnly),
            |_, _| async move { Ok(ToolOutput::text("x".repeat(200_000))) },
        )
        .tool(spec("parts", Effect::ReadOnly), |_, _| async move {
            Ok(ToolOutput::Parts(vec![
                Part::Text { text: "two files".into() },
                Part::blob("image/png", &[1, 2, 3], Some("a.png".into())),
                Part::blob("application/pdf", &[4, 5], Some("b.pdf".into())),
                Part::Link {
                    uri: "https://shop.example/c".into(),
                    name: Some("c".into()),
                    media_type: None,
                    size: Some(7),
                },
            ]))
        });
    let options =
        ToolsetOptions::default().keep_large_results().adjust(|spec, policy| match spec.name.as_str() {
            "stop" => {
                policy.strategies = vec![Strategy {
                    when: When::default(),
                    action: Action::Stop { message: Some("Ask again tomorrow.".into()) },
                }]
            }
            "value" => {
                let action =
                    Action::UseValue { value: json!({"rate": 1}), note: Some("An old rate.".into()) };
                policy.strategies = vec![Strategy { when: When::default(), action }];
            }
            "guarded" => policy.approve = Approve::Always,
            _ => {}
        });
    let mut limits = Limits::default();
    limits.tool_timeout = Duration::from_secs(20);
    let (agent, problems) = Agent::builder(TestModel::new([]))
        .name("shop")
        .limits(limits)
        .toolset_with(Arc::new(shop), options)
        .toolset(Growing(Arc::clone(counts)))
        .build()
        .await;
    assert!(problems.is_empty(), "{problems:?}");
    agent
}

pub(crate) async fn gateway(counts: &Arc<Counts>, options: GatewayOptions) -> Gateway {
    Gateway::new(agent(counts).await, options)
}

/// A client that is connected to the gateway in this process.
pub(crate) async fn connected<H: rmcp::ClientHandler>(
    gateway: &Gateway,
    handler: H,
) -> RunningService<RoleClient, H> {
    let (ours, theirs) = tokio::io::duplex(1024 * 1024);
    let gateway = gateway.clone();
    let served = async move { gateway.serve(theirs).await.unwrap() };
    let (server, client) = tokio::join!(served, handler.serve(ours));
    // It ends with its client.
    std::mem::forget(server);
    client.unwrap()
}

pub(crate) async fn call(client: &rmcp::Peer<RoleClient>, tool: &str, arguments: Value) -> CallToolResult {
    let params = CallToolRequestParams::new(tool.to_owned())
        .with_arguments(arguments.as_object().cloned().unwrap_or_default());
    client.call_tool(params).await.unwrap()
}

/// A result as it is on the wire, without what differs from run to run.
pub(crate) fn shown(result: &CallToolResult) -> Value {
    let mut value = serde_json::to_value(result).unwrap();
    if let Some(error) = value.pointer_mut("/_meta/dev.backstop~1error") {
        assert_eq!(error["reference"].as_str().unwrap().len(), 8);
        error["reference"] = json!("REFERENCE");
    }
    for block in value["content"].as_array_mut().unwrap() {
        if let Some(text) = block["text"].as_str() {
            let text = text.split_once("(error reference: ").map_or(text.to_owned(), |(head, rest)| {
                format!("{head}(error reference: REFERENCE{}", rest.get(8..).unwrap_or_default())
            });
            block["text"] = json!(text);
        }
    }
    value
}
