//! The rules of the tree hold for this tree.

use xtask::tidy::{Finding, findings};

#[test]
fn this_tree_is_tidy() {
    let found = findings(&xtask::root()).unwrap_or_else(|error| panic!("{error}"));
    let failures: Vec<String> = found
        .iter()
        .filter(|finding| finding.is_failure())
        .map(Finding::to_string)
        .collect();
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
}
