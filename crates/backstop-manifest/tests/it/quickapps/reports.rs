//! Everything that is said about a manifest, each with its place.

use serde_json::json;

use super::{app, problems, rest, tool};

#[test]
fn whatever_has_no_counterpart_is_named() {
    insta::assert_snapshot!(problems(
        r#"{
  "orchestrator": {
    "deployment": {"deployment_id": "m", "parameters": {"model": "x"}},
    "system_prompt": {"type": "dial", "path": "prompts/b/p"},
    "max_iterations": -1,
    "propagate_stages": false,
    "attachment_strategy": {"type": "lazy_on_demand"},
    "tool_discovery": {"enabled": true}
  },
  "contexts": [
    {"type": "file", "url": "files/b/a.txt"},
    {"type": "folder", "url": "files/b/"}
  ],
  "tool_sets": [
    {"type": "mcp", "name": "fetch", "mcp_server_info": {"url": "http://h/mcp", "protocol": "sse"}},
    {"type": "dial-mcp", "name": {"en": "docs", "de": "Texte"}, "dial_id": "x"},
    {"type": "dial-app", "deployment_id": "x", "name": "a"},
    {"type": "dial-deployment", "name": "d", "tools": []},
    {"type": "internal", "name": "i", "tools": []},
    {"type": "predefined", "template_name": "weather"},
    {"type": "predefined", "template_name": "off", "enabled": false},
    {"type": "rest-api", "name": "empty", "tools": []},
    {
      "type": "rest-api",
      "name": {"en": "s", "fr": "t"},
      "description": "x",
      "deferred": false,
      "tools": [
        {"type": "predefined-tool", "template_name": "web_search"},
        {
          "open_ai_tool": {"type": "function", "function": {"name": "a", "parameters": {"type": "object", "properties": {
            "p": {"type": "string", "display": {"stage": {}}, "parameter_info": {"type": "query", "key": "p"}},
            "q": {"type": "string"},
            "u": {"type": "string", "parameter_info": {"type": "url", "key": "u"}},
            "b": {"type": "string", "parameter_info": {"type": "body", "key": "b"}},
            "l": {"type": "array", "items": {"type": "string"}, "parameter_info": {"type": "query", "key": "l"}},
            "o": {"type": "object", "parameter_info": {"type": "header", "key": "o"}}
          }}}},
          "rest_api_method_info": {"method_url": "http://h/a", "method_type": "get"},
          "attachment": {"supported_types": ["*/*"]},
          "display": {"stage": {"name": "x"}},
          "response_as_attachment": {"enabled": true},
          "fallback_configuration": {"display_error_in_stage": false}
        },
        {
          "open_ai_tool": {"type": "function", "function": {"name": "b"}},
          "rest_api_method_info": {"method_url": "http://{host}/a", "method_type": "get"}
        }
      ]
    },
    {"type": "rest-api", "name": "oauth", "authorization": {"type": "client_id_secret", "client_secret": "SECRET"}, "tools": []}
  ],
  "conversation_starters": {"starters": []},
  "starters": ["x"],
  "skills": [{"type": "dial-skill", "url": "skills/b/s"}],
  "hooks": [],
  "features": {"timestamp": null, "dial_files": {}, "web_fetch": {"enabled": true}},
  "tool_sett": []
}"#
    ));
}

#[test]
fn what_quickapps_refuses_is_an_error() {
    insta::assert_snapshot!(problems(
        r#"{
  "orchestrator": {"deployment": {"parameters": {"temperature": "warm"}}, "max_iterations": "many"},
  "contexts": {},
  "tool_sets": [
    {"type": "rest", "name": "s"},
    {"name": "s"},
    {"type": "rest-api", "tools": []},
    {"type": "rest-api", "name": "s", "tools": [
      {"open_ai_tool": {"function": {"name": "a"}}},
      {"open_ai_tool": {"function": {"name": "a"}}, "rest_api_method_info": {"method_url": "http://h/", "method_type": "patch"},
       "fallback_configuration": {"strategies": [{"type": "give_up"}, {"trigger_on": {"type": "matches"}, "type": "continue"}]}}
    ]}
  ],
  "tool_defaults": {"timeout_seconds": 7200}
}"#
    ));
    insta::assert_snapshot!("without_an_orchestrator", problems("{\"tool_sets\": []}"));
    insta::assert_snapshot!("without_a_deployment", problems("{\"orchestrator\": {\"deployment\": {}}}"));
}

