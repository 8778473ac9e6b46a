//! Case tables of two systems of the same kind, Symfony AI and langchain-rust, run against Backstop.
//!
//! And the real failures of other agents, C01 to C40, that calls and a strict model server can show.
//!
//! Each row is data: what is done, and all that comes of it. Where Backstop differs on purpose the row says why.
//! Rows about arguments and failures run on three surfaces, a typed function, an HTTP endpoint and a plain toolset,
//! and read the same on each unless the row gives a reason.

mod arguments;
mod cases;
mod constraints;
mod executor;
mod faults;
mod kit;
pub(crate) mod provider;
pub(crate) mod report;
mod results;
pub(crate) mod server;
mod shapes;
mod streams;
pub(crate) mod surface;
mod toolbox;
mod turns;

use std::collections::BTreeSet;

#[test]
fn no_row_is_missing() {
    let numbered = |letter: &str, last: u32| -> Vec<String> {
        (1..=last).map(|number| format!("{letter}{number}")).collect()
    };
    let named = |ids: &[&str]| -> Vec<String> { ids.iter().map(|id| (*id).to_owned()).collect() };
    let tables = [
        (arguments::rows(), numbered("R", 21)),
        (faults::rows(), numbered("F", 6)),
        (toolbox::rows(), numbered("B", 16)),
        (constraints::rows(), numbered("V", 8)),
        (results::rows(), numbered("C", 9)),
        (turns::rows(), [numbered("L", 18), vec!["L3b".into()]].concat()),
        (streams::rows(), numbered("S", 9)),
        (executor::rows(), numbered("X", 20)),
        (cases::rows(), named(&["C01", "C03", "C04", "C05", "C06", "C07", "C08", "C18", "C27", "C40"])),
        (provider::rows(), named(&["C02", "C03", "C07", "C26", "C39", "C40"])),
    ];
    for (rows, wanted) in tables {
        let there: BTreeSet<&str> = rows.iter().map(|row| row.id).collect();
        let wanted: BTreeSet<&str> = wanted.iter().map(String::as_str).collect();
        assert_eq!(there, wanted);
    }
}
