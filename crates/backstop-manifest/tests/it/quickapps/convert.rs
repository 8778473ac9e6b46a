use backstop_manifest::{
    Manifest,
    v1::{Auth, HttpConfig, ModelConfig, ToolsetKind},
};
use serde_json::json;

use super::{SHOP, app, load, rest, tool, usable};

fn http(manifest: &Manifest, index: usize) -> &HttpConfig {
    match &manifest.toolsets[index].kind {
        ToolsetKind::Http(http) => http,
        other => panic!("{other:?}"),
    }
}

fn names(manifest: &Manifest) -> Vec<String> {
    let names = |toolset: &backstop_manifest::v1::ToolsetConfig| {
        let prefix = toolset.prefix.clone();
        toolset.specs().into_iter().map(move |spec| format!("{prefix}{}", spec.name)).collect::<Vec<_>>()
    };
    manifest.toolsets.iter().flat_map(names).collect()
}

#[test]
fn a_rest_toolset_is_converted_end_to_end() {
    let manifest = usable(SHOP);
    assert_eq!(names(&manifest), ["Shop_EU_refund", "Shop_EU_add_note"]);
    let toolsets: Vec<&str> = manifest.toolsets.iter().map(|toolset| toolset.name.as_str()).collect();
    assert_eq!(toolsets, ["shop-eu", "shop-eu-2"]);
    assert_eq!(http(&manifest, 0).base_url.to_string(), "https://api.example.com/");
    assert_eq!(http(&manifest, 1).base_url.to_string(), "https://notes.example.com/");
    let refund = &http(&manifest, 0).endpoints[0];
    insta::assert_snapshot!("refund_schema", serde_json::to_string_pretty(&refund.input_schema()).unwrap());
    insta::assert_snapshot!(super::spans_out(&format!("{refund:#?}")));
}

#[test]
fn the_orchestrator_becomes_the_model() {
    let manifest = usable(SHOP);
    let ModelConfig::OpenAi(model) = &manifest.model else { panic!() };
    assert_eq!(model.name.value, "gpt-4o");
    assert_eq!((model.temperature, model.max_tokens), (Some(0.2), Some(900)));
    assert_eq!(serde_json::Value::from(model.extra.clone()), json!({"seed": 7, "stop": ["END"]}));
    assert_eq!(model.base_url.to_string(), "https://api.openai.com/v1");
    assert_eq!(manifest.limits.turns, 12);
    assert_eq!(manifest.limits.tool_timeout.as_secs(), 45);
    assert_eq!(manifest.name.value, "my-shop");
    assert_eq!(
        manifest.instructions.as_deref(),
        Some(
            "You help our {who} customers with orders. Write ${amount} as it is, {unknown} too.\n\n\
             The shop is closed on Sundays."
        )
    );
}

#[test]
fn every_value_stands_at_its_place() {
    let manifest = usable(SHOP);
    let slice = |span: backstop_manifest::Span| &SHOP[span.start..span.end];
    assert_eq!(slice(manifest.toolsets[0].name.span), "\"Shop EU\"");
    let endpoint = &http(&manifest, 0).endpoints[0];
    assert_eq!(slice(endpoint.path.span), "\"https://api.example.com/v2/orders/{order_id}/refunds?dry=0\"");
    assert_eq!(slice(endpoint.parameters[2].name.span), "\"amount\"");
}

#[test]
fn every_kind_of_authorization_is_kept() {
    let auth = |authorization: serde_json::Value| {
        let text = app(
            json!([{"type": "rest-api", "name": "s", "authorization": authorization, "tools": [tool("a", json!({}))]}]),
        );
        match http(&usable(&text), 0).auth.clone() {
            Auth::Bearer(token) => format!("bearer {}", token.expose()),
            Auth::Basic { username, password } => {
                format!("basic {} {}", username.expose(), password.expose())
            }
            Auth::ApiKey { place, name, value } => format!("{place:?} {name} {}", value.expose()),
            other => format!("{other:?}"),
        }
    };
    assert_eq!(auth(json!({"type": "bearer", "token": "t${x}"})), "bearer t${x}");
    assert_eq!(auth(json!({"type": "basic", "username": "u", "password": "p"})), "basic u p");
    let key = |location: &str| json!({"type": "api_key", "key": "k", "name": "n", "location": location});
    assert_eq!(auth(key("header")), "Header n k");
    assert_eq!(auth(key("query")), "Query n k");
    assert_eq!(auth(json!(null)), "None");
}

