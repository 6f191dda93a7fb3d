//! No forgotten file: Rust never compiles a source file that no `mod` names, and a corpus that no
//! fuzz target reads tests nothing.

use std::collections::BTreeSet;

use super::{File, Finding, code};

/// Every source file that is not part of a crate, and every corpus without its target.
pub fn check(files: &[File]) -> Vec<Finding> {
    let declared: BTreeSet<String> = files
        .iter()
        .filter(|file| file.is_rust())
        .flat_map(declared_by)
        .collect();
    let forgotten = |file: &&File| {
        file.is_rust() && place(&file.path) == Place::Module && !declared.contains(&file.path)
    };
    let mut found: Vec<Finding> = files
        .iter()
        .filter(forgotten)
        .map(|file| {
            let message = "no `mod` declaration reaches this file, so it is never compiled";
            let hint = "declare it in the file of its folder, or delete it";
            Finding::failure(&file.path, 1, message, hint)
        })
        .collect();
    found.extend(corpora(files));
    found
}

#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// Cargo finds it by its place: the root of a library, program, test or bench.
    Root,
    /// Only a `mod` can reach it.
    Module,
    /// Not of a crate.
    Outside,
}

fn place(path: &str) -> Place {
    let parts: Vec<&str> = path.split('/').collect();
    let is_top = |part: &&str| ["src", "tests", "benches", "examples"].contains(part);
    let Some(top) = parts.iter().position(is_top) else {
        return Place::Outside;
    };
    match (parts[top], &parts[top + 1..]) {
        ("src", ["lib.rs" | "main.rs"] | ["bin", _] | ["bin", _, "main.rs"]) => Place::Root,
        ("src", _) => Place::Module,
        (_, [_] | [_, "main.rs"]) => Place::Root,
        _ => Place::Module,
    }
}

/// The files that a file's `mod name;` lines name.
fn declared_by(file: &File) -> Vec<String> {
    let (dir, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    // A root keeps its modules beside it, any other file in the folder of its name.
    let base = match place(&file.path) {
        Place::Module => format!("{dir}/{}", name.trim_end_matches(".rs")),
        _ => dir.to_string(),
    };
    let paths = mod_paths(&code::blank(&file.text)).into_iter();
    paths.map(|path| format!("{base}/{path}.rs")).collect()
}

/// `a` for `mod a;`, and `a/b` for `mod a { mod b; }`, in blanked text.
fn mod_paths(blanked: &str) -> Vec<String> {
    let tokens = code::tokens(blanked);
    let mut found = Vec::new();
    // One entry for each open brace: the module's name, or nothing for another block.
    let mut open: Vec<Option<&str>> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let module = match tokens[..at] {
            [.., "mod", name] => Some(name),
            _ => None,
        };
        match *token {
            ";" => found.extend(module.map(|name| join(&open, name))),
            "{" => open.push(module),
            "}" => drop(open.pop()),
            _ => {}
        }
    }
    found
}

fn join(open: &[Option<&str>], name: &str) -> String {
    let outer = open.iter().flatten().copied();
    outer.chain([name]).collect::<Vec<_>>().join("/")
}

/// A fuzz target has its name in a file of `fuzz/src`, and its corpus in `fuzz/corpus/<name>/`.
fn corpora(files: &[File]) -> Vec<Finding> {
    let corpus = |file: &File| {
        let (target, _) = file.path.strip_prefix("fuzz/corpus/")?.split_once('/')?;
        Some(target.to_string())
    };
    let targets: BTreeSet<String> = files.iter().filter_map(corpus).collect();
    let is_there = |target: &String| {
        let name = format!("name: \"{target}\"");
        files
            .iter()
            .any(|file| file.path.starts_with("fuzz/src/") && file.text.contains(&name))
    };
    let missing = targets.into_iter().filter(|target| !is_there(target));
    let finding = |target| {
        let message = format!("no fuzz target is called {target}, so nothing reads this corpus");
        let hint = "name the folder as the target's file in fuzz/src, or delete it";
        Finding::failure(&format!("fuzz/corpus/{target}"), 1, message, hint)
    };
    missing.map(finding).collect()
}
