mod answers;
mod bodies;
mod caller;
mod caps;
mod paths;
mod planted;
mod properties;
mod requests;
mod rules;
mod secrets;
mod service;
mod statuses;
mod styles;
mod table;
mod templates;
mod tls;
mod transport;

use backstop_core::{Effect, ToolSpec};
use backstop_toolsets::{
    client::http_client,
    http::{Endpoint, HttpConfig, HttpToolset, Method, Parameter, Place},
};
use serde_json::json;

/// One client for each test: making one reads the certificates of the machine.
fn client() -> reqwest::Client {
    thread_local! {
        static CLIENT: reqwest::Client = http_client().unwrap();
    }
    CLIENT.with(Clone::clone)
}

/// An order is read by its id, and made from a name and a quantity.
fn shop(base_url: &str) -> HttpToolset {
    HttpToolset::new(shop_config(base_url)).unwrap()
}

fn shop_config(base_url: &str) -> HttpConfig {
    let get = ToolSpec::new(
        "get_order",
        json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}),
    )
    .effect(Effect::ReadOnly)
    .find_with("list_orders");
    let list =
        ToolSpec::new("list_orders", json!({"type": "object", "properties": {}})).effect(Effect::ReadOnly);
    let create = ToolSpec::new(
        "create_order",
        json!({"type": "object", "properties": {"name": {"type": "string"}, "qty": {"type": "integer"}}}),
    )
    .check_with("list_orders");
    let mut config = HttpConfig::new("shop", base_url.parse().unwrap(), client());
    config.endpoints = vec![
        Endpoint::new(get, Method::GET, "/orders/{id}").parameter(Parameter::new("id", Place::Path)),
        Endpoint::new(list, Method::GET, "/orders"),
        Endpoint::new(create, Method::POST, "/orders")
            .parameter(Parameter::new("name", Place::Body))
            .parameter(Parameter::new("qty", Place::Body)),
    ];
    config
}

/// One endpoint of a service that is not there: for calls that are refused before anything is sent.
fn dead(endpoint: Endpoint) -> HttpToolset {
    let mut config = HttpConfig::new("s", "http://127.0.0.1:1".parse().unwrap(), client());
    config.endpoints = vec![endpoint];
    HttpToolset::new(config).unwrap()
}
