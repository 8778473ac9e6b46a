//! What a catalog offers: names that every provider takes, and schemas that can be used.

use backstop_core::{
    Catalog, CatalogProblem, ToolCall, ToolErrorKind, ToolPolicy, ToolSpec, catalog::CatalogSource,
};
use serde_json::{Value, json};

use crate::kit::{catalog, object, reading, told_by};

fn source(toolset: &str, tools: &[&str]) -> CatalogSource {
    let tools =
        tools.iter().map(|name| (ToolSpec::new(*name, json!({"type": "object"})), ToolPolicy::default()));
    CatalogSource::new(toolset, tools.collect())
}

fn names(catalog: &Catalog) -> Vec<(&str, &str)> {
    catalog.entries().iter().map(|entry| (entry.spec.name.as_str(), entry.name.as_str())).collect()
}

fn problems(problems: &[CatalogProblem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

fn devtools() -> Vec<CatalogSource> {
    let tools = [
        "chrome_devtools_performance_analyze_insight_summary_a",
        "chrome_devtools_performance_analyze_insight_summary_b",
        "search.web",
        "search/web",
        "search_web",
        "Scan file",
        "größe",
        "検索",
        "",
    ];
    vec![
        source("chrome", &tools).prefix("chrome_devtools_mcp_"),
        source("other", &["search_web", "größe"]).prefix("chrome_devtools_mcp_"),
        source("local", &["search_web"]),
    ]
}

#[test]
fn names_are_fit_for_every_provider_distinct_and_readable_at_the_front() {
    let (catalog, left_out) = Catalog::build(devtools());
    let mut listed = String::new();
    for entry in catalog.entries() {
        let fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        assert!(
            !entry.name.is_empty() && entry.name.len() <= 64 && entry.name.chars().all(fit),
            "{}",
            entry.name
        );
        listed += &format!("{:<8} {:<55} {}\n", entry.toolset_name, entry.spec.name, entry.name);
    }
    let distinct: std::collections::HashSet<_> = catalog.entries().iter().map(|entry| &entry.name).collect();
    assert_eq!(distinct.len(), catalog.entries().len());
    assert_eq!(problems(&left_out), ["tool `` of toolset `chrome` is left out: it has no name"]);
    insta::assert_snapshot!(listed);
}

#[test]
fn names_are_the_same_on_every_start() {
    let (first, _) = Catalog::build(devtools());
    let (second, _) = Catalog::build(devtools());
    assert_eq!(names(&first), names(&second));
}

#[test]
fn calls_go_out_under_the_original_name() {
    let (catalog, _) = Catalog::build(vec![source("disk", &["Scan file"])]);
    let call = catalog.validate(&backstop_core::ToolCall::new("c1", "Scan_file", "{}")).unwrap();
    assert_eq!((call.tool(), call.own_name()), ("Scan_file", "Scan file"));
}

#[test]
fn where_two_toolsets_clash_all_but_the_first_get_their_toolsets_name_in_front() {
    let (catalog, left_out) =
        Catalog::build(vec![source("a", &["find"]), source("b", &["find", "read"]), source("c", &["find"])]);
    assert_eq!(left_out, []);
    assert_eq!(names(&catalog), [("find", "find"), ("find", "b_find"), ("read", "read"), ("find", "c_find")]);
}

#[test]
fn names_that_clash_only_as_providers_take_them_clash_all_the_same() {
    let (catalog, _) = Catalog::build(vec![source("a", &["search_web"]), source("b", &["search.web"])]);
    assert_eq!(names(&catalog), [("search_web", "search_web"), ("search.web", "b_search_web")]);
}

#[test]
fn a_person_finds_a_tool_by_either_name_while_that_is_unique() {
    let (catalog, _) = Catalog::build(vec![source("a", &["find", "Scan file"]), source("b", &["find"])]);
    assert_eq!(catalog.find("Scan file").unwrap().name, "Scan_file");
    assert_eq!(catalog.find("Scan_file").unwrap().name, "Scan_file");
    assert_eq!(catalog.find("b_find").unwrap().toolset_name, "b");
    assert_eq!(catalog.find("find").unwrap().toolset_name, "a");
    assert_eq!(catalog.find("fund").unwrap_err().kind(), ToolErrorKind::UnknownTool);
}

#[test]
fn hints_name_tools_by_the_names_that_the_model_knows_and_only_those_on_offer() {
    let tools = vec![
        (ToolSpec::new("edit", Value::Null).find_with("find").check_with("gone"), ToolPolicy::default()),
        (ToolSpec::new("find", Value::Null), ToolPolicy::default()),
    ];
    let (catalog, _) = Catalog::build(vec![source("a", &["find"]), CatalogSource::new("b", tools)]);
    let edit = catalog.get("edit").unwrap();
    assert_eq!((edit.spec.find_with.as_deref(), edit.spec.check_with.as_deref()), (Some("b_find"), None));
}

/// Schemas of the wild, and whether a tool with one can be used.
fn schemas() -> Vec<(&'static str, Value, bool)> {
    vec![
        ("array_without_items", object(json!({"formats": {"type": "array", "default": ["md"]}}), &[]), true),
        (
            "lookahead",
            object(json!({"to": {"type": "string", "pattern": "^(?!\\.)(?=.{3,}@)[^@]+@x$"}}), &[]),
            true,
        ),
        ("bare_object", json!({"type": "object"}), true),
        ("no_schema", Value::Null, true),
        ("ordinary", object(json!({"q": {"type": "string"}}), &["q"]), true),
        ("bare_true", object(json!({"data": true, "on": {"type": ["null", "boolean"]}}), &[]), true),
        ("remote_reference", object(json!({"q": {"$ref": "https://example.org/schema.json"}}), &[]), false),
        ("local_file", object(json!({"q": {"$ref": "file:///etc/passwd"}}), &[]), false),
        ("dangling_reference", object(json!({"q": {"$ref": "#/$defs/Missing"}}), &[]), false),
        ("no_json_schema", object(json!({"q": {"type": "text"}}), &[]), false),
        ("a_list", json!([1]), false),
    ]
}

#[test]
fn a_schema_that_cannot_be_used_takes_only_its_own_tool_along() {
    let tools =
        schemas().into_iter().map(|(name, schema, _)| (ToolSpec::new(name, schema), ToolPolicy::default()));
    let (catalog, left_out) = Catalog::build(vec![CatalogSource::new("wild", tools.collect())]);
    for (name, _, usable) in schemas() {
        assert_eq!(left_out.iter().any(|problem| problem.tool == name), !usable, "{name}");
        assert_eq!(catalog.get(name).is_some(), usable, "{name}");
    }
    insta::assert_snapshot!(problems(&left_out).join("\n"));
    // Patterns with lookaround are checked, not waved through.
    assert!(catalog.validate(&ToolCall::new("c1", "lookahead", r#"{"to":"abc@x"}"#)).is_ok());
    assert!(told_by(&catalog, "lookahead", r#"{"to":".bc@x"}"#).contains("must match the pattern"));
}

#[test]
fn a_pattern_that_backtracks_for_ever_is_cut_short() {
    let schema = object(json!({"q": {"type": "string", "pattern": "^(?=a)(a+)+$"}}), &[]);
    let tools = vec![(ToolSpec::new("slow", schema), ToolPolicy::default())];
    let (catalog, left_out) = Catalog::build(vec![CatalogSource::new("wild", tools)]);
    assert_eq!(problems(&left_out), [""; 0]);
    let text = format!(r#"{{"q":"{}!"}}"#, "a".repeat(40));
    assert!(told_by(&catalog, "slow", &text).starts_with("Invalid value for parameter \"q\""));
}

#[test]
fn schemas_without_limits_are_limited() {
    let mut chain = serde_json::Map::new();
    for n in 0..200 {
        chain.insert(format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n + 1)}));
    }
    chain.insert("d200".into(), json!({"type": "integer"}));
    let chained = json!({"type": "object", "properties": {"v": {"$ref": "#/$defs/d0"}}, "$defs": chain});
    let huge = object(json!({"v": {"enum": (0..200_000).map(|n| n.to_string()).collect::<Vec<_>>()}}), &[]);
    let tools = vec![
        (ToolSpec::new("chained", chained), ToolPolicy::default()),
        (ToolSpec::new("huge", huge), ToolPolicy::default()),
    ];
    let (catalog, left_out) = Catalog::build(vec![CatalogSource::new("wild", tools)]);
    assert_eq!(
        problems(&left_out),
        [
            "tool `huge` of toolset `wild` is left out: its input schema can't be used: the schema is larger than \
          1048576 bytes (at ``)"
        ]
    );
    assert!(
        told_by(&catalog, "chained", r#"{"v":"x"}"#).contains("must be an integer; got \"x\" (a string)")
    );
}

#[test]
fn mutual_recursion_and_a_parent_reference_are_checked_to_the_bottom() {
    let schema = json!({
        "type": "object", "properties": {"a": {"$ref": "#/$defs/A"}, "again": {"$ref": "#"}},
        "$defs": {
            "A": {"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}}},
            "B": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "required": ["n"]},
        },
    });
    let catalog = catalog(vec![reading("t", schema)]);
    let view = told_by(&catalog, "t", r#"{"again":{"a":{"b":{"n":1,"a":{"b":{}}}}}}"#);
    assert_eq!(
        view,
        "Parameter \"again.a.b.a.b.n\" is mandatory for tool \"t\".\nCall t again with \"again.a.b.a.b.n\" added."
    );
}

// Names that are not on offer.

fn library() -> Catalog {
    let q = || object(json!({"q": {"type": "string"}}), &["q"]);
    catalog(vec![
        reading("search_docs", q()),
        reading("read_page", object(json!({"url": {"type": "string"}}), &["url"])),
        ToolSpec::new("delete_page", object(json!({"url": {"type": "string"}}), &["url"])),
    ])
}

#[test]
fn the_near_tool_is_looked_for_among_those_that_take_the_arguments() {
    let schema = |name: &str| object(json!({name: {"type": "string"}}), &[name]);
    let catalog =
        catalog(vec![reading("get_order", schema("id")), reading("get_orders", schema("customer"))]);
    assert_eq!(
        told_by(&catalog, "get_ordr", r#"{"customer":"x"}"#),
        "Tool \"get_ordr\" was not found, please use one of these: get_order, get_orders. \
         Did you mean \"get_orders\"?\n\
         Call it again with: get_orders {\"customer\":\"x\"}"
    );
}

#[test]
fn a_near_tool_whose_arguments_do_not_fit_is_named_but_not_spelled_out() {
    assert_eq!(
        told_by(&library(), "read_pages", "{}"),
        "Tool \"read_pages\" was not found, please use one of these: search_docs, read_page, delete_page. \
         Did you mean \"read_page\"?\n\
         Call one of these tools instead, or answer without a tool."
    );
}

#[test]
fn a_mutating_tool_is_spelled_out_only_where_case_and_separators_differ() {
    let spelled_out = "\nCall it again with: delete_page {\"url\":\"x\"}";
    assert!(told_by(&library(), "Delete-Page", r#"{"url":"x"}"#).ends_with(spelled_out));
    assert!(!told_by(&library(), "delete_pages", r#"{"url":"x"}"#).contains("Call it again with"));
}

#[test]
fn an_empty_name_is_unknown_too() {
    assert_eq!(
        told_by(&library(), "", "{}"),
        "Tool \"\" was not found, please use one of these: search_docs, read_page, delete_page.\n\
         Call one of these tools instead, or answer without a tool."
    );
}

#[test]
fn without_tools_the_model_is_told_to_answer() {
    assert_eq!(
        told_by(&Catalog::default(), "x", "{}"),
        "Tool \"x\" was not found: there are no tools.\nAnswer without a tool."
    );
}

#[test]
fn a_long_list_of_tools_is_cut_with_the_near_ones_first() {
    let tools: Vec<_> =
        (0..30).map(|n| reading(&format!("tool_number_{n}"), json!({"type": "object"}))).collect();
    let view = told_by(&catalog(tools), "tool_number_29x", "{}");
    let start =
        "Tool \"tool_number_29x\" was not found, please use one of these: tool_number_29, tool_number_0, ";
    assert!(view.starts_with(start), "{view}");
    assert!(view.contains(" and 10 more. Did you mean \"tool_number_29\"?\n"), "{view}");
}

#[test]
fn a_name_with_control_characters_or_of_any_length_is_shown_escaped_and_capped() {
    let view = told_by(&library(), &format!("a\n\u{1b}{}", "x".repeat(10_000)), "{}");
    assert!(view.starts_with("Tool \"a\\n\\u{1b}xxxx"), "{view}");
    assert!(view.len() < 400, "{view}");
}

#[test]
fn a_tool_whose_schema_refers_to_nothing_is_left_out_by_name() {
    let schema = json!({
        "type": "object",
        "properties": {
            "task": {"$ref": "#/$defs/Task"},
            "gone": {"$ref": "#/$defs/Missing"},
        },
        "$defs": {"Task": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}},
    });
    let tools = vec![
        (ToolSpec::new("broken", schema), ToolPolicy::default()),
        (ToolSpec::new("good", json!({"type": "object"})), ToolPolicy::default()),
    ];
    let (catalog, problems) = Catalog::build(vec![CatalogSource::new("t", tools)]);
    let names: Vec<&str> = catalog.entries().iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["good"]);
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        ["tool `broken` of toolset `t` is left out: its input schema can't be used: \
             Pointer '/$defs/Missing' does not exist (at ``)"]
    );
}
