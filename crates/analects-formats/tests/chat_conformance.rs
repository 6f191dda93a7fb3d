//! Checks every case of `conformance/chat-markdown`: a file, and what a reader must get from it. `ANALECTS_BLESS=1`
//! rewrites the expectations. Read the difference before you commit it.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

use analects_core::{Json, Problem};
use analects_formats::chatmd::{self, ChatItem, ChatSessionInfo, Dialect};
use serde_json::{Value, json};

const AT_LEAST: usize = 40;

fn cases() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/chat-markdown");
    let mut folders: Vec<PathBuf> = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    folders.sort();
    folders
}

fn session(session: &ChatSessionInfo) -> Value {
    json!({
        "id": session.id, "title": session.title, "tags": session.tags, "preamble": session.preamble,
        "timestamp": session.timestamp.map(|time| time.to_string()),
        "updated": session.updated.map(|time| time.to_string()),
        "extra": serde_json::from_str::<Value>(session.extra.to_raw().as_str()).unwrap(),
    })
}

fn item(item: ChatItem<'_>, line: usize) -> Value {
    json!({
        "name": item.name(), "attributes": item.attributes(), "text": item.text(), "line": line,
        "note_attributes": item.note_attributes(),
    })
}

fn read(bytes: &[u8]) -> Value {
    let document = chatmd::decode(bytes);
    assert_eq!(document.to_bytes(), bytes, "reading must lose no byte");
    let lines = document.lines();
    let line = |one: ChatItem<'_>| lines.position(one.tag().start).0;
    let items: Vec<Value> = document.items().map(|one| item(one, line(one))).collect();
    let messages = chatmd::messages(&document, &"case".into()).messages;
    let messages: Vec<Value> = messages
        .iter()
        .map(|message| serde_json::from_str(&message.to_json()).unwrap())
        .collect();
    let problem = |problem: &Problem| json!({ "code": problem.code, "line": problem.line });
    let problems: Vec<Value> = document.problems().iter().map(problem).collect();
    let session = session(&document.session());
    json!({ "session": session, "items": items, "messages": messages, "problems": problems })
}

#[test]
fn every_case_of_chat_markdown_reads_as_expected() {
    let folders = cases();
    assert!(
        folders.len() >= AT_LEAST,
        "there are only {} cases",
        folders.len()
    );
    let mut failures = Vec::new();
    for folder in folders {
        let (input, path) = (folder.join("input.md"), folder.join("expected.json"));
        let found = read(&fs::read(input).unwrap());
        let text = serde_json::to_string_pretty(&found).unwrap() + "\n";
        if std::env::var_os("ANALECTS_BLESS").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let expected: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        if expected != found {
            failures.push(format!(
                "{} expects something else than\n{text}",
                path.display()
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// What a case says can be written anew, and says the same.
#[test]
fn every_case_of_chat_markdown_can_be_written() {
    for folder in cases() {
        let bytes = fs::read(folder.join("input.md")).unwrap();
        let document = chatmd::decode(bytes);
        let (session, read) = (
            document.session(),
            chatmd::messages(&document, &"case".into()),
        );
        let (text, losses) = chatmd::encode(&read.messages, &session, Dialect::Ours);
        assert_eq!(losses, [], "{}", folder.display());
        let again = chatmd::messages(&chatmd::decode(text), &"case".into()).messages;
        assert_eq!(again, read.messages, "{}", folder.display());
    }
}