#[test]
fn unknown_fields_are_warnings_with_suggestions() {
    let text = rest(json!([tool(
        "a",
        json!({
            "fallback_configuraton": {},
            "fallback_configuration": {"strategies": [{"type": "continue", "instruction": "x"}]},
        })
    )]));
    insta::assert_snapshot!(problems(&text));
}

#[test]
fn problems_of_the_native_reading_have_quickapps_places() {
    let text = rest(json!([
        tool("a", json!({"rest_api_method_info": {"method_url": "ftp://h/../x", "method_type": "get"}})),
        tool(
            "b",
            json!({"open_ai_tool": {"function": {"name": "b", "parameters": {"properties": {
                "h": {"type": "string", "parameter_info": {"type": "header", "key": "a b"}},
                "p": {"type": "string", "pattern": "(", "parameter_info": {"type": "query", "key": "p"}},
            }}}}})
        ),
    ]));
    insta::assert_snapshot!(problems(&text));
}

#[test]
fn a_key_in_the_body_needs_a_body() {
    let auth = json!({"type": "api_key", "key": "SECRET", "name": "k", "location": "body"});
    let text = app(
        json!([{"type": "rest-api", "name": "s", "authorization": auth, "tools": [tool("a", json!({}))]}]),
    );
    insta::assert_snapshot!(problems(&text));
}

#[test]
fn fields_that_are_not_read_in_their_place_are_named() {
    insta::assert_snapshot!(problems(
        r#"{
  "orchestrator": {
    "deployment": {"deployment_id": "m", "name": "other"},
    "system_prompt": {"type": "custom", "content": "", "template": "t", "path": "prompts/b/p"}
  },
  "contexts": [{"type": "user-defined", "content": "Text.", "description": "d", "url": "files/b/a.txt", "max_depth": 2}],
  "tool_sets": [
    {
      "type": "rest-api", "name": "s",
      "authorization": {"type": "bearer", "token": "t-SECRET", "name": "n", "location": "query", "scope": "x", "password": "p-SECRET"},
      "tools": [
        {
          "type": "restapi-tool",
          "open_ai_tool": {"type": "function", "function": {"name": "a", "strict": true, "parameters": {
            "type": "object",
            "description": "All of it.",
            "additionalProperties": false,
            "required": ["id", "idd"],
            "properties": {
              "id": {"type": "string", "descripton": "x", "minLength": 1, "parameter_info": {"type": "query", "key": "id"}},
              "box": {"type": "object", "parameter_info": {"type": "body", "key": "box"}, "properties": {
                "unit": {"type": null, "const": "cm"},
                "side": {"type": "array", "items": {"type": "integer", "minimun": 1, "parameter_info": {"type": "body", "key": "side"}}}
              }}
            }
          }}},
          "rest_api_method_info": {"method_url": "http://h/{shop}/a?x={id}&y={not a name}", "method_type": "post"},
          "override": {"name": "b"}
        }
      ]
    },
    {"type": "dial-mcp", "dial_id": "search"}
  ]
}"#
    ));
}

#[test]
fn words_that_quickapps_does_not_know_are_errors() {
    let text = app(json!([
        {"type": "rest-api", "name": "s", "authorization": {"type": "api_key", "key": "SECRET", "name": "n", "location": "cookie"}, "tools": [
            tool("a", json!({"type": "rest-tool"})),
            tool("b", json!({"open_ai_tool": {"type": "tool", "function": {"name": "b", "parameters": {"type": "array"}}}})),
        ]},
    ]));
    insta::assert_snapshot!(problems(&text));
}

#[test]
fn names_with_a_hash_are_those_of_an_older_quickapps() {
    let prompt = "Call refund_1a2b or Shop_EU_refund_00ff, not order_feed or refund_12345. Again: refund_1a2b. \
                  Then note_9c9c and x_9c9c.";
    let text = json!({
        "orchestrator": {"deployment": {"deployment_id": "m"}, "system_prompt": {"type": "custom", "content": prompt}},
        "contexts": [{"type": "user-defined", "content": "Never order_0001."}],
        "tool_sets": [{"type": "rest-api", "name": "Shop EU", "tools": [
            tool("refund", json!({})), tool("order", json!({})), tool("note_9c9c", json!({})),
        ]}],
    });
    insta::assert_snapshot!(problems(&serde_json::to_string_pretty(&text).unwrap()));
}
