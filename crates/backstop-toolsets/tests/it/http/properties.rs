//! Whatever the arguments are, a request stays what was declared, and is read as it was meant.

use std::collections::BTreeSet;

use backstop_core::{ToolErrorKind, ToolSpec};
use backstop_test::server::{Reply, Request, Server};
use backstop_toolsets::http::{BodyForm, Endpoint, HttpConfig, HttpToolset, Method, Parameter, Place, Style};
use percent_encoding::percent_decode_str;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::client;
use crate::support::call;

fn config() -> ProptestConfig {
    ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() }
}

/// One call; `None` where nothing was sent because an argument does not fit.
fn request(endpoint: Endpoint, arguments: Value) -> Option<Request> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::start([Reply::json("200 OK", "{}")]);
        let base = format!("{}/base?fixed=1", server.url);
        let mut config = HttpConfig::new("s", base.parse().unwrap(), client());
        config.endpoints = vec![endpoint];
        match call(&HttpToolset::new(config).unwrap(), "t", arguments).await {
            Ok(_) => {
                let seen = server.only();
                let host = server.url.strip_prefix("http://").unwrap();
                assert_eq!(seen.headers("host"), [host]);
                Some(seen)
            }
            Err(error) => {
                assert_eq!(error.kind(), ToolErrorKind::InvalidArguments, "{error:?}");
                assert_eq!(server.seen().len(), 0);
                None
            }
        }
    })
}

/// The names and values of a query or a form, decoded as a service does.
fn decoded(text: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

fn query(seen: &Request) -> Vec<(String, String)> {
    decoded(seen.target().split_once('?').map_or("", |(_, query)| query))
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        "[\u{0}-\u{ff}]{0,12}".prop_map(Value::from),
        "[./%\\\\;&=,{}\r\n\"?#]{1,6}".prop_map(Value::from),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![4 => scalar(), 1 => Just(Value::Null)];
    let key = prop_oneof![
        "[a-z]{1,3}",
        "[&=;\\[\\]\r\n/.]{1,3}",
        Just("other".to_owned()),
        Just("fixed".to_owned())
    ];
    leaf.prop_recursive(2, 12, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(key.clone(), inner, 0..4).prop_map(|all| all.into_iter().collect()),
        ]
    })
}

const STYLES: [Style; 8] = [
    Style::Simple,
    Style::Label,
    Style::Matrix,
    Style::Form,
    Style::SpaceDelimited,
    Style::PipeDelimited,
    Style::DeepObject,
    Style::Json,
];

fn any_style() -> impl Strategy<Value = (Style, bool)> {
    (prop::sample::select(STYLES.to_vec()), any::<bool>())
}

fn spec() -> ToolSpec {
    ToolSpec::new("t", json!({"type": "object", "properties": {"path": {}, "value": {}, "text": {}}}))
}