#[test]
fn names_are_the_ones_that_quickapps_gives() {
    let tools = |name: &str| json!({"type": "rest-api", "name": name, "tools": [tool("a", json!({})), tool("a", json!({}))]});
    let long = "n".repeat(70);
    let manifest = usable(&app(json!([tools("My Tools"), tools("My Tools"), tools("ünï"), tools(&long)])));
    assert_eq!(
        names(&manifest),
        [
            "My_Tools_a".to_owned(),
            "My_Tools_a_2".to_owned(),
            "My_Tools_a_3".to_owned(),
            "My_Tools_a_4".to_owned(),
            "_n__a".to_owned(),
            "_n__a_2".to_owned(),
            "n".repeat(64),
            format!("{}_2", "n".repeat(62)),
        ]
    );
}

#[test]
fn a_manifest_is_known_by_its_content() {
    let (manifest, _) = load("orchestrator:\n  deployment: {name: m}\ncontexts: []\ntool_sets: []\n");
    assert!(manifest.is_some());
    let (_, problems) = load("version: 1\norchestrator: {}\n");
    assert!(problems.iter().any(|problem| problem.code == "unknown-key" && problem.is_error()));
}

#[test]
fn json_in_the_way_of_other_programs_is_read() {
    let text = "{\r\n\t\"orchestrator\": {\"deployment\": {\"name\": \"m\"},\t\"system_prompt\": {\"type\": \"custom\", \"content\": \"\\ud83d\\ude00 \\/ \\u00e4\"}}, \"tool_sets\": []}";
    assert_eq!(usable(text).instructions.as_deref(), Some("😀 / ä"));
}

#[test]
fn an_address_may_hold_everything() {
    let text = rest(json!([
        tool(
            "a",
            json!({"rest_api_method_info": {"method_url": "http://me:pw-SECRET@h:8/x y/{z}?q={z}&api_key=SECRET", "method_type": "get"}})
        ),
        tool("b", json!({"rest_api_method_info": {"method_url": "https://h", "method_type": "delete"}})),
    ]));
    let manifest = usable(&text);
    let service = http(&manifest, 0);
    assert_eq!(
        (service.base_url.to_string(), service.endpoints[0].path.as_str()),
        ("http://h:8/".into(), "/x%20y/%7Bz%7D")
    );
    assert!(matches!(&service.auth, Auth::Basic { password, .. } if password.expose() == "pw-SECRET"));
    assert_eq!(http(&manifest, 1).endpoints[0].path.as_str(), "/");
    assert!(!format!("{manifest:?}").contains("SECRET"));
}

#[test]
fn an_application_is_found_in_the_configuration_of_dial() {
    let app: serde_json::Value = serde_json::from_str(&app(json!([]))).unwrap();
    let one = json!({"applications": {
        "Clerk 3.7": {"displayName": "Clerk", "applicationProperties": app},
        "other": {"endpoint": "http://h"},
    }});
    let manifest = usable(&one.to_string());
    assert_eq!(manifest.name.value, "clerk-3-7");
    assert_eq!(super::migrated(&one.to_string()).1.name.value, "clerk-3-7");
    let two =
        json!({"applications": {"a": {"application_properties": app}, "b": {"application_properties": app}}});
    insta::assert_snapshot!(super::problems(&two.to_string()));
}

#[test]
fn a_constant_is_not_asked_for_though_it_is_required() {
    let parameters = json!({"type": "object", "required": ["city", "format"], "properties": {
        "city": {"type": "string", "parameter_info": {"type": "query", "key": "q"}},
        "format": {"type": null, "const": "csv", "parameter_info": {"type": "query", "key": "format"}},
    }});
    let function = json!({"type": "function", "function": {"name": "weather", "parameters": parameters}});
    let manifest =
        usable(&rest(json!([tool("weather", json!({"open_ai_tool": function, "type": "restapi-tool"}))])));
    let schema = http(&manifest, 0).endpoints[0].input_schema();
    assert_eq!((&schema["required"], schema["properties"].as_object().unwrap().len()), (&json!(["city"]), 1));
}

#[test]
fn the_usual_deployment_is_that_of_the_variable() {
    let environment =
        backstop_manifest::MapEnvironment::new().with_var("DEFAULT_ORCHESTRATOR_DEPLOYMENT_ID", "gpt");
    for text in ["{\"orchestrator\": {}}", "{\"orchestrator\": {\"deployment\": {}}}"] {
        let (manifest, _) = Manifest::load(text, "a.json", std::path::Path::new("."), &environment);
        let Some(Manifest { model: ModelConfig::OpenAi(model), .. }) = manifest else { panic!() };
        assert_eq!(model.name.value, "gpt");
    }
}

#[test]
fn thousands_of_tools_of_one_name_are_told_apart() {
    let tools: Vec<_> = (0..3000)
        .map(|_| {
            json!({
                "open_ai_tool": {"function": {"name": "a"}},
                "rest_api_method_info": {"method_url": "http://h/", "method_type": "get"},
            })
        })
        .collect();
    let manifest = usable(&app(json!([{"type": "rest-api", "name": "s", "tools": tools}])));
    assert_eq!(names(&manifest).last().map(String::as_str), Some("s_a_3000"));
}
