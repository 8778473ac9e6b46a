//! Names that are fit here, made of names that need not be.

use std::collections::HashMap;

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

/// Names that are given, each with the number that the next one of the same letters gets.
#[derive(Default)]
pub(super) struct Taken(HashMap<String, u32>);

impl Taken {
    pub(super) fn of(names: impl IntoIterator<Item = String>) -> Self {
        Self(names.into_iter().map(|name| (name, 2)).collect())
    }

    /// The name, or the name with the first number behind it that makes it the only one; takes it.
    pub(super) fn unique(&mut self, name: String, separator: &str) -> String {
        let mut found = name.clone();
        while self.0.contains_key(&found) {
            let number = self.0.entry(name.clone()).or_insert(2);
            let end = format!("{separator}{number}");
            *number += 1;
            let stem: String = name.chars().take(LONGEST - end.len()).collect();
            found = stem + &end;
        }
        self.0.insert(found.clone(), 2);
        found
    }
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
        let mut taken = Taken::default();
        let long = "a".repeat(LONGEST);
        let names = [long.clone(), long.clone(), long].map(|name| taken.unique(name, "_"));
        assert_eq!(names[1], format!("{}_2", "a".repeat(62)));
        assert_eq!(names[2], format!("{}_3", "a".repeat(62)));
    }
}
