//! The licences, names and sources of the crates below this workspace, against deny.toml. Reads what `cargo tree`
//! prints and Cargo.lock. `cargo deny`, which `cargo xtask torture` runs, also reads the texts of the licences.

use super::{File, Finding};

const RULES: &str = "deny.toml";
const LOCK: &str = "Cargo.lock";

/// The systems that deny.toml lists, as options of `cargo tree`.
const TARGETS: [&str; 5] = [
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
];

/// The arguments with which `cargo tree` prints each crate and its licence.
pub fn args() -> Vec<&'static str> {
    let mut args = vec![
        "--workspace",
        "--all-features",
        "--prefix",
        "none",
        "--edges",
        "normal,build,dev",
        "--format",
        "{p}|{l}",
    ];
    for target in TARGETS {
        args.extend(["--target", target]);
    }
    args
}

/// Every crate with a licence that deny.toml does not allow, or with a name that it bans.
pub fn check_crates(files: &[File], cargo_tree: &str) -> Vec<Finding> {
    let Some(rules) = files.iter().find(|file| file.path == RULES) else {
        return vec![Finding::failure(RULES, 1, "it is missing", "restore it")];
    };
    let allowed = allowed_licences(&rules.text);
    let banned = banned_crates(&rules.text);
    let mut crates: Vec<&str> = cargo_tree.lines().map(without_mark).collect();
    crates.sort_unstable();
    crates.dedup();

    let mut found = Vec::new();
    for line in crates.into_iter().filter(|line| !line.is_empty()) {
        let (package, licence) = line.split_once('|').unwrap_or((line, ""));
        let name = package.split(' ').next().unwrap_or(package);
        if !is_allowed(licence, &allowed) {
            let message = format!("{name} has the licence \"{licence}\", which is not allowed");
            let hint = "use another crate, or allow the licence with its reason";
            found.push(Finding::failure(RULES, 1, message, hint));
        }
        if banned.contains(&name) {
            let message = format!("{name} is banned, and something depends on it");
            let hint =
                "the entry in deny.toml says what to use; `cargo tree -i` says what needs it";
            found.push(Finding::failure(RULES, 1, message, hint));
        }
    }
    found
}

/// Every crate in Cargo.lock that comes from elsewhere than the first one: all come from one registry.
pub fn check_sources(files: &[File]) -> Vec<Finding> {
    let Some(lock) = files.iter().find(|file| file.path == LOCK) else {
        return vec![Finding::failure(LOCK, 1, "it is missing", "commit it")];
    };
    let mut registry = None;
    let mut found = Vec::new();
    for (at, line) in lock.text.lines().enumerate() {
        let Some(source) = line.strip_prefix("source = ") else {
            continue;
        };
        let expected = *registry.get_or_insert(source);
        if source != expected || !source.starts_with("\"registry+") {
            let message = format!("a crate comes from {source}");
            let hint = "use a crate from the registry that the others come from";
            found.push(Finding::failure(LOCK, at + 1, message, hint));
        }
    }
    found
}

/// A line of `cargo tree` without the mark of crates whose dependencies are not printed again.
fn without_mark(line: &str) -> &str {
    line.strip_suffix(" (*)").unwrap_or(line)
}

/// The strings of the list `allow` in the section `[licenses]`.
fn allowed_licences(rules: &str) -> Vec<&str> {
    let section = rules.split_once("[licenses]").map_or("", |(_, rest)| rest);
    let list = section
        .split_once("\nallow = [")
        .map_or("", |(_, rest)| rest);
    let lines = list.lines().take_while(|line| !line.starts_with(']'));
    lines.filter_map(first_string).collect()
}

/// The crates of the list `deny` in the section `[bans]`.
fn banned_crates(rules: &str) -> Vec<&str> {
    let entries = rules.split("{ crate = ").skip(1);
    entries.filter_map(first_string).collect()
}

/// What stands between the first two quotes, unless the line is a comment.
fn first_string(text: &str) -> Option<&str> {
    if text.trim_start().starts_with('#') {
        return None;
    }
    text.split('"').nth(1)
}

/// Whether a licence expression can be kept with the licences that are allowed. An expression that cannot be read is
/// not allowed.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Expression {
        words: &words,
        allowed,
    };
    let is_kept = reader.any();
    is_kept == Some(true) && reader.words.is_empty()
}

/// A licence expression, read from left to right. `AND` binds tighter than `OR`.
struct Expression<'a> {
    words: &'a [&'a str],
    allowed: &'a [&'a str],
}

impl Expression<'_> {
    /// Alternatives between `OR`.
    fn any(&mut self) -> Option<bool> {
        let mut is_kept = self.all()?;
        while self.take("OR") {
            is_kept |= self.all()?;
        }
        Some(is_kept)
    }

    /// Conditions between `AND`.
    fn all(&mut self) -> Option<bool> {
        let mut is_kept = self.one()?;
        while self.take("AND") {
            is_kept &= self.one()?;
        }
        Some(is_kept)
    }

    /// A licence, or an expression in parentheses. A licence with an exception is one of its own.
    fn one(&mut self) -> Option<bool> {
        let (word, rest) = self.words.split_first()?;
        self.words = rest;
        if *word == "(" {
            let is_kept = self.any()?;
            return self.take(")").then_some(is_kept);
        }
        if self.take("WITH") {
            let (exception, rest) = self.words.split_first()?;
            self.words = rest;
            let licence = format!("{word} WITH {exception}");
            return Some(self.allowed.contains(&licence.as_str()));
        }
        Some(self.allowed.contains(word))
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.first() == Some(&word);
        if is_next {
            self.words = &self.words[1..];
        }
        is_next
    }
}
