//! What a writer may have meant.

use backstop_core::text;

/// Names listed in a hint.
const LIST_CAP: usize = 20;

/// What a reader may have meant, or what there is.
pub(crate) fn suggest(word: &str, known: &[&str]) -> Option<String> {
    let quoted = |names: &[&str]| match names {
        [] => String::new(),
        [one] => format!("`{one}`"),
        [first @ .., one] => {
            let first: Vec<String> = first.iter().map(|name| format!("`{name}`")).collect();
            format!("{} or `{one}`", first.join(", "))
        }
    };
    let near = text::nearest(word, known.iter().copied());
    if !near.is_empty() {
        return Some(format!("did you mean {}?", quoted(&near)));
    }
    match known.get(..known.len().min(LIST_CAP)).unwrap_or_default() {
        [] => None,
        [one] => Some(format!("use `{one}`")),
        listed => Some(format!("use one of {}", quoted(listed))),
    }
}
