//! Names that are fit here, made of names that need not be.

use std::collections::HashSet;

/// Letters of a name that every model provider takes.
pub(super) const LONGEST: usize = 64;

/// The name in the letters that tools may have; what does not fit becomes `_`.
pub(super) fn tool_letters(name: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    name.chars().map(fit).collect()
}

/// The name in the letters that agents and toolsets may have.
pub(super) fn agent_letters(name: &str, usual: &str) -> String {
    let mut out = String::new();
    for c in name.trim().to_lowercase().chars() {
        let fit = c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
        let c = if fit { c } else { '-' };
        if !(c == '-' && (out.is_empty() || out.ends_with('-'))) && !(out.is_empty() && c == '_') {
            out.push(c);
        }
    }
    out.truncate(LONGEST);
    let out = out.trim_end_matches('-');
    if out.is_empty() { usual.to_owned() } else { out.to_owned() }
}

/// The name in the letters that variables may have.
pub(super) fn variable_letters(name: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = name.chars().map(fit).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// The name, or the name with the first number behind it that makes it the only one; takes it.
pub(super) fn unique(name: String, separator: &str, taken: &mut HashSet<String>) -> String {
    let mut found = name.clone();
    let mut number = 2;
    while taken.contains(&found) {
        let end = format!("{separator}{number}");
        let stem: String = name.chars().take(LONGEST - end.len()).collect();
        found = stem + &end;
        number += 1;
    }
    taken.insert(found.clone());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_fit() {
        assert_eq!(tool_letters("Get order/1.0 ä"), "Get_order_1_0__");
        assert_eq!(agent_letters(" My  Shop (EU)! ", "x"), "my-shop-eu");
        assert_eq!(agent_letters("Магазин", "toolset"), "toolset");
        assert_eq!(variable_letters("2nd-shop.key"), "_2ND_SHOP_KEY");
    }

    #[test]
    fn the_second_one_has_a_number() {
        let mut taken = HashSet::new();
        let long = "a".repeat(LONGEST);
        let names = [long.clone(), long.clone(), long].map(|name| unique(name, "_", &mut taken));
        assert_eq!(names[1], format!("{}_2", "a".repeat(62)));
        assert_eq!(names[2], format!("{}_3", "a".repeat(62)));
    }
}
