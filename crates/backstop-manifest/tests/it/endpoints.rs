use std::time::Duration;

use backstop_core::{Effect, schema::CompiledSchema};
use backstop_manifest::v1::{ApiKeyPlace, Auth, Method, ParameterPlace};

use crate::{endpoints, good, http, problems, with};

#[test]
fn the_input_schema_holds_what_the_model_gives() {
    let manifest = good(&endpoints(
        r#"{put: {method: PUT, path: "/a/{id}", parameters: {
          id: {type: integer, minimum: 1, description: The id.},
          size: {enum: [s, m], default: m},
          ratio: {type: number, maximum: 1.5, required: true},
          tags: {type: array, items: {type: string}},
          note: {min_length: 1, max_length: 9, pattern: '^a', format: date},
          any: {schema: {anyOf: [{type: string}, {type: 'null'}]}, description: Any.},
          key: {const: 5, in: query}}}}"#,
    ));
    let schema = http(&manifest).endpoints[0].input_schema();
    CompiledSchema::compile(&schema).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&schema).unwrap());
}

#[test]
fn methods_decide_what_nobody_says() {
    use ParameterPlace::{Body, Query};
    let table = [
        ("GET", Method::Get, Effect::ReadOnly, Query),
        ("HEAD", Method::Head, Effect::ReadOnly, Query),
        ("OPTIONS", Method::Options, Effect::ReadOnly, Query),
        ("PUT", Method::Put, Effect::Idempotent, Body),
        ("DELETE", Method::Delete, Effect::Idempotent, Query),
        ("POST", Method::Post, Effect::Mutating, Body),
        ("PATCH", Method::Patch, Effect::Mutating, Body),
    ];
    for (name, method, effect, place) in table {
        let manifest = good(&endpoints(&format!(
            "{{a: {{method: {name}, path: '/{{x}}', parameters: {{x: {{}}, y: {{}}}}}}}}"
        )));
        let endpoint = &http(&manifest).endpoints[0];
        assert_eq!((endpoint.method, endpoint.method.as_str()), (method, name));
        let places: Vec<_> = endpoint.parameters.iter().map(|p| (p.place, p.required)).collect();
        assert_eq!(places, [(ParameterPlace::Path, true), (place, false)]);
        assert_eq!(manifest.toolsets[0].specs()[0].effect, effect);
    }
}

#[test]
fn settings_come_from_the_nearest_level() {
    let manifest = good(&with(
        r#"toolsets:
  s:
    timeout: 20s
    effect: idempotent
    http:
      base_url: http://h
      endpoints:
        a: {path: /a, method: POST}
        b: {path: /b, effect: read_only, timeout: 10s, description: endpoint, find_with: a, idempotent_key: true}
        c: {path: /c, effect: read_only, timeout: 10s, description: endpoint, check_with: a}
    tools:
      c: {effect: mutating, timeout: 5s, description: override, parallel: false, check_with: b}
"#,
    ));
    let specs = manifest.toolsets[0].specs();
    let rows: Vec<_> = specs
        .iter()
        .map(|spec| {
            let timeout = manifest.policy_for("s", &spec.name).timeout.unwrap();
            format!(
                "{} {:?} {} {} {:?} {:?} {} {}",
                spec.name,
                spec.description,
                spec.effect.as_str(),
                timeout.as_secs(),
                spec.find_with,
                spec.check_with,
                spec.parallel_safe,
                spec.honours_idempotency_key
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            r#"a "" idempotent 20 None None true false"#,
            r#"b "endpoint" read_only 10 Some("a") None true true"#,
            r#"c "override" mutating 5 None Some("b") false false"#,
        ]
    );
    assert_eq!(manifest.toolsets[0].timeout, Some(Duration::from_secs(20)));
}

#[test]
fn credentials_take_every_form() {
    let auth = |text: &str| {
        let manifest = good(&with(&format!(
            "toolsets: {{s: {{http: {{base_url: 'http://h', auth: {text}, endpoints: {{a: {{path: /a}}}}}}}}}}"
        )));
        http(&manifest).auth.clone()
    };
    assert!(matches!(auth("none"), Auth::None));
    assert!(matches!(auth("{bearer: ${secret:TOKEN}}"), Auth::Bearer(key) if key.expose() == "tok-SECRET-1"));
    let Auth::Basic { username, password } = auth("{basic: {username: me, password: ${secret:KEY}}}") else {
        panic!()
    };
    assert_eq!((username.expose(), password.expose()), ("me", "key-SECRET-2"));
    let Auth::ApiKey { place, name, value } = auth("{api_key: {query: key, value: ${TOKEN}}}") else {
        panic!()
    };
    assert_eq!((place, name.as_str(), value.expose()), (ApiKeyPlace::Query, "key", "tok-SECRET-1"));
}

#[test]
fn every_mistake_of_an_endpoint_is_reported() {
    insta::assert_snapshot!(problems(&endpoints(
        r#"
        no_path: {method: FETCH}
        a: {path: "/a/{order_id}/{x", parameters: {order: {}}}
        b: {path: "/a/{order_id}", parameters: {order_idd: {}, other: {in: path}}}
        c: {path: "a?b", parameters: {x: {in: body}, y: {in: cookie}}}
        d:
          path: /a/{id}
          method: POST
          find_with: bb
          check_with: nothing
          body: xml
          parameters:
            id: {required: false}
            n: {type: integer, minimum: 5, maximum: 1, min_length: 2, enum: [a, 1.5, 3], default: "3"}
            m: {type: int}
            s: {schema: {type: string}, pattern: a, default: b}
            r: {schema: {$ref: '#/$defs/x'}}
            p: {pattern: '(a'}
            e: {enum: []}
            f: {enum: [a, b], default: c}
            h: {in: header, wire_name: "a b"}
            host: {in: header}
            q1: {in: query, wire_name: q}
            q2: {in: query, wire_name: q}
            c: {const: [a], in: header, enum: [b]}
            "ä b": {}
        "a tool": {path: /a}"#
    )));
}

#[test]
fn every_mistake_of_a_toolset_is_reported() {
    insta::assert_snapshot!(problems(&with(
        r#"toolsets:
  a: {agent: {command: [x]}}
  b: {}
  c: {http: {base_url: http://h, endpoints: {}}, files: {root: .}}
  d: {htpp: {}}
  E f: {http: {base_url: h, endpoints: {a: {path: /a}}}, prefix: "a b"}
  g: {http: {base_url: "http://h?x=1", auth: {bearer: ${TOKEN}, basic: {}}, endpoints: {}}}
  h: {http: {auth: {api_key: {value: ${TOKEN}}}, headers: {"a:b": c, host: d, X: 1, x: 2}, endpoints: {a: {path: /a}}}}
  i: {timeout: 1h, http: {base_url: http://h, endpoints: {get: {path: /a, timeout: 20m}}}, tools: {gett: {effect: readonly}, get: {tiemout: 5s}}}
"#
    )));
}
