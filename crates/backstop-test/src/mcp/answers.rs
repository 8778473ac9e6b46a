//! What a good server answers, and what the bad ones say in its place.

use serde_json::{Value, json};

use super::Behaviour;

/// The tools of a good server: `act` does what the behaviour says, `echo` gives its text back, whatever the server
/// does else, and `add` promises an object with the sum.
pub const TOOLS: [&str; 3] = ["act", "echo", "add"];

/// An answer with this result.
pub fn result(request: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
}

fn error(request: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message}})
}

/// The answer to a message; none to a notification, or to an answer.
pub fn answer(request: &Value, behaviour: Behaviour) -> Option<Value> {
    request.get("id").filter(|_| request.get("method").is_some())?;
    let params = &request["params"];
    Some(match request["method"].as_str().unwrap_or_default() {
        "initialize" => result(
            request,
            json!({
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {"listChanged": true}, "resources": {}, "prompts": {}},
                "serverInfo": {"name": "fake", "version": "1"},
            }),
        ),
        "server/discover" if behaviour == Behaviour::Stateless => result(
            request,
            json!({
                "resultType": "complete",
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "fake", "version": "1"},
                "ttlMs": 0,
                "cacheScope": "private",
            }),
        ),
        "ping" => result(request, json!({})),
        "tools/list" => result(request, tools(params, behaviour)),
        "tools/call" => call(request, behaviour),
        "resources/list" => result(
            request,
            json!({"resources": [{"uri": "note://one", "name": "one", "mimeType": "text/plain", "size": 3}]}),
        ),
        "resources/read" if params["uri"] == "note://one" => result(
            request,
            json!({"contents": [{"uri": "note://one", "mimeType": "text/plain", "text": "One"}]}),
        ),
        "resources/read" => error(request, -32002, "Resource not found"),
        "prompts/list" => result(
            request,
            json!({"prompts": [{"name": "greet", "arguments": [{"name": "who", "required": true}]}]}),
        ),
        "prompts/get" if params["name"] == "greet" => {
            let text = format!("Greet {}.", params["arguments"]["who"].as_str().unwrap_or("nobody"));
            let message = json!({"role": "user", "content": {"type": "text", "text": text}});
            result(request, json!({"messages": [message]}))
        }
        "prompts/get" => error(request, -32602, "Unknown prompt"),
        _ => error(request, -32601, "Method not found"),
    })
}

/// Two pages of tools.
fn tools(params: &Value, behaviour: Behaviour) -> Value {
    let tool = |name: &str| json!({"name": name, "description": format!("Does {name}."), "inputSchema": {"type": "object"}});
    let first = match behaviour {
        Behaviour::EndlessList => return json!({"tools": [], "nextCursor": "again"}),
        Behaviour::DuplicateNames => vec![tool("act"), tool("act")],
        Behaviour::IllegalNames => vec![tool("act"), tool(""), tool("a b/c"), tool(&"x".repeat(200))],
        Behaviour::IllegalSchemas => vec![
            tool("act"),
            json!({"name": "none"}),
            json!({"name": "wrong", "inputSchema": {"type": "object", "properties": 7}}),
            json!({"name": "text", "inputSchema": "object"}),
            json!({"inputSchema": {"type": "object"}}),
        ],
        _ => vec![json!({
            "name": "act",
            "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": false, "idempotentHint": true},
        })],
    };
    if params["cursor"] == "two" {
        let sum = json!({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]});
        let number = json!({"type": "integer"});
        return json!({"tools": [{
            "name": "add",
            "inputSchema": {"type": "object", "properties": {"a": number, "b": number}, "required": ["a", "b"]},
            "outputSchema": sum,
            "annotations": {"readOnlyHint": true},
        }]});
    }
    let echo = json!({
        "name": "echo",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        "annotations": {"readOnlyHint": true},
    });
    let tools: Vec<Value> = first.into_iter().chain([echo]).collect();
    json!({"tools": tools, "nextCursor": "two"})
}

fn call(request: &Value, behaviour: Behaviour) -> Value {
    let arguments = &request["params"]["arguments"];
    let text = |text: &str| result(request, json!({"content": [{"type": "text", "text": text}]}));
    let failed = |content: Value| result(request, json!({"content": content, "isError": true}));
    match (request["params"]["name"].as_str().unwrap_or_default(), behaviour) {
        ("echo", _) => text(arguments["text"].as_str().unwrap_or_default()),
        ("add", Behaviour::WrongOutput) => result(
            request,
            json!({"content": [{"type": "text", "text": "{\"sum\":\"3\"}"}], "structuredContent": {"sum": "3"}}),
        ),
        ("add", _) => {
            let sum =
                json!({"sum": arguments["a"].as_i64().unwrap_or(0) + arguments["b"].as_i64().unwrap_or(0)});
            result(
                request,
                json!({"content": [{"type": "text", "text": sum.to_string()}], "structuredContent": sum}),
            )
        }
        ("act", Behaviour::EmptyError) => failed(json!([])),
        ("act", Behaviour::CodeInText) => failed(json!([{
            "type": "text",
            "text": "MCP error -32602: Input validation error: Invalid arguments for tool act: expected number at n",
        }])),
        ("act", Behaviour::HiddenFailure) => text("Error: the database is gone"),
        ("act", Behaviour::NoResult) => result(request, json!(7)),
        ("act", Behaviour::EmptyResult) => result(request, json!({})),
        ("act", Behaviour::ProtocolError) => error(
            request,
            arguments["code"].as_i64().unwrap_or(0),
            arguments["message"].as_str().unwrap_or_default(),
        ),
        ("act", Behaviour::HugeAnswer) => text(&"x".repeat(3 * 1024 * 1024)),
        ("act", _) => text("acted"),
        (name, _) => error(request, -32602, &format!("Unknown tool: {name}")),
    }
}
