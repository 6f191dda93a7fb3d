//! Libraries say what can be done, and the command says what to type: no text of a library names a verb of the command,
//! or an option.

use super::{Exceptions, File, Finding, code, except};

/// Files of libraries that may name options, and why.
pub const EXCEPTIONS: &Exceptions = &[
    (
        "crates/analects-local/src/engine.rs",
        "arguments of llama-server",
    ),
    (
        "crates/analects-local/src/keeper.rs",
        "how the program calls itself, which nobody types",
    ),
    (
        "crates/analects-local/src/packages.rs",
        "lines of a requirements file of pip",
    ),
    ("crates/analects-local/src/pull.rs", "arguments of pip"),
    (
        "crates/analects-local/src/python.rs",
        "arguments of pip, apt-get and dpkg",
    ),
];

const TABLE: &str = "xtask/src/tidy/wording.rs";
/// Where the command has a file for each verb.
const VERBS: &str = "crates/analects/src/commands/";
const COMMAND: &str = "crates/analects/";

/// Every string of a library that names a verb of the command, or an option. An exception lets options pass, and no
/// verb.
pub fn check(files: &[File], exceptions: &Exceptions) -> Vec<Finding> {
    let verbs: Vec<&str> = files.iter().filter_map(verb).collect();
    let mut found = Vec::new();
    for file in files.iter().filter(|file| is_of_library(file)) {
        for string in code::strings_outside_tests(&file.text) {
            if let Some(call) = named_verb(string.text, &verbs) {
                let finding = finding(file, string.line, &call);
                found.push((format!("{}: {call}", file.path), finding));
            } else if let Some(option) = named_option(string.text) {
                let finding = finding(file, string.line, &option);
                found.push((file.path.clone(), finding));
            }
        }
    }
    except(found, exceptions, TABLE)
}

fn finding(file: &File, line: usize, named: &str) -> Finding {
    let message = format!("a library names `{named}`");
    let hint = format!(
        "give a hint that crates/analects/src/hints.rs puts into words; for an option of another program, say so in {TABLE}"
    );
    Finding::failure(&file.path, line, message, &hint)
}

/// The verb that a file of the command is about.
fn verb(file: &File) -> Option<&str> {
    let name = file.path.strip_prefix(VERBS)?.strip_suffix(".rs")?;
    if name.contains('/') { None } else { Some(name) }
}

/// Whether a file is shipped source of a library.
fn is_of_library(file: &File) -> bool {
    let parts: Vec<&str> = file.path.split('/').collect();
    let is_source = parts.first() == Some(&"crates") && parts.get(2) == Some(&"src");
    let is_test = parts.contains(&"tests") || file.name() == "tests.rs";
    is_source && file.is_rust() && !is_test && !file.path.starts_with(COMMAND)
}

/// The first call of a verb in a text, such as `analects show`.
fn named_verb(text: &str, verbs: &[&str]) -> Option<String> {
    let mut words = text
        .split(|c: char| !is_of_name(c))
        .filter(|word| !word.is_empty())
        .peekable();
    while let Some(word) = words.next() {
        if word != "analects" {
            continue;
        }
        if let Some(verb) = words.peek().filter(|next| verbs.contains(next)) {
            return Some(format!("analects {verb}"));
        }
    }
    None
}

/// The first option in a text, such as `--full`.
fn named_option(text: &str) -> Option<String> {
    let mut words = text.split(|c: char| !is_of_name(c));
    let word = words.find(|word| is_option(word))?;
    Some(word.to_string())
}

fn is_option(word: &str) -> bool {
    word.strip_prefix("--")
        .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
}

fn is_of_name(c: char) -> bool {
    code::is_word(c) || c == '-'
}
