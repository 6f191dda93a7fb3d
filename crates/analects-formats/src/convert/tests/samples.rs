//! The laws over real files, if there are any on this machine. They are not part of this project.

use std::fs;
use std::path::{Path, PathBuf};

use analects_testkit::skip;

use super::laws::{check, renamed};
use super::*;

/// The largest file that is tried here.
const LARGEST: u64 = 300 << 10;

pub(super) fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for path in entries.map(|entry| entry.unwrap().path()) {
        match path.is_dir() {
            true => files(&path, found),
            false if fs::metadata(&path).is_ok_and(|facts| facts.len() <= LARGEST) => {
                found.push(path)
            }
            false => {}
        }
    }
    found.sort();
}

/// All samples, or a word about why there are none.
pub(super) fn samples(test: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(
        &PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples"),
        &mut found,
    );
    if found.is_empty() {
        skip(
            &format!("convert::tests::samples::{test}"),
            "the samples are not here",
        );
    }
    found
}

#[test]
fn every_sample_goes_to_every_format_or_says_what_is_lost() {
    let test = "every_sample_goes_to_every_format_or_says_what_is_lost";
    let mut known = 0;
    let all = samples(test);
    for path in &all {
        let bytes = fs::read(path).unwrap();
        let name = path.to_string_lossy();
        let Some(from) = detect(&bytes[..bytes.len().min(HEAD_SIZE)], &name) else {
            continue;
        };
        let said = read(from, &bytes).messages;
        known += usize::from(!said.is_empty());
        for to in both_ways() {
            check(to, &said, Dialect::Ours);
        }
        let file = format_by_id("msgfile").unwrap();
        let (kept, exact) = check(file, &said, Dialect::Ours);
        assert!(
            exact && renamed(&kept) == renamed(&said),
            "{name} by way of a message file"
        );
    }
    assert!(
        all.is_empty() || known >= 3,
        "only {known} samples are of a known format"
    );
}

#[test]
fn every_reader_takes_every_sample() {
    for path in samples("every_reader_takes_every_sample") {
        let bytes = fs::read(path).unwrap();
        for format in both_ways() {
            read(format, &bytes);
        }
    }
}

#[test]
fn a_file_for_fine_tuning_comes_back() {
    let all = samples("a_file_for_fine_tuning_comes_back");
    for path in all
        .iter()
        .filter(|path| path.to_string_lossy().contains("fine_tuning"))
    {
        let text = fs::read_to_string(path).unwrap();
        let openai = format_by_id("openai").unwrap();
        let said = read(openai, text.as_bytes());
        assert_eq!(said.problems, []);
        let sessions: std::collections::HashSet<_> = said
            .messages
            .iter()
            .map(|message| &message.session_id)
            .collect();
        assert_eq!(sessions.len(), text.lines().count());
        let file = format_by_id("msgfile").unwrap();
        let kept = read(file, &write(file, &said.messages).bytes).messages;
        let written = write(openai, &kept);
        assert_eq!(written.losses, []);
        let again = String::from_utf8(written.bytes).unwrap();
        let value = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        assert!(again.lines().map(value).eq(text.lines().map(value)));
    }
}

#[test]
fn conversations_of_other_programs_are_not_taken_for_requests() {
    let programs = ["chatgpt", "gemini-cli", "claude-ai", "codex", "pi"];
    for path in samples("conversations_of_other_programs_are_not_taken_for_requests") {
        let is_other = path
            .iter()
            .any(|part| programs.iter().any(|program| part == *program));
        let bytes = fs::read(&path).unwrap();
        let found = detect(
            &bytes[..bytes.len().min(HEAD_SIZE)],
            &path.to_string_lossy(),
        );
        let is_request = found.is_some_and(|found| ["openai", "anthropic"].contains(&found.id()));
        assert!(!(is_other && is_request), "{path:?}");
    }
}
