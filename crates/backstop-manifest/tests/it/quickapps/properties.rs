//! Whatever a manifest says: what is written says the same.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{load, migrated, projection};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9_ .-]{1,12}",
        "[\\PC\n\t\\\\\"'{}$:#-]{1,16}".prop_filter("not blank", |text| !text.trim().is_empty()),
        Just("$${x} ${secret:NAME} ${A:-b}".to_owned()),
    ]
}

fn strategy() -> impl Strategy<Value = Value> {
    let trigger = prop_oneof![
        Just(Value::Null),
        (
            prop_oneof![Just("contains"), Just("equals")],
            prop_oneof![text(), Just("timed out".into()), Just(" ".into())],
            any::<bool>()
        )
            .prop_map(|(kind, value, case)| json!({"type": kind, "value": value, "case_sensitive": case})),
    ];
    let kind = prop_oneof![Just("continue"), Just("retry"), Just("ignore"), Just("stop"), Just("hard_stop")];
    (kind, trigger, prop::option::of(text()), prop::option::of(any::<bool>())).prop_map(
        |(kind, trigger, instructions, forward)| {
            json!({"type": kind, "trigger_on": trigger, "instructions": instructions, "forward_tool_error_message": forward})
        },
    )
}

fn parameter() -> impl Strategy<Value = (String, Value)> {
    let place = prop_oneof![Just("query"), Just("body"), Just("header")];
    let schema = prop_oneof![
        text().prop_map(|text| json!({"type": "string", "description": text, "default": text})),
        Just(json!({"type": "integer", "minimum": 1})),
        prop::collection::vec(text(), 1..3).prop_map(|values| json!({"type": "string", "enum": values})),
        text().prop_map(
            |text| json!({"type": "object", "properties": {"a": {"type": "string", "description": text}, "b": {"type": null, "const": text}}})
        ),
        text().prop_map(|text| json!({"type": "array", "items": {"type": "string", "descripton": text}})),
        "[ -~]{0,8}".prop_map(|text| json!({"type": null, "const": text})),
    ];
    ("[a-z]{1,6}", place, schema).prop_map(|(name, place, mut schema)| {
        schema["parameter_info"] = json!({"type": place, "key": name});
        (name, schema)
    })
}

fn tool() -> impl Strategy<Value = Value> {
    let method = prop_oneof![Just("get"), Just("post"), Just("put"), Just("delete")];
    let parameters = prop::collection::vec(parameter(), 0..4);
    let url = "http://[a-c]{1}(/[a-z ]{1,3}){0,2}(/\\{id\\})?(\\?v=[a-z&=]{0,4})?";
    let strategies = prop::option::of(prop::collection::vec(strategy(), 0..4));
    let flags = prop::option::of(any::<bool>());
    (text(), text(), method, url, parameters, strategies, flags).prop_map(|(name, description, method, url, parameters, strategies, flag)| {
        let mut properties: serde_json::Map<String, Value> = parameters.into_iter().collect();
        properties.insert("id".into(), json!({"type": "string", "parameter_info": {"type": "url", "key": "id"}}));
        let required: Vec<&String> = properties.keys().take(2).collect();
        let parameters = json!({"type": "object", "properties": properties, "required": required});
        let mut tool = json!({
            "open_ai_tool": {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}},
            "rest_api_method_info": {"method_url": url, "method_type": method},
            "enabled": flag,
        });
        if let Some(strategies) = strategies {
            tool["fallback_configuration"] = json!({"strategies": strategies});
        }
        tool
    })
}

fn app() -> impl Strategy<Value = Value> {
    let auth = prop_oneof![
        Just(Value::Null),
        "[!-~]{1,8}".prop_map(|token| json!({"type": "bearer", "token": token})),
        "[!-~]{1,8}".prop_map(|text| json!({"type": "basic", "username": text, "password": text})),
        ("[!-~]{1,8}", prop_oneof![Just("header"), Just("query"), Just("body")])
            .prop_map(|(key, place)| json!({"type": "api_key", "key": key, "name": "k", "location": place})),
    ];
    let context = prop_oneof![
        text().prop_map(|text| json!({"type": "user-defined", "content": text, "description": text})),
        Just(json!({"type": "file", "url": "files/b/a.txt"})),
    ];
    let toolset = (text(), auth, prop::collection::vec(tool(), 0..3)).prop_map(
        |(name, auth, tools)| json!({"type": "rest-api", "name": name, "authorization": auth, "tools": tools}),
    );
    let (toolsets, contexts) = (prop::collection::vec(toolset, 0..3), prop::collection::vec(context, 0..3));
    let timeout = prop_oneof![Just(json!(null)), Just(json!(0.25)), (1..3600i32).prop_map(Value::from)];
    (text(), text(), toolsets, contexts, -1..40i32, timeout).prop_map(
        |(model, prompt, toolsets, contexts, turns, timeout)| {
            json!({
                "orchestrator": {
                    "deployment": {"deployment_id": model, "parameters": {"seed": 1, "user": prompt}},
                    "system_prompt": {"type": "custom", "content": prompt, "variables": {"x": model}},
                    "max_iterations": turns,
                },
                "contexts": contexts,
                "tool_sets": toolsets,
                "tool_defaults": {"timeout_seconds": timeout},
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_native_form_says_the_same(app in app()) {
        let text = serde_json::to_string_pretty(&app).unwrap();
        let (loaded, problems) = load(&text);
        let migration = backstop_manifest::migrate(&text, "my shop.json");
        prop_assert_eq!(crate::shown(&migration.report), crate::shown(&problems));
        prop_assert_eq!(loaded.is_none(), migration.failed());
        if let Some(loaded) = loaded {
            let (yaml, native) = migrated(&text);
            prop_assert_eq!(projection(&native), projection(&loaded), "{}", yaml);
            let again = backstop_manifest::migrate(&yaml, "my shop.json");
            prop_assert_eq!(again.yaml, Some(yaml));
        }
    }
}
