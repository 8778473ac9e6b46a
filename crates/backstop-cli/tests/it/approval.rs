//! Calls that a person must allow, and the flags that answer for one.

use backstop_test::server::{Reply, Server};
use insta::assert_snapshot;
use serde_json::json;

use crate::{
    fixture::{SHOP, shop},
    shell::Folder,
};

const SCRIPT: &str = "
- calls: [{ tool: refund_order, arguments: { order_id: A-1001, amount: 5, reason: late } }]
- text: 'It said: {{last_result}}'
";

fn asking() -> Folder {
    shop(SCRIPT).with("backstop.yaml", format!("{SHOP}approve: mutating\n"))
}

#[test]
fn a_call_that_is_allowed_is_made() {
    let server = Server::start([Reply::json(201, json!({"refunded": 5}))]);
    let ended =
        asking().backstop(&["run", "backstop.yaml", "Hello", "--yes"]).env("SHOP_URL", &server.url).run();
    assert_eq!(ended.code, Some(0), "{ended}");
    assert_eq!(ended.stdout, "It said: {\"refunded\":5}\n");
    assert_eq!(server.next().line(), "POST /orders/A-1001/refunds");
}

#[test]
fn a_call_that_is_refused_or_that_nobody_allows_is_not_made() {
    // Nobody listens at the address of the shop: a call would fail as `unavailable`.
    let refused = asking().backstop(&["run", "backstop.yaml", "Hello", "--no"]).run();
    let nobody = asking().backstop(&["run", "backstop.yaml", "Hello"]).run();
    assert_snapshot!(format!("{refused}\n{nobody}"));
}

#[test]
fn a_call_by_hand_needs_no_other_hand() {
    let server = Server::start([Reply::json(201, json!({"refunded": 5}))]);
    let arguments = r#"{"order_id":"A-1001","amount":5,"reason":"late"}"#;
    let call = asking()
        .backstop(&["call", "backstop.yaml", "refund_order", arguments])
        .env("SHOP_URL", &server.url)
        .run();
    assert_eq!(call.code, Some(0), "{call}");
}
