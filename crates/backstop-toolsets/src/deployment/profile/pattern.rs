//! Which patterns a server can read.

use super::facts::Patterns;

impl Patterns {
    pub(super) fn takes(self, pattern: &str) -> bool {
        match self {
            Self::None => false,
            Self::NoLookaround => !has_lookaround(pattern),
            Self::Grammar => fits_grammar(pattern),
        }
    }
}

/// Whether a pattern looks ahead or behind. An escaped parenthesis or one in a class does neither.
fn has_lookaround(pattern: &str) -> bool {
    let mut rest = pattern;
    let mut in_class = false;
    loop {
        let mut letters = rest.chars();
        match letters.next() {
            None => return false,
            Some('\\') => {
                letters.next();
            }
            Some('[') => in_class = true,
            Some(']') => in_class = false,
            Some('(') if !in_class => {
                let after = letters.as_str();
                if ["?=", "?!", "?<=", "?<!"].iter().any(|look| after.starts_with(look)) {
                    return true;
                }
            }
            Some(_) => {}
        }
        rest = letters.as_str();
    }
}

/// Times that a part may be repeated.
const REPEATS: u32 = 1_000;

/// Whether llama.cpp makes a grammar of the pattern that it can read itself: the whole text from `^` to `$`, plain
/// groups, and no escapes but those of punctuation. Its converter copies all others into the grammar, whose parser
/// then refuses the request.
fn fits_grammar(pattern: &str) -> bool {
    let Some(inner) = pattern.strip_prefix('^').and_then(|rest| rest.strip_suffix('$')) else {
        return false;
    };
    let mut rest = inner.chars();
    let mut open = 0_u32;
    // Whether there is something before that could be repeated.
    let mut repeatable = false;
    while let Some(letter) = rest.next() {
        repeatable = match letter {
            '\\' => {
                if !rest.next().is_some_and(|escaped| "^$.[](){}|*+?\\".contains(escaped)) {
                    return false;
                }
                true
            }
            '[' => {
                if !skip_class(&mut rest) {
                    return false;
                }
                true
            }
            '(' => {
                open += 1;
                false
            }
            ')' => {
                if open == 0 || !repeatable {
                    return false;
                }
                open -= 1;
                true
            }
            '|' => {
                if !repeatable {
                    return false;
                }
                false
            }
            '*' | '+' | '?' => {
                if !repeatable {
                    return false;
                }
                false
            }
            '{' => {
                if !repeatable || !skip_count(&mut rest) {
                    return false;
                }
                false
            }
            '^' | '$' | '"' | '\n' | '\r' | '}' | ']' => return false,
            _ => true,
        };
        // What was just repeated ends a branch as well as a letter does.
        if matches!(letter, '*' | '+' | '?' | '{')
            && matches!(rest.as_str().chars().next(), None | Some('|' | ')'))
        {
            repeatable = true;
        }
    }
    open == 0 && repeatable
}

fn skip_class(rest: &mut std::str::Chars<'_>) -> bool {
    let mut any = false;
    while let Some(letter) = rest.next() {
        match letter {
            ']' => return any,
            '\\' if !rest.next().is_some_and(|escaped| "[]\\nrt\"".contains(escaped)) => return false,
            '\n' | '\r' => return false,
            _ => {}
        }
        any = true;
    }
    false
}

/// Reads `2}`, `2,}` and `2,5}`.
fn skip_count(rest: &mut std::str::Chars<'_>) -> bool {
    let Some((count, after)) = rest.as_str().split_once('}') else { return false };
    *rest = after.chars();
    let small = |number: &str| number.parse::<u32>().is_ok_and(|number| number <= REPEATS);
    match count.split_once(',') {
        None => small(count),
        Some((from, "")) => small(from),
        Some((from, to)) => small(from) && small(to),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_looks_around_only_outside_classes_and_escapes() {
        let around = ["^(?!\\.)(?=.{3,}@)[^@]+@x$", "a(?<=b)", "a(?<!b)", "((?=a))", "[(](?=a)"];
        let not = ["(?:a)", "(?<year>[0-9]{4})", "\\(?=a", "[(?=]+", "[\\](?=]", "", "\\"];
        assert_eq!(around.map(has_lookaround), [true; 5]);
        assert_eq!(not.map(has_lookaround), [false; 7]);
    }

    #[test]
    fn a_grammar_is_made_only_of_plain_patterns() {
        let fit = [
            "^[a-z0-9_-]{1,64}$",
            "^ab+c*d?$",
            "^(red|green|blue)$",
            "^[^@]+@x$",
            "^a\\.b$",
            "^(a|b){2,}x{3}$",
            "^.$",
            "^(ab)+|c$",
        ];
        for pattern in fit {
            assert!(fits_grammar(pattern), "{pattern}");
        }
        let unfit = [
            "a",
            "^a",
            "a$",
            "^",
            "^$",
            "$^",
            "^\\d+$",
            "^[\\w-]+$",
            "^(?:a)$",
            "^(?!a)b$",
            "^a\\$",
            "^a^b$",
            "^a$b$",
            "^*a$",
            "^a+?$",
            "^a{2001}$",
            "^a{,5}$",
            "^a{x}$",
            "^(a$",
            "^a)$",
            "^[a$",
            "^[]$",
            "^\"a\"$",
            "^a\\-b$",
            "^(|a)$",
            "^a|$",
            "^()$",
        ];
        for pattern in unfit {
            assert!(!fits_grammar(pattern), "{pattern}");
        }
    }
}
