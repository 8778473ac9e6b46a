//! Texts that want to take the program down.

use std::time::{Duration, Instant};

use crate::{load, problems, with};

const WHOLE: &str = include_str!("whole.yaml");

#[test]
fn no_truncation_panics() {
    let (manifest, found) = load(WHOLE);
    assert!(manifest.is_some(), "{}", crate::shown(&found));
    for end in (0..WHOLE.len()).filter(|end| WHOLE.is_char_boundary(*end)) {
        let (manifest, problems) = load(&WHOLE[..end]);
        assert_eq!(manifest.is_none(), problems.iter().any(|problem| problem.is_error()));
        for span in problems.iter().filter_map(|problem| problem.span) {
            assert!(WHOLE[..end].get(span.start..span.end).is_some(), "{end} {span:?}");
        }
    }
}

#[test]
fn no_single_changed_byte_panics() {
    for at in (0..WHOLE.len()).filter(|at| WHOLE.is_char_boundary(*at) && WHOLE.is_char_boundary(at + 1)) {
        for with in ["{", "}", "[", ":", "\"", "\n", "$", "&", "*", "|", "-", "ä", "\t", "#", "null"] {
            // A sample: each letter at about every 16th place.
            if !(at + usize::from(with.as_bytes()[0])).is_multiple_of(16) {
                continue;
            }
            let text = format!("{}{with}{}", &WHOLE[..at], &WHOLE[at + 1..]);
            let (manifest, problems) = load(&text);
            assert_eq!(manifest.is_none(), problems.iter().any(|problem| problem.is_error()));
        }
    }
}

/// What takes longer than this is quadratic.
#[track_caller]
fn quickly(text: &str) -> String {
    let start = Instant::now();
    let shown = problems(text);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    shown
}

#[test]
fn bombs_do_not_go_off() {
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..10 {
        let alias = format!("*a{}", level - 1);
        laughs.push_str(&format!("a{level}: &a{level} [{}]\n", [alias.as_str(); 10].join(", ")));
    }
    let wide = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), "*a, ".repeat(1000));
    let inside = "a: &a [b, *a]\n".to_owned();
    let unknown = "a: *nothing\n".to_owned();
    let deep_flow = format!("a: {}", "[".repeat(100_000));
    let deep_block = (0..100).map(|level| format!("{}a:\n", " ".repeat(level))).collect::<String>();
    let mut deep_alias = format!("a0: &a0 {}x{}\n", "[".repeat(20), "]".repeat(20));
    for level in 1..5 {
        deep_alias.push_str(&format!(
            "a{level}: &a{level} {}*a{}{}\n",
            "[".repeat(20),
            level - 1,
            "]".repeat(20)
        ));
    }
    let many = format!("a: [{}]\n", "x,".repeat(200_000));
    let large = "a".repeat(1024 * 1024 + 1);
    let all = [laughs, wide, inside, unknown, deep_flow, deep_block, deep_alias, many, large];
    let shown: Vec<String> = all.iter().map(|text| quickly(text)).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn many_problems_are_cut_short_and_stay_errors() {
    let keys: String = (0..20_000).map(|key| format!("k{key}: 1\n")).collect();
    let shown = quickly(&with(&keys));
    assert_eq!(shown.lines().filter(|line| line.contains("unknown-key")).count(), 200);
    assert!(shown.ends_with("error[too-many-problems]: 19800 more problems are left out"), "{shown}");
}

#[test]
fn many_references_in_one_value_take_linear_time() {
    quickly(&with(&format!("description: '{}'\n", "${NO_A} ".repeat(100_000))));
    quickly(&with(&format!("description: \"{}\"\n", "\\x24{NO_A} ".repeat(90_000))));
    quickly(&with(&format!("description: '{}'\n", "${HOST}".repeat(120_000))));
    quickly(&with(&format!("description: '{}'\n", "${".repeat(400_000))));
    quickly(&with(&format!("{{\"a\": {}}}", "\"${HOST}\", ".repeat(50_000))));
}

#[test]
fn expansion_is_bounded() {
    let environment = backstop_manifest::MapEnvironment::new().with_var("BIG", "x".repeat(1_000_000));
    let text = with(&format!("description: '{}'\n", "${BIG}".repeat(1000)));
    let (_, problems) = backstop_manifest::Manifest::load(&text, "a", std::path::Path::new(""), &environment);
    assert_eq!(problems[0].code, "too-large");
}

#[test]
fn thousands_of_tools_that_stand_in_for_each_other_are_looked_at() {
    let tools: String = (0..1500)
        .map(|at| {
            let next = (at + 1) % 1500;
            format!("        t{at}: {{path: /a, parameters: {{id: {{type: string}}}}, fallback: [{{use_tool: {{tool: t{next}}}}}]}}\n")
        })
        .collect();
    let bare: String = (0..500).map(|at| format!("        b{at}: {{path: /b}}\n")).collect();
    let text = with(&format!(
        "toolsets:\n  s:\n    http:\n      base_url: http://h\n      endpoints:\n{tools}{bare}fallback: [{{use_tool: {{tool: t1}}}}, {{use_tool: {{tool: t2, arguments: {{id: \"{{x}}\"}}}}}}]\n"
    ));
    let shown = quickly(&text);
    let circle = "calls are served in a circle: `t0` → `t1` → `t2` → `t3` → `t4` → `t5` → … → `t0`";
    assert!(shown.contains(circle), "{}", &shown[..shown.len().min(2000)]);
    assert_eq!(shown.matches("use-tool-circle").count(), 1);
}
