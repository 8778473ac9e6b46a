use backstop_manifest::{migrate, shown_text};
use serde_json::json;

use super::{SHOP, app, migrated, problems, projection, rest, tool, usable};

#[test]
fn the_native_form_is_the_same_manifest() {
    let (yaml, manifest) = migrated(SHOP);
    insta::assert_snapshot!(yaml);
    assert_eq!(projection(&manifest), projection(&usable(SHOP)));
}

#[test]
fn a_native_manifest_is_left_as_it_is() {
    let first = migrate(SHOP, "my shop.json").yaml.unwrap();
    let second = migrate(&first, "other.yaml");
    assert!(second.native && second.report.is_empty() && !second.failed());
    assert_eq!(second.yaml.as_deref(), Some(first.as_str()));
}

#[test]
fn what_can_not_be_used_is_not_written() {
    let migration = migrate("{\"tool_sets\": []}", "a.json");
    assert!(migration.failed() && migration.yaml.is_none());
    assert!(migrate("a: [", "a.yaml").failed());
}

#[test]
fn the_report_is_that_of_a_load() {
    let migration = migrate(SHOP, "my shop.json");
    assert_eq!(crate::shown(&migration.report), problems(SHOP));
    insta::assert_snapshot!(problems(SHOP));
}

#[test]
fn no_credential_is_shown_or_written() {
    let text = rest(json!([tool(
        "a",
        json!({
            "rest_api_method_info": {"method_url": "http://u:pw-SECRET@h/a?sig=1&token=SECRET", "method_type": "get"},
        })
    )]));
    for text in [SHOP, text.as_str()] {
        let (yaml, manifest) = migrated(text);
        let migration = migrate(text, "a.json");
        let seen = format!("{yaml}{migration:?}{manifest:?}{:?}{}", usable(text), problems(text));
        assert!(!seen.contains("SECRET"), "{seen}");
    }
    assert_eq!(migrate(SHOP, "a.json").secrets, ["SHOP_EU_ACCESS_TOKEN", "SHOP_EU_KEY"]);
}

#[test]
fn a_text_is_shown_without_its_credentials() {
    let text = app(json!([
        {"type": "mcp", "name": "a", "mcp_server_info": {"authorization": {"type": "api_key", "key": "SECRET-1", "name": "n"}}},
        {"type": "rest-api", "name": "b", "authorization": {"type": "client_id_secret", "client_secret": "SECRETä\n"}},
        {"type": "rest-api", "name": "c", "authorization": {"type": "bearer", "token": "SECRET${x}"}, "tools": [tool("a", json!({}))]},
    ]));
    for text in [SHOP, text.as_str()] {
        let shown = shown_text(text, &migrate(text, "a.json").report);
        assert!(!shown.contains("SECRET"), "{shown}");
        assert_eq!(shown.len(), text.len());
        assert_eq!(shown.lines().count(), text.lines().count());
    }
    assert!(shown_text(SHOP, &[]).contains(r#""key": "order_id""#));
}

#[test]
fn a_comment_can_not_end_early() {
    let text =
        "{\"orchestrator\": {\"deployment\": {\"name\": \"m\"}}, \"tool_sets\": [], \"a\\nversion: 2 #\": 1}";
    let (yaml, _) = migrated(text);
    assert!(yaml.lines().all(|line| !line.starts_with("version: 2")), "{yaml}");
}
