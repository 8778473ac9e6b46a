//! Nothing of a manifest is dropped without a word: not a field, and not a value.

use serde_json::{Value, json};

use super::{load, problems, projection};

/// A manifest with every field that QuickApps documents.
const EVERY_FIELD: &str = include_str!("every_field.json");
/// Mappings whose keys are up to the writer.
const FREE: [&str; 6] =
    ["properties", "variables", "override", "arguments", "media_type_substitution", "configuration"];

/// Where something stands: keys, and numbers for the items of lists.
type Path = Vec<String>;

/// Visits every value below this one.
fn walk(value: &Value, path: &Path, visit: &mut impl FnMut(&Path, &Value)) {
    let mut below = |key: String, value: &Value| {
        let path = [path.as_slice(), &[key]].concat();
        visit(&path, value);
        walk(value, &path, visit);
    };
    match value {
        Value::Object(object) => object.iter().for_each(|(key, value)| below(key.clone(), value)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| below(index.to_string(), item));
        }
        _ => {}
    }
}

/// As diagnostics write it.
fn dotted(path: &[String]) -> String {
    path.iter().fold(String::new(), |dotted, key| match key.parse::<usize>() {
        Ok(index) => format!("{dotted}[{index}]"),
        Err(_) if dotted.is_empty() => key.clone(),
        Err(_) => format!("{dotted}.{key}"),
    })
}

fn with_value(whole: &Value, path: &[String], value: Value) -> Value {
    let mut changed = whole.clone();
    *changed.pointer_mut(&format!("/{}", path.join("/"))).unwrap() = value;
    changed
}

/// Whether this is a part that is said to be left out as a whole.
fn is_left_out(problems: &[backstop_manifest::Diagnostic], at: &str) -> bool {
    problems.iter().any(|problem| {
        let part = problem.path.strip_suffix(".enabled").unwrap_or(&problem.path);
        let is_whole = matches!(problem.code, "quickapps-unsupported" | "quickapps-disabled");
        let is_below = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
        // Said once for all parameters of a tool.
        if problem.message.starts_with("`display` of parameters") && at.contains(".display") {
            return true;
        }
        is_whole && !part.is_empty() && at.strip_prefix(part).is_some_and(is_below)
    })
}

#[test]
fn every_documented_field_is_read_or_named() {
    insta::assert_snapshot!(problems(EVERY_FIELD));
}

#[test]
fn a_misspelt_field_is_named() {
    let whole: Value = serde_json::from_str(EVERY_FIELD).unwrap();
    let mut fields = Vec::new();
    walk(&whole, &Vec::new(), &mut |path, _| {
        let (key, before) = path.split_last().unwrap();
        let is_free = before.last().is_some_and(|last| FREE.contains(&last.as_str()));
        if !is_free && key.parse::<usize>().is_err() {
            fields.push(path.clone());
        }
    });
    assert!(fields.len() > 180, "{}", fields.len());
    let mut silent = Vec::new();
    for path in &fields {
        let (key, before) = path.split_last().unwrap();
        let mut misspelt = whole.clone();
        let object = misspelt.pointer_mut(&before.iter().map(|key| format!("/{key}")).collect::<String>());
        let object = object.unwrap().as_object_mut().unwrap();
        let value = object.remove(key).unwrap();
        object.insert(format!("zz{key}"), value);
        let (manifest, problems) = load(&misspelt.to_string());
        // What the model's server is asked for goes there as it is.
        let is_sent =
            || manifest.is_some_and(|manifest| projection(&manifest).contains(&format!("\"zz{key}\"")));
        let parent = dotted(before);
        let at = dotted(&[before, &[format!("zz{key}")]].concat());
        let is_missed = |message: &str| message == format!("`{key}` is missing");
        let is_named = problems
            .iter()
            .any(|problem| problem.path == at || (problem.path == parent && is_missed(&problem.message)));
        if !is_named && !is_left_out(&problems, &at) && !is_sent() {
            silent.push(dotted(path));
        }
    }
    assert_eq!(silent, Vec::<String>::new());
}

#[test]
fn every_value_makes_a_difference_or_is_named() {
    let whole: Value = serde_json::from_str(EVERY_FIELD).unwrap();
    let read = |value: &Value| {
        let (manifest, problems) = load(&value.to_string());
        (manifest.as_ref().map(projection), problems)
    };
    let before = read(&whole);
    let mut silent = Vec::new();
    walk(&whole, &Vec::new(), &mut |path, value| {
        let other = match value {
            Value::Null | Value::Object(_) | Value::Array(_) => return,
            Value::Bool(flag) => json!(!flag),
            Value::Number(number) => number.as_i64().map_or(json!(0.25), |number| json!(number + 1)),
            Value::String(text) => json!(format!("{text}z")),
        };
        let at = dotted(path);
        if !is_left_out(&before.1, &at) && read(&with_value(&whole, path, other)) == before {
            silent.push(at);
        }
    });
    assert_eq!(silent, Vec::<String>::new());
}
