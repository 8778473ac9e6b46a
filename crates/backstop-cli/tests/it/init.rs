//! `backstop init`: the first minute with the project.

use backstop_test::server::dead_url;
use insta::assert_snapshot;

use crate::shell::Folder;

#[test]
fn the_starter_checks_and_runs_without_any_key() {
    let folder = Folder::new();
    let nobody = dead_url();
    let steps: [&[&str]; 4] = [
        &["init"],
        &["check", "--strict", "backstop.yaml"],
        &["tools", "backstop.yaml"],
        &["run", "backstop.yaml", "Where is order A-1001?"],
    ];
    let steps = steps.map(|step| folder.backstop(step).env("SHOP_URL", &nobody).run().to_string());
    assert_snapshot!(steps.join("\n"));
}

#[test]
fn the_starter_reads_an_order_of_the_shop() {
    let folder = Folder::new();
    let mut shop = folder.backstop(&["quickstart", "--serve", "127.0.0.1:0"]).start();
    let line = shop.says("the shop is at ");
    let url = line.trim_start_matches("the shop is at ").trim_end_matches(", until Ctrl-C");
    assert_eq!(folder.backstop(&["init", "mine"]).run().code, Some(0));
    let ended = folder.backstop(&["run", "mine/backstop.yaml", "Where is order A-1001?"]);
    assert_snapshot!(ended.env("SHOP_URL", url).run());
    shop.interrupt();
    assert_eq!(shop.wait().code, Some(0));
}

#[test]
fn the_folder_is_made() {
    let folder = Folder::new();
    assert_snapshot!(folder.backstop(&["init", "agents/first"]).run());
    assert!(folder.read("agents/first/backstop.yaml").contains("script: script.yaml"));
    assert!(folder.read("agents/first/script.yaml").contains("tool: get_order"));
}

#[test]
fn nothing_that_is_there_is_touched() {
    let folder = Folder::new();
    assert_eq!(folder.backstop(&["init"]).run().code, Some(0));
    let folder = folder.with("backstop.yaml", "mine");
    assert_snapshot!(folder.backstop(&["init"]).run());
    assert_eq!(folder.read("backstop.yaml"), "mine");
}

#[test]
fn nothing_is_half_done() {
    let folder = Folder::new().with("script.yaml", "mine");
    assert_snapshot!(folder.backstop(&["init"]).run());
    assert!(!folder.path("backstop.yaml").exists());
    assert_eq!(folder.read("script.yaml"), "mine");
}

#[test]
fn a_folder_that_can_not_be_made_is_named() {
    let folder = Folder::new().with("file", "");
    assert_snapshot!(folder.backstop(&["init", "file/below"]).run());
}

#[test]
fn a_file_is_no_folder() {
    let folder = Folder::new().with("file", "");
    assert_snapshot!(folder.backstop(&["init", "file"]).run());
}
