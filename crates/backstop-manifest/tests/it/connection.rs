//! `connection` and `auth`: how a service is reached, and how it knows who calls.

use std::time::Duration;

use backstop_manifest::v1::{ApiKeyPlace, Auth, Network, ProxyChoice, ToolsetKind};

use crate::{good, problems, with};

fn service(rest: &str) -> String {
    with(&format!(
        "toolsets:\n  s:\n    http:\n      base_url: http://h\n{rest}\n      endpoints: {{a: {{path: /a}}}}\n"
    ))
}

#[test]
fn a_whole_connection() {
    let manifest = good(&service(
        r#"      connection:
        connect_timeout: 2s
        first_byte: 500ms
        proxy: "http://u:${secret:TOKEN}@proxy.example:3128"
        authorities: [ca.pem, certs/other.pem]
        certificate: "${secret:file:/run/secrets/db}"
        network: [intranet.example, 10.0.0.0/8]
        concurrency: 4
        rate: 100/min"#,
    ));
    let ToolsetKind::Http(http) = &manifest.toolsets[0].kind else { panic!() };
    let connection = &http.connection;
    assert_eq!(connection.connect_timeout, Some(Duration::from_secs(2)));
    assert_eq!(connection.first_byte, Some(Duration::from_millis(500)));
    assert!(matches!(&connection.proxy, ProxyChoice::Url(url) if url.expose().contains("tok-SECRET-1@")));
    assert_eq!(connection.authorities, ["base/ca.pem", "base/certs/other.pem"].map(std::path::PathBuf::from));
    assert!(connection.certificate.as_ref().unwrap().expose().starts_with("file-SECRET-3"));
    assert_eq!(
        connection.network,
        Some(Network::Public(vec!["intranet.example".into(), "10.0.0.0/8".into()]))
    );
    assert_eq!(connection.concurrency.unwrap().get(), 4);
    assert_eq!(connection.rate.map(|(requests, per)| (requests.get(), per.as_secs())), Some((100, 60)));
    let shown = format!("{manifest:?}");
    assert!(!shown.contains("SECRET"), "{shown}");
}

#[test]
fn words_for_all_and_for_public_addresses() {
    for (word, network) in [("any", Network::Any), ("public", Network::Public(Vec::new()))] {
        let manifest = good(&service(&format!("      connection: {{network: {word}, proxy: none}}")));
        let ToolsetKind::Http(http) = &manifest.toolsets[0].kind else { panic!() };
        assert_eq!(http.connection.network, Some(network));
        assert!(matches!(http.connection.proxy, ProxyChoice::None));
    }
}

#[test]
fn what_is_no_connection_is_told_and_no_secret_is_shown() {
    insta::assert_snapshot!(problems(&service(
        r#"      connection: {connect_timeout: 5, proxy: "${secret:TOKEN}", network: private, concurrency: 0, rate: 10/day, retries: 3}"#
    )));
}

#[test]
fn credentials_that_are_exchanged_for_a_token_and_keys_in_cookies() {
    let manifest = good(&service(
        r#"      auth:
        oauth2:
          token_url: https://login.example/token
          client_id: shop
          client_secret: ${secret:KEY}
          scope: read write
          extra: {audience: https://shop.example}
          client_auth: body"#,
    ));
    let ToolsetKind::Http(http) = &manifest.toolsets[0].kind else { panic!() };
    let Auth::OAuth2(oauth2) = &http.auth else { panic!() };
    assert_eq!(oauth2.token_url.to_string(), "https://login.example/token");
    assert_eq!(
        (oauth2.client_id.as_str(), oauth2.scope.as_str(), oauth2.in_body),
        ("shop", "read write", true)
    );
    assert_eq!(oauth2.client_secret.expose(), "key-SECRET-2");
    assert_eq!(oauth2.extra, [("audience".to_owned(), "https://shop.example".to_owned())]);

    let manifest = good(&service("      auth: {api_key: {cookie: session, value: \"${secret:KEY}\"}}"));
    let ToolsetKind::Http(http) = &manifest.toolsets[0].kind else { panic!() };
    assert!(matches!(&http.auth, Auth::ApiKey { place: ApiKeyPlace::Cookie, name, .. } if name == "session"));
}

#[test]
fn credentials_that_are_none_are_told() {
    insta::assert_snapshot!(
        [
            problems(&service("      auth: {oauth2: {token_url: 'ftp://h', client_auth: header}}")),
            problems(&service("      auth: {oauth2: {}, bearer: \"${secret:KEY}\"}")),
            problems(&service("      auth: {api_key: {cookie: 'a b', value: \"${secret:KEY}\"}}")),
            problems(&service("      auth: {api_key: {cookie: a, header: b, value: \"${secret:KEY}\"}}")),
        ]
        .join("\n\n")
    );
}

#[test]
fn headers_of_callers_that_are_passed_on() {
    let manifest = good(&service("      caller_headers: [Authorization, X-Tenant]"));
    let ToolsetKind::Http(http) = &manifest.toolsets[0].kind else { panic!() };
    assert_eq!(http.caller_headers, ["Authorization", "X-Tenant"]);
    insta::assert_snapshot!(
        [
            problems(&service("      caller_headers: [host, 'a b', x-a, X-A]")),
            problems(&service("      headers: { X-App: a }\n      caller_headers: x-app")),
            problems(&service(
                "      auth: { bearer: \"${secret:KEY}\" }\n      caller_headers: [Authorization]"
            )),
        ]
        .join("\n\n")
    );
}
