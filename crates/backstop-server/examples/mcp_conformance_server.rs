//! A gateway with the tools that the conformance suite of the Model Context Protocol asks for, on loopback at a free port.
//!
//! ```sh
//! node conformance/dist/index.js server --url http://127.0.0.1:PORT/mcp
//! ```

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that says what it does")]

use std::{error::Error, time::Duration};

use backstop::{Agent, CancellationToken, Effect, Part, ToolError, ToolOutput, ToolSpec};
use backstop_server::mcp::{Gateway, GatewayOptions, HttpOptions, serve_http};
use backstop_test::{TestModel, TestToolset};
use serde_json::{Value, json};

/// A picture of one pixel.
const PNG: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 1, 0, 0,
    0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 0x0c, 0x49, 0x44, 0x41, 0x54, 8, 0xd7, 0x63, 0xf8,
    0xcf, 0xc0, 0, 0, 3, 1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42,
    0x60, 0x82,
];

fn spec(name: &str, schema: Value) -> ToolSpec {
    ToolSpec::new(name, schema).description("For the conformance suite.").effect(Effect::ReadOnly)
}

fn toolset() -> TestToolset {
    let none = || json!({"type": "object", "properties": {}});
    let parts = |parts: Vec<Part>| move |_, _| std::future::ready(Ok(ToolOutput::Parts(parts.clone())));
    let resource =
        || Part::blob("text/plain", b"This is an embedded resource content.", Some("resource.txt".into()));
    let address = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
        "additionalProperties": false,
    });
    TestToolset::new("suite")
        .tool(spec("test_simple_text", none()), |_, _| async {
            Ok(ToolOutput::text("This is a simple text response for testing."))
        })
        .tool(spec("test_image_content", none()), parts(vec![Part::blob("image/png", PNG, None)]))
        .tool(
            spec("test_audio_content", none()),
            parts(vec![Part::blob("audio/wav", b"RIFF....WAVEfmt ", None)]),
        )
        .tool(spec("test_embedded_resource", none()), parts(vec![resource()]))
        .tool(
            spec("test_multiple_content_types", none()),
            parts(vec![
                Part::Text { text: "Multiple content types test:".into() },
                Part::blob("image/png", PNG, None),
                resource(),
            ]),
        )
        .tool(spec("test_error_handling", none()), |_, _| async {
            let error = ToolError::rejected("it was asked to fail");
            Err(error.say("This tool intentionally returns an error for testing"))
        })
        .tool(spec("test_tool_with_progress", none()), |_, _| async {
            tokio::time::sleep(Duration::from_millis(400)).await;
            Ok(ToolOutput::text("done"))
        })
        .tool(spec("json_schema_2020_12_tool", address), |_, _| async { Ok(ToolOutput::text("done")) })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (agent, problems) = Agent::builder(TestModel::new([])).name("suite").toolset(toolset()).build().await;
    for problem in problems {
        eprintln!("{problem}");
    }
    let mut options = GatewayOptions::default();
    options.progress = Duration::from_millis(50);
    let gateway = Gateway::new(agent, options);
    let ready = |address| println!("serving at http://{address}/mcp");
    serve_http(gateway, ([127, 0, 0, 1], 0).into(), HttpOptions::default(), CancellationToken::new(), ready)
        .await?;
    Ok(())
}
