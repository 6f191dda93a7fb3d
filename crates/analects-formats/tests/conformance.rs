//! Checks every case of `conformance/message-file`: a file, and what a reader must get from it. `ANALECTS_BLESS=1`
//! rewrites the expectations. Read the difference before you commit it.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

use analects_core::Json;
use analects_formats::msgfile::{self, ShowProblem};
use serde_json::{Value, json};

const AT_LEAST: usize = 80;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/message-file")
}

/// The name and the bytes of a case's input.
fn input(folder: &Path) -> (String, Vec<u8>) {
    let mut found = fs::read_dir(folder).unwrap().filter_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        name.starts_with("input.").then_some(name)
    });
    let name = found
        .next()
        .unwrap_or_else(|| panic!("{} has no input", folder.display()));
    assert_eq!(found.next(), None, "{} has two inputs", folder.display());
    let bytes = fs::read(folder.join(&name)).unwrap();
    (name, bytes)
}

/// What `show --json` gives for a file of that name.
fn shown(name: &str, bytes: &[u8]) -> Value {
    let document = msgfile::decode_named(bytes, name);
    assert_eq!(document.to_bytes(), bytes, "reading must lose no byte");
    let problems = document.problems();
    let problems = problems.iter().map(|problem| {
        let hint = problem
            .hint
            .as_ref()
            .map(|hint| hint.as_note().unwrap().to_string());
        ShowProblem::new(problem, hint)
    });
    serde_json::to_value(msgfile::show(&document, name).with_problems(problems.collect())).unwrap()
}

/// The messages of a file of that name, and what was odd about turning its cells into them.
fn messages(name: &str, bytes: &[u8]) -> Value {
    let document = msgfile::decode_named(bytes, name);
    let decoded = msgfile::messages(&document, &msgfile::session_of(name));
    let messages: Vec<Value> = decoded
        .messages
        .iter()
        .map(|message| serde_json::from_str(&message.to_json()).unwrap())
        .collect();
    let problems: Vec<Value> = decoded
        .problems
        .iter()
        .map(|problem| json!({ "code": problem.code, "line": problem.line }))
        .collect();
    json!({ "messages": messages, "problems": problems })
}

fn bless(path: &Path, value: &Value) {
    let text = serde_json::to_string_pretty(value).unwrap();
    fs::write(path, format!("{text}\n")).unwrap();
}

fn check(path: &Path, found: &Value) -> Result<(), String> {
    if std::env::var_os("ANALECTS_BLESS").is_some() {
        bless(path, found);
        return Ok(());
    }
    let text = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let expected: Value = serde_json::from_slice(&text).unwrap();
    if expected == *found {
        return Ok(());
    }
    let found = serde_json::to_string_pretty(found).unwrap();
    Err(format!(
        "{} expects something else than\n{found}",
        path.display()
    ))
}

#[test]
fn every_case_reads_as_expected() {
    let mut folders: Vec<PathBuf> = fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    folders.sort();
    assert!(
        folders.len() >= AT_LEAST,
        "there are only {} cases",
        folders.len()
    );
    let mut failures = Vec::new();
    for folder in folders {
        let (name, bytes) = input(&folder);
        failures.extend(check(&folder.join("expected.json"), &shown(&name, &bytes)).err());
        let path = folder.join("messages.json");
        if path.exists() {
            failures.extend(check(&path, &messages(&name, &bytes)).err());
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// What is odd about messages is the same whether they are made or not.
#[test]
fn problems_of_messages_are_found_without_them() {
    for entry in fs::read_dir(root()).unwrap() {
        let (name, bytes) = input(&entry.unwrap().path());
        let (document, session) = (
            msgfile::decode_named(bytes, &name),
            msgfile::session_of(&name),
        );
        let mut read = msgfile::messages(&document, &session);
        read.problems
            .extend(analects_core::chain(&read.messages).problems);
        assert_eq!(
            msgfile::message_problems(&document, &session),
            read.problems,
            "{name}"
        );
    }
}
