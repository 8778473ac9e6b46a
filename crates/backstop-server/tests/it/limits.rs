//! How much at once, long lists, and what the gateway costs.

use std::{
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use backstop::{Agent, Effect, ToolOutput, ToolSpec};
use backstop_server::mcp::{Gateway, GatewayOptions};
use backstop_test::{TestModel, TestToolset};
use futures_util::future::join_all;
use rmcp::{model::PaginatedRequestParams, service::ServiceError};
use serde_json::json;

use crate::kit::{Counts, call, connected, gateway};

#[tokio::test]
async fn calls_that_are_too_many_are_refused_and_the_others_are_made() {
    let mut options = GatewayOptions::default();
    (options.calls, options.queue) = (NonZeroUsize::MIN, 2);
    let gateway = gateway(&Arc::new(Counts::default()), options).await;
    let client = connected(&gateway, ()).await;
    let hang = || {
        let params = rmcp::model::CallToolRequestParams::new("hang")
            .with_arguments(json!({"n": 1}).as_object().cloned().unwrap());
        client.call_tool(params)
    };
    // Three have a place, each for the time that it takes to be told.
    let waiting = async {
        let calls = (0..3).map(|_| tokio::time::timeout(Duration::from_millis(500), hang()));
        join_all(calls).await
    };
    let refused = async {
        while gateway.open_calls() < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        hang().await.unwrap_err()
    };
    let (waited, refused) = tokio::join!(waiting, refused);
    assert!(waited.iter().all(Result::is_err));
    let ServiceError::McpError(error) = refused else { panic!("{refused}") };
    assert_eq!((error.code.0, error.message.as_ref()), (-32_000, "too many calls wait: try again later"));
    // They are taken back, and there is room again.
    let ended = async {
        while gateway.open_calls() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), ended).await.unwrap();
    let result =
        tokio::time::timeout(Duration::from_secs(10), call(&client, "add", json!({"n": 1}))).await.unwrap();
    assert_eq!(result.is_error, Some(false));
}

async fn many(count: usize) -> Gateway {
    let schema = json!({"type": "object", "properties": {}});
    let toolset = (0..count).fold(TestToolset::new("many"), |toolset, n| {
        let spec = ToolSpec::new(format!("tool_{n}"), schema.clone()).effect(Effect::ReadOnly);
        toolset.tool(spec, |_, _| async { Ok(ToolOutput::text("done")) })
    });
    let (agent, _) = Agent::builder(TestModel::new([])).toolset(toolset).build().await;
    Gateway::new(agent, GatewayOptions::default())
}

#[tokio::test]
async fn a_long_list_comes_in_pages() {
    let gateway = many(250).await;
    let client = connected(&gateway, ()).await;
    let first = client.list_tools(None).await.unwrap();
    let cursor = first.next_cursor.unwrap();
    assert_eq!((first.tools.len(), cursor.split_once('-').unwrap().0), (100, "100"));
    // A cursor of a list that is another one by now.
    let params = Some(PaginatedRequestParams::default().with_cursor(Some("100-00000000000000aa".into())));
    let ServiceError::McpError(error) = client.list_tools(params).await.unwrap_err() else { panic!() };
    assert_eq!(error.message, "the list has changed: begin it anew");
    let names: Vec<_> =
        client.list_all_tools().await.unwrap().into_iter().map(|tool| tool.name.into_owned()).collect();
    assert_eq!(names, (0..250).map(|n| format!("tool_{n}")).collect::<Vec<_>>());
}

/// The median of a call through the gateway, without the way to it; printed, as it depends on the machine.
#[tokio::test]
async fn the_gateway_costs_little() {
    let gateway = many(1).await;
    let client = connected(&gateway, ()).await;
    let mut times = Vec::new();
    for _ in 0..500 {
        let begun = Instant::now();
        call(&client, "tool_0", json!({})).await;
        times.push(begun.elapsed());
    }
    times.sort();
    let median = times[times.len() / 2];
    println!("median of a call through the gateway: {median:?}");
    // Far above what it is, for machines that are busy: debug builds of it take about half a millisecond.
    assert!(median < Duration::from_millis(20), "{median:?}");
}
