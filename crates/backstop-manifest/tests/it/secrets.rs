use std::path::Path;

use backstop_manifest::{Manifest, MapEnvironment};

use crate::{load, problems, shown, with};

const EVERYWHERE: &str = r#"
version: 1
name: a
model:
  name: m
  base_url: http://user:url-SECRET-5@h/v1
  api_key: ${secret:KEY}
  headers: {X-Trace: "t-${secret:TOKEN}", Cookie: cookie-SECRET-6}
toolsets:
  s:
    http:
      base_url: http://h
      auth: {basic: {username: shop, password: ${secret:DB_PASSWORD}}}
      endpoints:
        a:
          path: /a
          parameters:
            key: {const: "${secret:file:keys/shop.txt}"}
            x-h: {in: header, const: "${secret:TOKEN}"}
  t:
    http:
      base_url: http://h
      auth: {bearer: plain-SECRET-7}
      endpoints: {a: {path: /a}}
"#;

#[test]
fn no_secret_is_shown_by_debug_or_diagnostics() {
    let (manifest, problems) = load(EVERYWHERE);
    let manifest = manifest.unwrap_or_else(|| panic!("{}", shown(&problems)));
    let shown = format!("{manifest:#?}{manifest:?}{problems:?}{}", serde_json::to_string(&problems).unwrap());
    assert!(!shown.contains("SECRET"), "{shown}");
    assert!(shown.contains("[secret]"));
}

#[test]
fn every_secret_is_known_to_the_redactor() {
    let (manifest, problems) = load(EVERYWHERE);
    let manifest = manifest.unwrap();
    let secrets: Vec<&str> = manifest.secrets.iter().map(|secret| secret.expose()).collect();
    insta::assert_snapshot!(secrets.join("\n"));
    let redactor = manifest.redactor();
    assert_eq!(redactor.redact("k=key-SECRET-2&").as_deref(), Some("k=[secret]&"));
    assert_eq!(redactor.redact("Basic c2hvcDpmaWxlLVNFQ1JFVC0z").as_deref(), Some("Basic [secret]"));
    insta::assert_snapshot!("written_out", shown(&problems));
}

#[test]
fn a_key_in_the_query_of_a_models_address_is_a_secret_and_its_version_is_none() {
    let (manifest, problems) = load(
        "version: 1\nname: a\nmodel: {name: m, base_url: 'http://h/v1?api-version=2026-07&Api-Key=a/SECRET-8&sig=SECRET-9'}\n",
    );
    let manifest = manifest.unwrap_or_else(|| panic!("{}", shown(&problems)));
    let secrets: Vec<&str> = manifest.secrets.iter().map(|secret| secret.expose()).collect();
    assert_eq!(secrets, ["SECRET-9", "a/SECRET-8"]);
    let debug = format!("{manifest:?} {problems:?}");
    assert!(debug.contains("http://h/v1?api-version=2026-07&Api-Key=***&sig=***"), "{debug}");
    assert!(!debug.contains("SECRET"), "{debug}");
    assert_eq!(
        shown(&problems),
        "3:28: warning[plain-secret]: model.base_url: the value of `Api-Key` in the URL is written out\n  \
         hint: where the server takes it in a header, use `headers: {NAME: ${secret:NAME}}`\n\
         3:28: warning[plain-secret]: model.base_url: the value of `sig` in the URL is written out\n  \
         hint: where the server takes it in a header, use `headers: {NAME: ${secret:NAME}}`"
    );
}

#[test]
fn secrets_are_refused_where_they_are_not_kept() {
    insta::assert_snapshot!(problems(
        r#"
version: 1
name: a
description: ${secret:KEY}
instructions: "use ${secret:NO_KEY}"
model: {name: "${secret:KEY}", base_url: "http://${secret:KEY}", extra: {user: [{key: "${secret:KEY}"}]}}
toolsets:
  s:
    http:
      base_url: http://h
      endpoints:
        a:
          path: /a/{id}
          method: POST
          parameters:
            id: {const: "${secret:KEY}"}
            b: {const: "${secret:KEY}"}
            q: {in: query, default: "${secret:KEY}"}
"#
    ));
}

#[test]
fn unset_and_unreadable_secrets_name_their_place() {
    let environment = MapEnvironment::new().with_var("GONE_FILE", "/run/none").with_file("base/empty", "\n");
    let text = with(
        "toolsets: {s: {http: {base_url: http://h, auth: {bearer: ${secret:NO_TOKEN:-}}, headers: \
         {A: \"x ${secret:GONE}\", B: ${secret:file:empty}, C: ${secret:file:../no}}, endpoints: {a: {path: /a}}}}}",
    );
    let (_, problems) = Manifest::load(&text, "agent.yaml", Path::new("base"), &environment);
    insta::assert_snapshot!(shown(&problems));
}

#[test]
fn a_broken_credential_is_not_shown() {
    let text = with(
        r#"toolsets:
  s: {http: {base_url: "http://u:pw-SECRET@", auth: tok-SECRET, headers: {A: "x\nSECRET"}, endpoints: {a: {path: /a}}}}
  t: {http: {base_url: "ftp://u:pw-SECRET@h", auth: {bearer: "a\nSECRET"}, endpoints: {a: {path: /a}}}}
"#,
    );
    let shown = problems(&text);
    assert!(!shown.contains("SECRET"), "{shown}");
    insta::assert_snapshot!(shown);
}

#[test]
fn a_malformed_reference_may_be_the_secret_itself() {
    let text = with(
        r#"description: "${secret:KEY:-SECRET-8}"
toolsets:
  s: {http: {base_url: http://h, auth: {bearer: "${SECRET-9}"}, headers: {A: "${secret:KEY:-SECRET}"}, endpoints: {a: {path: /a}}}}
"#,
    );
    let shown = problems(&text);
    assert!(!shown.contains("SECRET"), "{shown}");
    assert_eq!(shown.matches("malformed-reference").count(), 3);
}
