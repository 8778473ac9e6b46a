//! Everything that is said about a manifest, each with its place.

use serde_json::{Value, json};

use super::{app, load, problems, projection, rest, tool};

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

/// A manifest with every field that QuickApps documents.
const EVERY_FIELD: &str = include_str!("every_field.json");

/// The places of all keys that are fields: the names of parameters, variables and languages are up to the writer.
fn fields(value: &Value, path: &[String], found: &mut Vec<Vec<String>>) {
    let below = |key: &str| [path, &[key.to_owned()]].concat();
    match value {
        Value::Object(object) => {
            let free = path.last().is_some_and(|last| {
                [
                    "properties",
                    "variables",
                    "override",
                    "arguments",
                    "media_type_substitution",
                    "configuration",
                ]
                .contains(&last.as_str())
            });
            for (key, value) in object {
                if !free {
                    found.push(below(key));
                }
                fields(value, &below(key), found);
            }
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| fields(item, &below(&index.to_string()), found));
        }
        _ => {}
    }
}

fn misspelt(value: &Value, path: &[String]) -> Value {
    let [key, rest @ ..] = path else { return value.clone() };
    match value {
        Value::Object(object) => Value::Object(
            object
                .iter()
                .map(|(name, value)| match (name == key, rest.is_empty()) {
                    (true, true) => (format!("zz{name}"), value.clone()),
                    (true, false) => (name.clone(), misspelt(value, rest)),
                    (false, _) => (name.clone(), value.clone()),
                })
                .collect(),
        ),
        Value::Array(items) => {
            let index: usize = key.parse().unwrap();
            let change =
                |(at, item): (usize, &Value)| if at == index { misspelt(item, rest) } else { item.clone() };
            Value::Array(items.iter().enumerate().map(change).collect())
        }
        other => other.clone(),
    }
}

#[test]
fn no_field_vanishes_without_a_word() {
    let whole: Value = serde_json::from_str(EVERY_FIELD).unwrap();
    // What is said about it, and what it comes to.
    let read = |value: &Value| -> (Vec<(String, String)>, Option<String>) {
        let (manifest, problems) = load(&value.to_string());
        let said = problems.into_iter().map(|problem| (problem.path, problem.message)).collect();
        (said, manifest.as_ref().map(projection))
    };
    let before = read(&whole);
    let left_out: Vec<&str> =
        before.0.iter().map(|(at, _)| at.strip_suffix(".enabled").unwrap_or(at)).collect();
    let mut found = Vec::new();
    fields(&whole, &[], &mut found);
    assert!(found.len() > 150, "{}", found.len());
    let mut silent = Vec::new();
    for path in &found {
        // What stands in a part that is left out as a whole goes with it.
        let dotted = path.iter().fold(String::new(), |dotted, key| match key.parse::<usize>() {
            Ok(index) => format!("{dotted}[{index}]"),
            Err(_) if dotted.is_empty() => key.clone(),
            Err(_) => format!("{dotted}.{key}"),
        });
        let named = left_out.iter().any(|at| {
            dotted.strip_prefix(at).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        });
        if !named && read(&misspelt(&whole, path)) == before {
            silent.push(dotted);
        }
    }
    // The arguments are an object and a constant is what it is, whatever the type says.
    let function = "tool_sets[0].tools[0].open_ai_tool.function.parameters";
    assert_eq!(silent, [format!("{function}.type"), format!("{function}.properties.fixed.type")]);
}

#[test]
fn every_documented_field_is_read_or_named() {
    insta::assert_snapshot!(problems(EVERY_FIELD));
}
