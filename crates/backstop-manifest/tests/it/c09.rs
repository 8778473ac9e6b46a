//! Placeholders, wrong types and one bad entry, all in one text.

use backstop_manifest::{Manifest, MapEnvironment, v1::Constant};
use std::path::Path;

use crate::{http, shown};

const GOOD: &str = r#"
version: 1
name: crew
model: {name: m, base_url: "https://${HOST:-mcp.example.test}/v1"}
toolsets:
  s1:
    http:
      base_url: "https://${HOST:-mcp.example.test}/mcp"
      headers: {Authorization: "Bearer ${TOKEN}", X-Price: "$5", X-Lit: "$${TOKEN}", X-Once: "${NESTED}"}
      endpoints:
        list:
          path: /list
          description: no
          parameters:
            enabled: {const: no, type: string}
            country: {const: NO}
            version: {const: 1.10, type: string}
            code: {const: 0123}
            pick: {enum: [no, NO, 1.10, 0123], default: NO}
"#;

const BAD: &str = r#"
version: 1
name: crew
model: {name: m, base_url: "https://${HOST:-mcp.example.test}/v1"}
toolsets:
  s1: {http: {base_url: "https://${HOST:-mcp.example.test}", headers: {Authorization: "Bearer ${TOKEN}", X-Price: "$5"}, endpoints: {a: {path: /a}}}}
  s2: {http: {base_url: "https://h", endpoints: true}}
  s3: {http: {base_url: "https://h", endpoints: {a: {path: /a, tiemout: 5s}}}}
  s4: {timeout: 30, http: {base_url: "https://h", endpoints: {a: {path: /a}}}}
  s4: {http: {base_url: "https://other"}}
limits: {turns: "5", parallel: yes, wall_clock: 1d}
"#;

#[test]
fn references_are_expanded_once_and_strings_stay_what_they_are() {
    let environment =
        MapEnvironment::new().with_var("TOKEN", "t0ken-value").with_var("NESTED", "${TOKEN} $${X}");
    let (manifest, problems) = Manifest::load(GOOD, "agent.yaml", Path::new("."), &environment);
    assert_eq!(shown(&problems), "");
    let manifest = manifest.unwrap();
    let http = http(&manifest);
    assert_eq!(http.base_url.to_string(), "https://mcp.example.test/mcp");
    let headers: Vec<_> =
        http.headers.iter().map(|header| (header.name.as_str(), header.value.expose())).collect();
    assert_eq!(
        headers,
        [
            ("Authorization", "Bearer t0ken-value"),
            ("X-Price", "$5"),
            ("X-Lit", "${TOKEN}"),
            ("X-Once", "${TOKEN} $${X}"),
        ]
    );
    let endpoint = &http.endpoints[0];
    assert_eq!(endpoint.settings.description.as_deref(), Some("no"));
    let constants: Vec<_> = endpoint
        .parameters
        .iter()
        .filter_map(|parameter| match parameter.constant.as_ref()? {
            Constant::Json(value) => Some(value.to_string()),
            Constant::Secret(_) => None,
        })
        .collect();
    assert_eq!(constants, [r#""no""#, r#""NO""#, r#""1.10""#, r#""0123""#]);
    assert_eq!(
        endpoint.input_schema()["properties"]["pick"].to_string(),
        r#"{"type":"string","enum":["no","NO","1.10","0123"],"default":"NO"}"#
    );
}

#[test]
fn every_problem_is_reported_in_one_pass() {
    let (manifest, problems) = Manifest::load(BAD, "agent.yaml", Path::new("."), &MapEnvironment::new());
    assert!(manifest.is_none());
    insta::assert_snapshot!(shown(&problems));
}
