//! Headers of whoever started a run, passed on by name.

use backstop_core::{Applied, CallerHeaders, ToolError, ToolErrorKind, ToolOutput, ToolSpec, Toolset};
use backstop_test::server::{Reply, Server};
use backstop_toolsets::http::{Auth, Endpoint, HttpConfig, HttpToolset, Method, Parameter, Place};
use serde_json::json;

use super::client;
use crate::support::{context, valid};

fn config(url: &str, names: &[&str]) -> HttpConfig {
    let schema = json!({"type": "object", "properties": {"tenant": {"type": "string"}}});
    let endpoint = Endpoint::new(ToolSpec::new("t", schema), Method::GET, "/x")
        .parameter(Parameter::new("tenant", Place::Header).wire_name("X-Tenant"));
    let mut config = HttpConfig::new("s", url.parse().unwrap(), client());
    config.headers = vec![("x-app".into(), "app-1".to_owned().into())];
    config.caller_headers = names.iter().map(|name| (*name).to_owned()).collect();
    config.endpoints = vec![endpoint];
    config
}

async fn call_for(toolset: &HttpToolset, caller: &[(&str, &str)]) -> Result<ToolOutput, ToolError> {
    let cx = context().caller_headers(CallerHeaders::new(caller.iter().copied()));
    toolset.call(&valid(toolset, "t", json!({"tenant": "of-the-model"})).await, &cx).await
}

#[tokio::test]
async fn what_is_declared_is_passed_on_and_nothing_else() {
    let server = Server::start([Reply::json("200 OK", "{}")]);
    let toolset = HttpToolset::new(config(&server.url, &["Authorization", "x-tenant"])).unwrap();
    let caller =
        [("authorization", "Bearer user-1"), ("X-TENANT", "t-7"), ("cookie", "a=b"), ("x-app", "app-2")];
    call_for(&toolset, &caller).await.unwrap();
    call_for(&toolset, &[]).await.unwrap();
    let sent: Vec<_> = server
        .seen()
        .iter()
        .map(|seen| {
            ["authorization", "x-tenant", "cookie", "x-app"].map(|name| seen.headers(name).join(" | "))
        })
        .collect();
    // An argument does not stand in for who the caller is.
    assert_eq!(sent, [["Bearer user-1", "t-7", "", "app-1"], ["", "", "", "app-1"]]);
}

#[tokio::test]
async fn a_value_that_can_not_be_sent_is_not_sent_and_not_shown() {
    let server = Server::start([Reply::json("200 OK", "{}")]);
    let toolset = HttpToolset::new(config(&server.url, &["x-tenant"])).unwrap();
    let error = call_for(&toolset, &[("x-tenant", "t-7\r\nx-admin: yes")]).await.unwrap_err();
    assert_eq!((error.kind(), error.applied()), (ToolErrorKind::Misconfigured, Applied::No));
    assert_eq!(error.detail(), "the value of header `x-tenant` can't be sent");
    assert!(!format!("{error:?}").contains("x-admin"));
    assert_eq!(server.seen().len(), 0);
}

#[test]
fn what_the_toolset_sends_itself_is_not_passed_on() {
    let refused = |name: &str, auth: Auth| {
        let mut config = config("http://h", &[name]);
        config.auth = auth;
        HttpToolset::new(config).unwrap_err().detail().to_owned()
    };
    let key = || "k".to_owned().into();
    for (name, auth) in [
        ("host", Auth::None),
        ("Content-Length", Auth::None),
        ("X-App", Auth::None),
        ("idempotency-key", Auth::None),
        ("authorization", Auth::Bearer(key())),
        ("cookie", Auth::ApiKeyCookie { name: "s".into(), value: key() }),
    ] {
        let told = format!(
            "the header `{}` of callers can't be passed on: it is the toolset's own",
            name.to_lowercase()
        );
        assert_eq!(refused(name, auth), told);
    }
    assert_eq!(refused("a b", Auth::None), "`a b` can't be the name of a header");
}
