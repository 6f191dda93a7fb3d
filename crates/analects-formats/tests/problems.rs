//! The page of problems lists the codes of the source, and each of its examples gives the problem that it is for.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use analects_core::{Problem, chain};
use analects_formats::chatmd::{self, session_json};
use analects_formats::claude_code::SessionReader;
use analects_formats::convert::format_by_id;
use analects_formats::{DecodedFile, FormatReader, ReadOptions, ReadOutput, decode, transcript};

const PAGE: &str = include_str!("../../../docs/reference/problems.md");

/// What stands before a code where a problem is made.
const MAKERS: [&str; 5] = [
    "Problem::error(",
    "Problem::warning(",
    "Problem::hint(",
    "report(",
    "Some((",
];

/// The Rust files of all crates, without tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            true if name != "tests" => sources(&path, found),
            false if name.ends_with(".rs") && name != "tests.rs" => found.push(path),
            _ => {}
        }
    }
}

/// The code in `"code"` at the start of a text: words with hyphens between them.
fn code(text: &str) -> Option<String> {
    let (code, _) = text.trim_start().strip_prefix('"')?.split_once('"')?;
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_code = code.contains('-') && code.bytes().all(allowed);
    is_code.then(|| code.to_string())
}

fn codes_of_source() -> BTreeSet<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        sources(&entry.unwrap().path().join("src"), &mut files);
    }
    let mut codes = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(file).unwrap();
        for maker in MAKERS {
            codes.extend(text.split(maker).skip(1).filter_map(code));
        }
    }
    codes
}

/// What the page says about a code.
#[derive(Default)]
struct Entry {
    line: usize,
    code: String,
    severities: String,
    /// The words behind the fence, and the text.
    examples: Vec<(String, String)>,
}

fn entries() -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut open: Option<String> = None;
    for (line, number) in PAGE.lines().zip(1..) {
        if let Some(code) = line
            .strip_prefix("### `")
            .and_then(|rest| rest.strip_suffix('`'))
        {
            entries.push(Entry {
                line: number,
                code: code.to_string(),
                ..Entry::default()
            });
            continue;
        }
        let Some(entry) = entries.last_mut() else {
            continue;
        };
        let info = line.trim_start_matches('`');
        let fence = &line[..line.len() - info.len()];
        match &open {
            Some(opener) if line == opener => open = None,
            Some(_) => {
                let text = &mut entry.examples.last_mut().unwrap().1;
                text.push_str(line);
                text.push('\n');
            }
            None if fence.len() >= 3 => {
                open = Some(fence.to_string());
                entry.examples.push((info.to_string(), String::new()));
            }
            None if entry.severities.is_empty() => {
                let bold = line
                    .strip_prefix("**")
                    .and_then(|rest| rest.split_once(".**"));
                entry.severities = bold.map(|(words, _)| words.to_string()).unwrap_or_default();
            }
            None => {}
        }
    }
    entries
}

/// Everything that is odd about a file and the conversation in it.
fn problems(info: &str, text: &str) -> Vec<Problem> {
    let name = match info.split_once(' ') {
        Some((_, name)) => name,
        None if info == "jsonl" => "talk.jsonl",
        None => "talk.msg.md",
    };
    if name == "session" {
        return session_problems(text);
    }
    if name.ends_with(".jsonl") {
        return transcript::check(text.as_bytes()).problems;
    }
    let decoded = match name {
        "talk.chat.md" => chat_problems(text),
        "talk.chat.json" => session_json::decode(text.as_bytes()).1,
        "talk.openai.json" => request_problems(text),
        name => decode(text.as_bytes(), name),
    };
    let broken = chain(&decoded.messages).problems;
    decoded.problems.into_iter().chain(broken).collect()
}

fn session_problems(text: &str) -> Vec<Problem> {
    let mut reader = Box::new(SessionReader::new(&ReadOptions::named("talk.jsonl")));
    let mut read = ReadOutput::default();
    reader.feed(text.as_bytes(), &mut read);
    reader.finish(&mut read);
    read.problems
}

fn request_problems(text: &str) -> DecodedFile {
    let mut read = ReadOutput::default();
    let mut reader = format_by_id("openai")
        .unwrap()
        .reader(&ReadOptions::named("talk"))
        .unwrap();
    reader.feed(text.as_bytes(), &mut read);
    reader.finish(&mut read);
    DecodedFile {
        messages: read.messages,
        problems: read.problems,
    }
}

fn chat_problems(text: &str) -> DecodedFile {
    let document = chatmd::decode(text);
    let messages = chatmd::messages(&document, &"talk".into()).messages;
    DecodedFile {
        messages,
        problems: document.problems(),
    }
}

#[test]
fn the_page_lists_the_codes_of_the_source() {
    let listed: Vec<String> = entries().into_iter().map(|entry| entry.code).collect();
    let unique: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(listed.len(), unique.len(), "a code is listed twice");
    assert_eq!(
        unique,
        codes_of_source(),
        "left: the page; right: the source"
    );
}

#[test]
fn every_example_gives_its_problem() {
    let mut count = 0;
    for entry in entries() {
        let Entry {
            line,
            code,
            severities,
            examples,
        } = entry;
        let known = ["error", "warning", "hint"];
        let fine = severities.split(", ").all(|word| known.contains(&word));
        assert!(fine, "line {line}: {code} lacks its severity");
        for (info, text) in examples {
            let found = problems(&info, &text);
            let codes: Vec<&str> = found.iter().map(|problem| &*problem.code).collect();
            let own = found.iter().find(|problem| problem.code == code);
            let own = own.unwrap_or_else(|| panic!("line {line}: found {codes:?}, not {code}"));
            let severity = format!("{:?}", own.severity).to_lowercase();
            assert!(
                severities.contains(&severity),
                "line {line}: {code} is a {severity}"
            );
            count += 1;
        }
    }
    assert!(count >= 25, "only {count} examples");
}
