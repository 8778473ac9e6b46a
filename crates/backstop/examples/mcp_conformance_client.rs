//! A client for the conformance suite of the Model Context Protocol: connects to the server at the address that is the
//! last argument, and calls each tool with what its schema asks for.
//!
//! ```sh
//! node conformance/dist/index.js client --command target/debug/examples/mcp_conformance_client --scenario tools_call
//! ```

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that says what it does")]

use std::{error::Error, path::Path, sync::Arc, time::Duration};

use backstop::{
    CallContext, Catalog, RunId, ToolCall, ToolPolicy, Toolset, async_trait,
    catalog::CatalogSource,
    http_client,
    mcp::{
        AskPerson, Asked, HttpServer, McpConfig, McpToolset, Server,
        login::{Login, LoginConfig, TokenFile},
    },
};
use serde_json::{Map, Value, json};

/// Somebody who takes whatever is proposed.
struct Agreeable;

#[async_trait]
impl AskPerson for Agreeable {
    async fn ask(&self, _: &Asked) -> Option<Map<String, Value>> {
        Some(Map::new())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().next_back().ok_or("the address of a server is missing")?;
    let mut server = HttpServer::new(url.parse()?, http_client()?);
    let tokens = tempfile::TempDir::new()?;
    if std::env::var("MCP_CONFORMANCE_SCENARIO").is_ok_and(|scenario| scenario.starts_with("auth/")) {
        server.login = Some(log_in(&server, tokens.path()).await?);
    }
    let mut config = McpConfig::new("suite", Server::Http(server));
    config.person = Some(Arc::new(Agreeable));
    let toolset = McpToolset::new(config)?;
    let tools = toolset.list().await?.into_iter().map(|spec| (spec, ToolPolicy::default())).collect();
    let (catalog, problems) = Catalog::build(vec![CatalogSource::new("suite", tools)]);
    for problem in problems {
        eprintln!("{problem}");
    }
    for entry in catalog.entries() {
        let call = ToolCall::new("call", &entry.name, arguments(&entry.spec.input_schema).to_string());
        let call = catalog.validate(&call)?;
        let limit = Duration::from_secs(20);
        let cx = CallContext::new(RunId::new("suite"), 1, limit, "key");
        let output = tokio::time::timeout(limit, toolset.call(&call, &cx)).await??;
        println!("{}: {}", entry.name, output.model_text());
    }
    Ok(())
}

/// Logs in as a person would whose authorization server asks nothing of them.
async fn log_in(server: &HttpServer, tokens: &Path) -> Result<LoginConfig, Box<dyn Error>> {
    let mut config = LoginConfig::new(TokenFile::new(tokens, &server.url));
    let context: Value = std::env::var("MCP_CONFORMANCE_CONTEXT")
        .map_or(Ok(Value::Null), |text| serde_json::from_str(&text))?;
    let text = |name: &str| context.get(name)?.as_str().map(str::to_owned);
    config.client_id = text("client_id");
    config.client_secret = text("client_secret").map(Into::into);
    if std::env::var("MCP_CONFORMANCE_SCENARIO").is_ok_and(|scenario| scenario == "auth/basic-cimd") {
        config.client_id = Some("https://conformance-test.local/client-metadata.json".to_owned());
    }
    let login = Login::begin(server, &config, "http://127.0.0.1:8123/callback").await?;
    let page = http_client()?.get(login.url().clone()).send().await?;
    let location = page.headers().get("location").ok_or("the authorization server does not send back")?;
    let logged_in = login.finish(location.to_str()?).await?;
    eprintln!("logged in: {logged_in:?}");
    Ok(config)
}

/// Something for each parameter that is required.
fn arguments(schema: &Value) -> Value {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let of = |name: &str| match schema.pointer(&format!("/properties/{name}/type")).and_then(Value::as_str) {
        Some("number" | "integer") => json!(5),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("text"),
    };
    required.filter_map(Value::as_str).map(|name| (name.to_owned(), of(name))).collect::<Map<_, _>>().into()
}
