//! `backstop check`: what is wrong, where, and whether it matters.

use insta::assert_snapshot;

use crate::shell::Folder;

const FINE: &str = "version: 1\nname: a\nmodel: { provider: scripted, script: script.yaml }\n";
const SCRIPT: &str = "- text: Hello.\n";
const WARNED: &str = "version: 1
name: a
model: { provider: scripted, script: script.yaml, temperature: 0.5 }
";
const BROKEN: &str = "version: 1
name: a
model: { nmae: gpt, base_url: 'http://h/v1', api_key: '${secret:NOWHERE}' }
limits: { turns: many }
toolsets:
  shop:
    http:
      base_url: ${SHOP}
      endpoints:
        get_order: { path: '/orders/{order}', parameters: { order_id: {} } }
";

fn folder() -> Folder {
    Folder::new()
        .with("fine.yaml", FINE)
        .with("script.yaml", SCRIPT)
        .with("warned.yaml", WARNED)
        .with("broken.yaml", BROKEN)
}

#[test]
fn a_good_manifest_is_fine() {
    assert_snapshot!(folder().backstop(&["check", "fine.yaml"]).run());
}

#[test]
fn every_error_is_shown_with_its_line() {
    assert_snapshot!(folder().backstop(&["check", "broken.yaml"]).run());
}

#[test]
fn errors_are_data_with_json() {
    assert_snapshot!(folder().backstop(&["check", "broken.yaml", "fine.yaml", "--json"]).run());
}

#[test]
fn a_warning_is_no_failure() {
    assert_snapshot!(folder().backstop(&["check", "warned.yaml"]).run());
}

#[test]
fn a_warning_is_a_failure_where_it_is_strict() {
    let ended = folder().backstop(&["check", "warned.yaml", "--strict", "--json"]).run();
    assert_snapshot!(ended);
}

#[test]
fn a_broken_file_hides_nothing_of_the_next() {
    assert_snapshot!(folder().backstop(&["check", "broken.yaml", "missing.yaml", "fine.yaml"]).run());
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let folder = Folder::new();
    let ended = [["check", "missing.yaml"], ["tools", "missing.yaml"]];
    let ended = ended.map(|arguments| folder.backstop(&arguments).run().to_string());
    let json = folder.backstop(&["check", "missing.yaml", "--json"]).run();
    assert_snapshot!(format!("{}\n{json}", ended.join("\n")));
}

#[test]
fn a_folder_is_no_manifest() {
    assert_snapshot!(Folder::new().backstop(&["check", "."]).run());
}

#[test]
fn a_file_that_is_not_utf_8_is_named() {
    let folder = Folder::new().with("latin.yaml", b"version: 1\nname: caf\xe9\n");
    assert_snapshot!(folder.backstop(&["check", "latin.yaml"]).run());
}

#[test]
fn a_script_that_is_not_there_is_an_error() {
    let folder = Folder::new().with("fine.yaml", FINE);
    let text = folder.backstop(&["check", "fine.yaml"]).run();
    let json = folder.backstop(&["check", "fine.yaml", "--json"]).run();
    assert_snapshot!(format!("{text}\n{json}"));
}

#[test]
fn a_mistake_in_the_script_is_located() {
    let folder = Folder::new().with("fine.yaml", FINE).with("script.yaml", "- text: a\n- txt: b\n");
    assert_snapshot!(folder.backstop(&["check", "fine.yaml"]).run());
}

#[test]
fn a_schema_that_can_not_be_used_is_an_error() {
    let manifest = format!(
        "{FINE}toolsets:\n  shop:\n    http:\n      base_url: http://h\n      endpoints:\n        get: {{ path: /a, parameters: {{ id: {{ schema: {{ $ref: 'http://h/s' }} }} }} }}\n"
    );
    let folder = Folder::new().with("odd.yaml", manifest).with("script.yaml", SCRIPT);
    let text = folder.backstop(&["check", "odd.yaml"]).run();
    let json = folder.backstop(&["check", "odd.yaml", "--json", "--strict"]).run();
    assert_snapshot!(format!("{text}\n{json}"));
}

#[test]
fn colours_are_for_those_who_ask() {
    let folder = folder();
    let forced = folder.backstop(&["check", "warned.yaml"]).env("CLICOLOR_FORCE", "1").run();
    assert!(forced.stderr.contains("\x1b["), "{forced}");
    let refused = folder.backstop(&["check", "warned.yaml"]).env("NO_COLOR", "1").run();
    assert!(!refused.stderr.contains('\x1b'), "{refused}");
}

#[test]
fn the_manifests_that_come_with_the_program_give_no_cause_for_a_warning() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    for manifest in
        ["examples/quickstart/backstop.yaml", "crates/backstop-cli/src/commands/init/backstop.yaml"]
    {
        let ended = folder().backstop(&["check", &format!("{root}/{manifest}"), "--strict"]).run();
        assert_eq!(ended.code, Some(0), "{ended}");
    }
}

#[test]
fn a_strategy_that_never_gets_its_turn_is_shown_with_its_line() {
    let manifest = format!(
        "{FINE}fallback:\n  - {{ when: {{ class: transient }}, continue: {{}} }}\n  \
         - {{ when: {{ kind: timeout }}, stop: {{ message: Too slow. }} }}\n"
    );
    assert_snapshot!(folder().with("shadowed.yaml", manifest).backstop(&["check", "shadowed.yaml"]).run());
}
