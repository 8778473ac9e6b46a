use std::time::Duration;

use backstop_core::Limits;
use backstop_manifest::v1::{ModelConfig, ModelProfile};
use serde_json::json;

use crate::{good, problems, with};

#[test]
fn the_smallest_manifest_has_every_default() {
    let manifest = good("version: 1\nname: a\nmodel: {name: m}\n");
    assert_eq!(manifest.limits, Limits::default());
    assert!(manifest.toolsets.is_empty() && manifest.fallback.is_none() && manifest.secrets.is_empty());
    let ModelConfig::OpenAi(model) = manifest.model else { panic!() };
    assert_eq!(model.base_url.to_string(), "https://api.openai.com/v1");
    assert!(model.stream && model.api_key.is_none() && model.timeout.is_none());
}

#[test]
fn a_whole_model() {
    let manifest = good(
        "version: 1\nname: a\nmodel:\n  provider: openai\n  name: 1.10\n  base_url: http://h:1/v1/\n  stream: false\n  \
         temperature: 0.5\n  max_tokens: 100\n  timeout: 250ms\n  headers: {X-A: 0123}\n  \
         extra: {seed: 7, top_p: 0.10, stop: [a, 'true', true, null, 012, 1e3], on: yes}\n",
    );
    let ModelConfig::OpenAi(model) = manifest.model else { panic!() };
    assert_eq!(*model.name, "1.10");
    assert_eq!(model.headers[0].value.expose(), "0123");
    assert_eq!((model.stream, model.temperature, model.max_tokens), (false, Some(0.5), Some(100)));
    assert_eq!(model.timeout, Some(Duration::from_millis(250)));
    assert_eq!(
        serde_json::Value::Object(model.extra),
        json!({"seed": 7, "top_p": 0.1, "stop": ["a", "true", true, null, "012", 1000.0], "on": "yes"})
    );
}

#[test]
fn a_profile_is_one_of_those_there_are() {
    let profile = |line: &str| {
        let manifest = good(&format!("version: 1\nname: a\nmodel: {{name: m{line}}}\n"));
        let ModelConfig::OpenAi(model) = manifest.model else { panic!() };
        model.profile
    };
    assert_eq!(profile(""), None);
    assert_eq!(profile(", profile: openai"), Some(ModelProfile::OpenAi));
    assert_eq!(profile(", profile: gemini"), Some(ModelProfile::Gemini));
    assert_eq!(profile(", profile: llama_cpp"), Some(ModelProfile::LlamaCpp));
    assert_eq!(profile(", profile: portable"), Some(ModelProfile::Portable));
    insta::assert_snapshot!(problems("version: 1\nname: a\nmodel: {name: m, profile: llama-cpp}\n"));
}

#[test]
fn a_scripted_model_is_relative_to_the_manifest() {
    let manifest = good("version: 1\nname: a\nmodel: {provider: scripted, script: replies/a.jsonl}\n");
    let ModelConfig::Scripted(model) = manifest.model else { panic!() };
    assert_eq!(model.script.to_str(), Some("base/replies/a.jsonl"));
    insta::assert_snapshot!(problems(
        "version: 1\nname: a\nmodel: {provider: scripted, base_url: 'http://h', temperature: 1}\n"
    ));
}

#[test]
fn every_limit_is_read() {
    let manifest = good(&with(
        "limits: {turns: 1, tool_calls: 2, wall_clock: 1h, tool_timeout: 10m, model_timeout: 4s, parallel: 5, \
         repeats: 6, same_results: 7, failures: 8, retries: 0, call_retries: 9, model_retries: 10}",
    ));
    let mut limits = Limits::default();
    limits.turns = 1;
    limits.tool_calls = 2;
    limits.wall_clock = Duration::from_secs(3600);
    limits.tool_timeout = Duration::from_secs(600);
    limits.model_timeout = Duration::from_secs(4);
    limits.parallel = 5;
    limits.repeats = 6;
    limits.same_results = 7;
    limits.failures = 8;
    limits.retries = 0;
    limits.call_retries = 9;
    limits.model_retries = 10;
    assert_eq!(manifest.limits, limits);
}

#[test]
fn wrong_types_say_what_was_found() {
    insta::assert_snapshot!(problems(
        r#"
version: "1"
name: [a]
model: yes
"#
    ));
    insta::assert_snapshot!(
        "wrong_types_below",
        problems(
            r#"
version: 1
name: A b
description:
instructions: {a: b}
model: {name: ~, stream: "true", temperature: hot, max_tokens: 1.5, headers: [a], extra: 5, timeout: 10}
limits: {turns: 0, tool_calls: -1, parallel: 300, repeats: 99999999999999999999, wall_clock: 0s, tool_timeout: 10 parsecs, model_timeout: 1.5s}
toolsets: []
fallback: {}
"#
        )
    );
}

#[test]
fn nothing_behind_a_key_of_many_is_an_empty_one() {
    let manifest = good(&with("limits:\ntoolsets:\nfallback:\ndescription: null\ninstructions: ~\n"));
    assert!(manifest.fallback.unwrap().strategies.is_empty());
    assert_eq!((manifest.description, manifest.instructions), (None, None));
}

#[test]
fn json_is_read_like_yaml() {
    let manifest = good(
        "{\r\n\t\"version\": 1, \"name\": \"a\",\r\n\t\"description\": \"\\ud83d\\ude00 \\/ ${HOST}\", \"instructions\": null,\r\n\
         \t\"model\": {\"name\": \"m\", \"base_url\":\"http://h\", \"stream\": false},\r\n\
         \t\"limits\": {\"turns\": 3, \"wall_clock\": \"2m\"}, \"toolsets\": {}, \"fallback\": []\r\n}\r\n",
    );
    assert_eq!(manifest.description.as_deref(), Some("😀 / shop.example.test"));
    assert_eq!(manifest.instructions, None);
    assert_eq!((manifest.limits.turns, manifest.limits.wall_clock.as_secs()), (3, 120));
    insta::assert_snapshot!(problems(
        "{\"version\": 1, \"name\": \"a\", \"model\": {\"nmae\": \"m\"}, \"name\": 5,}"
    ));
}

#[test]
fn aliases_stand_for_their_anchor() {
    let manifest = good(&with(
        "toolsets:\n  s: {http: {base_url: http://h, endpoints: &all {a: {path: /a, timeout: &t 5s}}}, timeout: *t}\n  \
         t: {http: {base_url: http://h, endpoints: *all}}\n",
    ));
    assert_eq!(manifest.toolsets[1].settings("a").timeout, Some(Duration::from_secs(5)));
    assert_eq!(manifest.toolsets[0].timeout, Some(Duration::from_secs(5)));
}

#[test]
fn a_str_tag_makes_text() {
    insta::assert_snapshot!(problems(&with(
        "limits: {turns: !!str 5, tool_calls: !!int 5}\ndescription: !!str 5\n"
    )));
}
