//! A message file made from another format has no error that the other file does not have.

use std::fs;
use std::path::{Path, PathBuf};

use analects_core::{Problem, Severity, chain};

use super::samples::{files, samples};
use super::*;
use crate::msgfile::{self, message_problems, session_of};

/// The errors among some problems.
fn errors(problems: impl IntoIterator<Item = Problem>) -> Vec<Problem> {
    let is_error = |problem: &Problem| problem.severity == Severity::Error;
    problems.into_iter().filter(is_error).collect()
}

/// The errors of a message file with these messages.
fn errors_as_message_file(messages: &[Message], full: bool) -> Vec<Problem> {
    let options = WriteOptions {
        full,
        ..WriteOptions::default()
    };
    let mut out = WriteOutput::default();
    let mut writer = format_by_id("msgfile").unwrap().writer(&options).unwrap();
    for message in messages {
        writer.push(message, &mut out);
    }
    writer.finish(&mut out);
    out.bytes.append(&mut out.tail);
    let document = msgfile::decode(out.bytes);
    let of_messages = message_problems(&document, &session_of(NAME));
    errors(document.problems().into_iter().chain(of_messages))
}

/// Compares the files with what becomes of them; returns how many could be compared.
fn compare(paths: &[PathBuf]) -> usize {
    let mut compared = 0;
    for path in paths {
        let bytes = fs::read(path).unwrap();
        let head = &bytes[..bytes.len().min(HEAD_SIZE)];
        let Some(format) = detect(head, &path.to_string_lossy()) else {
            continue;
        };
        let source = read(format, &bytes);
        let of_source = chain(&source.messages).problems;
        if source.messages.is_empty()
            || !errors(source.problems.into_iter().chain(of_source)).is_empty()
        {
            continue;
        }
        compared += 1;
        for full in [false, true] {
            let found = errors_as_message_file(&source.messages, full);
            assert_eq!(found, [], "{} (full: {full})", path.display());
        }
    }
    compared
}

#[test]
fn samples_become_message_files_without_new_errors() {
    let all = samples("samples_become_message_files_without_new_errors");
    assert!(all.is_empty() || compare(&all) >= 3);
}

#[test]
fn the_corpus_becomes_message_files_without_new_errors() {
    let mut all = Vec::new();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    files(&corpus, &mut all);
    assert!(compare(&all) >= 20, "{} files", all.len());
}
