//! No path of somebody's own machine in the tree: it means nothing to anyone else.

use super::{Exceptions, File, Finding, except};

/// Files that may name such a path, and why.
pub const EXCEPTIONS: &Exceptions = &[];

const TABLE: &str = "xtask/src/tidy/paths.rs";
/// In two parts, so that this file does not name them itself.
const HOMES: &[(&str, &str)] = &[
    ("/wo", "rk/"),
    ("/ro", "ot/"),
    ("/ho", "me/"),
    ("/Us", "ers/"),
];

/// Every line that names a path of a machine.
pub fn check(files: &[File], exceptions: &Exceptions) -> Vec<Finding> {
    let homes: Vec<String> = HOMES
        .iter()
        .map(|(start, end)| format!("{start}{end}"))
        .collect();
    let mut found = Vec::new();
    for file in files {
        for (at, line) in file.text.lines().enumerate() {
            if let Some(home) = homes.iter().find(|home| names(line, home)) {
                let message = format!("names a path of one machine, below {home}");
                let hint = format!("write it relative, or give the reason in {TABLE}");
                let finding = Finding::failure(&file.path, at + 1, message, &hint);
                found.push((file.path.clone(), finding));
            }
        }
    }
    except(found, exceptions, TABLE)
}

/// Whether an absolute path begins with `home` in `line`: not after a name, as in `~/x` or `a/x`,
/// and with a name behind it.
fn names(line: &str, home: &str) -> bool {
    line.match_indices(home).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + home.len()..].chars().next();
        let continues = |c: char| c.is_alphanumeric() || "._-~})>*".contains(c);
        !before.is_some_and(continues) && after.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}
