//! Tripwires for files and functions that grow: a note first, a failure later.

use super::{Exceptions, File, Finding, code, except};

/// What may be longer, as `path` or `path::function`, and why.
pub const EXCEPTIONS: &Exceptions = &[];

const TABLE: &str = "xtask/src/tidy/sizes.rs";
const FILE: Limits = Limits {
    note: 500,
    failure: 800,
};
const FUNCTION: Limits = Limits {
    note: 40,
    failure: 80,
};

struct Limits {
    note: usize,
    failure: usize,
}

impl Limits {
    fn finding(&self, path: &str, line: usize, lines: usize, what: &str) -> Option<Finding> {
        let Limits { note, failure } = self;
        if lines > *failure {
            let message = format!("{what} has {lines} lines; expected at most {failure}");
            let hint = format!("split it, or give the reason in {TABLE}");
            return Some(Finding::failure(path, line, message, &hint));
        }
        let message = format!("{what} has {lines} lines; past {note}, look twice");
        let hint = "has it one reason to change?";
        (lines > *note).then(|| Finding::note(path, line, message, hint))
    }
}

/// Every Rust file and function that is too long.
pub fn check(files: &[File], exceptions: &Exceptions) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let lines = file.text.lines().count();
        let finding = FILE.finding(&file.path, 1, lines, "the file");
        found.extend(finding.map(|finding| (file.path.clone(), finding)));
        for function in code::functions(&code::blank(&file.text)) {
            let what = format!("the function {}", function.name);
            let finding = FUNCTION.finding(&file.path, function.line, function.lines, &what);
            let key = format!("{}::{}", file.path, function.name);
            found.extend(finding.map(|finding| (key, finding)));
        }
    }
    except(found, exceptions, TABLE)
}
