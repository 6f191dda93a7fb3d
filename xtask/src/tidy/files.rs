//! Rules of single files: their first line, their name, and the length of the map of the house.

use super::{File, Finding};

const MAP: &str = "ARCHITECTURE.md";
const MAP_LINES: usize = 300;

/// Every finding about single files.
pub fn check(files: &[File]) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        found.extend(first_line(file));
        found.extend(mod_rs(file));
    }
    found.extend(map(files));
    found
}

fn first_line(file: &File) -> Option<Finding> {
    let first = file.text.lines().next().unwrap_or("");
    let says = first
        .strip_prefix("//!")
        .is_some_and(|text| !text.trim().is_empty());
    let hint = "say what the file is, and what it is not, in one to five lines";
    (!says).then(|| {
        Finding::failure(
            &file.path,
            1,
            "the first line does not start with `//!`",
            hint,
        )
    })
}

fn mod_rs(file: &File) -> Option<Finding> {
    let hint = "name the file as its folder: foo.rs beside foo/";
    (file.name() == "mod.rs")
        .then(|| Finding::failure(&file.path, 1, "a file is called mod.rs", hint))
}

fn map(files: &[File]) -> Option<Finding> {
    let Some(map) = files.iter().find(|file| file.path == MAP) else {
        return Some(Finding::failure(
            MAP,
            1,
            "the map of the house is missing",
            "write it",
        ));
    };
    let lines = map.text.lines().count();
    let message = format!("{lines} lines; expected at most {MAP_LINES}");
    let hint = "move details to the crate that they are about";
    (lines > MAP_LINES).then(|| Finding::failure(MAP, lines, message, hint))
}