/// A value as the text that a service reads.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn host_path_and_the_names_of_a_query_stay_as_declared(
        path in scalar(), value in any_value(), (style, explode) in any_style(),
    ) {
        let endpoint = Endpoint::new(spec(), Method::GET, "/a/{path}/b")
            .parameter(Parameter::new("path", Place::Path))
            .parameter(Parameter::new("value", Place::Query).style(style, explode))
            .parameter(Parameter::new("other", Place::Query).constant("mine"));
        let Some(seen) = request(endpoint, json!({"path": path, "value": value})) else { return Ok(()) };
        let target = seen.target().to_owned();
        let (before, _) = target.split_once('?').unwrap();
        let segment = before.strip_prefix("/base/a/").and_then(|rest| rest.strip_suffix("/b"));
        let segment = segment.ok_or_else(|| TestCaseError::fail(target.clone()))?;
        prop_assert!(!segment.contains(['/', '\\']), "{}", target);
        let decoded = percent_decode_str(segment).decode_utf8().unwrap().into_owned();
        let has_dots = decoded.split(['/', '\\']).any(|part| matches!(part.trim(), "." | ".."));
        prop_assert!(!has_dots, "{}", target);
        prop_assert_eq!(decoded, text(&path));
        let pairs = query(&seen);
        prop_assert_eq!(pairs.iter().filter(|(name, _)| name == "fixed").collect::<Vec<_>>(), [&("fixed".to_owned(), "1".to_owned())]);
        prop_assert_eq!(pairs.iter().filter(|(name, _)| name == "other").collect::<Vec<_>>(), [&("other".to_owned(), "mine".to_owned())]);
        // Only the keys of the value itself come in beside what was declared, and only where that is the style.
        let own: BTreeSet<&str> = match &value {
            Value::Object(fields) if explode && style != Style::Json => fields.keys().map(String::as_str).collect(),
            _ => BTreeSet::new(),
        };
        for (name, _) in &pairs {
            let is_own = own.contains(name.as_str()) || name == "value" || name.starts_with("value[");
            prop_assert!(is_own || name == "fixed" || name == "other", "{} in {}", name, target);
        }
    }

    #[test]
    fn no_argument_adds_a_header(
        value in any_value(), (style, explode) in any_style(), cookie in any_value(), part in scalar(),
    ) {
        let mut endpoint = Endpoint::new(spec(), Method::GET, "/")
            .parameter(Parameter::new("value", Place::Header).style(style, explode))
            .parameter(Parameter::new("path", Place::Cookie));
        endpoint.templates.headers = vec![("x-text".into(), json!("a {text} b"))];
        let arguments = json!({"value": value, "path": cookie, "text": part});
        let Some(seen) = request(endpoint, arguments) else { return Ok(()) };
        let names: Vec<&str> =
            seen.head.lines().skip(1).filter_map(|line| line.split_once(':')).map(|(name, _)| name).collect();
        let known = ["accept", "accept-encoding", "cookie", "host", "user-agent", "value", "x-text"];
        prop_assert!(names.iter().all(|name| known.contains(name)), "{:?}", names);
        prop_assert_eq!(names.len(), names.iter().collect::<BTreeSet<_>>().len());
        for cookies in seen.headers("cookie") {
            let fit = |pair: &str| pair.contains('=') && !pair.contains([';', ' ', '"', ',', '\\']);
            prop_assert!(cookies.split("; ").all(fit), "{}", cookies);
        }
        prop_assert_eq!(seen.body, "");
    }

    #[test]
    fn forms_are_read_as_they_were_meant(value in scalar(), key in "[^\u{0}]{1,8}", list in prop::collection::vec(scalar(), 1..4)) {
        let endpoint = Endpoint::new(spec(), Method::POST, "/")
            .body(BodyForm::UrlEncoded)
            .parameter(Parameter::new("one", Place::Body))
            .parameter(Parameter::new("list", Place::Body))
            .parameter(Parameter::new("deep", Place::Body).style(Style::DeepObject, true))
            .parameter(Parameter::new("query", Place::Query).style(Style::DeepObject, true));
        let arguments = json!({"one": value, "list": list, "deep": {"k": {key.clone(): value}}, "query": {key.clone(): value}});
        let seen = request(endpoint, arguments).unwrap();
        let mut expected = vec![("one".to_owned(), text(&value))];
        expected.extend(list.iter().map(|item| ("list".to_owned(), text(item))));
        expected.push((format!("deep[k][{key}]"), text(&value)));
        prop_assert_eq!(decoded(&seen.body), expected);
        prop_assert_eq!(query(&seen), [("fixed".to_owned(), "1".to_owned()), (format!("query[{key}]"), text(&value))]);
    }

    #[test]
    fn a_json_body_is_what_was_given(value in any_value(), part in "\\PC{0,20}") {
        let mut endpoint = Endpoint::new(spec(), Method::POST, "/");
        endpoint.templates.body = Some(json!({"value": ["{value}"], "text": "a {text} b", "kept": true}));
        let seen = request(endpoint, json!({"value": value, "text": part})).unwrap();
        let body: Value = serde_json::from_str(&seen.body).unwrap();
        prop_assert_eq!(body, json!({"value": [value], "text": format!("a {part} b"), "kept": true}));
    }
}
