//! A text that people may see: without the credentials that stand in it.

use std::{ops::Range, rc::Rc};

use crate::{
    diagnostic::{Diagnostic, Problems, code},
    parse::parse,
    tree::{Entry, Node, Value},
};

/// Members whose values are credentials wherever they stand.
const CREDENTIALS: [&str; 4] = ["token", "password", "client_secret", "api_key"];

/// The text with every credential in it made unreadable; all places stay where they are.
///
/// `diagnostics` are those of the text. Where it is no YAML, only what they know of is hidden.
///
/// # Example
///
/// ```
/// let text = r#"{"orchestrator": {}, "auth": {"token": "tok", "of": "x"}}"#;
/// let shown = r#"{"orchestrator": {}, "auth": {"token": "***", "of": "x"}}"#;
/// assert_eq!(backstop_manifest::shown_text(text, &[]), shown);
/// ```
pub fn shown_text(text: &str, diagnostics: &[Diagnostic]) -> String {
    let mut hidden: Vec<Range<usize>> = Vec::new();
    let plain = diagnostics.iter().filter(|found| found.code == code::PLAIN_SECRET);
    hidden.extend(plain.filter_map(|found| found.span.map(|span| span.start..span.end)));
    if let Some(root) = parse(text, &Problems::default()) {
        // Aliases unfold to many more values than there are letters.
        let mut budget = text.len();
        credentials(&root, &mut hidden, &mut budget);
    }
    let mut bytes = text.as_bytes().to_vec();
    for range in hidden {
        let quoted = matches!(bytes.get(range.start), Some(b'"' | b'\''));
        let edge = usize::from(quoted);
        let inner = range.start + edge..range.end.saturating_sub(edge);
        for byte in bytes.get_mut(inner).unwrap_or_default() {
            if !matches!(byte, b'\n' | b'\r') {
                *byte = b'*';
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn credentials(node: &Rc<Node>, hidden: &mut Vec<Range<usize>>, budget: &mut usize) {
    let Some(left) = budget.checked_sub(1) else { return };
    *budget = left;
    match &node.value {
        Value::Scalar(_) => {}
        Value::List(items) => items.iter().for_each(|item| credentials(item, hidden, budget)),
        Value::Map(entries) => {
            let is_key = |entry: &Entry| {
                entry.key == "type" && entry.node.scalar().is_some_and(|scalar| scalar.text == "api_key")
            };
            let has_key = entries.iter().any(is_key);
            for entry in entries {
                let telling = CREDENTIALS.contains(&entry.key.as_str()) || has_key && entry.key == "key";
                let written = entry.node.scalar().is_some_and(|scalar| !scalar.text.contains("${"));
                if telling && written {
                    hidden.push(entry.node.span.start..entry.node.span.end);
                }
                credentials(&entry.node, hidden, budget);
            }
        }
    }
}
