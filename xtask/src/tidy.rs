//! `cargo xtask tidy`: the tree's own rules. Each check is a function from files to findings, so
//! that tests can feed it; only this file and `tree` look at the disk.

use std::fmt;
use std::path::Path;

mod code;
pub mod docs;
pub mod files;
pub mod licences;
pub mod modules;
pub mod paths;
pub mod purity;
pub mod report;
pub mod sizes;
#[cfg(test)]
mod tests;
mod tree;
pub mod wording;

pub use tree::{File, cargo_tree, read};

/// Whether a finding stops the build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Worth a second look.
    Note,
    /// Against a rule.
    Failure,
}

/// Something that a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// The file, from the top of the tree.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what was expected.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl Finding {
    /// A finding against a rule.
    pub fn failure(path: &str, line: usize, message: impl Into<String>, hint: &str) -> Finding {
        let (path, hint) = (path.to_string(), hint.to_string());
        Finding {
            level: Level::Failure,
            path,
            line,
            message: message.into(),
            hint,
        }
    }

    /// A finding that is only worth a look.
    pub fn note(path: &str, line: usize, message: impl Into<String>, hint: &str) -> Finding {
        Finding {
            level: Level::Note,
            ..Finding::failure(path, line, message, hint)
        }
    }

    /// Whether it stops the build.
    pub fn is_failure(&self) -> bool {
        self.level == Level::Failure
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding {
            path,
            line,
            message,
            hint,
            ..
        } = self;
        let word = if self.is_failure() { "" } else { "note: " };
        write!(f, "{path}:{line}: {word}{message}\nhint: {hint}")
    }
}

/// What a check leaves out, and why: `(key, reason)`, the key being a path or what the check says.
pub type Exceptions = [(&'static str, &'static str)];

/// Takes the excepted out of `findings`, given with their keys. An exception that nothing needs any
/// more is a failure, so that the tables only shrink by themselves.
pub fn except(
    findings: Vec<(String, Finding)>,
    exceptions: &Exceptions,
    table: &str,
) -> Vec<Finding> {
    let excepted = |key: &str| exceptions.iter().any(|(name, _)| *name == key);
    let mut left: Vec<Finding> = Vec::new();
    for (name, _) in exceptions {
        if !findings
            .iter()
            .any(|(key, finding)| key == name && finding.is_failure())
        {
            let message = format!("the exception \"{name}\" is not needed any more");
            left.push(Finding::failure(
                table,
                1,
                message,
                "take it out of the table EXCEPTIONS",
            ));
        }
    }
    let kept = findings
        .into_iter()
        .filter(|(key, finding)| !finding.is_failure() || !excepted(key));
    left.extend(kept.map(|(_, finding)| finding));
    left
}

/// Runs every check on the tree below `root`.
pub fn findings(root: &Path) -> Result<Vec<Finding>, String> {
    let files = read(root)?;
    let mut found = files::check(&files);
    found.extend(sizes::check(&files, sizes::EXCEPTIONS));
    found.extend(modules::check(&files));
    found.extend(docs::check(&files));
    found.extend(paths::check(&files, paths::EXCEPTIONS));
    found.extend(wording::check(&files, wording::EXCEPTIONS));
    found.extend(purity::check_deny_lines(&files));
    found.extend(purity::check_edges(&cargo_tree(
        root,
        &purity::edges_args(),
    )?));
    found.extend(purity::check_below(&cargo_tree(
        root,
        &purity::below_args(),
    )?));
    found.extend(licences::check_crates(
        &files,
        &cargo_tree(root, &licences::args())?,
    ));
    found.extend(licences::check_sources(&files));
    Ok(found)
}

/// Prints the numbers of the tree.
pub fn report(root: &Path) -> bool {
    match read(root) {
        Ok(files) => {
            print!("{}", report::report(&files));
            true
        }
        Err(error) => {
            eprintln!("error: {error}");
            false
        }
    }
}

/// Prints what was found; false if any of it is a failure.
pub fn run(root: &Path) -> bool {
    let found = match findings(root) {
        Ok(found) => found,
        Err(error) => {
            eprintln!("error: {error}");
            return false;
        }
    };
    for finding in &found {
        println!("{finding}");
    }
    let failures = found.iter().filter(|finding| finding.is_failure()).count();
    println!(
        "tidy: {failures} failures, {} notes",
        found.len() - failures
    );
    failures == 0
}
