//! What a newcomer reads first.

use insta::assert_snapshot;

use crate::shell::Folder;

#[test]
fn no_command_shows_what_there_is() {
    assert_snapshot!(Folder::new().backstop(&[]).run());
}

#[test]
fn every_command_explains_itself() {
    let folder = Folder::new();
    let commands = [
        "init",
        "check",
        "migrate",
        "tools",
        "call",
        "explain",
        "run",
        "chat",
        "login",
        "logout",
        "mcp",
        "quickstart",
    ];
    let help = commands.map(|command| folder.backstop(&[command, "--help"]).run().to_string());
    assert_snapshot!(help.join("\n"));
}

#[test]
fn an_unknown_command_is_a_usage_error() {
    assert_snapshot!(Folder::new().backstop(&["chekc", "backstop.yaml"]).run());
}

#[test]
fn the_version_is_told() {
    let ended = Folder::new().backstop(&["--version"]).run();
    assert_eq!(
        (ended.code, ended.stdout),
        (Some(0), concat!("backstop ", env!("CARGO_PKG_VERSION"), "\n").into())
    );
}
